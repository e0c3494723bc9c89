# SPDX-License-Identifier: Apache-2.0
"""`board run`: what it prints and writes, how it ends, and what it says to bad input."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile

import e2e
from e2e import SOURCE, fails, measure, millrace

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
FLASH = 0x60000000


def image(code, handlers=()):
    """A bootable binary: vector table at 0x60002000, code at 0x60002100; every fault goes to the
    code itself unless `handlers` gives code for 0x60002200."""
    flash = bytearray(b"\xff" * 0x2400)
    flash[0:512] = bytes(512)
    struct.pack_into("<2I", flash, 0, 0x42464346, 0x56010000)
    struct.pack_into("<I", flash, 0x44, 0x01060401)
    struct.pack_into("<I", flash, 0x50, 0x00800000)
    struct.pack_into("<3I", flash, 0x80, 0x0A1804EB, 0x32041EFF, 0x00002601)
    struct.pack_into("<8I", flash, 0x1000, 0x432000D1, FLASH + 0x2000, 0, 0, FLASH + 0x1020,
                     FLASH + 0x1000, 0, 0)
    struct.pack_into("<3I", flash, 0x1020, FLASH, len(flash), 0)
    target = 0x2201 if handlers else 0x2101
    struct.pack_into("<16I", flash, 0x2000, 0x20240000, FLASH + 0x2101, *[FLASH + target] * 14)
    struct.pack_into(f"<{len(code)}H", flash, 0x2100, *code)
    struct.pack_into(f"<{len(handlers)}H", flash, 0x2200, *handlers)
    return flash


def check_results(folder):
    outcome, document = measure("board", "run", FOLDER / "hello_flash.elf", "--until", "tick 5")
    outcome.says("Millrace on i.MX RT1062", "saw the text of --until")
    assert document["stop"]["reason"] == "until"
    assert document["board"]["uart_bytes"]["LPUART6"] > 20

    # The same run again is the same run; another length is not.
    digests = [measure("board", "run", FOLDER / "hello_itcm.hex", "--cycles", cycles)[1]["board"]
               ["trace_digest"] for cycles in ("2M", "2M", "3M")]
    assert digests[0] == digests[1] != digests[2], digests

    outcome, document = measure("board", "run", FOLDER / "kernels_flash.elf", "--stats",
                                "--until", "done")
    outcome.says("instructions from flash", "matrix_product_float", "(predicted)")
    matrix = [f for f in document["board"]["functions"] if "matrix_product_float" in f["name"]]
    assert len(matrix) == 1 and matrix[0]["memory"] == "flash", matrix
    assert len(document["board"]["icache"]["evictions_by_set"]) == 512  # 32 KB, 2 ways, 32 B

    # Without caches every fetch goes to the flash.
    slow = measure("board", "run", FOLDER / "kernels_flash.elf", "--until", "sieve", "--icache",
                   "off", "--dcache", "off")[1]["board"]
    assert slow["icache"]["hits"] == 0 and slow["dcache"]["hits"] == 0
    assert slow["stall_cycles"]["uncached"] > slow["instructions"]

    # One cycle an instruction, besides exceptions.
    plain = measure("board", "run", FOLDER / "kernels_itcm.elf", "--until", "sieve", "--model",
                    "functional")[1]["board"]
    assert plain["cycles"] == plain["instructions"] + plain["stall_cycles"]["exception"], plain

    millrace("board", "run", FOLDER / "hello_flash.elf", "--until", "done", "--uart",
             f"6={folder}/uart.txt", "--trace", f"{folder}/trace.bin")
    text = (folder / "uart.txt").read_text()
    assert text.startswith("Millrace on i.MX RT1062") and text.endswith("done"), text
    assert (folder / "trace.bin").read_bytes()[:8] == b"MRTRACE\x02"


def check_ends(folder):
    def run(code, handlers=(), *options, expect=1):
        (folder / "image.bin").write_bytes(image(code, handlers))
        return measure("board", "run", folder / "image.bin", *options, expect=expect)

    outcome, document = run([0xDE00])  # udf, and again in its handler
    outcome.says("locked up", "undefined instruction at 0x60002100", "CFSR 0x00010000")
    assert document["stop"]["reason"] == "locked_up"
    outcome, document = run([0xDE00], [0x4770])  # bx lr: back to the same udf
    outcome.says("does nothing but fault", "undefined instruction")
    assert document["stop"]["reason"] == "fault_loop"
    # ldr r0, =SysTick; 1 ms of the 100 kHz reference with its interrupt; wfi. In WAIT mode, as a reset
    # leaves CLPCR, SysTick stands; with LPM RUN (ldr r2, =CLPCR; str 0x78) it wakes.
    run([0x4803, 0x2163, 0x6041, 0x2103, 0x6001, 0xBF30, 0xE7FE, 0xBF00, 0xE010, 0xE000],
        expect=0)[0].says("nothing can wake it", "SysTick stands", "LPM")
    stop = run([0x4A05, 0x2178, 0x6011, 0x4805, 0x2163, 0x6041, 0x2103, 0x6001, 0xBF30, 0xE7FE,
                0xBF00, 0xBF00, 0xC054, 0x400F, 0xE010, 0xE000], [0x4770], "--cycles", "1M",
               expect=0)[1]
    assert stop["stop"]["reason"] == "time" and stop["board"]["exceptions"] > 0, stop
    # ldr r0, =AIRCR; ldr r1, =SYSRESETREQ; str r1, [r0]; b .
    outcome, document = run([0x4801, 0x4902, 0x6001, 0xE7FE, 0xED0C, 0xE000, 0x0004, 0x05FA])
    outcome.says("does nothing but reset itself", "100 resets", "0x60002104")
    assert document["stop"]["reason"] == "reset_loop"
    run([0xDE00], [0xE7FE])[0].says("in a fault handler", "undefined instruction")  # b .
    # ldr r0, =0x50000000; ldr r1, [r0]: a hole in the address space
    run([0x4801, 0x6801, 0xE7FE, 0xBF00, 0x0000, 0x5000], [0xE7FE])[0].says(
        "no memory or device answers", "address 0x50000000")
    assert run([0xBF30, 0xE7FE], expect=0)[1]["stop"]["reason"] == "asleep"  # wfi
    run([0xE7FE], (), "--until", "never", "--cycles", "1M")[0].says("did not come")
    # movs r0, #0x20 (SYS_EXIT_EXTENDED); ldr r1, =block; bkpt 0xAB; block: code 3
    run([0x2020, 0x4901, 0xBEAB, 0xE7FE, 0x210C, 0x6000, 0x0026, 0x0002, 3, 0], (),
        "--semihosting")[0].says("ended with code 3")
    # ldr r0, =LPSPI4_BASE; ldr r1, [r0, #0x14]; b .: named, and no error
    run([0x4801, 0x6941, 0xE7FE, 0xBF00, 0x0000, 0x403A], (), "--cycles", "10k",
        expect=0)[0].says("LPSPI4+0x014", "0x60002102")


def check_itm(folder):
    """Stimulus port 0 goes to a file: DEMCR.TRCENA, ITM_TCR and ITM_TER, then two bytes."""
    code = [
                  0xF04F, 0x4060, 0x4906, 0xF04F, 0x7280, 0x600A, 0x4905, 0x2201, 0x600A, 0x4905,
                  0x600A, 0x224F, 0x7002, 0x224B, 0x7002, 0xE7FE, 0xEDFC, 0xE000, 0x0E80, 0xE000,
                  0x0E00, 0xE000
    ]
    (folder / "itm.bin").write_bytes(image(code))
    millrace("board", "run", folder / "itm.bin", "--cycles", "10k", "--itm", folder / "itm.txt")
    assert (folder / "itm.txt").read_bytes() == b"OK"


def check_timing(folder):
    outcome, document = measure("board", "timing")
    outcome.says("branch_mispredict", "I: inferred")
    values = {p["name"]: p["value"] for p in document["parameters"]}
    # A profile made of the table is no change; another number is.
    (folder / "same").write_text("".join(f"{name} = {value}\n" for name, value in values.items()))
    (folder / "other").write_text("branch_mispredict = 9  # cycles\n")
    runs = [measure("board", "run", FOLDER / "kernels_itcm.elf", "--until", "sieve", *options)[1]
            ["board"] for options in ((), ("--timing", folder / "same"),
                                      ("--timing", folder / "other"))]
    assert runs[0]["trace_digest"] == runs[1]["trace_digest"]
    assert runs[2]["cycles"] > runs[0]["cycles"]


def check_pty(folder):
    """Serial1 on a PTY: what the firmware says can be read by any program."""
    command = [e2e.MILLRACE, "board", "run", FOLDER / "hello_flash.elf", "--seconds", "0", "--uart",
               f"6=pty:{folder}/serial1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert e2e.read_line(process.stderr).startswith("LPUART6 is at /dev/pts/")
        text = b""
        with open(folder / "serial1", "rb", buffering=0) as port:
            while b"done" not in text:
                text += port.read(100)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=e2e.DEADLINE_S)
    assert text.startswith(b"Millrace on i.MX RT1062"), text
    assert process.returncode == 130, process.returncode
    assert not (folder / "serial1").is_symlink(), "the link is still there"


def check_bad_input(folder):
    hello = FOLDER / "hello_flash.hex"
    # A PTY's link takes the place of one to a terminal that is gone; a file, a link to one and the
    # link of a terminal that is in use stay what they are.
    (folder / "notes").write_text("mine")
    (folder / "leads").symlink_to("notes")
    terminal = os.ttyname(os.openpty()[1])
    (folder / "used").symlink_to(terminal)
    for name in ("notes", "leads", "used"):
        fails("board", "run", hello, "--uart", f"6=pty:{folder}/{name}", expect=2,
              says=("--uart: link", str(folder / name)))
    assert (folder / "notes").read_text() == "mine"
    assert os.readlink(folder / "leads") == "notes" and os.readlink(folder / "used") == terminal
    (folder / "gone").symlink_to("/dev/pts/1000000")
    millrace("board", "run", hello, "--seconds", "0.001", "--uart", f"6=pty:{folder}/gone")
    assert not (folder / "gone").is_symlink()
    fails("board", "run", folder / "absent.elf", expect=2, says="absent.elf")
    fails("board", "run", folder, expect=2, says="folder")
    (folder / "short.bin").write_bytes(bytes(64))
    fails("board", "run", folder / "short.bin", expect=1, says=("short.bin", "0x60000000"))
    fails("board", "run", hello, "--seconds", "-1", expect=2, says="seconds")
    fails("board", "run", hello, "--seconds", "nan", expect=2, says="seconds")
    fails("board", "run", hello, "--cycles", "0", expect=2, says="--cycles")
    fails("board", "run", hello, "--cycles", "6M", "--seconds", "1", expect=2, says="not both")
    # Times that are no whole number of nanoseconds in binary end as well; b .
    (folder / "waits.bin").write_bytes(image([0xE7FE], ()))
    for seconds in ("1e-30", "0.0041", "0.0079"):
        millrace("board", "run", folder / "waits.bin", "--seconds", seconds).says("stopped after")
    # What is written is never a file that is read, nor another that is written.
    mine = folder / "mine.hex"
    mine.write_bytes(hello.read_bytes())
    (folder / "link.hex").symlink_to(mine)
    for option, place in (("--trace", mine), ("--itm", mine), ("--json", mine),
                          ("--uart", f"6={mine}"), ("--trace", folder / "link.hex")):
        fails("board", "run", mine, option, place, expect=2, says=[option, "name another"])
    fails("board", "run", hello, "--timing", mine, "--itm", mine, expect=2, says="--itm")
    fails("board", "run", hello, "--itm", folder / "new", "--trace", folder / "new", expect=2,
          says=["--itm", "--trace", "file"])
    fails("board", "run", hello, "--uart", f"1={folder}/new", "--uart", f"6={folder}/new", expect=2,
          says=["--uart", "a file of its own"])
    fails("board", "run", hello, "--adc", f"csv:{mine}", "--uart", f"6={mine}", expect=2,
          says=["--uart", "--adc"])
    assert mine.read_bytes() == hello.read_bytes()
    with open(folder / "huge.bin", "wb") as huge:
        huge.truncate((64 << 20) + 1)
    fails("board", "run", folder / "huge.bin", expect=1, says="larger than 64 MB")
    fails("board", "run", hello, "--uart", "9=stdout", expect=2, says="1 to 8")
    fails("board", "run", hello, "--uart", "6=stdout", "--uart", "6=x", expect=2, says="twice")
    fails("board", "run", hello, "--uart", "6=/nowhere/x", expect=1, says="/nowhere/x")
    fails("board", "run", hello, "--icache", "maybe", expect=2, says="on or off")
    fails("board", "run", hello, "--psram", "4", expect=2, says="0, 8 or 16")
    fails("board", "run", hello, "--adc", "square:3", expect=2, says="square")
    fails("board", "run", hello, "--timing", folder / "none", expect=2, says="none")
    (folder / "profile").write_text("branch_mispredict = 5\nnonsense = 1\n")
    for words in (("board", "run", hello, "--timing", folder / "profile"),
                  ("board", "run", hello, "--usb", "host", "--host", folder / "profile"),
                  ("serial", "bench", f"board:{hello}?timing={folder}/profile"),
                  ("serial", "bench", f"board:{hello}?host={folder}/profile")):
        fails(*words, expect=2, says=(f"{folder}/profile line", "there is no parameter"))
    fails("board", "run", hello, "--timing", folder / "profile", expect=2, says="line 2")
    # Opening a FIFO would wait for its other end.
    os.mkfifo(folder / "fifo")
    fifo = folder / "fifo"
    fails("board", "run", hello, "--adc", f"csv:{folder}", expect=2, says="a folder")
    for option, place in (("--adc", f"csv:{fifo}"), ("--timing", fifo), ("--host", fifo)):
        fails("board", "run", hello, option, place, expect=2, says=str(fifo))
    for option, place in (("--trace", fifo), ("--itm", fifo), ("--uart", f"6={fifo}"),
                          ("--pcap", fifo)):
        fails("board", "run", hello, "--usb", "host", option, place, expect=1,
              says=(option, "nobody reads"))
    for option in ("--trace", "--itm", "--pcap"):
        fails("board", "run", hello, "--usb", "host", option, "-", expect=2,
              says=(option, "name of a file"))
    assert not pathlib.Path("-").exists()
    fails("board", "run", hello, "--trace", "/nowhere/t", expect=1, says="/nowhere/t")
    fails("board", "run", hello, "--json", "/nowhere/j", expect=1, says="/nowhere/j")
    # Nobody can see what it prints: no reason to go on for ever. LPUART6 on, transmits; l: str; b l
    # (ldr r0, =LPUART6; ldr r1, =8 MBaud of 24 MHz; str r1, [r0, #16]; ldr r1, =TE; str r1, [r0, #24])
    flood = image([0x4804, 0x4905, 0x6101, 0x4905, 0x6181, 0x61C1, 0xE7FD, 0xBF00, 0xBF00, 0xBF00,
                   0x8000, 0x4019, 0x0001, 0x0210, 0x0000, 0x0008], ())
    (folder / "flood.bin").write_bytes(flood)
    millrace("board", "run", folder / "flood.bin", "--seconds", "0", "--uart", "6=/dev/full",
             expect=1).says("/dev/full", "No space left")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([e2e.MILLRACE, "board", "run", folder / "flood.bin", "--seconds", "0"],
                              stdout=full, stderr=subprocess.PIPE, timeout=e2e.DEADLINE_S)
    assert done.returncode == 1 and b"No space left" in done.stderr, done
    # A disk that is full: the run ends with a sentence, and what was measured is written.
    outcome = millrace("board", "run", FOLDER / "kernels_flash.elf", "--trace", "/dev/full",
                       "--json", folder / "full.json", expect=1)
    outcome.says("--trace", "/dev/full", "No space left")
    e2e.validate(json.loads((folder / "full.json").read_text()))


with tempfile.TemporaryDirectory() as name:
    check_results(pathlib.Path(name))
    check_ends(pathlib.Path(name))
    check_itm(pathlib.Path(name))
    check_timing(pathlib.Path(name))
    check_pty(pathlib.Path(name))
    check_bad_input(pathlib.Path(name))
