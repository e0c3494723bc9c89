# SPDX-License-Identifier: Apache-2.0
"""Ports that cannot be measured: what is wrong, and what to do about it."""
import os
import shutil
import subprocess
import sys

import e2e


def bench(port, expect, says, **options):
    e2e.fails("serial", "bench", port, expect=expect, says=says, **options)


bench("/dev/ttyNONE", 3, "/dev/ttyNONE")
bench("usb:16c0:ffff", 3, "16c0:ffff")
bench("serial:NONE", 3, "NONE")
for name in ("", "usb:16c0", "usb:x:y", "serial:", "bogus:x.elf",
             "board:", "board:x.elf", "board:x.elf?seed=1", "pc:x",
             "pc:?drop=1",
             "pc:?nothing=1"):
    bench(name, 2, name or "''")
with e2e.temporary_folder() as folder:
    bench(folder, 2, folder)
    file = os.path.join(folder, "file")
    open(file, "w").close()
    bench(file, 2, file)
    # The virtual board: an image that does not boot failed, a wrong value is usage.
    image = os.path.join(folder, "short.bin")
    with open(image, "wb") as out:
        out.write(bytes(64))
    bench(f"board:{image}", 1, "0x60000000")
    bench(f"board:{image}?seed=-1", 2, "seed=-1: must be")
    for key in ("pcap", "pcap_packets"):
        bench(f"board:{image}?{key}={image}", 2, f"{key}= would write over the firmware")
    bench(f"board:{image}?pcap={folder}/x&pcap_packets={folder}/x", 2,
          f"would write over pcap={folder}/x")
    assert not os.path.exists(os.path.join(folder, "x"))
    bench(f"board:{image}?pcap_sof=on", 2, "needs pcap_packets")
    bench(f"board:{image}?pcap_sof=maybe", 2, "on or off")
    assert os.path.getsize(image) == 64
    # A capture is none of the files that are read.
    profile = os.path.join(folder, "profile")
    with open(profile, "w") as out:
        out.write("# nothing\n")
    for key in ("host", "timing"):
        bench(f"board:{image}?{key}={profile}&pcap={profile}", 2, f"write over {key}={profile}")
bench("board:", 2, "names no image")
bench("/dev/null", 2, "/dev/null")

# What stands in the name of a port stays one line and cannot drive the terminal.
for code, name in ((3, "/dev/\x1b[31m\nx\u202ey"), (3, b"/dev/\xff\xfe"), (2, "board:\x1b]0;x\x07"),
                   (3, "/dev/" + 100000 * "x"), (3, "serial:" + 50000 * "\u00b5")):
    for words in (("serial", "bench"), ("serial", "soak")):
        done = subprocess.run([e2e.MILLRACE, *words, name], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=e2e.DEADLINE_S)
        text = done.stderr.decode()  # fails if it is no UTF-8
        assert done.returncode == code and done.stdout == b"", done
        assert text.count("\n") == 1 and text[:-1].isprintable() and len(text) < 1000, text[:2000]
done = subprocess.run([e2e.MILLRACE, "serial", "bench", "--frames", "\x1b[2J\n" + 100000 * "x"],
                      capture_output=True, text=True, timeout=e2e.DEADLINE_S)
assert done.stderr.count("\n") == 1 and done.stderr[:-1].isprintable(), done.stderr[:2000]

with e2e.PcDevice() as device:
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import fcntl, os, sys, termios; fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY);"
         "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB);"
         "print('held', flush=True); sys.stdin.read()", device.path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert e2e.read_line(holder.stdout) == "held"
    bench(device.path, 3, (device.path, f"pid {holder.pid}"))
    holder.stdin.close()
    holder.wait(e2e.DEADLINE_S)
    e2e.millrace("serial", "bench", device.path, "--frames", 16)
    if os.getuid() == 0:
        os.chmod(device.path, 0o600)
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        with e2e.temporary_folder() as folder:  # the build may stand where nobody cannot go
            os.chmod(folder, 0o755)
            program = shutil.copy(e2e.MILLRACE, folder)
            bench(device.path, 3, (device.path, "permission"), prefix=nobody, program=program)
