#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the board's tests: puts one deliberate fault after the other into a copy of the tree
(test/board/mutants.txt) and expects the named tests to fail.

Usage: scripts/mutants.py [--work FOLDER] [--only TEXT] [--jobs N]

Builds board_test incrementally, about 20 s a fault. Exit 0: every fault was found; 1: one was not,
or does not fit the tree any more; 2: usage, or the tests fail without a fault.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "test/board/mutants.txt"
TIME_LIMIT_S = 300  # a fault that makes a test hang is found too


def unescape(text):
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")


def read_table():
    mutants = []
    for block in TABLE.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            fields = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "")
                          for line in lines)
            fields["old"] = unescape(fields["old"])
            fields["new"] = unescape(fields.get("new", ""))
            mutants.append(fields)
    return mutants


def copy_tree(work):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for name in names.stdout.decode().split("\0"):
        source, target = ROOT / name, work / name
        if not name or not source.is_file():
            continue
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def build(work, jobs):
    return subprocess.run(
        ["cmake", "--build", "build/mutants", "-j", str(jobs), "--target", "board_test"],
        cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def passes(work, filters):
    try:
        run = subprocess.run(["build/mutants/board/board_test", "--gtest_brief=1",
                              "--gtest_filter=" + filters], cwd=work, timeout=TIME_LIMIT_S,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def selects_tests(work, filters):
    listed = subprocess.run(["build/mutants/board/board_test", "--gtest_list_tests",
                             "--gtest_filter=" + filters], cwd=work, check=True, text=True,
                            stdout=subprocess.PIPE)
    return any(line.startswith("  ") for line in listed.stdout.splitlines())


def try_mutant(work, mutant, jobs):
    """What became of it: found, SURVIVED, or why it could not be tried."""
    path = work / mutant["file"]
    text = path.read_text()
    if text.count(mutant["old"]) != 1:
        return f"the old text stands {text.count(mutant['old'])} times in the file"
    path.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        built = build(work, jobs)
        if built.returncode != 0:
            return "does not build: " + next(
                (line for line in built.stdout.splitlines() if "error" in line), "no error line")
        return "SURVIVED" if passes(work, mutant["test"]) else "found"
    finally:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--only", default="", help="faults whose file or old text has this in it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    mutants = [m for m in read_table() if options.only in m["file"] + m["old"]]
    copy_tree(options.work)
    # A fault may leave something unused: warnings are off.
    configured = subprocess.run(
        ["cmake", "-S", ".", "-B", "build/mutants", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_CXX_FLAGS=-w", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"],
        cwd=options.work, stdout=subprocess.DEVNULL)
    if configured.returncode != 0 or build(options.work, options.jobs).returncode != 0:
        print("the tree does not build without a fault", file=sys.stderr)
        return 2
    filters = ":".join(sorted({m["test"] for m in mutants}))
    for mutant in mutants:
        if not selects_tests(options.work, mutant["test"]):
            print("there is no test " + mutant["test"], file=sys.stderr)
            return 2
    if not passes(options.work, filters):
        print("the tests fail without a fault: " + filters, file=sys.stderr)
        return 2
    bad = 0
    for number, mutant in enumerate(mutants, 1):
        outcome = try_mutant(options.work, mutant, options.jobs)
        bad += outcome != "found"
        first = mutant["old"].strip().splitlines()[0].strip()
        print(f"{number:3}/{len(mutants)} {outcome:9} {mutant['file']}: {first}", flush=True)
    print(f"{len(mutants)} faults, {len(mutants) - bad} found")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
