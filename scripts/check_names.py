#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a target are compiled together (cmake/millrace.cmake, millrace_join): a function in the
anonymous namespace of one could be called from another that has its own of that name. So such
names are unique in a target. Reads the lists of the build folder.
usage: check_names.py BUILD_DIR"""
import collections
import os
import re
import sys

# A definition in clang-format's layout: at the start of a line, with its return type.
FUNCTION = re.compile(r"(?:\[\[\w+\]\] )?(?:[A-Za-z_][\w:<>,*& ]*[ *&])(\w+)\(")


def local_functions(path):
    names, inside = set(), False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("namespace {"):
                inside = True
            elif line.startswith("}  // namespace"):
                inside = False
            elif inside and not line.startswith(("TEST", "using ", "return ", "//")):
                found = FUNCTION.match(line)
                if found:
                    names.add(found[1])
    return names


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    bad = joined = 0
    for folder, _, files in os.walk(sys.argv[1]):
        if not folder.endswith(".dir/Unity"):
            continue
        where = collections.defaultdict(list)
        for name in files:
            if not name.endswith("_cxx.cxx"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as unit:
                sources = re.findall(r'#include "([^"]+)"', unit.read())
            joined += len(sources)
            for source in sources:
                for function in local_functions(source):
                    where[function].append(os.path.relpath(source))
        for function, sources in sorted(where.items()):
            if len(sources) > 1:
                bad += 1
                print(f"error: {function}() is local to {' and '.join(sorted(sources))}, which are "
                      "compiled together: rename all but one, or give it a header")
    if bad:
        sys.exit(1)
    print(f"names: ok, {joined} files")


main()
