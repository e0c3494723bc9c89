# SPDX-License-Identifier: Apache-2.0
"""`ports` and `doctor` on a live machine and on an empty tree."""
import json

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
e2e.fails("doctor", "pc:", expect=2, says="pc:")
e2e.fails("doctor", "usb:ffff:ffff", expect=3, says="usb:ffff:ffff")
for name in ("/dev/null", "/tmp", "/dev/ptmx"):
    e2e.fails("doctor", name, expect=2, says=(name, "not a serial port"))
for name in ("usb:zzzz", "usb:1:2:3", "serial:", "board:x"):
    e2e.fails("doctor", name, expect=2, says=name)
for root in ("/nope", "/etc/passwd", ""):
    for command in (("ports",), ("ports", "--names"), ("doctor",), ("doctor", "usb:16c0:0483")):
        e2e.fails(*command, "--sysfs-root", root, expect=2, says=("--sysfs-root", "folder"))
outcome, document = e2e.measure("doctor", "/dev/ttyNONE", expect=1)
assert document["would_spoil"], document
outcome.says("PROBLEM exists: ", "/dev/ttyNONE")
