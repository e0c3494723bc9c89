# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel and its initramfs.

The kernel is Debian's, fetched with apt-get download and taken apart, never installed; it stays in
build/guest until that is removed. The program under test goes into the initramfs as it is, with the
libraries that ldd names: what runs in the guest is what all other tests run.
"""
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile

# In the order of insmod: a package has no modules.dep.
MODULES = ["e1000", "usb-common", "usbcore", "usbmon", "usbip-core", "vhci-hcd", "cdc-acm", "mii",
           "usbnet", "cdc_ether", "cdc_ncm"]
META_PACKAGE = "linux-image-amd64"
BUSYBOX = pathlib.Path("/bin/busybox")


class Missing(Exception):
    """Something that is not to be had on this machine; a sentence with the remedy."""


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Missing(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()} "
                      "(run: sudo apt-get update; the network is needed once)")
    return done.stdout


def _fetch(scratch):
    """Downloads the kernel's package; returns its name."""
    name = _package_name()
    run("apt-get", "-q", "download", name, cwd=scratch)
    return name


def _package_name():
    found = re.search(r"Depends: (linux-image-\S+)", run("apt-cache", "depends", META_PACKAGE))
    if not found:
        raise Missing(f"apt knows no {META_PACKAGE} (run: sudo apt-get update)")
    return found[1]


def _uncompressed(bz_image):
    """vmlinux inside a bzImage (Linux Documentation/x86/boot.rst): a boot takes half the time."""
    setup_sectors = bz_image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", bz_image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(bz_image[start:start + length])


def kernel(cache):
    """A folder with vmlinux, NAME.ko and the package's name in `package`."""
    folder = cache / "kernel"
    if all((folder / f"{module}.ko").is_file() for module in MODULES):
        return folder
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier list of modules
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        try:
            name = _fetch(scratch)
        except Missing:  # no package lists, or old ones
            run("apt-get", "-q", "update")
            name = _fetch(scratch)
        package, = pathlib.Path(scratch).glob("*.deb")
        new = pathlib.Path(scratch) / "kernel"
        new.mkdir()
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                              stdout=subprocess.PIPE) as process:
            with tarfile.open(fileobj=process.stdout, mode="r|") as files:
                for member in files:
                    path = pathlib.PurePath(member.name)
                    if path.suffix == ".ko" and path.stem in MODULES:
                        (new / path.name).write_bytes(files.extractfile(member).read())
                    elif path.name.startswith("vmlinuz-"):
                        image = files.extractfile(member).read()
                        (new / "vmlinux").write_bytes(_uncompressed(image))
        missing = [file for file in ["vmlinux", *(f"{m}.ko" for m in MODULES)]
                   if not (new / file).is_file()]
        if missing:
            raise Missing(f"{package.name} has no {', '.join(missing)}")
        (new / "package").write_text(name + "\n")
        os.rename(new, folder)
    return folder


def _cpio_entry(number, name, mode, content=b"", device=(0, 0)):
    """Of an uncompressed newc archive (Linux Documentation/driver-api/early-userspace)."""
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def libraries(program):
    """What the dynamic linker would load, itself included."""
    return re.findall(r"(/\S+) \(0x", run("ldd", str(program)))


def _without_debug(program):
    """A sanitizer's build has 100 MB of it, and all of it would be memory of the guest."""
    with tempfile.NamedTemporaryFile() as stripped:
        run("objcopy", "--strip-debug", str(program), stripped.name)
        return pathlib.Path(stripped.name).read_bytes()


def initramfs(path, kernel_folder, init, programs):
    """`programs` go to /bin with their libraries, the modules to /modules, `init` to /init, and beside
    it the functions that all of them share."""
    if not BUSYBOX.is_file() or shutil.which("ldd") is None:
        raise Missing("no busybox (run: scripts/packages.sh test)")
    files = {"init": (0o755, init.read_bytes()),
             "guest_lib.sh": (0o644, init.with_name("guest_lib.sh").read_bytes()),
             "bin/busybox": (0o755, BUSYBOX.read_bytes()),
             "modules/order": (0o644, "\n".join(MODULES).encode())}
    for module in MODULES:
        files[f"modules/{module}.ko"] = (0o644, (kernel_folder / f"{module}.ko").read_bytes())
    for program in map(pathlib.Path, programs):
        files[f"bin/{program.name}"] = (0o755, _without_debug(program))
        for library in libraries(program):
            files[library.lstrip("/")] = (0o755, pathlib.Path(library).read_bytes())
    folders = {"dev", "proc", "sys"}
    for name in files:
        folders.update(str(parent) for parent in pathlib.PurePath(name).parents if parent.name)
    entries = [(name, 0o040755, b"", (0, 0)) for name in sorted(folders)]
    entries.append(("dev/console", 0o020600, b"", (5, 1)))
    entries.append(("bin/sh", 0o120777, b"busybox", (0, 0)))
    entries += [(name, 0o100000 | mode, content, (0, 0))
                for name, (mode, content) in sorted(files.items())]
    with open(path, "wb") as archive:
        for number, (name, mode, content, device) in enumerate(entries, 1):
            archive.write(_cpio_entry(number, name, mode, content, device))
        archive.write(_cpio_entry(0, "TRAILER!!!", 0))
