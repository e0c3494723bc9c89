# SPDX-License-Identifier: Apache-2.0
"""The images of firmware/ports/rt1062, without a board: boot header, addresses, ELF against HEX."""
import sys

from e2e import SOURCE
from elf32 import ALLOC, EXEC, Elf32, read_hex

FOLDER = SOURCE / "build/arm/firmware/ports/rt1062"
PORT = SOURCE / "firmware/ports/rt1062"
FLASH, FLASH_END = 0x60000000, 0x60000000 + 7936 * 1024
DTCM, OCRAM = 0x20000000, 0x20200000
BANK = 32 * 1024


def check_boot_header(elf):
    # IMXRT1060RM, "FlexSPI NOR configuration block": tag, version, device type 1 and four pads at
    # 100 MHz (code 6), 8 MB, then the sequence CMD 0xEB | RADDR 24 | MODE8 | DUMMY 4 | READ.
    words = elf.words(FLASH, 128)
    assert words[0] == 0x42464346 and words[1] == 0x56010000, "FCB tag and version"
    assert words[0x0c // 4] & 0xff == 1, "sample clock from the DQS pad"
    assert words[0x44 // 4] & 0xffffff == 0x060401, "quad NOR at 100 MHz"
    assert words[0x50 // 4] == 8 << 20, "8 MB"
    assert words[0x80 // 4:0x90 // 4] == (0x0a1804eb, 0x32041eff, 0x00002601, 0), "read sequence"
    assert words[0x1c0 // 4:0x1c8 // 4] == (256, 4096), "page and sector"
    # "Image Vector Table" at 0x1000: header, entry, 0, DCD, boot data, self, CSF, 0.
    ivt = elf.words(FLASH + 0x1000, 8)
    reset = elf.functions["reset_handler"]
    assert ivt[0] == 0x432000d1 and ivt[1] == reset | 1 == elf.entry, "IVT header and entry"
    assert ivt[2:4] == (0, 0) and ivt[5] == FLASH + 0x1000 and ivt[6:] == (0, 0), "IVT"
    start, length, plugin = elf.words(ivt[4], 3)
    end = max(address + len(content) for address, content in elf.segments)
    assert (start, plugin) == (FLASH, 0) and length == end - FLASH, f"boot data: {length:#x}"
    for address, content in elf.segments:
        assert FLASH <= address and address + len(content) <= FLASH_END, f"{address:#x} not in flash"
    boot, size, _ = elf.sections[".boot"]
    assert boot <= reset < boot + size, "reset_handler runs from flash"


def check_vectors(elf, variant):
    vectors = elf.symbols["image_vectors"]
    assert vectors % 1024 == 0, f"vector table at {vectors:#x}"
    in_flash = vectors >= FLASH
    assert in_flash == (variant == "flash"), f"vector table at {vectors:#x}"
    load = vectors if in_flash else vectors - DTCM + elf.symbols["image_data_load"]
    words = elf.words(load, 176)
    assert words[0] == elf.symbols["image_stack_top"], "initial stack"
    assert words[1] == elf.entry, "reset vector"
    handlers = set(elf.functions.values())
    for number, word in enumerate(words[1:], 1):
        assert word & 1 and word & ~1 in handlers, f"vector {number}: {word:#x}"


def check_memories(elf, variant):
    stack, guard = elf.symbols["image_stack_top"], elf.symbols["image_stack_guard"]
    bottom = OCRAM if variant == "flash" else DTCM
    assert bottom <= guard and guard % 32 == 0 and guard + 4096 <= stack and stack % 8 == 0, "stack"
    # IOMUXC_GPR_GPR17: two bits a bank, ITCM = 3 from bank 0 on, DTCM = 2 for all others.
    banks = elf.symbols["image_flexram_banks"]
    codes = [banks >> 2 * i & 3 for i in range(16)]
    itcm = codes.count(3)
    assert codes == [3] * itcm + [2] * (16 - itcm) and itcm > 0, f"banks {banks:#x}"
    for name, (address, size, flags) in elf.sections.items():
        assert not flags & ALLOC or size == 0 or address >= 32, f"{name} in the null pointer guard"
    assert elf.symbols["image_itcm_end"] <= itcm * BANK, "ITCM is too small"
    if variant != "flash":
        assert stack == DTCM + (16 - itcm) * BANK, f"stack at {stack:#x}"


def check_code(elf, variant):
    """Where each function runs is what the variant says."""
    for name, (address, size, flags) in elf.sections.items():
        if flags & EXEC and size:
            assert name in (".boot", ".fast", ".code"), f"code in {name}"
    fast = {line for line in (PORT / "fast_functions.txt").read_text().split("\n")
            if line and not line.startswith("#")}
    boot, boot_size, _ = elf.sections[".boot"]
    seen = 0
    for name, address in elf.functions.items():
        if name.endswith(("_veneer", "_from_thumb")) or boot <= address < boot + boot_size:
            continue
        seen += 1
        in_itcm = address < 0x80000
        assert in_itcm or address >= FLASH, f"{name} at {address:#x}"
        if name in ("pit_handler", "millrace_sampler_interrupt") and in_itcm:
            continue  # the sampler's, in every variant
        if "run_in_itcm" in name or "run_in_flash" in name:  # latency_memory, in every variant
            assert in_itcm == ("run_in_itcm" in name), name
        elif variant == "mixed":
            # A handler that the program does not have is the fault handler by another name.
            fast_here = name in fast and address != elf.functions["fault_handler"]
            assert in_itcm == fast_here, f"{name} at {address:#x}"
        else:
            assert in_itcm == (variant == "itcm"), f"{name} at {address:#x}"
    assert seen > 5, "no functions found"


def check_hex(elf, path):
    expected = {}
    for address, content in elf.pieces:
        for i, byte in enumerate(content):
            expected[address + i] = byte
    assert read_hex(path.read_text()) == expected, f"{path.name} is not what the ELF file loads"


programs = sorted(path.stem for path in (PORT / "programs").glob("*.cc"))
assert programs, "no programs"
for program in programs:
    for variant in ("flash", "itcm", "mixed"):
        path = FOLDER / f"{program}_{variant}.elf"
        assert path.is_file(), f"no {path} (run: make firmware)"
        elf = Elf32(path.read_bytes())
        try:
            check_boot_header(elf)
            check_vectors(elf, variant)
            check_memories(elf, variant)
            check_code(elf, variant)
            check_hex(elf, path.with_suffix(".hex"))
        except AssertionError as error:
            sys.exit(f"{path.name}: {error}")
