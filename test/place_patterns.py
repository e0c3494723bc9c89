# SPDX-License-Identifier: Apache-2.0
"""The fragment of `place --gnu-ld`, linked by the real ld: the function, its clones in whatever group
of sections, and nothing that is only spelled like it."""
import pathlib
import re
import subprocess

from e2e import measure, temporary_folder

TAKEN = ["f", "f.part.0", "f.constprop.1.isra.0", "hot.f", "unlikely.f.cold", "f.lto_priv.3", "f.llvm.77",
         "hot"]
# f.0 is a function within another one, as GNU C has them; hot.g is no clone of `hot`.
LEFT = ["f2", "ff.part.0", "f.0", "g.cold", "hot.f2", "hot.f.0", "xf", "hot.g", "startup.main"]
SCRIPT = """
ENTRY(main_startup)
SECTIONS {
  .text_first 0x60000000 : { *(.vectors) }
  .fast 0x20 : { %s . = ALIGN(4); }
  .text 0x60001000 : { *(.text .text.*) }
}
"""


def function(section):
    symbol = re.sub(r"^(hot|unlikely|startup)\.(.*)", r"\2_\1", section)
    return (f'.section ".text.{section}","ax",%progbits\n.global "{symbol}"\n'
            f'.type "{symbol}",%function\n.thumb_func\n"{symbol}": nop\n bx lr\n.size "{symbol}",4\n')


def link(folder, name, fragment):
    (folder / "a.ld").write_text(SCRIPT % fragment)
    elf = folder / name
    subprocess.run(["arm-none-eabi-ld", "--no-warn-rwx-segments", "-T", folder / "a.ld", folder / "a.o",
                    "-o", elf, "-Map", folder / "a.map"], check=True)
    return elf


def sections_below(map_text, end):
    """Input sections that stand below an address."""
    found = re.findall(r"^ \.text\.(\S+)\s+0x([0-9a-f]+)", map_text, re.M)
    return sorted(name for name, address in found if int(address, 16) < end)


with temporary_folder() as scratch:
    folder = pathlib.Path(scratch)
    (folder / "a.s").write_text(".syntax unified\n.cpu cortex-m7\n.thumb\n" +
                                "".join(function(one) for one in TAKEN + LEFT))
    subprocess.run(["arm-none-eabi-as", "-mcpu=cortex-m7", "-mthumb", folder / "a.s", "-o",
                    folder / "a.o"], check=True)
    stock = link(folder, "stock.elf", "")
    (folder / "pcs.txt").write_text("0x60001000\n" * 50)
    fragment = folder / "fast.ld"
    measure("place", stock, folder / "pcs.txt", "--target", "teensy41", "--budget", "1K",
            "--pin", "f", "--pin", "hot", "--gnu-ld", fragment)
    text = fragment.read_text()
    assert len(re.search(r"\.text\.f .*", text).group(0)) < 100, text
    link(folder, "placed.elf", text)
    fast = sections_below((folder / "a.map").read_text(), 0x60000000)
    assert fast == sorted(TAKEN), (fast, text)
