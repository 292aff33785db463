# SPDX-License-Identifier: Apache-2.0
"""The folder that scripts/on-gpu takes to a bare host: programs, the libraries they need, policies and references."""
import glob
import os
import re
import shutil
import subprocess
import sys

PROGRAMS = ("assay", *("assay-probe-" + name for name in
                       ("gemm", "memory", "gpu-state", "host-state", "all-to-all", "loopback", "rnic-state", "rnic-pair")))
REFERENCES = ("ref_gemm", "ref_copy", "ref_nvml", "ref_driver", "ref_nccl", "try_region")
SHIM = "shim.so"
SCRIPTS = ("on-gpu", "gpu_host.py", "gpu_judge.py", "gpu_kit.py", "gpu_steps.py")
# Compiled there against the headers of its CUDA, with all of ours; it needs this much of CUnit.
ABI = ("cuda", "nvml", "nccl")
CUNIT = "#define CU_FALSE 0\n#define CU_assertImplementation(...) ((void)0)\n"
# The C library is the host's, and the compiler's libraries must be as new as CUDA's libraries require.
OF_THE_HOST = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+))\.so")
SIZE_MAX_MIB = 60


def needed(program):
    """Paths of the shared libraries that a program is linked with, except those that every host has."""
    words = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {path for name, path in re.findall(r"(\S+) => (/\S+)", words) if not OF_THE_HOST.match(name)}


def made(build):
    """Builds the needed files in the build directory. Returns their names."""
    refs = ["tests/gpu/" + name for name in (*REFERENCES, SHIM)]
    done = subprocess.run(["make", "-s", "-C", build, *PROGRAMS, *refs], capture_output=True, text=True)
    if done.returncode:
        print("on-gpu: cannot make the programs in %s (scripts/build makes one):\n%s" % (build, done.stderr[-2000:]), file=sys.stderr)
        return None
    return [*PROGRAMS, *refs]


def copy_programs(build, files, kit):
    for name in files:
        to = os.path.join(kit, "bin", os.path.basename(name))
        shutil.copy(os.path.join(build, name), to)
        subprocess.run(["strip", to], check=False, capture_output=True)
    for path in set().union(*(needed(os.path.join(build, name)) for name in files)):
        shutil.copy(path, os.path.join(kit, "lib", os.path.basename(path)))


def copy_sources(top, to):
    headers = [path for place in ("lib", "probes") for path in glob.glob(os.path.join(top, place, "**/*.h"), recursive=True)]
    tests = [os.path.join(top, "tests/unit", name) for name in ("test.h", *("test_%s_abi.c" % abi for abi in ABI))]
    for path in headers + tests:
        copy = os.path.join(to, os.path.relpath(path, top))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(path, copy)
    os.makedirs(os.path.join(to, "CUnit"))
    with open(os.path.join(to, "CUnit/CUnit.h"), "w", encoding="utf-8") as f:
        f.write(CUNIT)


def prepare(top, build, kit):
    files = made(build)
    if files is None:
        return 2
    if os.path.exists(kit) and os.listdir(kit) and not os.path.exists(os.path.join(kit, "on-gpu")):
        print("on-gpu: --prepare %s: there is something else" % kit, file=sys.stderr)
        return 2
    for name in ("bin", "lib", "src"):
        shutil.rmtree(os.path.join(kit, name), ignore_errors=True)
        os.makedirs(os.path.join(kit, name))
    copy_programs(build, files, kit)
    shutil.copytree(os.path.join(top, "policies"), os.path.join(kit, "bin/policies"), ignore=shutil.ignore_patterns("*.mk"))
    copy_sources(top, os.path.join(kit, "src"))
    for name in SCRIPTS:
        shutil.copy(os.path.join(top, "scripts", name), os.path.join(kit, name))
    size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(kit) for name in names) >> 20
    print("%s: %d MiB; on the host: %s/on-gpu FOLDER" % (kit, size, kit))
    if size > SIZE_MAX_MIB:
        print("on-gpu: more than %d MiB: configure the build without BLAS (--without-cblas), the host needs none" % SIZE_MAX_MIB,
              file=sys.stderr)
    return 0
