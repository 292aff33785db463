# SPDX-License-Identifier: Apache-2.0
"""The guest: Debian's kernel, fetched once, and an initramfs with the real libibverbs, iproute2 and perftest."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from newc import Archive

HERE = Path(__file__).resolve().parent
FETCH_TIMEOUT_S = 300
# In load order; without crc32_generic Soft-RoCE cannot be added.
MODULES = ["crc32_generic", "ip6_udp_tunnel", "udp_tunnel", "configfs", "ib_core", "ib_uverbs", "ib_cm", "iw_cm", "rdma_cm",
           "rdma_ucm", "rdma_rxe", "veth", "sch_tbf", "sch_netem", "e1000"]
PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "ip": "iproute2", "tc": "iproute2",
            "rdma": "iproute2", "ib_write_bw": "perftest"}
PERFTEST = ["ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat"]
PROVIDER = "rxe"


class Missing(Exception):
    """Something the guest needs is missing and cannot be fetched; the text says what to do."""


def cache():
    return Path(os.environ.get("ASSAY_CACHE") or Path.home() / ".cache/assay") / "guest"


def tool(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Missing(f"{name} is not installed: apt-get install {PACKAGES.get(name, name)}")
    return path


def kernel_package():
    """The versioned package that linux-image-amd64 currently depends on."""
    done = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=False)
    names = re.findall(r"Depends: (linux-image-\S+)", done.stdout)
    if not names:
        raise Missing("no kernel package: apt-cache knows no linux-image-amd64; run apt-get update")
    return names[0]


def newest_kernel():
    found = sorted(cache().glob("linux-image-*/boot/vmlinuz-*"))
    return found[-1] if found else None


def fetch_kernel():
    """Unpacks the kernel package in the cache, without installing it. Returns the path of vmlinuz."""
    if here := newest_kernel():
        return here
    package = kernel_package()
    part = cache() / f"{package}.part{os.getpid()}"
    part.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(["apt-get", "download", "-q", package], cwd=part, capture_output=True, text=True,
                              timeout=FETCH_TIMEOUT_S, check=False)
        debs = list(part.glob("*.deb"))
        if not debs:
            raise Missing(f"apt-get download {package}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
        subprocess.run(["dpkg", "-x", debs[0], part / "tree"], check=True, timeout=FETCH_TIMEOUT_S)
        keep = part / "keep"
        (keep / "boot").mkdir(parents=True)
        kernel = next((part / "tree/boot").glob("vmlinuz-*"))
        kernel.rename(keep / "boot" / kernel.name)
        for name in MODULES:
            for module in (part / "tree").glob(f"**/{name}.ko"):
                module.rename(keep / module.name)
        if not (cache() / package).exists():
            keep.rename(cache() / package)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return newest_kernel()


def libraries(program):
    """Shared objects that a program loads, by their paths."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return [path for path in re.findall(r"(/\S+)", done.stdout) if Path(path).is_file()]


def add_program(archive, path, name=None):
    archive.file(name or str(path), Path(path).read_bytes(), 0o755)
    for library in libraries(path):
        archive.file(library, Path(library).read_bytes(), 0o755)


def add_provider(archive):
    """Adds the provider at the path compiled into libibverbs, which loads it by name."""
    found = sorted(Path("/usr/lib").glob(f"*/libibverbs/lib{PROVIDER}-rdmav*.so"))
    if not found:
        raise Missing("no Soft-RoCE provider: apt-get install ibverbs-providers")
    add_program(archive, found[0])
    archive.file(f"etc/libibverbs.d/{PROVIDER}.driver", f"driver {PROVIDER}\n".encode())


def base(kernel):
    """Everything except the programs under test; the same for all runs with one kernel."""
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "bin/applets", "var/lib"):
        archive.directory(name)
    archive.file("init", (HERE / "init").read_bytes(), 0o755)
    archive.file("bin/busybox", Path(tool("busybox")).read_bytes(), 0o755)
    archive.link("bin/sh", "busybox")
    for name in ("ip", "tc", "rdma"):
        add_program(archive, tool(name), f"usr/sbin/{name}")
    for name in PERFTEST:
        add_program(archive, tool(name), f"usr/bin/{name}")
    add_provider(archive)
    package = kernel.parent.parent
    for name in MODULES:
        archive.file(f"modules/{name}.ko", (package / f"{name}.ko").read_bytes())
    archive.file("modules/order", "".join(f"{name}\n" for name in MODULES).encode())
    return archive


def overlay(scenario, build, environ):
    """The scenario, and the programs of a build under test."""
    archive = Archive()
    archive.file("guest/scenario", Path(scenario).read_bytes())
    archive.file("guest/lib.sh", (HERE / "lib.sh").read_bytes())
    words = "".join(f"export {key}='{value}'\n" for key, value in environ.items())
    archive.file("guest/env", words.encode())
    if build:
        for program in sorted(Path(build).glob("assay*")):
            if program.is_file() and os.access(program, os.X_OK):
                add_program(archive, program, f"usr/bin/{program.name}")
        for policy in sorted(Path(build, "policies").glob("**/*.yaml")):
            archive.file(f"usr/bin/policies/{policy.relative_to(Path(build, 'policies'))}", policy.read_bytes())
    return archive


def write(path, kernel, scenario, build, environ):
    """Writes the initramfs as one file: Linux unpacks concatenated archives. Not compressed, because the guest would have to
    decompress 90 MB under emulation."""
    path.write_bytes(base(kernel).bytes() + overlay(scenario, build, environ).bytes())
