# SPDX-License-Identifier: Apache-2.0
"""`millrace udp bench` against `millrace udp echo` over the loopback interface, and every wrong
target and option: one sentence, the right exit code. How fast it is, is not looked at: a loaded
machine may make every step invalid, which is exit code 1."""
import os
import re
import shutil
import signal
import subprocess

from e2e import DEADLINE_S, MILLRACE, fails, measure, millrace, start

# A machine that does much else: neither is the server gone when it does not answer at once.
PATIENT = ("--late-ms", "10000", "--probe-ms", "20000")

server = start("udp", "echo", "--address", "127.0.0.1", "--port", "0")
port = re.fullmatch(r"echoes at 127\.0\.0\.1 port (\d+)\n", server.stdout.readline())[1]
target = f"127.0.0.1:{port}"

outcome, result = measure("udp", "bench", target, "--first", "200", "--width", "200", "--top", "400",
                          "--step-ms", "100", "--passes", "2", "--size", "32,1472",
                          "--search", "pdr", "--pdr-loss", "50", "--resolution", "100",
                          *PATIENT, expect=(0, 1))
assert [ladder["bytes"] for ladder in result["sizes"]] == [32, 1472]
for ladder in result["sizes"]:
    assert [len(p["steps"]) for p in ladder["passes"]] == [2, 2]
    for step in (s for p in ladder["passes"] for s in p["steps"]):
        assert step["planned"] == step["rate_per_s"] / 10, step
        assert step["sent"] + step["refused"] == step["planned"], step
        assert step["answered"] + step["late"] == step["sent"], step
        assert step["altered"] == step["duplicate"] == 0, step
        assert step["rtt_ns"]["count"] == step["answered"], step
    assert ladder["search"]["trials"], ladder["search"]
    assert ladder["port"]["interface"] == "lo"
outcome, result = measure("udp", "bench", target, "--in-flight", "16", "--step-ms", "100",
                          "--passes", "1", *PATIENT, expect=(0, 1))
assert result["sizes"][0]["passes"][0]["steps"][0]["answered"] >= 16
table = millrace("udp", "bench", target, "--top", "500", "--step-ms", "20", "--passes", "1",
                 "--no-aftermath", "--csv", "-", *PATIENT, expect=(0, 1))
assert table.out.startswith("bytes,pass,offered/s,"), table
assert len(table.out.splitlines()) == 2, table

server.send_signal(signal.SIGINT)
said, _ = server.communicate(timeout=DEADLINE_S)
assert server.returncode == 0 and re.fullmatch(r"[\d,]+ received, [\d,]+ sent back\n", said), said
fails("udp", "bench", target, expect=3, says="refused, nothing echoes there")

BAD = (
    (("--size", "31"), "give 32 to 65507"), (("--size", "65508"), "give 32 to 65507"),
    (("--first", "600", "--top", "500"), "--first is above --top"),
    (("--width", "0.001"), "29,500,001 steps are more than 10,000"),
    (("--top", "100000000", "--width", "100000000"), "more than 100,000,000 datagrams"),
    (("--in-flight", "2", "--search", "ndr"), "no rate to search for"),
    (("--host-address", "1.2.3.4"), "are for board: targets"),
    (("--first", "nan"), "give a number above 0, at most 100,000,000"), (("--top", "-1"), "give a number"),
    (("--passes", "0"), "--passes"), (("--port", "65536"), "--port"),
)
for words, says in BAD:
    fails("udp", "bench", target, *words, expect=2, says=says)
for bad in ("1.2.3.4:0", "1.2.3.4:x", "[::1", ":7"):
    fails("udp", "bench", bad, expect=2, says="write ADDRESS")
fails("udp", "bench", "board:", expect=2, says="names no image")
fails("udp", "bench", "board:/nowhere.elf", expect=2, says="/nowhere.elf")
fails("udp", "bench", "board:x.elf", "--size", "1473", expect=2, says="1472 at most")
fails("udp", "echo", "--address", "nowhere", expect=2, says="is no address")
fails("udp", "echo", "--address", "192.0.2.77", expect=2, says="an address of this machine?")
fails("udp", "counters", target, expect=3, says="tells no counters on port 4243")
fails("udp", "counters", "1.2.3.4:0", expect=2, says="write ADDRESS")
fails("udp", "counters", "127.0.0.1", "--device-address", "1.2.3.4", expect=2, says="are for board:")
fails("udp", "doctor", "usb:1", expect=2, says="usb:VID:PID")

# Networks as they should not be, in a namespace of the test.
# Root needs no user namespace, which a container or a chroot may not make.
NAMESPACE = ("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "--net", "sh", "-c")
if subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0:
    def alone(setup, *words, expect, says):
        done = subprocess.run([*NAMESPACE, f"{setup}; exec \"$@\"", "sh", MILLRACE, *words],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == expect and says in done.stderr, (words, done)
        assert len(done.stderr.splitlines()) == 1, done

    alone("true", "udp", "bench", "192.168.7.1", expect=3, says="no way to this network")
    alone("true", "udp", "bench", "no.such.name", expect=2, says="target no.such.name:")
    alone("true", "udp", "doctor", expect=3, says="there is no USB network interface")
    if shutil.which("ip"):
        alone("ip link set lo mtu 1000 up", "udp", "bench", "127.0.0.1", "--size", "1000",
              expect=2, says="do not fit into the MTU of 1000 (972 bytes do")
        alone("ip link set lo mtu 1000 up", "udp", "bench", "127.0.0.1", "--size", "1000",
              "--allow-fragments", expect=3, says="refused")
        alone("ip link set lo up", "udp", "bench", "fe80::1", expect=2, says="needs its interface")
        veth = ("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up && "
                "ip addr add 192.168.7.2/24 dev d0")
        if subprocess.run([*NAMESPACE, veth], capture_output=True).returncode == 0:
            alone(veth, "udp", "bench", "192.168.7.1", expect=3, says="nobody answers ARP")
            alone(veth, "udp", "bench", "192.168.7.255", expect=3, says="a broadcast address?")
            alone(veth, "udp", "bench", "10.0.0.1", expect=3, says="no way to this network")
            alone(f"{veth}; ip route add default via 192.168.7.9", "udp", "bench", "10.0.0.1", expect=3,
                  says="in no network of this machine: reached by a router")
            alone(f"{veth}; ip route add blackhole 10.0.0.0/8", "udp", "bench", "10.0.0.1", expect=3,
                  says="a route refuses it")
            alone(veth, "udp", "bench", "192.168.7.1", "--size", "1473", expect=2,
                  says="do not fit into the MTU of 1500 (1472 bytes do")

# IPv6, and fragments: 65,507 bytes in parts.
server = start("udp", "echo", "--address", "::1", "--port", "0")
line = server.stdout.readline()
if match := re.fullmatch(r"echoes at ::1 port (\d+)\n", line):
    _, result = measure("udp", "bench", f"[::1]:{match[1]}", "--in-flight", "2", "--step-ms", "500",
                        "--passes", "1", "--size", "32,65507", "--allow-fragments", *PATIENT,
                        expect=(0, 1))
    for ladder in result["sizes"]:
        step = ladder["passes"][0]["steps"][0]
        assert step["answered"] == step["sent"] > 0 and step["altered"] == 0, step
    server.send_signal(signal.SIGINT)
server.communicate(timeout=DEADLINE_S)
