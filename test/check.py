# SPDX-License-Identifier: Apache-2.0
"""millrace check on a project that is compiled here: a list that landed, one that did not, and a
copy loop whose own memcpy was moved, which no linker minds and no board survives."""
import pathlib
import subprocess

from e2e import fails, measure, millrace, temporary_folder

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
extern uint32_t itcm_start, itcm_end, itcm_load;
__attribute__((noinline)) void *memcpy(void *to, const void *from, size_t n) {
  char *t = to; const char *f = from;
  while (n--) { *t++ = *f++; __asm__ volatile("" ::: "memory"); }
  return to;
}
volatile int value;
__attribute__((noinline)) void hot(void) { value += 1; }
__attribute__((noinline)) void warm(void) { value ^= 5; }
int main(void) { for (;;) { hot(); warm(); } }
void Reset_Handler(void) {
  memcpy(&itcm_start, &itcm_load, (char *)&itcm_end - (char *)&itcm_start);
  main();
}
__attribute__((section(".vectors"), used)) const void *const vectors[] = {
    (void *)0x20020000, Reset_Handler};
"""
SCRIPT = """
MEMORY { ITCM : ORIGIN = 0x20, LENGTH = 128K  DTCM : ORIGIN = 0x20000000, LENGTH = 128K
         FLASH : ORIGIN = 0x60000000, LENGTH = 1M }
ENTRY(Reset_Handler)
SECTIONS {
  .vectors : { KEEP(*(.vectors)) } > FLASH
  .itcm : { itcm_start = .; %s . = ALIGN(4); itcm_end = .; } > ITCM AT > FLASH
  itcm_load = LOADADDR(.itcm);
  .text : { *(.text .text.*) } > FLASH
  .bss (NOLOAD) : { *(.bss .bss.*) } > DTCM
  /DISCARD/ : { *(.ARM.exidx*) }
}
"""


def build(folder, name, fast, *flags):
    (folder / "a.c").write_text(SOURCE)
    (folder / "a.ld").write_text(SCRIPT % " ".join(f"*(.text.{one})" for one in fast))
    elf = folder / f"{name}.elf"
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb", "-O2", "-g",
                    "-ffunction-sections", "-ffreestanding", "-nostdlib",
                    "-fno-tree-loop-distribute-patterns", "-Wl,--no-warn-rwx-segments",
                    "-T", folder / "a.ld", folder / "a.c", "-o", elf, *flags], check=True)
    return elf


def of(document, name):
    return next(one for one in document["check"]["checks"] if one["name"] == name)


with temporary_folder() as scratch:
    folder = pathlib.Path(scratch)
    hot = folder / "hot.list"
    hot.write_text("hot\nwarm\n")
    good = build(folder, "good", ["hot", "warm"])
    _, document = measure("check", good, "--target", "teensy41", "--list", hot, "--budget", "1K")
    assert document["check"]["status"] == "passed", document
    fast = document["check"]["fast"]
    assert fast["region"] == "ITCM" and 0 < fast["bytes"] <= 1024, fast

    # memcpy of the copy loop moved: refused, with the way that leads to it.
    moved = build(folder, "moved", ["hot", "warm", "memcpy"])
    hot.write_text("hot\nwarm\nmemcpy\n")
    outcome = millrace("check", moved, "--target", "teensy41", "--list", hot, expect=1)
    outcome.says("boot FAILED", "memcpy runs before it is copied, with .itcm",
                 "Reset_Handler -> memcpy (by a veneer)")
    # Without a list too, and with the end of the copy named.
    millrace("check", moved, "--target", "teensy41", "--copy-end", "memcpy", expect=1)
    millrace("check", good, "--target", "teensy41", "--copy-end", "memcpy")

    # What is not there, what is there unasked, what takes too much.
    hot.write_text("hot\nwarn\n")
    _, document = measure("check", good, "--target", "teensy41", "--list", hot, "--budget", "8",
                          expect=1)
    assert of(document, "drift")["status"] == "failed"
    assert "warm" in of(document, "drift")["findings"][0]["text"]
    # Without a map nothing says whether warm stood there anyway: a warning, and not in the budget.
    extra = of(document, "extra")
    assert extra["status"] == "warned" and extra["findings"][0]["symbol"] == "warm", extra
    fast = document["check"]["fast"]
    assert 0 < fast["bytes_of_others"] < fast["bytes"], fast
    assert of(document, "budget")["status"] == "failed"
    millrace("check", good, "--target", "teensy41", "--list", hot, "--allow", "warm",
             "--allow-missing")
    millrace("check", good, "--target", "teensy41", "--list", hot, "--allow", "warm",
             "--allow-missing", "--strict", expect=1)

    # With a map: a pattern took it, and no section that the source asked for.
    mapped = build(folder, "mapped", ["hot", "warm"], f"-Wl,-Map={folder}/mapped.map")
    _, document = measure("check", mapped, "--map", folder / "mapped.map", "--target", "teensy41",
                          "--list", hot, "--allow-missing", expect=1)
    assert of(document, "extra")["status"] == "failed", document

    # Bad input.
    fails("check", good, "--list", folder / "none", expect=2, says="none")
    fails("check", folder / "a.c", expect=1, says="no ELF file")
    fails("check", good, "--target", "teensy41", "--copy-end", "nothing", expect=2,
          says="has no function nothing")
    fails("check", good, "--target", "teensy41", "--budget", "2M", expect=2, says="more than the")
    fails("check", good, "--target", "teensy41", "--region", "attic", expect=2,
          says="no fast memory")
    (folder / "bad.list").write_text("hot file\n")
    fails("check", good, "--list", folder / "bad.list", expect=(1, 2), says="bad.list")
    stripped = folder / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", good, "-o", stripped], check=True)
    millrace("check", stripped, "--target", "teensy41").says("no symbols")
