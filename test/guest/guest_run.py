# SPDX-License-Identifier: Apache-2.0
"""A board that exports its USB device, and a guest that is run to its end: what the tests with a real
Linux kernel share."""
import io
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from e2e import DEADLINE_S, MILLRACE, SOURCE, have, read_line  # noqa: E402
from guest_image import Missing, initramfs, kernel  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
GUEST_S = 240
MEMORY_MB = 768


class Board:
    """`millrace board run IMAGE --usb usbip` as long as the block lasts."""

    def __init__(self, image):
        self.process = subprocess.Popen([MILLRACE, "board", "run", image, "--usb", "usbip"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        said = read_line(self.process.stderr)
        found = re.fullmatch(r"millrace: USB device: usbip --tcp-port (\d+) attach -r 127\.0\.0\.1 "
                             r"-b 1-1", said)
        assert found, said
        self.port = int(found[1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=DEADLINE_S)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == 130, (self.process.returncode, out, err)
        return out.decode(), err.decode()


def boot(folder, kernel_folder, events, **parameters):
    """Runs the guest to its end; what it left in /out as {name: bytes}. `events` has what to do here
    when the guest's console says something; the parameters are in the environment of its init."""
    events = dict(events)
    with socket.create_server(("127.0.0.1", 0)) as results:
        words = dict(parameters, RESULTS_PORT=results.getsockname()[1])
        append = " ".join(["console=ttyS0 quiet loglevel=4 nokaslr mitigations=off panic=-1",
                           *(f"{name}={value}" for name, value in words.items())])
        qemu = subprocess.Popen(
            ["timeout", "-k", "5", str(GUEST_S), "qemu-system-x86_64", "-nodefaults", "-no-reboot",
             "-display", "none", "-serial", "stdio", "-m", str(MEMORY_MB), "-accel", "tcg",
             "-machine", "q35", "-cpu", "Nehalem", "-kernel", kernel_folder / "vmlinux",
             "-initrd", folder / "initramfs", "-append", append,
             "-netdev", "user,id=n0", "-device", "e1000,netdev=n0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        console, archive, connection = b"", b"", None
        try:
            while True:
                sources = [qemu.stdout, connection or results]
                ready, _, _ = select.select(sources, [], [])
                if qemu.stdout in ready:
                    piece = qemu.stdout.read1(65536)
                    if not piece:
                        break
                    console += piece
                    for line in [line for line in events if line.encode() in console]:
                        events.pop(line)()
                if results in ready:
                    connection, _ = results.accept()
                elif connection in ready:
                    archive += (piece := connection.recv(65536))
                    if not piece:
                        connection.close()
                        connection = results
        finally:
            if qemu.poll() is None:
                qemu.kill()
            qemu.wait(DEADLINE_S)
    text = console.decode(errors="replace")
    assert "guest: done" in text and archive, f"the guest did not come to its end:\n{text}"
    out = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.isfile():
                out[pathlib.PurePath(member.name).name] = files.extractfile(member).read()
    return out


def run_guest(folder, init, programs, last, events=(), **parameters):
    """Boots `init` with these programs; its results, which are also left in build/guest/`last` to look
    at after a failure."""
    for program in ("qemu-system-x86_64", "tshark"):
        if not have(program):
            raise Missing(f"no {program} (run: scripts/packages.sh test)")
    cache = SOURCE / "build/guest"
    kernel_folder = kernel(cache)
    last = cache / last
    shutil.rmtree(last, ignore_errors=True)
    last.mkdir()
    initramfs(folder / "initramfs", kernel_folder, HERE / init, programs)
    out = boot(folder, kernel_folder, events, **parameters)
    for file, content in out.items():
        (last / file).write_bytes(content)
    return out, last


def check_codes(out, expected):
    """Each step's exit code; a failure shows what the step and the kernel said."""
    for name, code in expected.items():
        text = out.get(f"{name}.txt", b"").decode(errors="replace")
        was = out.get(f"{name}.code", b"nothing").decode().strip()
        assert was == str(code), (f"{name}: exit {was}, not {code}:\n{text[-3000:]}\n"
                                  f"{out.get('dmesg.txt', b'').decode(errors='replace')[-3000:]}")
