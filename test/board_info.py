# SPDX-License-Identifier: Apache-2.0
"""`board info` on a bootable image as binary, HEX and ELF, and on files that do not boot."""
import os
import pathlib
import struct
import subprocess

import e2e

FLASH = 0x60000000
ASSEMBLY = """
  .syntax unified
  .cpu cortex-m7
  .thumb
  .section .header, "a"
  .word 0x42464346, 0x56010000, 0, 0x00020101  /* tag, version, -, sample clock, hold, setup */
  .org 0x44
  .word 0x01060401                             /* serial NOR, 4 pads, clock code 6 */
  .org 0x50
  .word 0x00800000
  .org 0x80
  .word 0x0A1804EB, 0x32041EFF, 0x00002601     /* read: EBh, 24 bits, 8 mode bits, 4 dummies */
  .org 0x1000
  .word 0x432000D1, reset, 0, 0, 0x60001020, 0x60001000, 0, 0
  .word 0x60000000, 0x2000, 0
  .text
  .thumb_func
  .global reset
  .type reset, %function
reset:
  b.w reset
  .size reset, . - reset
  .bss
buffer:
  .space 640
"""
SCRIPT = """
ENTRY(reset)
SECTIONS {
  .header 0x60000000 : { *(.header) . = ALIGN(64); }
  .text 0x100 : AT(0x60001400) { *(.text) }
  .note.gnu.build-id 0x60001500 : AT(0x60001500) { *(.note.gnu.build-id) }
  .bss 0x20000000 (NOLOAD) : { *(.bss) }
}
"""


def header(entry):
    flash = bytearray(b"\xff" * 0x1404)
    flash[0:512] = bytes(512)
    struct.pack_into("<4I", flash, 0, 0x42464346, 0x56010000, 0, 0x00020101)
    struct.pack_into("<I", flash, 0x44, 0x01060401)
    struct.pack_into("<I", flash, 0x50, 0x00800000)
    struct.pack_into("<3I", flash, 0x80, 0x0A1804EB, 0x32041EFF, 0x00002601)
    struct.pack_into("<8I", flash, 0x1000, 0x432000D1, entry, 0, 0, FLASH + 0x1020, FLASH + 0x1000,
                     0, 0)
    struct.pack_into("<3I", flash, 0x1020, FLASH, len(flash), 0)
    struct.pack_into("<HH", flash, 0x1400, 0xE7FE, 0xE7FE)
    return flash


with e2e.temporary_folder() as name:
    folder = pathlib.Path(name)
    flash = header(FLASH + 0x1401)
    binary = folder / "a.bin"
    binary.write_bytes(flash)
    outcome, document = e2e.measure("board", "info", binary)
    assert max(map(len, outcome.out.splitlines())) <= 100, outcome
    outcome.says("the boot ROM jumps to 0x60001400", "clock 100 MHz (code 6), 4 pads",
                 "20 clocks before the data")
    boot, image = document["boot"], document["image"]
    assert boot["boots"] and boot["error"] == "" and boot["start"] == "code", boot
    assert boot["pc"] == FLASH + 0x1400, boot
    assert boot["flexspi"]["serial_clock_khz"] == 100000, boot
    assert boot["boot_data"] == {"start": FLASH, "length_bytes": 0x1404, "plugin": 0}, boot
    assert image["kind"] == "binary" and image["sections"] == [], image
    assert image["segments"] == [{"address": FLASH, "memory": "flash", "size_bytes": 0x1404}]

    # The same with objcopy's HEX file.
    hexfile = folder / "a.hex"
    subprocess.run(["arm-none-eabi-objcopy", "-I", "binary", "-O", "ihex",
                    "--change-addresses", hex(FLASH), binary, hexfile], check=True)
    _, from_hex = e2e.measure("board", "info", hexfile)
    assert from_hex["image"]["kind"] == "hex"
    assert from_hex["image"]["segments"] == image["segments"]
    assert from_hex["boot"] == boot

    # A linked ELF whose code is stored in flash and runs in ITCM: the entry is in flash's header,
    # but nothing is there before the program has copied it.
    (folder / "a.s").write_text(ASSEMBLY)
    (folder / "a.ld").write_text(SCRIPT)
    elf = folder / "a.elf"
    subprocess.run(["arm-none-eabi-as", folder / "a.s", "-o", folder / "a.o"], check=True)
    subprocess.run(["arm-none-eabi-ld", "-T", folder / "a.ld", "--build-id=0x0123456789abcdef",
                    folder / "a.o", "-o", elf], check=True)
    outcome, document = e2e.measure("board", "info", elf, expect=1)
    outcome.says("0x00000101, where the image has nothing", "it does not boot")
    assert not document["boot"]["boots"] and document["boot"]["pc"] is None
    image = document["image"]
    assert image["kind"] == "elf" and image["entry_address"] == 0x101, image
    assert image["functions"] == 1 and image["build_id_hex"] == "0123456789abcdef", image
    sections = {section["name"]: section for section in image["sections"]}
    text = sections[".text"]
    assert (text["run_memory"], text["load_memory"], text["load_address"], text["size_bytes"]) == (
        "ITCM", "flash", FLASH + 0x1400, 4), text
    assert sections[".bss"]["load_address"] is None, sections
    memories = {memory["name"]: memory for memory in document["memories"]}
    assert memories["ITCM"]["run_bytes"] == 4 and memories["ITCM"]["stored_bytes"] == 0, memories
    assert memories["DTCM"]["run_bytes"] == 640, memories

    # Linked to run where it is stored, it boots, and the function has its name.
    (folder / "a.ld").write_text(SCRIPT.replace(".text 0x100", ".text 0x60001400"))
    subprocess.run(["arm-none-eabi-ld", "-T", folder / "a.ld", folder / "a.o", "-o", elf],
                   check=True)
    e2e.millrace("board", "info", elf).says("the boot ROM jumps to 0x60001400 (reset)")

    # In RAM: started through its vector table, if it is told where it stands.
    ram = folder / "ram.bin"
    ram.write_bytes(struct.pack("<4I", 0x20020000, 0x00000009, 0xE7FEE7FE, 0))
    e2e.millrace("board", "info", ram, "--address", 0).says("table at 0x00000000: 0x00000008")
    e2e.millrace("board", "info", ram, expect=1).says("expected the FlexSPI configuration block")
    e2e.fails("board", "info", elf, "--address", "0x60000000", expect=2, says="its own addresses")

    # What cannot be read, what is no image, what is damaged.
    e2e.fails("board", "info", folder / "none", expect=2, says="there is no such file")
    e2e.fails("board", "info", folder, expect=2, says="a folder")
    e2e.fails("board", "info", "/dev/zero", expect=2, says="not a regular file")
    e2e.fails("board", "info", os.path.realpath("/bin/sh"), expect=1, says="64-bit")
    e2e.fails("board", "info", folder / "a.o", expect=1, says="object file")
    (folder / "empty").write_bytes(b"")
    e2e.fails("board", "info", folder / "empty", expect=1, says="empty")
    lines = hexfile.read_text().splitlines(True)
    hexfile.write_text("".join(lines[:-1]))
    e2e.fails("board", "info", hexfile, expect=1, says=("a.hex", "without the end record"))
    hexfile.write_text("".join(lines[:5] + [lines[5][:-3] + "\n"] + lines[6:]))
    e2e.fails("board", "info", hexfile, expect=1, says="a.hex line 6")
    elf.write_bytes(elf.read_bytes()[:-1])
    e2e.fails("board", "info", elf, expect=1, says="cut short")
    flash += b"\xff" * (0x800001 - len(flash))
    binary.write_bytes(flash)
    e2e.millrace("board", "info", binary, expect=1).says("would not load", "8388608 bytes of flash")
    e2e.fails("board", "info", binary, "--address", "4294967296", expect=2, says="--address")
