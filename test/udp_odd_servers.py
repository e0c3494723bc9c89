# SPDX-License-Identifier: Apache-2.0
"""`millrace udp bench` against servers that do everything but echo: each class of loss by its own
name and number, a flood, a server that ends, and Ctrl-C in each part of a run."""
import concurrent.futures
import json
import pathlib
import signal
import socket
import threading
import time

import e2e
from e2e import DEADLINE_S, fails, measure, temporary_folder

REQUESTS, FIFTH = 50, 10
SHORT = ("--first", "200", "--top", "200", "--step-ms", "250", "--passes", "1", "--no-aftermath",
         "--probe-ms", "20000")
# So late is no reply on a loaded machine; what is lost is waited for twice as long.
PATIENT = ("--late-ms", "700")


class Server:
    """behave(server, number, data, sender) for each request of the run; the first session is that of
    the probe, which is echoed."""

    def __init__(self, behave, echoes_probe=True):
        self.behave, self.echoes_probe = behave, echoes_probe
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.target = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.number, self.probe, self.held, self.ended = 0, None, None, False
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def send(self, data, sender):
        self.socket.sendto(data, sender)

    def serve(self):
        while not self.ended:
            try:
                data, sender = self.socket.recvfrom(70000)
            except socket.timeout:
                continue
            if self.probe is None or self.probe[4:8] == data[4:8]:
                self.probe = data
                if self.echoes_probe:
                    self.send(data, sender)
                continue
            self.behave(self, self.number, data, sender)
            self.number += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        self.socket.close()


def is_fifth(number):
    return number % 5 == 0


def lost(server, number, data, sender):
    if not is_fifth(number):
        server.send(data, sender)


def twice(server, _, data, sender):
    server.send(data, sender)
    server.send(data, sender)


def altered(server, number, data, sender):
    server.send(data[:-1] + bytes([data[-1] ^ is_fifth(number)]), sender)


def cut(server, number, data, sender):
    server.send(data[:-1] if is_fifth(number) else data, sender)


def longer(server, number, data, sender):
    server.send(data + bytes(is_fifth(number)), sender)


def swapped(server, number, data, sender):
    if is_fifth(number):
        server.held = data
        return
    server.send(data, sender)
    if server.held:
        server.send(server.held, sender)
        server.held = None


def garbage(server, _, data, sender):
    server.send(b"?", sender)
    server.send(bytes(range(40)), sender)
    server.send(data, sender)


def others(server, _, data, sender):
    server.send(server.probe, sender)
    server.send(data, sender)


def storm(server, number, data, sender):
    if number == 0:
        def flood():
            while not server.ended:
                server.send(b"x" * 32, sender)
        threading.Thread(target=flood, daemon=True).start()
    server.send(data, sender)


def dying(server, number, data, sender):
    server.send(data, sender)
    if number == 20:
        server.ended = True
        server.socket.close()


def silent(_server, _number, _data, _sender):
    pass


class SmallBuffer(Server):
    """Gives back what is short, also of the probe."""

    def send(self, data, sender):
        if len(data) <= 500:
            super().send(data, sender)


def echo(server, _, data, sender):
    server.send(data, sender)


def only_step(server, *options, expect=0):
    outcome, result = measure("udp", "bench", server.target, *SHORT, *options, expect=expect)
    step = result["sizes"][0]["passes"][0]["steps"][0]
    assert step["sent"] + step["refused"] == REQUESTS, step
    return outcome, step


def loss(behave, options, code, counts):
    with Server(behave) as server:
        # A machine that is too busy makes the step invalid, which is exit code 1.
        outcome, step = only_step(server, *PATIENT, *options, expect=(code, 1))
        for name in ("lost", "late", "altered", "reordered", "foreign", "duplicate"):
            assert step[name] == counts.get(name, 0), (behave.__name__, name, outcome, step)


def losses():
    cases = ((echo, (), 0, {}),
             (lost, (), 0, {"lost": FIFTH}),
             (altered, (), 1, {"altered": FIFTH, "lost": FIFTH}),
             (cut, (), 1, {"altered": FIFTH, "lost": FIFTH}),
             (longer, (), 1, {"altered": FIFTH, "lost": FIFTH}),
             (altered, ("--size", "1472"), 1, {"altered": FIFTH, "lost": FIFTH}),
             (swapped, (), 0, {"reordered": FIFTH}),
             (garbage, (), 0, {"foreign": 2 * REQUESTS}),
             (others, (), 0, {"foreign": REQUESTS}))
    # They mostly wait for what does not come: at the same time.
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        list(pool.map(lambda case: loss(*case), cases))
    with Server(twice) as server:
        _, step = only_step(server, *PATIENT, expect=(0, 1))
        # The copy behind the last reply is not waited for.
        assert step["duplicate"] in (REQUESTS - 1, REQUESTS) and step["lost"] == 0, step

    def late(server, number, data, sender):
        if is_fifth(number):
            threading.Timer(0.4, server.send, (data, sender)).start()
        else:
            server.send(data, sender)

    with Server(late) as server:
        _, step = only_step(server, "--late-ms", "300", expect=(0, 1))
        assert step["late"] >= FIFTH and step["lost"] == 0, step
        assert step["answered"] + step["late"] == REQUESTS, step
        time.sleep(0.5)


def ends():
    with Server(storm) as server:
        _, step = only_step(server, *PATIENT, expect=(0, 1))
        assert step["foreign"] > REQUESTS, step
        assert step["answered"] + step["late"] + step["lost"] == step["sent"], step
    with Server(dying) as server, temporary_folder() as folder:
        path = pathlib.Path(folder) / "result.json"
        outcome = e2e.millrace("udp", "bench", server.target, *SHORT, *PATIENT, "--json", path,
                               expect=3)
        outcome.says("went away: refused, what echoed there has ended")
        result = e2e.validate(json.loads(path.read_text()))
        assert "went away" in result["error"], result
        step, = result["sizes"][0]["passes"][0]["steps"]
        assert step["answered"] == 21 and step["sent"] < REQUESTS, step
    with Server(silent, echoes_probe=False) as server:
        fails("udp", "bench", server.target, expect=3, says="no echo within 1000 ms")
    with SmallBuffer(echo) as server:
        fails("udp", "bench", server.target, "--size", "1472", expect=3,
              says=("no echo of 1472 bytes within 1000 ms, but of 32", "--size"))
    with Server(silent) as server:
        outcome, step = only_step(server, "--late-ms", "100", expect=1)
        assert step["answered"] == 0 and step["lost"] == step["sent"], step
        outcome.says("peak none: ")


def interrupts():
    """Wherever it is: the report, what was measured, 130."""
    quick = ("--first", "100", "--top", "200", "--width", "100", "--step-ms", "200", "--passes", "1")
    long = ("--first", "100", "--top", "100", "--step-ms", "60000", "--passes", "1")
    with Server(echo) as server, temporary_folder() as folder:
        path = pathlib.Path(folder) / "result.json"
        for words, part in ((long, None), (quick, "pass 1"), ((*quick, "--search", "ndr"), "search")):
            path.unlink(missing_ok=True)
            run = e2e.start("udp", "bench", server.target, *words, "--json", path)
            line = run.stdout.readline()
            while part and not line.startswith(part):
                line = run.stdout.readline()
                assert line or run.poll() is None, part
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=DEADLINE_S)
            # The quick ones may have been over.
            assert run.returncode in ((130,) if part is None else (130, 0, 1)), (run.returncode, err)
            assert err == "", err
            if run.returncode == 130:
                e2e.validate(json.loads(path.read_text()))
                assert "interrupted" in out, out
    with Server(silent, echoes_probe=False) as server:
        # By that alone: it would be waited for for a minute.
        run = e2e.start("udp", "bench", server.target, "--probe-ms", "60000")
        deadline = time.monotonic() + DEADLINE_S
        while server.probe is None and time.monotonic() < deadline:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=DEADLINE_S / 2)
        assert run.returncode == 130 and err == "", (run.returncode, err)
        assert out == "interrupted before the first step: nothing was measured\n", out
    fails("udp", "bench", "255.255.255.255", expect=3, says="a broadcast address?")
    with open("/dev/full", "w", encoding="ascii") as full, Server(echo) as server:
        words = [e2e.MILLRACE, "udp", "bench", server.target, *SHORT]
        done = e2e.subprocess.run(words, stdout=full, stderr=e2e.subprocess.PIPE, text=True,
                                  timeout=DEADLINE_S)
        assert done.returncode == 1 and "No space left" in done.stderr, done


losses()
ends()
interrupts()
