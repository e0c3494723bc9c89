# SPDX-License-Identifier: Apache-2.0
"""The serial commands on `board:`, our firmware on the virtual board: every byte, the rates that the
host profiles allow, equal runs, captures that tshark reads, and what is said of bad names."""
import json
import pathlib
import subprocess

import e2e
from e2e import SOURCE, fails, measure, millrace

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
IMAGE = FOLDER / "usb_stream_itcm.hex"
# 512-byte packets a microframe of 125 us: bytes a second.
PACE = {"ideal": 13, "xhci-desktop": 9, "xhci-laptop": 7.5, "windows-serial": 8}


def port(host="ideal", *more, image=IMAGE):
    return f"board:{image}?{'&'.join((f'host={host}', *more))}"


def bench(host, *words, expect=0):
    return measure("serial", "bench", port(host), *words, expect=expect)[1]["runs"][0]


def check_rates():
    """2 % is the time from the request to the first frame, and the board's own doing."""
    for host, packets in PACE.items():
        ceiling = packets * 512 * 8000
        run = bench(host, "--frames", "2Ki")
        assert run["in_bytes"] == 2048 * 2048 and run["faults"] == [], run
        assert 0.98 * ceiling < run["bytes_per_s"] < 1.001 * ceiling, (host, run["bytes_per_s"])
        assert run["ceiling_bytes_per_s"] == 13 * 512 * 8000, document
        assert run["port"]["usb_speed_mbit"] == 480, run["port"]


def check_directions():
    size = 1023  # a short packet at the end of each frame
    for direction, ack in (("out", "none"), ("out", "each"), ("out", "window:8"), ("both", "none"),
                           ("in", "each"), ("in", "window:8")):
        run = bench("xhci-laptop", "--direction", direction, "--ack", ack, "--frame-size", size,
                       "--frames", 256)
        assert run["in_bytes"] == (0 if direction == "out" else 256 * size), run
        assert run["out_bytes"] == (0 if direction == "in" else 256 * size), run
        counters = run["device"]["counters"]
        assert counters["out_verified_bytes"] == run["out_bytes"], counters
        assert counters["in_accepted_bytes"] == run["in_bytes"], counters
        assert counters["out_faults"] == 0 and run["faults"] == [], counters
        if ack != "none":
            assert run["ack_round_trip_ns"]["count"] > 0, run["ack_round_trip_ns"]


def check_sweep_and_soak():
    words = ("--frame-sizes", "512,2K", "--acks", "none,each", "--bytes", "256K", "--ack-frames",
             64, "--repeat", 2)
    outcome, document = measure("serial", "sweep", port("windows-serial"), *words)
    assert [(c["frame_size"], c["ack"], c["failed"]) for c in document["cells"]] == [
        (size, ack, 0) for size in (512, 2048) for ack in ("none", "each")], document["cells"]
    outcome.says("ceiling 53.248 MB/s", "0/2 (0 %)")
    millrace("serial", "soak", port("xhci-desktop"), "--quick", "--phase", "boundary", "--phase",
             "reopen").says("all phases that ran passed")


def check_equal_runs(folder):
    """The same command twice is the same result, every time in it included."""
    words = ("serial", "bench", port("xhci-laptop"), "--direction", "both", "--frames", 256,
             "--json", folder / "result.json")
    documents = []
    for _ in range(2):
        millrace(*words)
        documents.append(json.loads((folder / "result.json").read_text()))
        del documents[-1]["started_at"]
    assert documents[0] == documents[1]


def tshark(path, *words):
    done = subprocess.run(["tshark", "-r", path, *words], capture_output=True, text=True,
                          timeout=e2e.DEADLINE_S, check=True)
    return done.stdout.splitlines()


def check_capture(folder):
    path = folder / "run.pcapng"
    frames, size = 64, 2048
    millrace("serial", "bench", port("ideal", f"pcap={path}"), "--protocol", "classic", "--frames",
             frames, "--frame-size", size)
    assert tshark(path, "-Y", "_ws.malformed || _ws.expert.severity >= error") == []
    rows = [line.split("\t") for line in tshark(
        path, "-T", "fields", "-e", "usb.urb_type", "-e", "usb.endpoint_address", "-e",
        "usb.setup.bRequest", "-e", "usbcom.control.request_code", "-e", "usb.data_len", "-e",
        "usb.urb_status")]
    submitted = [row for row in rows if row[0] == "'S'"]
    done = [row for row in rows if row[0] == "'C'"]
    assert len(submitted) == len(done), "an URB never came back"

    def requests(number):
        return sum(number in (row[2], row[3]) for row in submitted)

    # Device descriptor twice (8 bytes before the address is set, or 18, then 18), qualifier,
    # configuration twice (its head, then all of it), languages and three strings.
    assert requests("6") == 2 + 1 + 2 + 4, rows
    assert requests("5") == requests("9") == 1  # SET_ADDRESS, SET_CONFIGURATION
    assert requests("0x20") == 1 and requests("0x22") == 2  # line coding; DTR on, off
    good = [(row[1], int(row[4])) for row in done if row[5] == "0"]
    assert sum(length for endpoint, length in good if endpoint == "0x84") == frames * size
    assert [int(row[4]) for row in submitted if row[1] == "0x03"] == [9]  # the handshake
    # Linux's URBs of 1,024 bytes: every one full, then the zero-length packet that ends the stream.
    full = [length for endpoint, length in good if endpoint == "0x84"]
    assert full == [1024] * (frames * size // 1024) + [0], full


def check_packet_capture(folder):
    """The same stream as a bus analyser has it: tshark checks every CRC, and the toggles are ours."""
    urbs, packets = folder / "urbs.pcapng", folder / "packets.pcapng"
    words = ("--protocol", "classic", "--frames", 64, "--frame-size", 2048)
    millrace("serial", "bench", port("ideal", f"pcap={urbs}", f"pcap_packets={packets}"), *words)
    assert tshark(packets, "-Y", "_ws.malformed || _ws.expert.severity >= warning") == []
    assert tshark(packets, "-Y", "usbll.crc5.status == 0 || usbll.crc16.status == 0") == []
    assert tshark(packets, "-Y", "usbll.pid == 0xa5") == []  # no SOF unless asked for
    rows = [line.split("\t") for line in tshark(
        packets, "-T", "fields", "-e", "frame.time_epoch", "-e", "usbll.pid", "-e", "usbll.endp",
        "-e", "frame.len")]
    times = [float(row[0]) for row in rows]
    assert times == sorted(times), "packets are not in the order of time"
    sent = []  # (toggle, bytes) on endpoint 4, of those that the host acknowledged
    for token, data, handshake in zip(rows, rows[1:], rows[2:]):
        if token[1] == "0x69" and token[2] == "4" and data[1] in ("0xc3", "0x4b"):
            assert handshake[1] == "0xd2", handshake
            sent.append((data[1], int(data[3]) - 3))  # less the PID and the CRC
    assert sum(size for _, size in sent) == 64 * 2048, len(sent)
    assert all(a[0] != b[0] for a, b in zip(sent, sent[1:])), "a toggle repeats"
    # What the driver got is what was on the bus.
    assert int(tshark(urbs, "-Y", "usb.endpoint_address == 0x84 && usb.urb_type == 'C' && "
                      "usb.data_len > 0", "-T", "fields", "-e", "usb.data_len").__len__()) == 128
    millrace("serial", "bench", port("ideal", f"pcap_packets={packets}", "pcap_sof=on"), *words)
    frames = tshark(packets, "-Y", "usbll.pid == 0xa5", "-T", "fields", "-e", "usbll.frame_num")
    # Eight microframes have one number each; the port was enabled for more than 100 ms.
    assert len(frames) > 800 and int(frames[-1]) - int(frames[0]) == (len(frames) - 1) // 8, frames


def check_bad_names(folder):
    def bad(name, expect, *says):
        fails("serial", "bench", name, expect=expect, says=says)

    bad("board:", 2, "names no image")
    bad("board:?host=ideal", 2, "names no image")
    bad(port(image=folder / "absent.hex"), 2, "absent.hex", "no such file")
    bad(port(image=folder), 2, "folder")
    (folder / "garbage.hex").write_text("no firmware")
    bad(port(image=folder / "garbage.hex"), 1, "garbage.hex")
    bad(port("nonsense"), 2, "host=nonsense", "ideal, xhci-desktop, xhci-laptop, windows-serial")
    bad(f"board:{IMAGE}?host", 2, "KEY=VALUE")
    bad(port("ideal", "nonsense=1"), 2, "nonsense")
    bad(port("ideal", "in_urbs=0"), 2, "in_urbs", "1..256")
    bad(port("ideal", "icache=maybe"), 2, "on or off")
    bad(port("ideal", "psram=4"), 2, "0, 8 or 16")
    bad(port("ideal", "pcap=/nowhere/x"), (1, 2), "/nowhere/x")
    (folder / "profile").write_text("packets_per_microframe = 14\n")
    bad(port(folder / "profile"), 2, "packets_per_microframe", "13")
    # No serial port: a program without USB, one that faults.
    bad(port(image=FOLDER / "hello_itcm.hex"), 3, "hello_itcm.hex", "no USB serial port")
    bad(port(image=FOLDER / "fault_itcm.hex"), 3, "fault_itcm.hex", "fault handler", "MPU")


with e2e.temporary_folder() as name:
    check_rates()
    check_directions()
    check_sweep_and_soak()
    check_equal_runs(pathlib.Path(name))
    check_capture(pathlib.Path(name))
    check_packet_capture(pathlib.Path(name))
    check_bad_names(pathlib.Path(name))
