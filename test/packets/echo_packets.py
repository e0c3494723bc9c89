# SPDX-License-Identifier: Apache-2.0
"""What the echo device answers, as tshark reads it: every checksum right, nothing malformed, DHCP
and mDNS as they were meant.  echo_packets.py DRIVER"""
import pathlib
import subprocess
import sys
import tempfile

FIELDS = ["_ws.col.Protocol", "eth.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.length",
          "arp.opcode", "icmp.type", "icmp.code", "dhcp.option.dhcp", "dhcp.ip.your",
          "dhcp.option.subnet_mask", "dns.id", "dns.flags.response", "dns.resp.name",
          "dns.resp.type", "dns.a", "dns.ptr.domain_name", "dns.resp.ttl", "ip.ttl"]
DEVICE = "06:e9:e5:12:34:56"


def tshark(path, *words):
    return subprocess.run(
        ["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
         *words], check=True, capture_output=True, text=True).stdout


def rows(path):
    words = ["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]
    for field in FIELDS:
        words += ["-e", field]
    return [dict(zip(FIELDS, line.split("|"))) for line in tshark(path, *words).splitlines()]


def holds(row, **expected):
    for name, value in expected.items():
        field = name.replace("__", ".")
        assert row[field] == value, f"{field} is {row[field]!r}, not {value!r}: {row}"


with tempfile.TemporaryDirectory() as folder:
    capture = pathlib.Path(folder) / "echo.pcap"
    subprocess.run([sys.argv[1], capture], check=True)
    bad = tshark(capture, "-Y", "ip.checksum.status == 0 || udp.checksum.status == 0 || "
                 "icmp.checksum.status == 0 || _ws.malformed || _ws.expert.severity == error")
    assert not bad, f"tshark finds fault with:\n{bad}"
    answers = [row for row in rows(capture) if row["eth.src"] == DEVICE]

announcement, arp, offer, ack, nak, pong, *rest = answers
empty, short, long, unreachable, counters, address, no_ipv6, pointer, plain = rest
A, PTR, NSEC = "1", "12", "47"
holds(announcement, ip__dst="224.0.0.251", ip__ttl="255", dns__a="192.168.7.1",
      dns__ptr__domain_name="millrace.local", dns__resp__type=f"{A},{PTR}",
      dns__resp__name="millrace.local,1.7.168.192.in-addr.arpa")
holds(arp, arp__opcode="2")
holds(offer, dhcp__option__dhcp="2", dhcp__ip__your="192.168.7.2",
      dhcp__option__subnet_mask="255.255.255.0", ip__dst="192.168.7.2")
holds(ack, dhcp__option__dhcp="5", dhcp__ip__your="192.168.7.2")
holds(nak, dhcp__option__dhcp="6", dhcp__ip__your="0.0.0.0", ip__dst="255.255.255.255")
holds(pong, icmp__type="0", ip__dst="192.168.7.2")
holds(empty, udp__length="8", udp__srcport="7", udp__dstport="50000")
holds(short, udp__length="39")
holds(long, udp__length="1480", udp__srcport="4242")
assert unreachable["icmp.type"] == "3" and unreachable["icmp.code"] == "3", unreachable
holds(counters, udp__srcport="4243", udp__length=str(8 + 12 + 4 * 43))
holds(address, dns__a="192.168.7.1", dns__resp__ttl="120", dns__id="0x0000")
# NSEC, and the one type in its bitmap.
holds(no_ipv6, dns__resp__type=f"{NSEC},{A}", dns__resp__name="millrace.local")
holds(pointer, dns__ptr__domain_name="millrace.local")
holds(plain, dns__a="192.168.7.1", dns__resp__ttl="10", dns__id="0x1234", ip__dst="192.168.7.2",
      udp__dstport="40000")
