# SPDX-License-Identifier: Apache-2.0
"""The steps of scripts/on-gpu on a host, in this order: the most valuable first, in case the time runs out."""
import glob
import os
import re
import shutil

from gpu_host import PYTHONS
from gpu_kit import ABI

SHORT_S, LONG_S = 20, 60
DTYPES = ("fp8", "tf32", "f32", "f64")
DATA = ("normal", "int", "zeros")
HEADERS = ("/usr/local/cuda/include", "/usr/local/cuda*/targets/*/include", *(p + "/nvidia/*/include" for p in PYTHONS))
GEMM_S = 11  # as in the profile quick
MEMORY_S = 6  # what quick leaves of 8 s after host memory
HANG_S = 12  # the shim stops completions early in this time, after fewer windows than a rate needs
STATES_MAX = 20  # polls of a GPU until it shows a process that has just begun to use it
BURN_S = 60
PAIRS = 3  # of a probe and its reference, alternating


def host(h):
    """which host this is: kernel, C library, device nodes, PCI, libraries of NVIDIA"""
    shell = "uname -a; id; ldd --version | head -1; nproc; ls -l /dev/nvidia* /dev/kfd; ls /sys/bus/pci/devices; cat /proc/driver/nvidia/version"
    h.run("facts", ["sh", "-c", shell], SHORT_S, env=h.plain)


def cold(h):
    """NVML as the first to touch the GPU: what each call takes"""
    h.run("nvml", h.reference("ref_nvml"), LONG_S)


def state(h):
    """the state of the GPU, twice, and what nvidia-smi says of it between"""
    h.run("first", h.probe("gpu-state"), LONG_S)
    h.run("smi", ["nvidia-smi", "-q", "-x"], LONG_S, env=h.plain)
    h.run("second", h.probe("gpu-state"), LONG_S)


def passive(h):
    """the passive profile: a healthy host passes"""
    h.run("passive", [h.path("bin", "assay"), "run", "--profile", "passive", "-o", "json"], LONG_S)


def gemm(h):
    """products as the profile quick has them; the engine and cuBLASLt are for the probe to find"""
    done = h.run("auto", h.probe("gemm", "--budget", "%ds" % GEMM_S), SHORT_S)
    if done["status"] and "libcublasLt" in done["err"] and "LIBCUBLASLT" in h.found:
        h.env["LD_LIBRARY_PATH"] += ":" + os.path.dirname(h.found["LIBCUBLASLT"])
        h.run("helped", h.probe("gemm", "--budget", "%ds" % GEMM_S), SHORT_S)
    h.run("3s", h.probe("gemm", "--budget", "3s"), SHORT_S)


def against(h):
    """products beside a plain loop of the same, three pairs"""
    for i in range(PAIRS):
        h.run("probe%d" % i, h.probe("gemm", "--budget", "8s"), SHORT_S)
        h.run("plain%d" % i, h.reference("ref_gemm", "--seconds", "5"), SHORT_S)


def driver(h):
    """what a process pays to begin and end; memory of the GPU for an RNIC"""
    h.run("driver", h.reference("ref_driver"), LONG_S)
    h.run("region", h.reference("try_region"), LONG_S)


def quick(h):
    """the profile quick: a healthy host passes, within 45 s"""
    argv = [h.path("bin", "assay"), "run", "--profile", "quick", "-o", "json"]
    if h.fakes:
        with open(h.path("bin/policies/profiles.yaml"), encoding="utf-8") as f:
            small = '--shape, "48,40,56"'
            text = re.sub(r"(\{name: gemm, .*?)(?:, args: \[(.*?)\])?\}",
                          lambda m: "%s, args: [%s]}" % (m[1], ", ".join(filter(None, (small, m[2])))), f.read())
        text = text.replace("{name: memory, ", '{name: memory, args: [--engine, cuda, --size, "65536"], ')
        path = os.path.join(h.made("conf"), "profiles.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        argv += ["--profiles", path]
    h.run("quick", argv, LONG_S + 15)


def memory(h):
    """copies beside plain ones; in the time that quick leaves; and what memory keeps"""
    size = h.choose(32 << 20, 64 << 10)
    h.run("short", h.probe("memory", "--engine", "cuda", "--budget", "%ds" % MEMORY_S, "--size", str(size)), SHORT_S)
    for i in range(PAIRS - 1):
        h.run("probe%d" % i, h.probe("memory", "--engine", "cuda", "--budget", "8s", "--size", str(size)), SHORT_S)
        h.run("plain%d" % i, h.reference("ref_copy", "--sizes", "%d,%d" % (size, 8 * size), "--seconds", "0.3"), SHORT_S)
    h.run("pattern", h.probe("memory", "--engine", "cuda", "--budget", "20s", "--size", str(size)), 30)


def dtypes(h):
    """products of every type, verified"""
    for dtype in DTYPES:
        h.run(dtype, h.probe("gemm", "--budget", "6s", "--dtype", dtype), SHORT_S)


def single(h):
    """what needs two GPUs says so; NCCL takes our configuration with one rank"""
    h.run("all-to-all", h.probe("all-to-all", "--budget", "10s"), SHORT_S)
    h.run("overlap", h.probe("gemm", "--overlap", "--budget", "10s"), SHORT_S)
    h.run("pair", h.probe("rnic-pair", "--memory", "gpu", "--budget", "10s"), SHORT_S)
    h.run("nccl", h.reference("ref_nccl"), LONG_S)


def busy(h):
    """a GPU at work for somebody else is busy, and is measured when asked to"""
    other = h.start(h.reference("ref_gemm", "--seconds", "40"), env=h.real_clock())
    try:
        env = h.with_user(h.env, other.pid)
        # Polls until the driver shows the other process.
        for i in range(h.choose(STATES_MAX, 1)):
            seen = h.run("state%d" % i, h.probe("gpu-state"), LONG_S, env=env)
            if '"gpu.processes"' in seen["out"] and str(other.pid) in seen["out"]:
                break
        h.run("gemm", h.probe("gemm", "--budget", "6s"), SHORT_S, env=env)
        h.run("memory", h.probe("memory", "--engine", "cuda", "--budget", "6s", "--size", "65536"), SHORT_S, env=env)
        h.run("run", h.probe("gemm", "--busy", "run", "--budget", "6s"), SHORT_S, env=env)
    finally:
        h.stop(other)


def faults(h):
    """work that never ends, NVML that answers late, a probe stopped in the middle; after each the GPU is as before"""
    hang = {**h.env, "ASSAY_SHIM": "hang", "LD_PRELOAD": h.preloaded("shim.so")}
    h.run("hang", h.probe("gemm", "--budget", "%ds" % HANG_S), SHORT_S, env=hang)
    h.run("after hang", h.probe("gemm", "--budget", "6s"), SHORT_S)
    late = {**h.real_clock(), "ASSAY_SHIM": "slow-nvml", "LD_PRELOAD": h.path("bin", "shim.so")}
    h.run("late", h.probe("gemm", "--budget", "8s"), SHORT_S, env=late)
    h.run("stopped", h.probe("gemm", "--budget", "30s"), SHORT_S, env=h.real_clock(), kill_after=h.choose(5, 0.5))
    h.run("after stop", h.probe("gemm", "--budget", "6s"), SHORT_S)


def burn(h):
    """the burn, as short as a minute: rate, clock, power and heat over time"""
    h.run("burn", h.probe("gemm", "--burn", "--budget", "%ds" % BURN_S), BURN_S + 15)


def sustained(h):
    """a plain loop for longer, and of other data: is a probe of seconds a job of hours?"""
    h.run("uniform", h.reference("ref_gemm", "--seconds", "25"), LONG_S)
    for data in DATA:
        h.run(data, h.reference("ref_gemm", "--seconds", "5", "--data", data), SHORT_S)


def chain(h):
    """the chain of small work, which tells of a host that launches late"""
    h.run("chain", h.probe("gemm", "--budget", "30s", "--chain"), 45)


def abi(h):
    """our prototypes against the headers of this host"""
    places = [p for place in HEADERS for p in sorted(glob.glob(place))]
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), "cc")
    for name, header in zip(ABI, ("cublasLt.h", "nvml.h", "nccl.h")):
        if any(os.path.exists(os.path.join(p, header)) for p in places):
            h.run(name, [compiler, "-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-I", h.path("src"),
                         *(word for p in places for word in ("-isystem", p)), h.path("src/tests/unit/test_%s_abi.c" % name)],
                  SHORT_S, env=h.plain)


def sanitizer(h):
    """no wrong access to memory of the GPU, by NVIDIA's checker"""
    tool = shutil.which("compute-sanitizer")
    if tool:
        h.run("memcheck", [tool, "--tool", "memcheck", "--error-exitcode", "9", *h.probe("gemm", "--budget", "10s")], 90)


STEPS = (host, cold, state, passive, gemm, against, driver, quick, memory, dtypes, single, busy, faults, burn, sustained, chain, abi, sanitizer)
