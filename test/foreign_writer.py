# SPDX-License-Identifier: Apache-2.0
"""A modem probe that another program sent to the device is counted and quoted."""
import os
import tty

import e2e

with e2e.PcDevice() as device:
    fd = os.open(device.path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(fd)
    os.write(fd, b"AT\r\n")
    os.close(fd)
    outcome, document = e2e.measure("serial", "bench", device.path, "--frames", 16,
                                    expect=(0, 1))
    run = document["runs"][0]
    assert run["in_bytes"] == 16 * 2048 and run["faults"] == [], run
    counters = run["device"]["counters"]
    assert counters["foreign_bytes"] == 4, counters
    assert bytes.fromhex(counters["first_foreign_hex"]) == b"AT\r\n", counters
    outcome.says("4 bytes that are no part of this protocol", '"AT.."')
