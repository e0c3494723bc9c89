# SPDX-License-Identifier: Apache-2.0
"""Placement lists in a Zephyr build: zephyr/cmake/millrace_place.cmake with stand-ins that record what
it asks of Zephyr; its linker patterns in a program that is really linked, its filters applied to that
program's objects as Zephyr applies them. Zephyr itself is not here (docs/zephyr.md)."""
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLASH = 0x60000000

SOURCES = {
    "subsys/net/tcp.c": """
        static __attribute__((noinline, used)) int helper(int x) { asm volatile(".space 64"); return x; }
        int tcp_in(int x) { return helper(x) + 1; }
        int tcp_input(int x) { return helper(x) + 2; }
        __attribute__((hot, noinline)) int fast(int x) { return helper(x) + 3; }
        __attribute__((section(".text.tcp_out.constprop.0"))) int tcp_out_clone(int x) { return x + 4; }
        __attribute__((section(".text.tcp_out.part.0.isra.1"))) int tcp_out_part(int x) { return x + 5; }
        __attribute__((section(".text.tcp_outer"))) int tcp_outer(int x) { return x + 6; }
        int table[4] = {1};
        int tables[4] = {1};
        int count;
        const int primes[4] = {2, 3, 5, 7};
        const int *const rows[2] = {primes, primes + 2};
        int unused(int x) { return x * 3; }""",
    "subsys/net/my_tcp.c": """
        static __attribute__((noinline, used)) int helper(int x) { return x; }
        int other(int x) { return helper(x) + 1; }""",
    "subsys/misc/misc.c": "int misc_a(int x) { return x + 1; }\nint misc_b(int x) { return x + 2; }",
    "lib/whole.c": "int whole(int x) { return x + 1; }",
    "lib/copy.S": ".syntax unified\n.thumb\n.text\n.global copy_words\n.thumb_func\n.type copy_words, %function\n"
                  "copy_words: bx lr\n.size copy_words, . - copy_words\n",
    "app/src/main.c": """
        int tcp_in(int), tcp_input(int), fast(int), tcp_out_clone(int), tcp_out_part(int), tcp_outer(int);
        int other(int), misc_a(int), misc_b(int), whole(int), copy_words(int);
        extern int table[], tables[], count;
        extern const int *const rows[];
        int main(void) {
          return tcp_in(1) + tcp_input(1) + fast(1) + tcp_out_clone(1) + tcp_out_part(1) + tcp_outer(1) + other(1) +
                 misc_a(1) + misc_b(1) + whole(1) + copy_words(1) + table[0] + tables[0] +
                 count + *rows[0];
        }""",
}
ARCHIVES = {"libnet.a": ["subsys/net/tcp.c", "subsys/net/my_tcp.c"], "libmisc.a": ["subsys/misc/misc.c"],
            "libwhole.a": ["lib/whole.c"], "libcopy.a": ["lib/copy.S"], "libapp.a": ["app/src/main.c"]}
# As the Cortex-M script of Zephyr 4.3 and later has it, in short.
SCRIPT = """
MEMORY { ITCM (rx) : ORIGIN = 0, LENGTH = 128K
         FLASH (rx) : ORIGIN = 0x60000000, LENGTH = 8M
         RAM (rw) : ORIGIN = 0x20200000, LENGTH = 512K }
ENTRY(main)
SECTIONS {
  .itcm : { *(.itcm) *(".itcm.*")
INCLUDE snippet.ld
  } > ITCM AT > FLASH
  .text : { *(.text) *(".text.*") } > FLASH
  .rodata : { *(.rodata .rodata.*) } > FLASH
  .data : { *(.data .data.* .bss .bss.*) } > RAM AT > FLASH
}
"""
NEW_LINKER = 'SECTION(_ITCM_SECTION_NAME)\n#include <snippets-itcm-section.ld>\n\t*(.text)\n\t*(".text.*")\n'
OLD_LINKER = '\t*(.text)\n\t*(".text.*")\nSECTION(_ITCM_SECTION_NAME)\n#include <snippets-itcm-section.ld>\n'
NEW_RELOCATE = ("function(zephyr_code_relocate)\n  set(options NOCOPY NOKEEP)\n"
                "  set(single_args LIBRARY LOCATION PHDR FILTER)\n")
OLD_RELOCATE = ("function(zephyr_code_relocate)\n  set(options NOCOPY)\n"
                "  set(single_args LIBRARY LOCATION PHDR)\n  set(multi_args FILES)\n  set(x $<FILTER:y>)\n")
RUN = """
cmake_minimum_required(VERSION 3.20)
project(stand_in NONE)
set(ZEPHYR_BASE {base})
set(APPLICATION_SOURCE_DIR {base}/app)
set(ZEPHYR_MODULES {base}/extra)
set(CONFIG_CODE_DATA_RELOCATION {relocation})
function(zephyr_linker_sources)
  list(JOIN ARGN "|" words)
  file(APPEND {base}/calls "zephyr_linker_sources|${{words}}\\n")
endfunction()
function(zephyr_code_relocate)
  list(JOIN ARGN "|" words)
  file(APPEND {base}/calls "zephyr_code_relocate|${{words}}\\n")
endfunction()
include({root}/zephyr/cmake/millrace_place.cmake)
millrace_place({arguments})
# Zephyr names its libraries before and after the folders of modules, and kernel in no list.
add_custom_target(net SOURCES subsys/net/tcp.c subsys/net/my_tcp.c)
add_custom_target(kernel SOURCES subsys/misc/misc.c)
add_custom_target(misc SOURCES subsys/misc/misc.c)
add_custom_target(whole SOURCES lib/whole.c)
add_custom_target(empty)
set_property(GLOBAL PROPERTY ZEPHYR_LIBS net misc whole empty linked_in_by_name)
"""


def run(*words, cwd, fails=False):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=100)
    said = re.sub(r"\s+", " ", done.stdout + done.stderr)
    assert (done.returncode != 0) == fails, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return said


class Zephyr:
    """A folder with a few sources, compiled, and what place() of it recorded."""

    def __init__(self, folder):
        self.base = pathlib.Path(folder)
        for name, text in SOURCES.items():
            self.write(name, text)
        self.be(NEW_LINKER, NEW_RELOCATE)
        for archive, names in ARCHIVES.items():
            objects = []
            for name in names:
                out = self.base / "objects" / (pathlib.Path(name).name + ".obj")
                out.parent.mkdir(exist_ok=True)
                run("arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb", "-O2", "-ffunction-sections", "-fdata-sections",
                    "-fno-ipa-icf", "-c", str(self.base / name), "-o", str(out), cwd=folder)
                objects.append(str(out))
            run("arm-none-eabi-ar", "rc", archive, *objects, cwd=folder)
        self.write("script.ld", SCRIPT)

    def write(self, name, text):
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def be(self, linker, relocate):
        self.write("include/zephyr/arch/arm/cortex_m/scripts/linker.ld", linker)
        self.write("cmake/modules/extensions.cmake", relocate)

    def place(self, lines, method, *more, fails=False, relocation="y"):
        """The recorded calls; with `fails`, what CMake said."""
        self.write("place.txt", "\n".join(lines) + "\n")
        arguments = " ".join([f"LIST {self.base}/place.txt", f"METHOD {method}", *more])
        self.write("CMakeLists.txt", RUN.format(base=self.base, root=ROOT, arguments=arguments,
                                                relocation=relocation))
        calls = self.base / "calls"
        calls.unlink(missing_ok=True)
        said = self.configure(fails)
        return said if fails else [line.split("|") for line in calls.read_text().splitlines()]

    def configure(self, fails=False):
        return run("cmake", "-S", ".", "-B", "build", cwd=self.base, fails=fails)

    def link(self, snippet, fails=False):
        """(name, bytes) -> address of every function."""
        self.write("snippet.ld", snippet)
        said = run("arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb", "-nostdlib", "-Wl,--gc-sections",
                   "-Wl,-T,script.ld", "-Wl,--start-group", *ARCHIVES, "-Wl,--end-group", "-o", "out.elf",
                   cwd=self.base, fails=fails)
        if fails:
            return said
        listed = run("arm-none-eabi-nm", "-S", "out.elf", cwd=self.base)
        return {(name, int(size, 16)): int(address, 16) & ~1
                for address, size, name in re.findall(r"([0-9a-f]{8}) ([0-9a-f]{8}) [tT] (\S+)", listed)}

    def sections(self, name):
        listed = run("arm-none-eabi-objdump", "-h", f"objects/{name}.obj", cwd=self.base)
        return re.findall(r" (\.[\w.$]+) ", listed)


def in_itcm(functions):
    return sorted({name for (name, _), address in functions.items()
                   if address < FLASH and not name.endswith("_veneer")})


def taken_by_filters(zephyr, calls):
    """(source, location) -> the sections that Zephyr would take, and the calls without a filter."""
    filters, rest = {}, []
    for name, *words in calls:
        if "FILTER" in words:
            key = (words[words.index("FILES") + 1], words[words.index("LOCATION") + 1])
            assert key not in filters and words[-1] == "NOKEEP", words
            pattern = "|".join(words[words.index("FILTER") + 1:words.index("LOCATION")])
            assert pattern.startswith("^(") and pattern.endswith(")$"), pattern
            filters[key] = pattern
        else:
            rest.append(words)
    return {key: [s for s in zephyr.sections(pathlib.Path(key[0]).name) if re.search(pattern, s)]
            for key, pattern in filters.items()}, rest


LIST = ["# a comment; [with] \"what\" no name has", "tcp_in", "tcp_out file=inlines.h", "fast",
        "helper\tfile=net/tcp.c   # behind it, too", "copy_words file=libcopy.a:copy.S.obj section=.text",
        "@object misc.c.obj", "@library libwhole.a", "tcp_in", "inlined_everywhere"]
DATA = [".rodata.rows", ".rodata.primes", ".bss.count", ".data.table"]
PLACED = ["copy_words", "fast", "helper", "misc_a", "misc_b", "tcp_in", "tcp_out_clone", "tcp_out_part", "whole"]

with tempfile.TemporaryDirectory() as scratch:
    zephyr = Zephyr(scratch)

    # The snippet: what is asked for lands, and nothing that only begins like it.
    (name, location, path), = zephyr.place(LIST, "SNIPPET")
    assert (name, location) == ("zephyr_linker_sources", "ITCM_SECTION")
    snippet = pathlib.Path(path).read_text()
    functions = zephyr.link(snippet)
    assert in_itcm(functions) == PLACED, (functions, snippet)
    helpers = {size: address for (name, size), address in functions.items() if name == "helper"}
    assert len(helpers) == 2 and helpers[max(helpers)] < FLASH <= helpers[min(helpers)], helpers
    assert "unused" not in {name for name, _ in functions}, "KEEP defeats --gc-sections"

    # A budget is kept at link time, and said.
    placed_bytes = max(address + size for (_, size), address in functions.items() if address < FLASH)
    zephyr.link(pathlib.Path(zephyr.place(LIST, "SNIPPET", "BUDGET 4096")[0][2]).read_text())
    said = zephyr.link(pathlib.Path(zephyr.place(LIST, "SNIPPET", "BUDGET 64")[0][2]).read_text(), fails=True)
    assert placed_bytes > 64 and "CONFIG_MILLRACE_PLACE_BUDGET" in said, said

    # Whole libraries by Zephyr's names for them.
    zephyr.place(["tcp_in"], "SNIPPET", "LIBRARIES misc whole")
    assert in_itcm(zephyr.link((zephyr.base / "build/millrace_itcm.ld").read_text())) == [
        "misc_a", "misc_b", "tcp_in", "whole"]

    # Which there are differs by version and configuration. A name of none, or of one without sources, is said
    # by either way and with what there is; a prebuilt archive of a list is the linker's to find.
    for method in ("SNIPPET", "RELOCATE"):
        for name in ("subsys__net__lib__sockets", "empty"):
            said = zephyr.place(["tcp_in"], method, f"LIBRARIES misc {name} whole", fails=True)
            assert (f"CONFIG_MILLRACE_PLACE_LIBRARIES: this build has no library {name}: leave it out, or name one of "
                    "its own: kernel misc net whole") in said, said
    said = zephyr.place(["tcp_in", "@library libgone.a"], "RELOCATE", fails=True)
    assert "line 2: this build has no library gone" in said, said
    zephyr.place(["tcp_in", "@library libgcc.a"], "SNIPPET")

    # The filters: one call a source file, each anchored.
    calls = zephyr.place(["tcp_in file=tcp.c", "tcp_out file=net/tcp.c", "fast file=subsys/net/tcp.c.obj",
                          "helper file=libsubsys__net.a:my_tcp.c.obj", "@data table file=net/tcp.c", "@data count file=tcp.c",
                          "@data rows file=tcp.c", "@data primes file=tcp.c", "@object misc.c.obj",
                          "@library libwhole.a"], "RELOCATE", "BUDGET 4096", "LIBRARIES kernel")
    taken, rest = taken_by_filters(zephyr, calls)
    net = f"{scratch}/subsys/net"
    assert taken == {
        (f"{net}/tcp.c", "ITCM_TEXT"): [".text.tcp_in", ".text.hot.fast", ".text.tcp_out.constprop.0",
                                        ".text.tcp_out.part.0.isra.1"],
        (f"{net}/tcp.c", "DTCM_DATA_BSS_RODATA"): DATA,
        (f"{net}/my_tcp.c", "ITCM_TEXT"): [".text.helper"]}, taken
    assert ["LIBRARY", "kernel", "LOCATION", "ITCM_TEXT", "NOKEEP"] in rest, rest
    assert ["LIBRARY", "whole", "LOCATION", "ITCM_TEXT", "NOKEEP"] in rest, rest
    assert ["FILES", f"{scratch}/subsys/misc/misc.c", "LOCATION", "ITCM_TEXT", "NOKEEP"] in rest, rest
    budget, = (words for words in rest if words[0] == "SECTIONS")
    assert "__itcm_text_reloc_size <= 4096" in pathlib.Path(budget[1]).read_text()

    # Names alone, as `millrace place` writes what is unique, and functions of headers: in every library that has
    # sources, late enough to know them all.
    for lines, location, sections in (
            (["tcp_in", "fast", "helper file=inlines.h", "other file=my_tcp.c"], "ITCM_TEXT",
             {"tcp": [".text.helper", ".text.tcp_in", ".text.hot.fast"], "my_tcp": [".text.helper"], "misc": []}),
            (["@data table", "@data count"], "DTCM_DATA_BSS_RODATA",
             {"tcp": [".bss.count", ".data.table"], "my_tcp": [], "misc": []})):
        for method in ("RELOCATE", "SNIPPET") if location.startswith("DTCM") else ("RELOCATE",):
            calls = [words for name, *words in zephyr.place(lines, method) if words[:1] == ["LIBRARY"]]
            assert [words[1] for words in calls] == ["net", "misc", "whole", "kernel"], calls
            for words in calls:
                assert words[-3:] == ["LOCATION", location, "NOKEEP"], words
                pattern = "|".join(words[words.index("FILTER") + 1:words.index("LOCATION")])
                for source, wanted in sections.items():
                    assert [s for s in zephyr.sections(f"{source}.c") if re.search(pattern, s)] == wanted, pattern

    # Data goes by filters, beside a snippet too; alone it needs no ITCM that a budget could be asked of.
    data = ["@data table file=tcp.c", "@data count file=tcp.c", "@data rows file=tcp.c", "@data primes file=tcp.c"]
    taken, rest = taken_by_filters(zephyr, zephyr.place(["tcp_in", *data], "SNIPPET"))
    assert taken == {(f"{net}/tcp.c", "DTCM_DATA_BSS_RODATA"): DATA}, taken
    assert [words[0] for words in rest] == ["ITCM_SECTION"], rest
    _, rest = taken_by_filters(zephyr, zephyr.place(data, "RELOCATE", "BUDGET 4096"))
    assert rest == [], rest
    said = zephyr.place(data, "SNIPPET", fails=True, relocation="n")
    assert "line 1: data goes to DTCM by zephyr_code_relocate(): set CONFIG_CODE_DATA_RELOCATION=y" in said, said

    # What is wrong is said, with its line and the remedy.
    zephyr.write("drivers/x/main.c", "")
    for method, lines, says in (
        ("SNIPPET", [], "holds no entry"),
        ("SNIPPET", ["tcp_in", "memcpy"], "line 2: memcpy runs before the code is copied"),
        ("SNIPPET", ["z_data_copy"], "has to stay in flash"),
        ("SNIPPET", ["@section .text"], "@section is not known"),
        ("SNIPPET", ["@object"], "@object needs a name"),
        ("SNIPPET", ["tcp_in file="], "file= is not understood"),
        ("SNIPPET", ["tcp_in hot"], "hot is not understood"),
        ("SNIPPET", ["@library libnet.a file=x"], "file=x is not understood"),
        ("SNIPPET", ["tcp_*"], "tcp_* is no name"),
        ("SNIPPET", ["a;b"], "stands in no name"),
        ("SNIPPET", ["a[b]"], "stands in no name"),
        ("RELOCATE", ["tcp_in file=gone.c"], "no source file gone.c"),
        ("RELOCATE", ["f file=libc.a:x.o"], "member of an archive"),
    ):
        said = zephyr.place(lines, method, fails=True)
        assert says in said, (lines, said)
    # A file of the build and others of its name; one of a module only. Zephyr leaves out what it does not compile.
    zephyr.write("extra/hal/usb.c", "")
    for line, files in (("main file=main.c", ["app/src/main.c", "drivers/x/main.c"]), ("main file=src/main.c", ["app/src/main.c"]),
                        ("isr file=hal/usb.c", ["extra/hal/usb.c"]), ("isr file=libhal_x.a:usb.c.obj", ["extra/hal/usb.c"])):
        (_, kind, *words), = zephyr.place([line], "RELOCATE")
        assert kind == "FILES" and words[:words.index("FILTER")] == [f"{scratch}/{file}" for file in files], words
    (zephyr.base / "place.txt").unlink()
    assert "there is no such file" in zephyr.configure(fails=True)
    zephyr.be(OLD_LINKER, OLD_RELOCATE)
    assert "CONFIG_MILLRACE_PLACE_RELOCATE=y" in zephyr.place(["tcp_in"], "SNIPPET", fails=True)
    assert "has no FILTER (4.1 and later have)" in zephyr.place(["tcp_in file=tcp.c"], "RELOCATE", fails=True)
