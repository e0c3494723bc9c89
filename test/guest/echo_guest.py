# SPDX-License-Identifier: Apache-2.0
"""A real Linux kernel uses the network adapters of the virtual board with its own drivers.

echo_guest.py MILLRACE GUEST_ATTACH GUEST_UDP

The board runs the UDP echo with CDC-NCM and CDC-ECM in one device and exports it over USB/IP;
Debian's kernel in QEMU imports it, cdc_ncm and cdc_ether bind, DHCP gives the addresses, and pings
and datagrams of every length are echoed, again after a replug. Over both drivers `millrace udp bench`
measures in the guest and agrees with the device's counters, and `millrace turnaround` captures live
from usbmon while it pings. echo_init.sh is what the guest does, this is what must come of it. No time
is looked at: in a guest that is emulated no step need be valid.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from e2e import MILLRACE, SOURCE, measure, temporary_folder, validate  # noqa: E402
from guest_image import Missing  # noqa: E402
from guest_run import Board, check_codes, run_guest  # noqa: E402

IMAGE = SOURCE / "build/arm/firmware/ports/rt1062/usb_echo_ncm_ecm_itcm.hex"
# In the order of the functions: what the kernel calls it, who we are there, its driver. usb: the
# addresses are locally administered.
ADAPTERS = [("usb0", "192.168.7.1", "cdc_ncm"), ("usb1", "192.168.8.1", "cdc_ether")]


def fields(text):
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


def check_adapter(out, name, address, driver):
    interface = fields(out[f"interface_{name}.txt"].decode())
    assert interface["driver"] == driver and interface["mtu"] == "1500", interface
    # Locally administered, and not what the device calls itself.
    assert int(interface["address"][:2], 16) & 0x0b == 0x0a, interface
    if driver == "cdc_ncm":
        assert interface["dwNtbOutMaxSize"] == interface["tx_max"] == "8192", interface
        assert interface["rx_max"] == "8192" and interface["bmNtbFormatsSupported"] == "0x0001", \
            interface
    lease = dict(line.split("=", 1) for line in out[f"lease_env_{name}.txt"].decode().splitlines()
                 if "=" in line)
    assert lease["ip"] == address[:-1] + "2" and lease["subnet"] == "255.255.255.0", lease
    assert lease["serverid"] == address and "router" not in lease and "dns" not in lease, lease
    ping = out[f"ping_{name}.txt"].decode()
    assert "20 packets transmitted, 20 packets received, 0% packet loss" in ping, ping
    check_counters(fields(out[f"udp_{name}.txt"].decode()), driver)


def check_counters(counters, driver):
    count = {name: int(value) for name, value in counters.items()}
    echoes = count["echoes"]
    assert echoes > 600 and count["echo_requests"] == count["echo_replies"] == echoes, count
    assert count["icmp_replies"] == 20 and count["arp_requests"] >= 1, count
    assert count["dhcp_replies"] >= 2, count
    for name in ("dropped_no_room", "dropped_ip_checksum", "dropped_udp_checksum",
                 "rx_bad_transfers", "rx_failed_transfers", "rx_missing_transfers",
                 "tx_failed_transfers"):
        assert count[name] == 0, f"{name}: {count}"
    # The kernel puts what a burst sends at once into one NTB.
    many = count["rx_frames_max"]
    assert many > 1 if driver == "cdc_ncm" else many == 1, count
    print(f"{driver}: {echoes} echoes, {many} frames in a transfer at most")


def check_bench(out, name, interface):
    result = validate(json.loads(out[f"{name}.json"]))
    ladder, = result["sizes"]
    steps = ladder["passes"][0]["steps"]
    if ladder["aftermath"]:
        steps = [*steps, ladder["aftermath"]["overload"], ladder["aftermath"]["recovery"]]
    assert ladder["port"]["interface"] == interface and ladder["port"]["mtu"] == 1500, ladder["port"]
    for step in steps:
        assert step["answered"] == step["sent"] > 0, step
        assert step["altered"] == step["duplicate"] == step["foreign"] == 0, step
    device = ladder["device"]
    sent = sum(step["sent"] for step in steps)
    assert device["sent"] == device["received"] == sent, device
    assert device["counters"]["echo_requests"] == device["counters"]["echo_replies"] == sent, device
    assert device["lost_before"] == device["lost_inside"] == device["lost_behind"] == 0, device
    return sent


def check_turnaround(out, last, name):
    result = validate(json.loads(out[f"turnaround_{name}.json"]))
    found = result["turnaround"]
    assert found["paired_by"] == "icmp" and 0 < found["median_ns"], found
    assert result["pings"]["sent"] == result["pings"]["answered"] == 20, result["pings"]
    # The capture may end before the last reply's completion, and events may be lost in a slow guest.
    assert 15 <= found["pairs"] <= 20, found
    _, again = measure("turnaround", last / f"turnaround_{name}.pcapng")
    assert again["turnaround"] == found, (again["turnaround"], found)


def main():
    words = ",".join(f"{name}:{address}" for name, address, _ in ADAPTERS)
    with temporary_folder() as name, Board(IMAGE) as board:
        out, last = run_guest(pathlib.Path(name), "echo_init.sh", [*sys.argv[2:4], MILLRACE],
                              "last_echo", USBIP_PORT=board.port, INTERFACES=words)
        console, _ = board.end()
    steps = ["modules", "network", "attach"]
    for name, _, _ in ADAPTERS:
        steps += [f"interface_{name}", f"lease_{name}", f"ping_{name}", f"udp_{name}",
                  f"closed_{name}", f"turnaround_{name}"]
    steps += ["detach", "reattach", "lease_again", "udp_again"]
    check_codes(out, {step: 0 for step in steps})
    for adapter in ADAPTERS:
        check_adapter(out, *adapter)
        name, _, driver = adapter
        assert out[f"ladder_{name}.code"] in (b"0\n", b"1\n"), out[f"ladder_{name}.txt"].decode()
        sent = check_bench(out, f"closed_{name}", name), check_bench(out, f"ladder_{name}", name)
        check_turnaround(out, last, name)
        print(f"{driver}: udp bench {sent[0]} and {sent[1]} echoes, turnaround of 20 pings")
    assert len(re.findall("ncm: link up", console)) >= 2, console


try:
    main()
except Missing as missing:
    sys.exit(f"the guest cannot be made: {missing}")
