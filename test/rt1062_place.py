# SPDX-License-Identifier: Apache-2.0
"""`place` on the programs of the RT1062: a choice, its build inputs linked, drift, bad input."""
import json
import pathlib
import shutil
import subprocess

import e2e

IMAGES = e2e.SOURCE / "build/arm/firmware/ports/rt1062"
HEAVY = IMAGES / "usb_echo_heavy_ecm_flash.elf"


def symbols(elf):
    out = subprocess.run(["arm-none-eabi-nm", elf], capture_output=True, text=True, check=True).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines()
            if len(line.split()) == 3}


with e2e.temporary_folder() as folder:
    folder = pathlib.Path(folder)
    # Samples of a load that is spread over the hot functions, as a sampler would find them waiting:
    # two thirds at the first address of each line, the rest anywhere in it.
    hot = sorted(address & ~1 for name, address in symbols(HEAVY).items() if "load_hot_" in name)
    assert len(hot) >= 300, len(hot)
    pcs = []
    for start in hot:
        for line in range(start, start + 96, 32):
            pcs += [line] * 16 + [line + 4 * i for i in range(1, 8)]
    samples = folder / "hot.txt"
    samples.write_text("".join(f"0x{pc:08x}\n" for pc in pcs))
    names = ["list", "gnu-ld", "zephyr-cmake", "zephyr-snippet", "attributes", "order-lld", "order-gnu"]
    files = [word for name in names for word in (f"--{name}", folder / name)]
    outcome, document = e2e.measure("place", HEAVY, samples, "--map", HEAVY.with_suffix(".map"),
                                    "--budget", "8K", *files)
    outcome.says("move", "of 8,192 bytes of ITCM", "densest first", "run before the copy and stay")
    placement = document["placement"]
    assert 0 < placement["chosen"]["total_bytes"] <= 8192
    assert placement["chosen"]["gain"] >= placement["density"]["gain"] > 0
    assert all(len(line) <= 100 for line in outcome.out.splitlines()), outcome
    listed = [line.split("#")[0].split() for line in (folder / "list").read_text().splitlines()]
    listed = [words[0] for words in listed if words]
    assert listed == [entry.split()[0] for entry in placement["list"]] and len(listed) > 20
    assert "boot_with_stack" not in listed
    assert (folder / "order-lld").read_text().count("\n") > 20
    # Each name is in a filter of its source file, or said to have none.
    relocate = (folder / "zephyr-cmake").read_text()
    assert all(name in relocate for name in listed if "load_hot" in name), relocate
    assert "zephyr_code_relocate(FILES" in relocate or "no source file" in relocate

    # The same list through the firmware's own build input takes exactly these functions.
    script = (folder / "take.ld")
    script.write_text("SECTIONS { .fast 0 : { INCLUDE " + str(folder / "gnu-ld") + " }\n"
                      " .rest 0x60000000 : { *(.text .text.*) } }\n")
    library = next((e2e.SOURCE / "build/arm").rglob("libmillrace_firmware_echo_load.a"))
    subprocess.run(["arm-none-eabi-ld", "-r", "--whole-archive", library, "-o", folder / "load.o",
                    "--unique"], check=True)
    subprocess.run(["arm-none-eabi-ld", "-T", script, folder / "load.o", "-o", folder / "load.elf",
                    "--unresolved-symbols=ignore-all", "-e", "0"], check=True)
    fast = {name for name, address in symbols(folder / "load.elf").items()
            if address < 0x60000000 and "load_" in name and not name.endswith("_veneer")}
    assert fast == {name for name in listed if "load_" in name
                    and name in symbols(folder / "load.elf")}, fast ^ set(listed)

    # In another program the names are gone, and it says so.
    other = IMAGES / "hello_flash.elf"
    e2e.millrace("place", HEAVY, "--drift", folder / "list").says("found")
    _, drift = e2e.measure("place", other, "--drift", folder / "list", expect=1)
    assert drift["drift"]["drifted"] > 0

    # The inverse, on an image that runs from ITCM: the cold half goes.
    itcm = IMAGES / "usb_echo_heavy_ecm_itcm.elf"
    hot = sorted(address & ~1 for name, address in symbols(itcm).items() if "load_hot_" in name)
    samples.write_text("".join(f"{pc:08x}\n" for pc in hot for _ in range(10)))
    _, eviction = e2e.measure("place", itcm, samples, "--evict", "bank", "--map", itcm.with_suffix(".map"))
    eviction = eviction["eviction"]
    assert eviction["is_enough"] and eviction["weight"] == 0
    assert eviction["banks_after"] < eviction["banks_before"]
    assert not any("load_hot" in one["name"] for one in eviction["functions"])

    def fails(*words, expect=2, says):
        e2e.fails("place", *words, expect=expect, says=says)

    samples.write_text("".join(f"0x{pc:08x}\n" for pc in pcs))
    fails(HEAVY, samples, "--budget", "1M", says="a budget of 1048576 bytes is more than ITCM has")
    fails(HEAVY, samples, says="give one of --budget BYTES, --evict BYTES and --drift LIST")
    fails(HEAVY, "--budget", "8K", says="SAMPLES is missing")
    fails(HEAVY, samples, "--budget", "8K", "--pin", "no_such_function", says="not in the program")
    fails(HEAVY, samples, "--budget", "8K", "--region", "SDRAM", says="has no region SDRAM")
    fails(HEAVY, samples, "--budget", "8K", "--target", "generic", says="no fast memory for code")
    fails(other, samples, "--budget", "8K", expect=1, says="lie outside the code")
    fails(HEAVY, folder / "nothing", "--budget", "8K", says="No such file or directory")
    (folder / "bad.txt").write_text("@code f\n")
    fails(HEAVY, "--drift", folder / "bad.txt", expect=1, says="line 1: @code is unknown")
    stripped = folder / "stripped.elf"
    shutil.copy(HEAVY, stripped)
    subprocess.run(["arm-none-eabi-strip", stripped], check=True)
    fails(stripped, samples, "--budget", "8K", says="has no symbols")
    for name, offset, value, text in [("wide", 4, 2, "64-bit"), ("big", 5, 2, "big-endian")]:
        damaged = bytearray(HEAVY.read_bytes())
        damaged[offset] = value
        (folder / name).write_bytes(damaged)
        fails(folder / name, samples, "--budget", "8K", expect=1, says=text)
    cut = folder / "cut.elf"
    cut.write_bytes(HEAVY.read_bytes()[:5000])
    fails(cut, samples, "--budget", "8K", expect=1, says="at offset")
