# SPDX-License-Identifier: Apache-2.0
"""The profiler plug-in, called like NCCL does (tests/nccl/harness.c), plain and with gcc's sanitizers.

With ASSAY_FULL=1: 10^7 events over 2 to 64 ranks, and 1,000 processes that are killed.
"""
import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # it builds the plug-in itself, with each sanitizer

APIS = (3, 4, 5, 6)
EXPORTED = {f"ncclProfiler_v{api}" for api in APIS}
GLIBC = (2, 34)  # Ubuntu 22.04 has 2.35, RHEL 9 2.34: the usual bases of job containers
NCCL = Path("/usr/local/cuda-13.0/lib/libnccl.so.2")
LIMIT_S = 600


@pytest.fixture(scope="module")
def harnesses(build):
    """The directory of the harness and the plug-in, for each sanitizer."""
    out = subprocess.run(["make", "-s", "-C", str(build), "nccl-harnesses"], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout + out.stderr
    return {"plain": (build / "tests/nccl/harness", build / "libassay-nccl-profiler.so"),
            **{way: (build / f"tests/nccl/{way}/harness", build / f"tests/nccl/{way}/plugin.so") for way in ("address", "thread")}}


@pytest.fixture
def play(harnesses, tmp_path):
    """play("thread", "late", "fork", api=5, events=1000) runs the harness, which must succeed. Returns its output."""

    def run(way, *scenarios, **options):
        program, library = harnesses[way]
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        env = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0", "TMPDIR": str(tmp_path)}
        out = subprocess.run([program, "--plugin", library, *words, *scenarios], env=env, capture_output=True, text=True,
                             timeout=LIMIT_S, check=False)
        assert out.returncode == 0, f"{scenarios}: {out.stdout[-2000:]}{out.stderr[-8000:]}"
        return out.stdout

    return run


@pytest.mark.some(4)
@pytest.mark.parametrize("way", ("plain", "address", "thread"))
@pytest.mark.parametrize("api", APIS)
def test_every_order_holds(play, full, way, api):
    if not full and way != "plain" and api not in (3, 5):
        pytest.skip("with ASSAY_FULL=1: 4 and 6 are 3 and 5 but for a layout")
    out = play(way, "all", api=api)
    assert out.count(": held\n") == 35


@pytest.mark.parametrize("way", ("plain", "address", "thread"))
@pytest.mark.parametrize("ranks", (2, 16, 64))
def test_ranks_beside_each_other(play, full, way, ranks):
    if not full and (way, ranks) not in {("plain", 64), ("thread", 16)}:
        pytest.skip("with ASSAY_FULL=1")
    out = play(way, "ranks", ranks=ranks, events=10**7 if full else 10**5)
    assert int(re.search(rf"{ranks} ranks, (\d+) events", out)[1]) >= (10**7 if full else 10**5)


def test_who_is_killed_leaves_its_last_record(play, full):
    times = 1000 if full else 20
    assert f"{times} of {times} left a readable last record" in play("plain", "killed", times=times)


def symbols(library):
    return subprocess.run(["nm", "-D", str(library)], capture_output=True, text=True, check=True).stdout


def test_it_exports_what_nccl_looks_for_and_nothing_else(build):
    defined = set(re.findall(r"^[0-9a-f]+ [A-TV-Z] (\w+)$", symbols(build / "libassay-nccl-profiler.so"), re.M))
    assert {name for name in defined if not name.startswith(("__asan", "__odr_asan", "__ubsan"))} == EXPORTED


def test_it_needs_libc_alone_and_no_new_one(build, configured):
    if configured("enable-sanitizers"):
        pytest.skip("that of the sanitizers needs their libraries too")
    out = subprocess.run(["readelf", "-d", str(build / "libassay-nccl-profiler.so")], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\(NEEDED\).*\[(.+)\]", out)) == {"libc.so.6"}
    assert "NODELETE" in out and "BIND_NOW" in out
    wanted = [tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([\d.]+)", symbols(build / "libassay-nccl-profiler.so"))]
    assert max(wanted) <= GLIBC


def test_it_can_be_named_as_nccl_names_plugins(installed):
    library, = installed.rglob("libassay-nccl-profiler.so")
    named = library.with_name("libnccl-profiler-assay.so")
    assert named.is_symlink() and os.readlink(named) == library.name


def test_a_real_nccl_looks_for_these_names():
    """There is no GPU to run it on, but its strings contain the symbols it looks up."""
    if not NCCL.exists():
        pytest.skip(f"no NCCL in {NCCL}")
    data = NCCL.read_bytes()
    for word in (b"ncclProfiler_v5", b"ncclProfiler_v4", b"ncclProfiler_v3", b"libnccl-profiler", b"NCCL_PROFILER_PLUGIN", b"%s-%s.so"):
        assert word in data, word
    assert "ncclGetVersion" in symbols(NCCL)
