# SPDX-License-Identifier: Apache-2.0
"""Serial ports that echo, through a real Linux kernel, and a board that is killed in use.

serial_guest.py MILLRACE GUEST_ATTACH GUEST_TTY [IMAGE...]

Each image is exported over USB/IP and imported by Debian's kernel in QEMU; every byte sent to each
/dev/ttyACMn must come back. Then the program that is the board is killed with SIGKILL while
`millrace serial bench` uses its port in the guest: the kernel must lose the device, bench say so,
and another board take its place. With images of one's own (sketches that echo on all their serial
ports, say) these alone are tried. serial_init.sh is what the guest does. No time is looked at.
"""
import contextlib
import json
import pathlib
import sys

from guest_image import Missing
from guest_run import Board, check_codes, run_guest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from e2e import MILLRACE, SOURCE, temporary_folder, validate  # noqa: E402

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"


def check_echo(out, number, image):
    check_codes(out, {f"{step}_{number}": 0 for step in ("attach", "interfaces", "echo", "detach")})
    interfaces = out[f"interfaces_{number}.txt"].decode().splitlines()
    ports = out[f"echo_{number}.txt"].decode().splitlines()
    # A function has two interfaces, 02 and 0a.
    data = sum(line == "interface 0a cdc_acm" for line in interfaces)
    assert len(ports) == 2 * data, f"{image}: {interfaces}, {ports}"
    print(f"{pathlib.Path(image).name}: {', '.join(interfaces)}; {', '.join(ports) or 'no port'}")
    return data


def main():
    own = sys.argv[4:]
    images = own or [IMAGES / "usb_serial_echo_itcm.hex"]
    with temporary_folder() as name, contextlib.ExitStack() as boards:
        ports = [boards.enter_context(Board(image)).port for image in images]
        parameters = {"PORTS": ",".join(map(str, ports))}
        events = {}
        if not own:
            killed, after = (boards.enter_context(Board(IMAGES / "usb_stream_itcm.hex"))
                             for _ in range(2))
            parameters.update(KILLED=killed.port, AFTER=after.port)
            events["guest: kill it"] = killed.process.kill
        out, _ = run_guest(pathlib.Path(name), "serial_init.sh", [MILLRACE, *sys.argv[2:4]],
                           "last_serial", events, **parameters)
    check_codes(out, {"modules": 0, "network": 0})
    for number, image in enumerate(images):
        serial_ports = check_echo(out, number, image)
        assert own or serial_ports == 1, image
    if own:
        return
    check_codes(out, {"killed": 3, "again": 0})
    said = out["killed.txt"].decode()
    assert "went away" in said or "gone" in said, said
    run, = validate(json.loads(out["again.json"]))["runs"]
    assert run["frames"] == 256 and not run["faults"] and not run["failed"], run


try:
    main()
except Missing as missing:
    sys.exit(f"the guest cannot be made: {missing}")
