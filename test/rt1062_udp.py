# SPDX-License-Identifier: Apache-2.0
"""`millrace udp bench board:IMAGE`: the echo firmware on the virtual board. Twice the same to the
nanosecond, everything answered and verified far above the published peak, and clear sentences for
firmware that has no network."""
import pathlib

from e2e import SOURCE, fails, measure, millrace, temporary_folder
from elf32 import Elf32

IMAGES = SOURCE / "build/arm/firmware/ports/rt1062"
SHORT = ("--first", "10000", "--width", "20000", "--top", "30000", "--step-ms", "20")

for kind in ("ecm", "ncm"):
    image = f"board:{IMAGES}/usb_echo_{kind}_itcm.elf"
    results = []
    for _ in range(2):
        outcome, result = measure("udp", "bench", image, *SHORT)
        outcome.says("virtual time, predicted", "10 of 10 answered after it")
        results.append(result["sizes"])
    assert results[0] == results[1], "two runs differ"
    (ladder,) = results[0]
    assert result["is_virtual"] and len(ladder["passes"]) == 1
    assert ladder["lossless"]["rate_per_s"] == ladder["ndr"]["rate_per_s"] == 30000, ladder
    assert ladder["aftermath"]["recovery_ns"] == 0
    for step in ladder["passes"][0]["steps"]:
        assert step["answered"] == step["planned"] == step["rate_per_s"] / 50, step
        assert step["send_lateness_ns"]["max"] < 1000 and step["is_valid"], step
    assert ladder["transfers"]["frames_in"] >= 800 + 600

image = f"board:{IMAGES}/usb_echo_ecm_itcm.elf"
_, result = measure("udp", "bench", image, "--in-flight", "8", "--step-ms", "20", "--size", "1000")
step = result["sizes"][0]["passes"][0]["steps"][0]
assert step["lost"] == 0 and step["answered"] > 100, step

# What happened to the device until it was asked: DHCP and ARP of the host, a ping of the bench.
_, result = measure("udp", "counters", image)
counted = result["counters"]
assert counted["dhcp_replies"] == 2 and counted["counter_requests"] == counted["link_ups"] == 1, counted
assert counted["echo_requests"] == 0 and counted["rx_buffers"] > 1, counted
outcome, result = measure("udp", "counters", image, "--seconds", "1")
assert result["counters"]["frames_received"] == 1 and result["counters"]["link_ups"] == 0, result
outcome.says("counter_requests", "1.0/s", "frames a transfer to host")

# The capture of a run shows the same echoes.
with temporary_folder() as folder:
    capture = f"{folder}/usb.pcapng"
    measure("udp", "bench", f"{image}?pcap={capture}", "--first", "1000", "--top", "1000",
            "--step-ms", "100", "--no-aftermath")
    _, result = measure("turnaround", capture)
    assert result["turnaround"]["pairs"] >= 100, result["turnaround"]

for command in ("bench", "counters"):
    fails("udp", command, f"board:{IMAGES}/hello_itcm.hex", expect=3, says="no USB network interface")
fails("udp", "bench", image, "--host-address", "10.0.0.1", expect=2, says="needs --device-address")
fails("udp", "bench", image, "--host-address", "10.0.0.1/24", "--device-address", "10.0.1.1",
      expect=2, says="not in the network of 10.0.0.1/24")
fails("udp", "bench", image, "--device-address", "192.168.7.9", expect=3,
      says="nobody has the address 192.168.7.9")

# Firmware that crashes over what it is asked is named as that, not as one that has no such address, or
# loses everything: UDF #0 (0xDE00, DDI0403E A7.7.191) where the function of one stage begins.
CRASH = bytes.fromhex("00de")


def crashing_in(function, folder):
    data = (IMAGES / "usb_echo_ecm_flash.elf").read_bytes()
    elf = Elf32(data)
    (address,) = {at for name, at in elf.functions.items() if function in name}
    code = elf.load(address, 16)
    assert data.count(code) == 1
    image = folder / f"{function}.elf"
    image.write_bytes(data.replace(code, CRASH + code[2:]))
    return f"board:{image}"


with temporary_folder() as name:
    folder, crashed = pathlib.Path(name), "is in a fault handler: an undefined instruction at "
    for function in ("answer_dhcp", "on_arp"):
        fails("udp", "bench", crashing_in(function, folder), expect=3, says=[crashed, function])
    # The report of what was lost comes first.
    outcome = millrace("udp", "bench", crashing_in("on_udp_to_us", folder), *SHORT, expect=3)
    outcome.says("200 lost", crashed, "on_udp_to_us(")
