# SPDX-License-Identifier: Apache-2.0
"""`ports` and `doctor` on a live machine and on an empty tree."""
import json
import os
import pathlib

import e2e

for command in (("ports",), ("doctor",)):
    outcome = e2e.millrace(*command, "--json", "-", expect=(0, 1) if command[0] == "doctor" else 0)
    document = e2e.validate(json.loads(outcome.out))
    assert document["command"] == command[0]
    assert document["host"]["kernel"].startswith("Linux"), document["host"]
with e2e.temporary_folder() as root:
    outcome, document = e2e.measure("ports", "--sysfs-root", root)
    assert document["ports"] == []
    outcome.says("no serial ports found")
    assert e2e.millrace("ports", "--names", "--sysfs-root", root).out == "pc:\n"
# Strings of a device are up to 126 characters long, with anything in them; a table has 100 columns.
with e2e.temporary_folder() as root:
    usb = pathlib.Path(root, "sys/devices/usb1/1-1")
    tty = usb / "1-1:1.0/tty/ttyACM0"
    tty.mkdir(parents=True)
    (tty / "device").symlink_to("../..")
    pathlib.Path(root, "sys/class/tty").mkdir(parents=True)
    pathlib.Path(root, "sys/class/tty/ttyACM0").symlink_to(tty)
    for name, text in (("idVendor", b"16c0"), ("idProduct", b"0483"), ("speed", b"-5"),
                       ("serial", b"1\x002\x1b[31m"), ("product", b"p" * 126)):
        (usb / name).write_bytes(text + b"\n")
    outcome, document = e2e.measure("ports", "--sysfs-root", root)
    outcome.says("16c0:0483", "?[31m")
    assert max(map(len, outcome.out.splitlines())) <= 100, outcome
    assert document["ports"][0]["description"] == "p" * 126, document["ports"]
# Devices inside this program.
outcome, document = e2e.measure("doctor", "pc:?drop=512@0")
outcome.says("say nothing about USB", "damaged on purpose: drop=512@0", "can be opened")
assert not document["would_spoil"] and document["reports"][0]["port"]["is_pty"], document
e2e.fails("doctor", "pc:?nothing=1", expect=2, says="nothing=1")
e2e.fails("doctor", "board:", expect=2, says="names no image")
e2e.fails("doctor", "board:/nope.hex", expect=2, says="/nope.hex")
e2e.millrace("ports").says("pc: (a device on this machine)", "board:IMAGE")

# The name of a port without its folder, as for bench: in /dev, or else here.
with e2e.PcDevice() as device, e2e.temporary_folder() as folder:
    os.symlink(device.path, os.path.join(folder, "ttyHERE"))
    e2e.millrace("doctor", "ttyHERE", cwd=folder).says(f"{device.path} is there")
    e2e.millrace("serial", "bench", "ttyHERE", "--frames", 16, cwd=folder)
    e2e.fails("serial", "bench", "ttyTHERE", expect=3, says="/dev/ttyTHERE: there is no such port",
              cwd=folder)
    e2e.millrace("doctor", "ttyTHERE", cwd=folder, expect=1).says("there is no port /dev/ttyTHERE")
e2e.fails("doctor", "usb:ffff:ffff", expect=3, says="usb:ffff:ffff")
for name in ("/dev/null", "/tmp", "/dev/ptmx"):
    e2e.fails("doctor", name, expect=2, says=(name, "not a serial port"))
for name in ("usb:zzzz", "usb:1:2:3", "serial:", "bogus:x"):
    e2e.fails("doctor", name, expect=2, says=name)
for root in ("/nope", "/etc/passwd", ""):
    for command in (("ports",), ("ports", "--names"), ("doctor",), ("doctor", "usb:16c0:0483")):
        e2e.fails(*command, "--sysfs-root", root, expect=2, says=("--sysfs-root", "folder"))
outcome, document = e2e.measure("doctor", "/dev/ttyNONE", expect=1)
assert document["would_spoil"], document
outcome.says("PROBLEM exists: ", "/dev/ttyNONE")
