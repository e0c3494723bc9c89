#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of a link does the reliable stream use, clean and damaged, and what do ZMODEM and Kermit?

1. On a PTY of this machine, in turns: the raw verified rate (serial bench, frames of 4 KB) and the
   goodput of link bench; the ratio is what counts.
2. One file through the same relay of two PTYs that damages it: link receive, sz/rz, kermit. Goodput,
   wire bytes per byte, CPU of both ends (without the relay), bytes wrong.
usage: link_goodput.py PATH_TO_MILLRACE [--megabytes N] [--repeat N] [--part ...] [--only ...]
"""
import argparse
import hashlib
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tty

LIMIT_S = 60
DAMAGES = [("clean", None, 0), ("flip 1/1e6", "flip", 1e6), ("flip 1/1e5", "flip", 1e5),
           ("drop 1-512 1/1e6", "drop", 1e6), ("drop 1-512 1/1e5", "drop", 1e5)]


def raw(fd):
    tty.setraw(fd, termios.TCSANOW)


class Relay:
    """Copies between two descriptors; damages what goes from a to b."""

    def __init__(self, a, b, kind, every, seed):
        self.a, self.b, self.kind, self.every = a, b, kind, every
        self.random = random.Random(seed)
        self.forward = self.backward = self.damages = 0
        self.left = self.gap()
        self.stop = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def gap(self):
        return int(self.random.expovariate(1 / self.every)) if self.kind else 1 << 62

    def damage(self, data):
        if len(data) <= self.left:
            self.left -= len(data)
            return data
        out = bytearray()
        while len(data) > self.left:
            out += data[:self.left]
            data = data[self.left:]
            self.damages += 1
            if self.kind == "flip":
                out.append(data[0] ^ 1 << self.random.randrange(8))
                data = data[1:]
            else:
                data = data[self.random.randint(1, 512):]
            self.left = self.gap()
        self.left -= len(data)
        return bytes(out + data)

    def put(self, fd, data):
        while data and not self.stop:
            try:
                data = data[os.write(fd, data):]
            except BlockingIOError:
                select.select([], [fd], [], 0.01)

    def run(self):
        for fd in (self.a, self.b):
            os.set_blocking(fd, False)
        while not self.stop:
            ready, _, _ = select.select([self.a, self.b], [], [], 0.05)
            for fd in ready:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    continue
                if fd == self.a:
                    self.forward += len(data)
                    self.put(self.b, self.damage(data))
                else:
                    self.backward += len(data)
                    self.put(self.a, data)

    def close(self):
        self.stop = True
        self.thread.join()


def run_pair(start_sender, start_receiver, done, relay):
    """Seconds until `done` or the limit, and CPU seconds of both."""
    usage = os.times()
    start = time.monotonic()
    receiver = start_receiver()
    sender = start_sender()
    while time.monotonic() - start < LIMIT_S and not done(sender, receiver):
        time.sleep(0.005)
    seconds = time.monotonic() - start
    for process in (sender, receiver):
        if process.poll() is None:
            try:
                process.wait(0.3)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        process.wait()
    relay.close()
    after = os.times()
    return seconds, (after.children_user - usage.children_user +
                     after.children_system - usage.children_system)


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
                            lambda s, r: s.poll() is not None, relay)
    for fd in (master_a, slave_a, master_b, slave_b):
        os.close(fd)
    return path, seconds, cpu, relay


def ours(millrace, folder, size, kind, every, seed):
    device = subprocess.Popen([millrace, "device", "pc", "--protocol", "link"],
                              stdout=subprocess.PIPE)
    device_tty = os.open(device.stdout.readline().decode().strip(), os.O_RDWR | os.O_NOCTTY)
    raw(device_tty)
    master, slave = pty.openpty()
    raw(slave)
    relay = Relay(device_tty, master, kind, every, seed)
    path = folder / "ours"

    def receiver():
        return subprocess.Popen([millrace, "link", "receive", os.ttyname(slave), "-o", str(path),
                                 "--command", f"source {size}"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def end(sender, process):
        if process.poll() is None:
            return False
        device.terminate()
        return True

    seconds, cpu = run_pair(lambda: device, receiver, end, relay)
    for fd in (device_tty, master, slave):
        os.close(fd)
    return path, seconds, cpu, relay


KERMIT = ("set line TTY, set carrier-watch off, set flow none, set file type binary, set prefixing all,"
          "set reliable off, set block 3, set send packet 4000, set receive packet 4000, set window 16,")


def clean_ratio(millrace, repeat, folder):
    raw_rates, link_rates = [], []
    for _ in range(repeat):
        for words, rates, key in ((["serial", "bench", "pc:", "--frame-size", "4K", "--frames", "16Ki"],
                                   raw_rates, "bytes_per_s"),
                                  (["link", "bench", "pc:link", "--bytes", "64M"], link_rates,
                                   "bytes_per_s")):
            path = folder / "result.json"
            subprocess.run([millrace, *words, "--json", str(path)], check=True,
                           stdout=subprocess.DEVNULL)
            rates.append(json.loads(path.read_text())["runs"][0][key])
    ratios = [a / b for a, b in zip(link_rates, raw_rates)]
    print(f"PTY, clean, n = {repeat}: raw verified {statistics.median(raw_rates) / 1e6:.1f} MB/s "
          f"(best {max(raw_rates) / 1e6:.1f}), link {statistics.median(link_rates) / 1e6:.1f} "
          f"(best {max(link_rates) / 1e6:.1f}); ratio of bests {max(link_rates) / max(raw_rates):.3f}, "
          f"median of pairs {statistics.median(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("millrace")
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--part", choices=["all", "clean", "damaged"], default="all")
    parser.add_argument("--only", help="comma-separated: link, ZMODEM, Kermit")
    options = parser.parse_args()
    millrace = os.path.abspath(options.millrace)
    size = options.megabytes * 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.part != "damaged":
            clean_ratio(millrace, options.repeat, folder)
        if options.part == "clean":
            return 0
        # The same bytes for all: those that the link's device makes.
        subprocess.run([millrace, "link", "receive", "pc:link", "-o", str(folder / "file"), "--command",
                        f"source {size}"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        original = (folder / "file").read_bytes()
        runs = {"link": lambda *d: ours(millrace, folder, size, *d)}
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
        print(f"{'damage':18} {'':8} {'MB/s':>7} {'wire/byte':>10} {'CPU ns/B':>9} {'bytes wrong':>12}")
        for label, kind, every in DAMAGES:
            for name, run in runs.items():
                rows = []
                for seed in range(options.repeat):
                    path, seconds, cpu, relay = run(kind, every, seed)
                    rows.append((size / seconds / 1e6, relay.forward / size, cpu / size * 1e9,
                                 wrong_bytes(original, path)))
                    path.unlink(missing_ok=True)
                rate, wire, cpu, _ = (statistics.median(column) for column in zip(*rows))
                wrong = max(row[3] for row in rows)
                print(f"{label:18} {name:8} {rate:7.1f} {wire:10.4f} {cpu:9.1f} {wrong:12,}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
