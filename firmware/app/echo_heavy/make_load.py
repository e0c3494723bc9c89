#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes echo_load.cc: an application that is as large as it is pointless.

make_load.py OUT.cc [--functions N] [--lines N] [--passes N] [--again PERCENT] [--seed N]
             [--cold PERCENT]

All of `functions` run for each echo, and together cover `lines` 32-byte lines of code, each line
`passes` times in a row. When all have run, `again` percent of them do so once more, as the locks and
buffers of an application are called all over it: what the cache has lost meanwhile comes again.
Between the functions stands code that never runs, `cold` percent of the hot: without it, hot code
would lie in one piece, and an instruction cache of its size would hold it. Real applications are not
so lucky. The same numbers and seed give the same file.

The result depends on every operation, and is known here without a compiler: the file says what
comes of one example.
"""
import argparse
import random

MASK = 0xFFFFFFFF
# Bytes of Thumb-2 code that g++ 12 makes: of a step (EOR with a shifted operand, ADDW), of a function
# around its steps, and of a call. test/rt1062_echo_heavy.py holds the sum to its promise.
STEP_BYTES = 8
FRAME_BYTES = 26
CALL_BYTES = 4
LINE_BYTES = 32
EXAMPLE = bytes(range(32))


class Function:
    def __init__(self, number, steps, generator):
        self.number = number
        self.steps = [(generator.randrange(3, 29), generator.randrange(257, 4096) | 1)
                      for _ in range(steps)]
        self.rare = generator.getrandbits(32)

    def run(self, x, passes):
        for _ in range(passes):
            for shift, addend in self.steps:
                x = ((x ^ (x >> shift)) + addend) & MASK
        return x

    def body(self, indent):
        for shift, addend in self.steps:
            yield f"{indent}x = (x ^ x >> {shift}) + {addend};"


def sizes(total, count, generator):
    """`count` whole numbers from 1 on, uneven as functions are, that add up to `total`."""
    weights = [generator.lognormvariate(0, 0.6) for _ in range(count)]
    scale = (total - count) / sum(weights)
    out = [1 + int(weight * scale) for weight in weights]
    for i in range(total - sum(out)):
        out[i % count] += 1
    return out


def make(arguments):
    generator = random.Random(arguments.seed)
    code_bytes = arguments.lines * LINE_BYTES
    # A function begins and ends within a line: half a line at each end is another's.
    code_bytes -= arguments.functions * LINE_BYTES * 15 // 16
    again = arguments.functions * arguments.again // 100
    code_bytes -= arguments.functions * FRAME_BYTES + (arguments.functions + again) * CALL_BYTES
    steps = code_bytes // STEP_BYTES
    if steps < arguments.functions:
        raise SystemExit(f"{arguments.lines} lines are too few for {arguments.functions} functions")
    hot = [Function(i, n, generator)
           for i, n in enumerate(sizes(steps, arguments.functions, generator))]
    cold_steps = max(steps * arguments.cold // 100, arguments.functions)
    cold = [Function(i, n, generator)
            for i, n in enumerate(sizes(cold_steps, arguments.functions, generator))]
    order = list(range(arguments.functions))
    generator.shuffle(order)
    order += generator.sample(order, again)
    return hot, cold, order


def example(hot, order, passes):
    x = len(EXAMPLE)
    for byte in EXAMPLE:
        x = (x * 31 + byte) & MASK
    for number in order:
        x = hot[number].run(x, passes)
    return x


def write(out, arguments):
    hot, cold, order = make(arguments)
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             f"// Made by make_load.py: {arguments.functions} functions, {arguments.lines} lines, "
             f"{arguments.passes} passes, {arguments.again} % again, seed {arguments.seed}.",
             '#include "firmware/app/echo_heavy/echo_load.h"', "",
             "namespace millrace::firmware {", "",
             "// Not constants: the compiler must not unroll the loops.",
             f"uint32_t echo_load_passes = {arguments.passes};", "",
             "namespace {", ""]
    for function, rare in zip(hot, cold):
        lines.append(f"[[gnu::noinline]] uint32_t load_cold_{rare.number}(uint32_t x) {{")
        lines += rare.body("  ")
        lines += ["  return x;", "}", ""]
        lines.append(f"[[gnu::noinline]] uint32_t load_hot_{function.number}(uint32_t x, "
                     "uint32_t passes) {")
        lines.append("  for (uint32_t pass = 0; pass < passes; ++pass) {")
        lines += function.body("    ")
        lines.append("  }")
        # Taken for one value in 2^32, which no compiler can know.
        lines.append(f"  if (x == 0x{function.rare:08x}u) return load_cold_{rare.number}(passes);")
        lines += ["  return x;", "}", ""]
    lines += ["}  // namespace", "",
              "uint32_t echo_load(const uint8_t* payload, size_t size) {",
              "  const uint32_t passes = echo_load_passes;",
              "  uint32_t x = static_cast<uint32_t>(size);",
              "  for (size_t i = 0; i < size && i < 32; ++i) x = x * 31 + payload[i];"]
    lines += [f"  x = load_hot_{number}(x, passes);" for number in order]
    lines += ["  return x;", "}", "",
              "uint32_t echo_load_of_example() { return "
              f"0x{example(hot, order, arguments.passes):08x}u; }}", "",
              "}  // namespace millrace::firmware", ""]
    with open(out, "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--lines", type=int, default=980)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--again", type=int, choices=range(101), metavar="PERCENT", default=65)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cold", type=int, default=400)
    arguments = parser.parse_args()
    write(arguments.out, arguments)


if __name__ == "__main__":
    main()
