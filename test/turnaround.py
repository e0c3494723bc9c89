# SPDX-License-Identifier: Apache-2.0
"""`millrace turnaround` on captures with known answers, in every format and link type; tshark's
reading of the same files is the second opinion, to the microsecond."""
import csv
import fcntl
import pathlib
import random
import signal
import statistics
import subprocess
import termios
import time

import captures
import e2e
from e2e import fails, measure, millrace


def tshark(path, *fields):
    words = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(["tshark", "-r", path, "-T", "fields", "-E", "occurrence=f", *words],
                          capture_output=True, text=True, check=True, timeout=e2e.DEADLINE_S)
    return [line.split("\t") for line in done.stdout.splitlines()]


def write(folder, name, content):
    path = pathlib.Path(folder) / name
    path.write_bytes(content)
    return path


def echo_scene(count, seed):
    """Serial echoes: OUT 2 ends 20 us after its submission, IN 2 `turnaround` after that."""
    rng = random.Random(seed)
    scene, answers = [], []
    for i in range(count):
        at, turnaround = i * 2000, rng.randrange(30, 900)
        data = rng.randbytes(rng.randrange(1, 700))
        scene.append((0x02, at, at + 20, data, 0))
        scene.append((0x82, at + 1, at + 20 + turnaround, data, 1024))
        answers.append(turnaround)
    return scene, answers


def urbs_by_tshark(path):
    """End of each OUT and of the IN after it, in us, from tshark's fields alone."""
    rows = tshark(path, "frame.time_epoch", "usb.endpoint_address", "usb.urb_type", "usb.irp_info",
                  "usb.data_len")
    out_end, found = None, []
    for time, endpoint, urb_type, irp_info, length in rows:
        is_end = "C" in urb_type if urb_type else int(irp_info, 0) & 1
        if not is_end:
            continue
        # Digits, not a float: 10 of them before the point and 9 behind.
        whole, _, part = time.partition(".")
        ns = int(whole) * 10**9 + int(part.ljust(9, "0"))
        if int(endpoint, 0) & 0x80:
            if int(length) and out_end is not None:
                found.append((ns - out_end) / 1000)
                out_end = None
        else:
            out_end = ns
    return found


def every_form(folder):
    scene, answers = echo_scene(120, 1)
    expected = statistics.median(answers)
    for link_type in (189, 220, 249, 288, 295):
        for name, content in (
                ("le.pcap", captures.pcap(scene, link_type)),
                ("ns.pcap", captures.pcap(scene, link_type, nano=True)),
                ("be.pcap", captures.pcap(scene, link_type, ">")),
                ("le.pcapng", captures.pcapng(scene, link_type)),
                ("be.pcapng", captures.pcapng(scene, link_type, ">"))):
            path = write(folder, f"{link_type}_{name}", content)
            _, result = measure("turnaround", path)
            first = result["turnaround"]
            assert first["paired_by"] == "echo" and first["pairs"] == 120, (path, first)
            # Packets have quarters of a microsecond, of which a pcap of microseconds keeps the
            # whole: end and end are cut alike.
            assert first["median_ns"] == expected * 1000, (path, first, expected)
            times = result["devices"][0]["turnarounds"][0]["times"]
            assert (times["min_ns"], times["max_ns"]) == (min(answers) * 1000,
                                                          max(answers) * 1000), path
            assert result["capture"]["damage"] == "" and result["capture"]["dropped"] == 0
            if link_type in (189, 220, 249):
                assert urbs_by_tshark(path) == answers, path
            else:
                packets = tshark(path, "usbll.pid")
                assert result["packets"]["packets"] == len(packets)
                assert result["packets"]["bad_crc"] == 0
    path = write(folder, "usbmon.txt", captures.usbmon_text(scene))
    _, result = measure("turnaround", path)
    assert result["turnaround"]["median_ns"] == expected * 1000, result["turnaround"]


def network(folder):
    """Pings in NTBs, several a transfer, some lost; the CSV has every pair."""
    rng = random.Random(2)
    scene, answers, number = [], {}, 0
    for i in range(100):
        at, count = i * 1000, rng.randrange(1, 4)
        numbers = range(number, number + count)
        number += count
        scene.append((0x02, at, at + 15, captures.ntb(i, [captures.ping(False, n) for n in numbers]),
                      0))
        kept = [n for n in numbers if rng.random() < 0.8]
        rng.shuffle(kept)
        turnaround = rng.randrange(40, 400)
        if kept:
            scene.append((0x81, at + 1, at + 15 + turnaround,
                          captures.ntb(i, [captures.ping(True, n) for n in kept]), 16384))
        answers.update(dict.fromkeys(kept, turnaround))
    path = write(folder, "ncm.pcapng", captures.pcapng(scene, 220))
    pairs = pathlib.Path(folder) / "pairs.csv"
    outcome, result = measure("turnaround", path, "--csv", pairs)
    outcome.says("pings, OUT 2 to IN 1", "NCM by its data")
    rows = list(csv.DictReader(pairs.open()))
    assert sorted(int(row["turnaround_ns"]) for row in rows) == sorted(
        us * 1000 for us in answers.values())
    assert {row["paired_by"] for row in rows} == {"icmp"}
    device = result["devices"][0]
    found = device["turnarounds"][0]
    assert found["requests"] == number and found["times"]["count"] == len(answers)
    assert found["requests"] == (found["times"]["count"] + found["unanswered"] +
                                 found["shut_out"])
    out = next(e for e in device["endpoints"] if e["endpoint"] == 2)
    assert out["holds"] == "NCM" and out["frames"]["frames"] == number
    first = [int(row["turnaround_ns"]) for row in rows]
    assert result["turnaround"]["median_ns"] == statistics.median(first[:300])


def udp_ladder_step(folder):
    """ECM frames, 200 in flight in any order: by content."""
    rng = random.Random(3)
    scene, turnarounds = [], []
    for i in range(500):
        at, turnaround = i * 33, rng.randrange(50, 5000)
        payload = struct_payload(i)
        scene.append((0x01, at, at + 7, captures.udp(False, 40000, payload), 0))
        scene.append((0x81, at + 2, at + 7 + turnaround, captures.udp(True, 40000, payload), 2048))
        turnarounds.append(turnaround)
    path = write(folder, "ecm.pcap", captures.pcap(scene, 189))
    _, result = measure("turnaround", path)
    found = result["devices"][0]["turnarounds"][0]
    assert found["paired_by"] == "udp" and found["times"]["count"] == 500
    assert found["times"]["p50_ns"] == sorted(turnarounds)[249] * 1000
    assert found["ambiguous"] == 0


def struct_payload(number):
    return b"test" + number.to_bytes(4, "little") + bytes(24)


def bad_input(folder):
    scene, _ = echo_scene(3, 4)
    whole = captures.pcap(scene, 220)
    write(folder, "empty", b"")
    write(folder, "noise", random.Random(5).randbytes(5000))
    write(folder, "a.pcap.gz", b"\x1f\x8b\x08\0" + bytes(20))
    write(folder, "ethernet.pcap", captures.pcap(scene, 220)[:20] + b"\1\0\0\0" + whole[24:])
    write(folder, "head.pcap", whole[:30])
    name = pathlib.Path(folder)
    fails("turnaround", name / "absent", expect=2, says="no such file")
    fails("turnaround", folder, expect=2, says="is a folder")
    fails("turnaround", name / "empty", expect=2, says="is empty")
    fails("turnaround", name / "noise", expect=2, says="is no pcap, no pcapng and no text")
    fails("turnaround", name / "a.pcap.gz", expect=2, says="zcat")
    fails("turnaround", name / "ethernet.pcap", expect=2, says="no capture of USB but of link type 1")
    fails("turnaround", name / "head.pcap", expect=2, says="ends within its first record")
    # SPLIT of a hub, in which the tokens of a slower device stand (USB 2.0, 8.4.2.2).
    split = captures.from_packets([(0, b"\x78\x01\x02\x84"), (1, captures.token(0x69, 5, 1)),
                                   (2, b"\xd2")])
    fails("turnaround", write(folder, "split.pcap", split), expect=2,
          says="its 1 split transaction, by which a fast hub serves a slower device, is not put")
    path = write(folder, "whole.pcap", whole)
    fails("turnaround", path, "--device", "1.9", expect=2, says="has no device 1.9")
    fails("turnaround", path, "--json", path, expect=2, says="would overwrite what CAPTURE reads")
    fails("turnaround", "usbmon1", "--save", name / "absent/usb.pcapng", expect=1,
          says="there is no such folder")
    for words in (("--device", "1"), ("--device", "1.x"), ("--out", "16"), ("--in", "0x70"),
                  ("--out", "0x82"), ("--timeout-ms", "0")):
        fails("turnaround", path, *words, expect=2, says="give" if words[0][2] != "t" else "must be")
    millrace("turnaround", path, "--in", "7", expect=1).says("no turnaround")
    # Cut anywhere behind the first answer it still gives it, and says that it was cut.
    for size in (len(whole) - 1, len(whole) - 40, len(whole) - 100):
        cut = write(folder, "cut.pcap", whole[:size])
        millrace("turnaround", cut).says("turnaround", "cut short")
    damaged = bytearray(whole)
    damaged[24 + 8 + 3] = 0x7F
    fails("turnaround", write(folder, "damaged.pcap", damaged), expect=2, says="claims")


def standard_input(folder):
    scene, answers = echo_scene(20, 6)
    done = subprocess.run([e2e.MILLRACE, "turnaround", "-"], input=captures.pcapng(scene, 220),
                          capture_output=True, timeout=e2e.DEADLINE_S, check=True)
    median = f"{statistics.median(answers):g} us"
    assert f"turnaround {median}" in done.stdout.decode(), done.stdout


def text_with_a_preface(folder):
    """A trace as reports of faults have it: somebody's words before it."""
    scene, answers = echo_scene(20, 6)
    preface = "".join(f"# what I did, step {i}\n" for i in range(50))
    path = write(folder, "report.txt", preface.encode() + captures.usbmon_text(scene))
    millrace("turnaround", path).says(f"turnaround {statistics.median(answers):g} us",
                                      "50 lines that are no event of usbmon")


def waits_for_input(program, left):
    """It has read all that was written and sleeps."""
    waiting = fcntl.ioctl(left, termios.FIONREAD, bytes(4))
    state = pathlib.Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return waiting == bytes(4) and state == "S"


def quiet_pipe():
    """One Ctrl-C ends it while a pipe is quiet, and what came is reported."""
    scene, answers = echo_scene(20, 6)
    with subprocess.Popen([e2e.MILLRACE, "turnaround", "-"], stdin=subprocess.PIPE, bufsize=0,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        program.stdin.write(captures.pcapng(scene, 220))
        end = time.monotonic() + e2e.DEADLINE_S
        while not waits_for_input(program, program.stdin) and time.monotonic() < end:
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=e2e.DEADLINE_S) == 130
        said = program.stdout.read().decode()
        assert f"turnaround {statistics.median(answers):g} us" in said, said


with e2e.temporary_folder() as scratch:
    every_form(scratch)
    network(scratch)
    udp_ladder_step(scratch)
    bad_input(scratch)
    text_with_a_preface(scratch)
    standard_input(scratch)
    quiet_pipe()
