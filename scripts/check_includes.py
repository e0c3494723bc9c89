#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the arrows between folders point one way, and a few rules that a compiler does not.

Run from anywhere: scripts/check_includes.py. Prints one line a finding, exits 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder -> what of ours it may include, besides itself. The longest matching folder counts.
ARROWS = {
    "link": [],
    "firmware/port": [],
    "firmware/app": ["millrace/link/", "firmware/port/"],
    "firmware/ports": ["millrace/link/", "firmware/port/", "firmware/app/"],
    "zephyr": ["millrace/link/", "firmware/port/", "firmware/app/", "firmware/ports/zephyr/"],
    "host": ["millrace/link/"],
    "host/capture": ["millrace/link/", "millrace/host/"],
    "host/udp": ["millrace/link/", "millrace/host/", "millrace/capture/"],
    "host/sampling": ["millrace/link/", "millrace/host/", "millrace/udp/"],
    "profile": ["millrace/link/", "samples/", "elf/", "attribution/", "output/", "footprint/"],
    "placement": ["millrace/link/", "millrace/profile/", "build_input/", "place/", "select/",
                  "units/", "value/"],
    "board/src/core": [],
    "board/src/memory": ["core/"],
    "board/src/cpu": ["core/", "memory/"],
    "board/src/devices": ["core/"],
    "board/src/usb": ["core/", "memory/", "devices/", "millrace/board/", "millrace/link/"],
    "board/src/ip": ["millrace/board/", "millrace/link/"],
    "board/src/image": ["core/", "memory/", "millrace/board/"],
    "board/src/trace": ["core/", "millrace/board/"],
    "board/src/board": ["core/", "memory/", "cpu/", "devices/", "usb/", "ip/",
                        "millrace/board/"],
    "board/src/gdb": ["core/", "memory/", "millrace/board/"],
    "board/include": [],
    "cli": ["millrace/host/", "millrace/capture/", "millrace/link/", "millrace/board/",
            "millrace/profile/", "millrace/placement/", "millrace/udp/", "millrace/sampling/",
            "firmware/ports/pc/"],
    "bench": ["millrace/", "firmware/", "host/", "cli/", "core/", "memory/", "cpu/", "image/"],
    "test": ["millrace/", "firmware/", "host/", "cli/", "core/", "memory/", "cpu/", "image/",
             "usb/"],
}
# Unit tests of a folder may also use the PC device, as the other end of a real PTY, and the packets
# and the board of the debugger's tests.
TEST_EXTRA = ["firmware/ports/pc/", "testing/", "gdb/", "gtest/", "gmock/"]
OURS = re.compile(r"^(core|memory|cpu|devices|usb|ip|image|trace|gdb|millrace|link|firmware|board|host|profile|record|report|cli|bench|test)/")
OWN_HEADERS = {"link": "millrace/link/", "host": "millrace/host/",
               "host/capture": "millrace/capture/", "host/udp": "millrace/udp/",
               "host/sampling": "millrace/sampling/", "profile": "millrace/profile/",
               "placement": "millrace/placement/", "board/include": "millrace/board/",
               "board/src/core": "core/", "board/src/memory": "memory/", "board/src/cpu": "cpu/",
               "board/src/image": "image/", "board/src/gdb": "gdb/",
               "board/src/devices": "devices/", "board/src/usb": "usb/", "board/src/ip": "ip/",
               "board/src/trace": "trace/", "board/src/board": "board/"}
# What a freestanding compiler has to offer, and the four functions it may call.
# Folders for one processor may use its intrinsics and ask the system what it can do.
PROCESSOR = ("link/src/x86/", "link/src/arm64/")
FREESTANDING = {"cstddef", "cstdint", "limits", "new", "type_traits", "string.h"}
MAX_LINES, MAX_TEST_LINES = 600, 1000


def folder_rule(path):
    best = None
    for folder in ARROWS:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def check(path, text):
    name = path.rsplit("/", 1)[-1]
    is_test = (bool(re.search(r"(_test|_fuzz|_bench)\.cc$", name)) or "/testing/" in path or
               bool(re.match(r"(test_.*|fake_.*|.*_fixture)\.h$", name)))
    lines = text.splitlines()
    head = "\n".join(lines[:3])
    if "SPDX-License-Identifier: Apache-2.0" not in head:
        yield "no SPDX line at the top"
    if path.endswith(".h") and "#pragma once" not in text:
        yield "no #pragma once"
    limit = MAX_TEST_LINES if is_test or path.startswith("test/") else MAX_LINES
    if len(lines) > limit:
        yield f"{len(lines)} lines, at most {limit}"
    rule = folder_rule(path)
    if rule is None:
        return
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        bracket, name = match.groups()
        if rule in ("link", "firmware/app", "firmware/port") and not is_test:
            if bracket == "<" and name not in FREESTANDING and not path.startswith(PROCESSOR):
                yield f"line {number}: <{name}> is not freestanding"
        if not OURS.match(name):
            continue
        allowed = ARROWS[rule] + [rule + "/"] + ([OWN_HEADERS[rule]] if rule in OWN_HEADERS else [])
        if is_test:
            allowed = allowed + TEST_EXTRA
        if not any(name.startswith(prefix) for prefix in allowed):
            yield f"line {number}: {rule}/ may not include {name}"


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    findings = 0
    for path in listed:
        if path.endswith((".cc", ".h", ".ino")) and (ROOT / path).is_file():
            for finding in check(path, (ROOT / path).read_text(encoding="utf-8")):
                print(f"{path}: {finding}")
                findings += 1
    readme = ROOT / "README.md"
    if readme.exists() and len(readme.read_text().splitlines()) > 150:
        print("README.md: more than 150 lines")
        findings += 1
    print(f"include check: {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
