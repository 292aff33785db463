# SPDX-License-Identifier: Apache-2.0
"""A host whose libibverbs is missing or broken: programs that need it report it, and nothing else is affected."""
import json

import pytest
from gpu_fixtures import gpu_host, gpu_libraries, gpus  # noqa: F401
from guest_steps import needs

SONAME = "libibverbs.so.1"
PROGRAMS = [("assay-probe-loopback", []), ("assay-probe-rnic-pair", []), ("assay-probe-all-to-all", ["--engine", "verbs"]),
            ("assay-probe-all-reduce", ["--peers", "a:1,b:2", "--rank", "0", "--force", "--token-file", "TOKEN"])]


@pytest.fixture
def broken(tmp_path):
    """A directory with an invalid libibverbs that is found before that of this machine."""
    path = tmp_path / "libraries"
    path.mkdir()
    (path / SONAME).touch()
    return path


@pytest.fixture
def lost(build, run, tmp_path, broken):
    """lost(program, args) on a host with those RDMA devices."""
    (tmp_path / "token").write_text("word\n")

    def start(program, args, devices=()):
        needs(build, program)
        for device in devices:
            (tmp_path / "sys/class/infiniband" / device).mkdir(parents=True)
        return run(program, *[str(tmp_path / "token") if arg == "TOKEN" else arg for arg in args],
                   env={"ASSAY_SYSROOT": str(tmp_path), "LD_LIBRARY_PATH": str(broken)})

    return start


@pytest.mark.parametrize("program, args", PROGRAMS)
def test_without_devices_it_is_not_missed(lost, program, args):
    done = lost(program, args)
    assert (done.returncode, done.stdout) == (77, ""), done.stderr
    assert f"no RDMA device here, and cannot load {SONAME}" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("program, args", PROGRAMS)
def test_with_devices_it_is_said_what_to_install(lost, program, args):
    done = lost(program, args, ["mlx5_0"])
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert f"this host has RDMA devices, but cannot load {SONAME}" in done.stderr and "install libibverbs" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("program", [program for program, _ in PROGRAMS])
def test_every_program_describes_itself_without(lost, program):
    done = lost(program, ["--describe"])
    assert done.returncode == 0 and json.loads(done.stdout)["checks"], done.stderr


def test_all_to_all_of_gpus_needs_none(build, run, gpus, broken):  # noqa: F811
    needs(build, "assay-probe-rnic-pair")
    env = gpus("count=2")
    done = run("assay-probe-all-to-all", "--size", "262144", env={**env, "LD_LIBRARY_PATH": f"{broken}:{env['LD_LIBRARY_PATH']}"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "all_to_all.busbw" in {json.loads(line)["check"] for line in done.stdout.splitlines()}
