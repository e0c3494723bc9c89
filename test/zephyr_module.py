# SPDX-License-Identifier: Apache-2.0
"""The repository as a Zephyr module, without Zephyr: its YAML, Kconfig, devicetree overlays and CMake
against small stand-ins (test/zephyr/), and the portable part of the samples compiled and run."""
import os
import pathlib
import re
import shlex
import socket
import struct
import subprocess
import sys
import tempfile

import jsonschema
import kconfiglib
import yaml

from e2e import DEADLINE_S, MILLRACE, measure

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAND_INS = ROOT / "test/zephyr"
SAMPLES = sorted(path.parent for path in (ROOT / "zephyr/samples").glob("*/prj.conf"))
ECHO = ROOT / "zephyr/samples/usb_udp_echo"
CHOSEN = "zephyr,sram zephyr,itcm zephyr,dtcm"  # nodes of the board's devicetree
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
# The keys of scripts/zephyr_module.py (main, 2026) that we use; others would be refused there.
MODULE_SCHEMA = {
    "type": "object", "additionalProperties": False, "required": ["name", "build", "samples"],
    "properties": {
        "name": {"const": "millrace"},
        "build": {"type": "object", "additionalProperties": False, "required": ["cmake", "kconfig"],
                  "properties": {"cmake": {"type": "string"}, "kconfig": {"type": "string"}}},
        "samples": {"type": "array", "items": {"type": "string"}}}}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=DEADLINE_S, **options)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_module_file():
    module = yaml.safe_load((ROOT / "zephyr/module.yml").read_text())
    jsonschema.validate(module, MODULE_SCHEMA)
    assert (ROOT / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (ROOT / module["build"]["kconfig"]).is_file()
    assert all((ROOT / folder).is_dir() for folder in module["samples"])
    assert len(SAMPLES) >= 2


def configured(scratch, root, text):
    """A configuration of what the text sets, with what Zephyr's build would warn of, and fail for."""
    kconf = kconfiglib.Kconfig(str(root), warn_to_stderr=False)
    kconf.warn_assign_undef = kconf.warn_assign_override = True
    (scratch / "merged").write_text("CONFIG_ARM=y\nCONFIG_SOC_MIMXRT1062=y\n" + text)
    kconf.load_config(str(scratch / "merged"))
    return kconf


def unmet(kconf, text):
    """The symbols that did not take the value which the text, the last word counts, gives them."""
    wanted = dict(re.findall(r'^CONFIG_(\w+)="?([^"\n]*)"?$', text, re.M))
    return {name: kconf.syms[name].str_value for name, value in wanted.items()
            if kconf.syms[name].str_value != value}


def check_kconfig(scratch):
    """Every symbol that a configuration file sets is ours or Zephyr's, and takes that value."""
    symbols = [line.split() for line in (STAND_INS / "symbols.txt").read_text().splitlines()
               if line and not line.startswith("#")]
    text = "".join(f'config {name}\n\t{kind} "{name}"\n' for name, kind, _, _ in symbols)
    (scratch / "Kconfig.zephyr").write_text(f'{text}source "{ROOT}/zephyr/Kconfig"\n')
    os.environ.update(srctree=str(scratch), CONFIG_="CONFIG_", CHOSEN=CHOSEN)
    sys.path.insert(0, str(STAND_INS))
    for sample in SAMPLES:
        own = sample / "Kconfig"
        root = own if own.is_file() else scratch / "Kconfig.zephyr"
        base = (sample / "prj.conf").read_text()
        for extra in [None, *sorted(sample.glob("boards/*.conf")), *sorted(sample.glob("tune/*.conf"))]:
            kconf = configured(scratch, root, base)
            merged = base
            if extra:
                kconf.warn_assign_override = False
                kconf.load_config(str(extra), replace=False)
                merged += extra.read_text()
            assert not kconf.warnings, (extra, kconf.warnings)
            assert not unmet(kconf, merged), (sample.name, extra, unmet(kconf, merged))
            # The echo thread must not wait for USB itself; the fragment that lets it shows what comes of it.
            if sample == ECHO and (extra is None or extra.name != "no_net_threads.conf"):
                assert kconf.syms["NET_TC_TX_COUNT"].str_value == "1", extra
            if extra and extra.name == "sampler.conf":
                assert kconf.syms["ZERO_LATENCY_IRQS"].str_value == "y"
                assert kconf.syms["MILLRACE_SAMPLER_WORDS"].str_value == "16384"
    # The driver of native_sim waits 50 ms between two looks at its TAP if nobody says otherwise.
    for native, wait in (("y", "1"), ("n", "")):
        kconf = configured(scratch, ECHO / "Kconfig", f"CONFIG_ARCH_POSIX={native}\n")
        assert {kconf.syms[f"ETH_NATIVE_{name}_RX_TIMEOUT"].str_value for name in ("POSIX", "TAP")} == {wait}
    # A lease takes 2,552 bytes of the service thread's stack with -O2, measured in Zephyr 4.1.99.
    stack = int(configured(scratch, ECHO / "Kconfig", "").syms["NET_SOCKETS_SERVICE_STACK_SIZE"].str_value)
    assert stack >= 1.5 * 2552, stack
    together = "".join((ECHO / f"tune/{name}.conf").read_text() for name in (
        "o2", "no_timeslicing", "no_stack_guard", "data_in_dtcm", "itcm_list"))
    kconf = configured(scratch, ECHO / "Kconfig", together)
    assert not kconf.warnings and not unmet(kconf, together), (kconf.warnings, unmet(kconf, together))
    kconf = configured(scratch, scratch / "Kconfig.zephyr",
                       "CONFIG_MILLRACE_PLACE=y\nCONFIG_MILLRACE_PLACE_RELOCATE=y\n")
    assert not kconf.warnings and kconf.syms["CODE_DATA_RELOCATION"].str_value == "y"
    # Without the memory of its buffer or its handler the sampler is off, and Zephyr's build says why.
    sampler = (ECHO / "tune/sampler.conf").read_text()
    for missing in ("itcm", "dtcm"):
        os.environ["CHOSEN"] = CHOSEN.replace(f"zephyr,{missing}", "")
        kconf = configured(scratch, ECHO / "Kconfig", sampler)
        assert unmet(kconf, sampler) == {"MILLRACE_SAMPLER": "n"}, missing
        assert kconf.syms[f"MILLRACE_CHOSEN_{missing.upper()}"].str_value == "n"
    os.environ["CHOSEN"] = CHOSEN


def check_overlays(scratch):
    """Overlays compile over the board's labels, alone and in the combinations that the README names."""
    def tree(*overlays):
        source = "".join(f'#include "{path}"\n' for path in (STAND_INS / "board.dts", *overlays))
        (scratch / "tree.dts").write_text(source)
        run("gcc", "-E", "-P", "-nostdinc", "-undef", "-x", "assembler-with-cpp", scratch / "tree.dts", "-o",
            scratch / "tree.pp")
        return run("dtc", "-q", "-I", "dts", "-O", "dts", "-o", "-", scratch / "tree.pp")

    stock = tree(ECHO / "boards/teensy41.overlay")
    assert "zephyr,cdc-ncm-ethernet" in stock and stock.count('status = "disabled"') == 2
    assert "zephyr,cdc-ncm-ethernet" in tree(ECHO / "app.overlay")
    ecm = tree(ECHO / "boards/teensy41.overlay", ECHO / "ecm.overlay")
    assert "zephyr,cdc-ecm-ethernet" in ecm and "zephyr,cdc-ncm-ethernet" not in ecm
    dtcm = tree(ECHO / "boards/teensy41.overlay", ECHO / "tune/data_in_dtcm.overlay")
    assert "zephyr,dtcm" not in dtcm and "zephyr,itcm" in dtcm
    for native in ECHO.glob("boards/native_sim*.overlay"):
        assert "cdc" not in tree(native)
    assert "zephyr,cdc-acm-uart" in tree(ROOT / "zephyr/samples/link_stream/app.overlay")


def check_sample_files():
    """Files that sample.yaml and the README name are there."""
    for sample in SAMPLES:
        for test in yaml.safe_load((sample / "sample.yaml").read_text())["tests"].values():
            for argument in shlex.split(test.get("extra_args", "")):
                for name in argument.split("=", 1)[1].split(";"):
                    assert (sample / name).is_file(), name
            # Zephyr takes the files of exactly this board: native_sim's are not those of native_sim/native/64.
            for board in test["platform_allow"] if sample == ECHO else []:
                for ending in ("conf", "overlay"):
                    assert (sample / f"boards/{board.replace('/', '_')}.{ending}").is_file(), board
    for name in re.findall(r"`((?:tune|boards|src)/[\w./]+)`", (ECHO / "README.md").read_text()):
        assert (ECHO / name).exists(), name


def libraries_placed():
    """The names of whole libraries that our fragments and pages give."""
    text = "".join(path.read_text() for path in (*ECHO.glob("tune/*.conf"), ROOT / "docs/zephyr.md"))
    lists = re.findall(r'CONFIG_MILLRACE_PLACE_LIBRARIES="([^"]+)"', text)
    assert len(lists) >= 2
    return sorted({name for names in lists for name in names.split()})


def check_cmake(scratch):
    base = scratch / "base"
    (base / "cmake/modules").mkdir(parents=True)
    (base / "include/zephyr/arch/arm/cortex_m/scripts").mkdir(parents=True)
    (base / "include/zephyr/arch/arm/cortex_m/scripts/linker.ld").write_text(
        '#include <snippets-itcm-section.ld>\n*(".text.*")\n')
    (scratch / "list.txt").write_text("tcp_in\n")
    everything = {"MILLRACE_LINK": "y", "MILLRACE_LINK_UART": "y", "MILLRACE_SAMPLER": "y", "MILLRACE_PLACE": "y",
                  "MILLRACE_PLACE_SNIPPET": "y", "MILLRACE_PLACE_BUDGET": "32768", "USB_DEVICE_STACK_NEXT": "y",
                  "MILLRACE_PLACE_LIST": f"{scratch}/list.txt", "MILLRACE_PLACE_LIBRARIES": " ".join(libraries_placed())}
    for sample in SAMPLES:
        for index, symbols in enumerate(({}, everything)):
            build = scratch / f"{sample.name}{index}"
            run("cmake", "-S", sample, "-B", build, f"-DZephyr_DIR={STAND_INS}", f"-DSTAND_IN_BASE={base}",
                *[f"-DCONFIG_{name}={value}" for name, value in symbols.items()])
            calls = build / "calls"
            if not symbols:
                assert not calls.exists(), calls.read_text()
                continue
            text = calls.read_text()
            assert "zephyr_ld_options -Wl,--build-id=sha1" in text and "SECTIONS" in text, text
            itcm = re.search(r"ITCM_SECTION (\S+)", text)[1]
            assert "*libkernel.a:*(.text .text.*)" in pathlib.Path(itcm).read_text()


def check_echo(scratch):
    sources = [ECHO / "src/echo.c"]
    host = [*WARNINGS, "-D_DEFAULT_SOURCE", "-I", ECHO / "src"]
    run("gcc", *host, "-fsanitize=address,undefined", "-I", ECHO / "host/fake", ECHO / "host/echo_test.c", *sources,
        "-o", scratch / "echo_test")
    run(scratch / "echo_test")
    run("arm-none-eabi-gcc", *WARNINGS, "-mcpu=cortex-m7", "-mthumb", "-Os", "-ffreestanding", "-I", ECHO / "src", "-I",
        ECHO / "host/fake", "-c", *sources, "-o", scratch / "echo.o")
    run("gcc", *host, "-O2", "-pthread", "-I", ECHO / "host", ECHO / "host/main.c", *sources, "-o", scratch / "echo")
    server = subprocess.Popen([scratch / "echo"], stdout=subprocess.PIPE, text=True)
    try:
        ports = re.fullmatch(r"echo (\d+) counters (\d+)\n", server.stdout.readline())
        _, result = measure("udp", "bench", f"127.0.0.1:{ports[1]}", "--first", "500", "--width", "500", "--top",
                            "1000", "--step-ms", "100", "--passes", "1", "--size", "32,1472", "--no-aftermath",
                            "--late-ms", "10000", expect=(0, 1))
        steps = [step for size in result["sizes"] for p in size["passes"] for step in p["steps"]]
        assert len(steps) == 4 and all(step["answered"] + step["late"] == step["sent"] for step in steps), steps
        assert all(step["altered"] == 0 for step in steps), steps
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(DEADLINE_S)
            asker.sendto(bytes.fromhex("f24d5245 01010000 0100feca"), ("127.0.0.1", int(ports[2])))
            reply = asker.recv(2048)
        magic, version, kind, count, tag = struct.unpack_from("<4sBBHI", reply)
        assert (magic, version, kind, count, tag) == (b"\xf2MRE", 1, 2, 43, 0xCAFE0001), reply
        counters = struct.unpack_from("<43I", reply, 12)
        assert counters[5] == counters[6] >= sum(step["sent"] for step in steps) and counters[7] == 1, counters
    finally:
        server.kill()
        server.wait()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    check_module_file()
    check_kconfig(folder)
    check_overlays(folder)
    check_sample_files()
    check_cmake(folder)
    check_echo(folder)
