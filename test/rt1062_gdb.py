# SPDX-License-Identifier: Apache-2.0
"""gdb-multiarch on the virtual board: registers, symbols, breakpoints, steps, watchpoints, Ctrl-C,
load, reset, detach and kill."""
import os
import re
import select
import signal
import subprocess

from e2e import (DEADLINE_S, MILLRACE, SOURCE, fails, have, measure, read_line,
                 temporary_folder)

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
TICKS = "'millrace::rt1062::(anonymous namespace)::tick_count'"


class Debugged:
    """`millrace board run IMAGE --gdb 0` as long as the block lasts."""

    def __init__(self, image):
        self.image = FOLDER / image
        assert self.image.is_file(), f"no {self.image} (run: make firmware)"
        self.process = subprocess.Popen([MILLRACE, "board", "run", self.image, "--gdb", "0"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        said = read_line(self.process.stderr)
        self.port = int(re.fullmatch(r"millrace: waiting for gdb: target remote :(\d+)", said)[1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=DEADLINE_S)

    def start(self, *commands):
        words = ["gdb-multiarch", "-nx", "-batch", "-ex", "set confirm off", "-ex",
                 "set width 0", "-ex", f"target remote :{self.port}"]
        for command in commands:
            words += ["-ex", command]
        return subprocess.Popen([*words, str(self.image)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, "LC_ALL": "C"})

    def gdb(self, *commands):
        """The whole conversation."""
        out, _ = self.start(*commands).communicate(timeout=DEADLINE_S)
        return out.decode()

    def cpu_ticks(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def end(self, code):
        out, err = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == code, (self.process.returncode, out, err)
        return out.decode(), err.decode()


def in_order(text, *patterns):
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.M).search(text, at)
        assert found, f"no {pattern!r} behind offset {at} of:\n{text}"
        at = found.end()


assert have("gdb-multiarch"), "no gdb-multiarch (run: scripts/packages.sh test)"

for image in ("hello_flash.elf", "hello_itcm.elf"):
    with Debugged(image) as board:
        # The board stands at the first instruction of the image.
        text = board.gdb("info registers", "p/x $d15", "break run_program", "continue", "backtrace 1",
                         "next", "next", "info registers pc", "stepi", "p $xpsr & 0x1ff",
                         "p/x *(unsigned int *)0xE000ED00", "x/1xw 0x40000000",
                         "delete", "detach")
        in_order(text, r"reset_handler", r"^sp +0x20", r"^pc +0x6000\w+", r"^xpsr +0x1000000",
                 r"^primask +0x0", r"^control +0x0", r"^\$1 = 0x0",
                 r"^Breakpoint 1, millrace::rt1062::run_program", r"^#0 +millrace::rt1062::run_program",
                 r"^pc +0x\w+ +0x\w+ <millrace::rt1062::run_program", r"^\$2 = 0$",
                 r"^\$3 = 0x411fc27\d$",  # CPUID of a Cortex-M7 (DDI 0489F 3.2)
                 r"Cannot access memory at address 0x40000000",  # peripherals are not touched
                 r"\[Inferior 1 \(Remote target\) detached\]")
        out, err = board.end(0)
        assert "Millrace on i.MX RT1062" in out and "done" in out, (out, err)

with Debugged("hello_flash.elf") as board:
    # Steps of source lines stay in the code, though SysTick fires meanwhile.
    steps = ["next"] * 12
    text = board.gdb("break run_program", "continue", *steps, "frame", "p $xpsr & 0x1ff",
                     f"watch {TICKS}", f"p/x &{TICKS}", "continue", "p $xpsr & 0x1ff", "backtrace 1",
                     "finish", "disconnect")
    assert "systick_handler" not in text[:text.index("Hardware watchpoint")], text
    in_order(text, r"Breakpoint 1", r"^#0 +millrace::rt1062::run_program", r"^\$1 = 0$",
             r"^Hardware watchpoint 2", r"^\$2 = 0x20\w+", r"^Hardware watchpoint 2",
             r"Old value = (\d+)", r"New value = \d+", r"^\$3 = 15$", r"^#0 .*systick_handler",
             r"^millrace::rt1062::run_program")
    old, new = re.search(r"Old value = (\d+)\s+New value = (\d+)", text).groups()
    assert int(new) == int(old) + 1, text

    # The next debugger finds the board as it was left; nothing of the other's stops it.
    text = board.gdb("p $xpsr & 0x1ff", "monitor help", "monitor cycles", "monitor stats",
                     "monitor reset", "maintenance flush register-cache", "info registers pc",
                     "load", "compare-sections", "print *(unsigned char *)0x60000000",
                     "monitor reset", "maintenance flush register-cache", "tbreak run_program",
                     "continue", "backtrace 1", "detach")
    in_order(text, r"^\$1 = \d+$", r"monitor stats", r"^\d+ cycles, \d+ ns, core at \d+ Hz",
             r"^\d+ cycles, \d+ instructions", r"^data cache:", r"^reset; pc 0x6000",
             r"^pc +0x6000\w+ +0x\w+ <.*reset_handler", r"^Loading section .boot_header",
             r"^Transfer rate", r"matched", r"^\$2 = 70 ",  # the 'F' of FCFB, the FCB's tag
             r"Temporary breakpoint 1", r"^#0 +millrace::rt1062::run_program", r"detached")
    assert "MIS-MATCHED" not in text, text
    out, err = board.end(0)
    assert "done" in out, (out, err)

with Debugged("hello_flash.elf") as board:
    # `b .` in RAM: Ctrl-C stops it there.
    gdb = board.start("set {short}0x20210000 = 0xe7fe", "set $pc = 0x20210000", "continue",
                      "info registers pc", "kill")
    begin = board.cpu_ticks()
    while board.cpu_ticks() < begin + 20:  # standing, it needs no CPU time to speak of
        assert gdb.poll() is None and board.process.poll() is None
        select.select([], [], [], 0.01)
    gdb.send_signal(signal.SIGINT)
    out, _ = gdb.communicate(timeout=DEADLINE_S)
    in_order(out.decode(), r"SIGINT", r"^pc +0x20210000", r"\[Inferior 1 .* killed\]")
    board.end(0)

with Debugged("hello_flash.elf") as board:
    # A port that another program has.
    fails("board", "run", board.image, "--gdb", board.port, expect=3,
          says=f"listen on 127.0.0.1:{board.port} for gdb: another program has the port")
    # Before the program has vectors, a jump to nowhere is a lockup: gdb's user hears why.
    text = board.gdb("set $pc = 0x50000000", "continue", "monitor fault", "kill")
    in_order(text, r"^locked up: .* in exception 3$", r"^ +CFSR 0x\w+", r"SIGSEGV",
             r"^a jump to an even address .* at 0x00000000$")

with Debugged("hello_mixed.elf") as board:
    # The program's end leaves nothing that could wake the core.
    text = board.gdb("continue", "detach")
    in_order(text, r"^asleep \(WFI or WFE\)", r"SIGTRAP", r"detached")
    out, err = board.end(0)
    assert "done" in out and "nothing can wake it" in err, (out, err)

fails("board", "run", "x.elf", "--gdb", "0", "--seconds", "1", expect=2, says="--gdb does not go with")

# A sampler's records out of memory, with the lines of docs/profile.md, and what they are read as.
with temporary_folder() as folder, Debugged("sampler_locks_itcm.elf") as debugged:
    got = debugged.gdb("tbreak millrace::rt1062::print_padded", "continue",
                       "print millrace_sampler.stored_words", "print millrace_sampler.lost",
                       f"dump binary memory {folder}/pcs.bin &millrace_sampler_buffer[0] "
                       "&millrace_sampler_buffer[millrace_sampler.stored_words]", "kill")
    stored, lost = (int(n) for n in re.findall(r"^\$\d = (\d+)$", got, re.M))
    assert stored > 800 and lost == 0, got
    assert os.path.getsize(f"{folder}/pcs.bin") == 4 * stored, got
    _, result = measure("profile", debugged.image, f"{folder}/pcs.bin", "--clock", "600",
                        "--interval", "3000")
    names = [row["name"] for row in result["profile"]["functions"]]
    assert set(names[:2]) == {"work_open", "work_behind_basepri"}, names
