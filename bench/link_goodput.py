#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of a link does the reliable stream use, clean and damaged, and what do ZMODEM and Kermit?

clean: on a PTY of this machine, in turns: the raw verified rate (serial bench, frames of 4 KB) and
    the goodput of link bench; the ratio is what counts. CPU of both ends, in the program and in the kernel.
ratio: link bench through two PTYs and a relay that damages, in turns with the same relay undamaged.
stall: the same relay stands still for 120 ms: what it costs a producer that waits, and whether one
    that does not loses anything, below and above what the device's memory bridges.
peers: one file through the relay: link receive, sz/rz, kermit, and dd at both ends, which has no protocol:
    what the kernel's terminals cost, and what becomes of the file. Goodput of the whole command,
    wire bytes per byte, CPU of both ends (without the relay), bytes wrong.
usage: link_goodput.py PATH_TO_MILLRACE [--megabytes N] [--repeat N] [--part ...] [--only ...]
"""
import argparse
import hashlib
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import time
import tty

LIMIT_S = 60
DAMAGES = [("clean", "none", 0), ("flip 1/1e6", "flip", 1e6), ("flip 1/1e5", "flip", 1e5),
           ("drop 1-512 1/1e6", "drop", 1e6), ("drop 1-512 1/1e5", "drop", 1e5)]


def raw(fd):
    tty.setraw(fd, termios.TCSANOW)


class Relay:
    """damaging_relay between two descriptors; forward and damages are known after close()."""

    program = ""

    def __init__(self, a, b, kind, every, seed, stall=()):
        self.forward = self.damages = 0
        words = [self.program, a, b, kind, int(every) or 1, seed, *stall]
        self.process = subprocess.Popen([str(word) for word in words], pass_fds=(a, b),
                                        stdout=subprocess.PIPE)

    def close(self):
        if self.process.poll() is not None:
            return
        self.process.terminate()
        self.forward, _, self.damages = map(int, self.process.communicate()[0].split())


def cpu_seconds(process):
    """Waits for the process; CPU seconds that it used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def run_pair(start_sender, start_receiver, last, relay):
    """Seconds until `last` ("sender" or "receiver") ends or the limit, and CPU seconds of both."""
    start = time.monotonic()
    pair = {"receiver": start_receiver(), "sender": start_sender()}
    ended = os.pidfd_open(pair[last].pid)
    select.select([ended], [], [], LIMIT_S)
    seconds = time.monotonic() - start
    os.close(ended)
    other = os.pidfd_open(pair["sender" if last == "receiver" else "receiver"].pid)
    for process in pair.values():
        if process is pair[last] and seconds < LIMIT_S:
            continue
        if last == "sender" and seconds < LIMIT_S:
            select.select([other], [], [], 0.3)  # the receiver ends by itself, too
        # Not send_signal(), which would collect the process and its CPU time.
        os.kill(process.pid, signal.SIGKILL if last == "sender" else signal.SIGTERM)
    os.close(other)
    cpu = sum(cpu_seconds(process) for process in pair.values())
    relay.close()
    return seconds, cpu


def wrong_bytes(original, path):
    got = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(got).digest() == hashlib.sha256(original).digest():
        return 0
    same = sum(a == b for a, b in zip(got, original))
    return max(len(got), len(original)) - same


def two_ptys():
    pairs = [pty.openpty() for _ in range(2)]
    for _, slave in pairs:
        raw(slave)
    return pairs


def peer(sender_words, receiver_words, folder, size, kind, every, seed, on_stdin):
    (master_a, slave_a), (master_b, slave_b) = two_ptys()
    relay = Relay(master_a, master_b, kind, every, seed)
    path = folder / "in" / "file"
    (folder / "in").mkdir(exist_ok=True)
    path.unlink(missing_ok=True)

    def start(words, slave, cwd):
        words = [word.replace("TTY", os.ttyname(slave)) for word in words]
        stdio = dict(stdin=slave, stdout=slave) if on_stdin else dict(stdin=subprocess.DEVNULL,
                                                                      stdout=subprocess.DEVNULL)
        return subprocess.Popen(words, stderr=subprocess.DEVNULL, cwd=cwd, **stdio)

    seconds, cpu = run_pair(lambda: start(sender_words, slave_a, folder),
                            lambda: start(receiver_words, slave_b, folder / "in"),
                            "sender", relay)
    for fd in (master_a, slave_a, master_b, slave_b):
        os.close(fd)
    return path, seconds, cpu, relay


class Device:
    """`millrace device pc` behind a relay; `port` is what the host opens."""

    def __init__(self, millrace, kind, every, seed, stall=()):
        self.process = subprocess.Popen([millrace, "device", "pc", "--protocol", "link"],
                                        stdout=subprocess.PIPE)
        self.device_tty = os.open(self.process.stdout.readline().decode().strip(),
                                  os.O_RDWR | os.O_NOCTTY)
        self.master, self.slave = pty.openpty()
        raw(self.device_tty)
        raw(self.slave)
        self.port = os.ttyname(self.slave)
        self.relay = Relay(self.device_tty, self.master, kind, every, seed, stall)

    def close(self):
        self.relay.close()
        if self.process.returncode is None:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()
        for fd in (self.device_tty, self.master, self.slave):
            os.close(fd)


def ours(millrace, folder, size, kind, every, seed):
    device = Device(millrace, kind, every, seed)
    path = folder / "ours"

    def receiver():
        return subprocess.Popen([millrace, "link", "receive", device.port, "-o", str(path),
                                 "--command", f"source {size}"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    seconds, cpu = run_pair(lambda: device.process, receiver, "receiver", device.relay)
    device.close()
    return path, seconds, cpu, device.relay


def link_bench(millrace, folder, arguments, kind="none", every=0, seed=0, stall=()):
    """The run of `link bench` through a relay, as its JSON says."""
    device = Device(millrace, kind, every, seed, stall)
    path = folder / "bench.json"
    # Exit code 1 is a gap, which is what is asked about.
    subprocess.run([millrace, "link", "bench", device.port, *arguments, "--json", str(path)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    device.close()
    run = json.loads(path.read_text())["runs"][0]
    run["damages"] = device.relay.damages
    return run


def print_ratios(millrace, repeat, megabytes, folder):
    print(f"link bench, {megabytes} MB through the relay, in turns with the clean relay, n = {repeat}")
    print(f"{'damage':18} {'clean MB/s':>10} {'MB/s':>7} {'ratio':>7} {'least':>7} {'wire/byte':>10} "
          f"{'damages':>8} {'wrong':>6}")
    size = ["--bytes", str(megabytes * 1_000_000)]
    for label, kind, every in filter(lambda d: d[1] != "none", DAMAGES):
        rows = []
        for seed in range(repeat):
            clean = link_bench(millrace, folder, size)
            run = link_bench(millrace, folder, size, kind, every, seed)
            rows.append((clean["bytes_per_s"] / 1e6, run["bytes_per_s"] / 1e6,
                         run["bytes_per_s"] / clean["bytes_per_s"], run["wire_ratio"],
                         run["damages"], run["wrong_bytes"]))
        columns = list(zip(*rows))
        clean, rate, ratio, wire, damages, _ = (statistics.median(column) for column in columns)
        print(f"{label:18} {clean:10.1f} {rate:7.1f} {ratio:7.3f} {min(columns[2]):7.3f} {wire:10.4f} "
              f"{damages:8.0f} {max(columns[5]):6}", flush=True)


def print_stalls(millrace, repeat, folder):
    stall_ms = 120
    size = ["--bytes", "8000000"]  # short, so that the scatter of the rate is small beside the stall
    costs = []
    for _ in range(repeat):
        clean = link_bench(millrace, folder, size)
        run = link_bench(millrace, folder, size, stall=(4_000_000, stall_ms))
        costs.append((run["seconds"] - clean["seconds"]) * 1e3)
        assert run["wrong_bytes"] == 0 and run["statistics"]["gaps"] == 0
    print(f"a stall of {stall_ms} ms, a producer that waits, n = {repeat}: costs "
          f"{statistics.median(costs):.0f} ms ({min(costs):.0f} to {max(costs):.0f}), nothing lost")
    print(f"{'producer that does not wait':28} {'rate x stall':>12} {'memory':>9} {'gaps':>5} "
          f"{'bytes lost':>10} {'wrong':>6}")
    memory = run["device_buffer_bytes"]
    for part in (0.5, 0.9, 2):
        rate = int(part * memory / stall_ms * 1000)
        run = link_bench(millrace, folder, ["--bytes", str(rate), "--rate", str(rate), "--drop"],
                         stall=(rate // 2, stall_ms))
        print(f"{rate / 1e6:.1f} MB/s{'':20} {rate * stall_ms // 1000:12,} "
              f"{run['device_buffer_bytes']:9,} {run['statistics']['gaps']:5} "
              f"{run['statistics']['gap_bytes']:10,} {run['wrong_bytes']:6}", flush=True)


KERMIT = ("set line TTY, set carrier-watch off, set flow none, set file type binary, set prefixing all,"
          "set reliable off, set block 3, set send packet 4000, set receive packet 4000, set window 16,")


def print_clean(millrace, repeat, folder):
    size = 64 << 20
    commands = {"raw verified": ["serial", "bench", "pc:", "--frame-size", "4K", "--frames", "16Ki"],
                "link": ["link", "bench", "pc:link", "--bytes", str(size)]}
    rows = {name: [] for name in commands}
    path = folder / "result.json"
    for _ in range(repeat):
        for name, words in commands.items():
            process = subprocess.Popen([millrace, *words, "--json", str(path)],
                                       stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, words
            run = json.loads(path.read_text())["runs"][0]
            rows[name].append((run["bytes_per_s"] / 1e6, usage.ru_utime / size * 1e9,
                               usage.ru_stime / size * 1e9))
    rates = {name: [row[0] for row in rows[name]] for name in rows}
    ratios = [a / b for a, b in zip(rates["link"], rates["raw verified"])]
    print(f"PTY, clean, 64 MiB, both ends in one process, n = {repeat}; ratio: link / raw verified, "
          "median of pairs")
    print(f"{'':12} {'MB/s':>7} {'best':>7} {'ratio':>7} {'CPU ns/B':>9} {'program':>8} {'kernel':>7}")
    for name in rows:
        rate, program, kernel = map(statistics.median, zip(*rows[name]))
        ratio = f"{statistics.median(ratios):7.3f}" if name == "link" else f"{'':7}"
        print(f"{name:12} {rate:7.1f} {max(rates[name]):7.1f} {ratio} {program + kernel:9.1f} "
              f"{program:8.1f} {kernel:7.1f}", flush=True)


def print_peers(millrace, options, size, folder):
    # The same bytes for all: those that the link's device makes.
    subprocess.run([millrace, "link", "receive", "pc:link", "-o", str(folder / "file"), "--command",
                    f"source {size}"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    original = (folder / "file").read_bytes()
    runs = {"link": lambda *d: ours(millrace, folder, size, *d)}
    runs["dd"] = lambda *d: peer(["dd", "if=file", "of=TTY", "bs=64K", "status=none"],
                                 ["dd", "if=TTY", "of=file", "bs=64K", "status=none"], folder, size,
                                 *d, False)
    if shutil.which("sz") and shutil.which("rz"):
        runs["ZMODEM"] = lambda *d: peer(["sz", "-q", "-b", "file"], ["rz", "-q", "-b", "-y"], folder,
                                         size, *d, True)
    if shutil.which("kermit"):
        runs["Kermit"] = lambda *d: peer(["kermit", "-Y", "-C", KERMIT + "send file, exit"],
                                         ["kermit", "-Y", "-C", KERMIT + "receive, exit"], folder,
                                         size, *d, False)
    if options.only:
        runs = {name: run for name, run in runs.items() if name in options.only.split(",")}
    print(f"{size / 1e6:.0f} MB through a relay of two PTYs, median of {options.repeat}")
    print(f"{'damage':18} {'':8} {'MB/s':>7} {'least':>6} {'most':>6} {'wire/byte':>10} "
          f"{'CPU ns/B':>9} {'bytes wrong':>12}")
    for label, kind, every in DAMAGES:
        rows = {name: [] for name in runs}
        for seed in range(options.repeat):  # in turns
            for name, run in runs.items():
                path, seconds, cpu, relay = run(kind, every, seed)
                wrong = wrong_bytes(original, path)
                # A transfer that failed has no rate.
                rows[name].append((0 if wrong else size / seconds / 1e6, relay.forward / size,
                                   cpu / size * 1e9, wrong))
                path.unlink(missing_ok=True)
        for name in runs:
            columns = list(zip(*rows[name]))
            rate, wire, cpu, _ = (statistics.median(column) for column in columns)
            print(f"{label:18} {name:8} {rate:7.1f} {min(columns[0]):6.1f} {max(columns[0]):6.1f} "
                  f"{wire:10.4f} {cpu:9.1f} {max(columns[3]):12,}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("millrace")
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--part", choices=["all", "clean", "ratio", "stall", "peers"], default="all")
    parser.add_argument("--only", help="comma-separated: link, dd, ZMODEM, Kermit")
    parser.add_argument("--damage", help="only the damages whose name contains this")
    options = parser.parse_args()
    millrace = os.path.abspath(options.millrace)
    Relay.program = os.path.join(os.path.dirname(millrace), "bench", "damaging_relay")
    if not os.path.exists(Relay.program):
        parser.error(f"{Relay.program}: not there (make bench builds it)")
    if options.damage:
        DAMAGES[:] = [d for d in DAMAGES if options.damage in d[0]]
    size = options.megabytes * 1_000_000
    wanted = ["clean", "ratio", "stall", "peers"] if options.part == "all" else [options.part]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "clean" in wanted:
            print_clean(millrace, options.repeat, folder)
        if "ratio" in wanted:
            print_ratios(millrace, options.repeat, options.megabytes, folder)
        if "stall" in wanted:
            print_stalls(millrace, options.repeat, folder)
        if "peers" in wanted:
            print_peers(millrace, options, size, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
