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
for name in ("", "usb:16c0", "usb:x:y", "serial:", "board:x.elf", "pc:x", "pc:?drop=1",
             "pc:?nothing=1"):
    bench(name, 2, name or "''")
with e2e.temporary_folder() as folder:
    bench(folder, 2, folder)
    file = os.path.join(folder, "file")
    open(file, "w").close()
    bench(file, 2, file)
bench("/dev/null", 2, "/dev/null")

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
