# SPDX-License-Identifier: Apache-2.0
"""cuBLASLt and NCCL on hosts whose loader does not find them: containers, pip and conda trees, CUDA trees."""
import json
import os
import shutil
import time

import pytest
from gpu_fixtures import gpu_host, gpu_libraries, gpus  # noqa: F401

SHAPE = ["--shape", "48,40,56", "--budget", "10s"]
LT, NCCL = "libcublasLt.so.13", "libnccl.so.2"
PLACES = [
    "usr/local/cuda-13.0/targets/x86_64-linux/lib",
    "usr/local/cuda/lib64",
    "usr/local/lib/python3.12/dist-packages/nvidia/cu13/lib",
    "usr/lib/python3/dist-packages/nvidia/cublas/lib",
    "opt/conda/lib",
    "opt/conda/envs/train/lib/python3.11/site-packages/nvidia/cublas/lib",
    "opt/torch/.venv/lib/python3.12/site-packages/nvidia/cublas/lib",
    "usr/local/lib/python3.10/site-packages/torch/lib",
    "opt/nvidia/hpc_sdk/Linux_x86_64/25.1/math_libs/lib64",
]


@pytest.fixture
def bare(gpus, gpu_libraries, tmp_path):  # noqa: F811
    """bare("count=1") is the environment of a host where the loader finds only the driver's libraries, and its root."""

    def make(settings="count=1", **more):
        drivers = tmp_path / "driver"
        drivers.mkdir(exist_ok=True)
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            if not (drivers / name).exists():
                (drivers / name).symlink_to(gpu_libraries / name)
        for name in (LT, NCCL):  # hides those of this machine
            (drivers / name).write_text("no library\n")
        env = gpus(settings, LD_LIBRARY_PATH=str(drivers), **more)
        return env, tmp_path / "gpu-host"

    return make


def put(gpu_libraries, place, *names):  # noqa: F811
    """Copies them, because the permissions of the build directory are not under our control."""
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(gpu_libraries / name, place / name)
    return place


def measured(done):
    assert done.returncode == 0, done.stderr
    return {s["check"]: s["state"] for s in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("place", PLACES)
def test_cublaslt_is_found_where_it_is_installed(run, bare, gpu_libraries, place):  # noqa: F811
    env, root = bare()
    put(gpu_libraries, root / place, LT)
    assert measured(run("assay-probe-gemm", *SHAPE, env=env))["gemm.rate"] == "measured"


@pytest.mark.parametrize("place", ["usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib", "opt/conda/lib"])
def test_nccl_is_found_where_it_is_installed(run, bare, gpu_libraries, place):  # noqa: F811
    env, root = bare("count=4")
    assert run("assay-probe-all-to-all", "--size", "262144", env=env).returncode != 0
    put(gpu_libraries, root / place, NCCL)
    assert measured(run("assay-probe-all-to-all", "--size", "262144", env=env))["all_to_all.busbw"] == "measured"


def test_the_environment_of_conda_or_python_that_is_active_counts(run, bare, gpu_libraries):  # noqa: F811
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        env, root = bare()
        put(gpu_libraries, root / f"home/{variable}/lib/python3.12/site-packages/nvidia/cublas/lib", LT)
        assert measured(run("assay-probe-gemm", *SHAPE, env={**env, variable: f"/home/{variable}"}))["gemm.rate"] == "measured"


def test_a_directory_that_is_named_comes_first(run, bare, gpu_libraries, tmp_path):  # noqa: F811
    env, root = bare("count=1 driver=13000")
    put(gpu_libraries, root / PLACES[0], LT)
    named = put(gpu_libraries, tmp_path / "named", LT)
    # A file of that name that is not a library: it is tried first, then the search continues.
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / LT).write_text("no library\n")
    for path in (f"{named}", f"{tmp_path}/absent:{named}", f"{tmp_path}/broken:{named}", f"{tmp_path}/broken"):
        assert measured(run("assay-probe-gemm", *SHAPE, env={**env, "ASSAY_CUDA_PATH": path}))["gemm.rate"] == "measured", path
    shutil.rmtree(root / "usr")
    assert measured(run("assay-probe-gemm", *SHAPE, env={**env, "ASSAY_CUDA_PATH": str(named)}))["gemm.rate"] == "measured"


def test_where_it_is_not_one_line_says_where_it_was_looked_for(run, bare):
    env, _ = bare()
    done = run("assay-probe-gemm", *SHAPE, env=env)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "cannot load libcublasLt.so.13 or an older one down to .11: not found on the loader's path, nor in a CUDA, pip or conda tree" in done.stderr
    assert "name its directory in ASSAY_CUDA_PATH" in done.stderr


def loosen_file(place):
    (place / LT).chmod(0o666)


def loosen_directory(place):
    place.chmod(0o777)


def loosen_parent(place):
    place.parent.chmod(0o775)


def give_away(place):
    os.chown(place / LT, 12345, -1)


def link_away(place):
    other = place.parents[3] / "elsewhere"
    other.mkdir()
    (place / LT).rename(other / LT)
    other.chmod(0o777)
    (place / LT).symlink_to(other / LT)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("loosen", [loosen_file, loosen_directory, loosen_parent, give_away, link_away])
def test_what_others_could_have_put_there_is_not_loaded(run, bare, gpu_libraries, loosen, named):  # noqa: F811
    if loosen is give_away and os.geteuid():
        pytest.skip("only root gives files away")
    env, root = bare()
    place = put(gpu_libraries, root / "opt/conda/lib/python3.12/site-packages/nvidia/cublas/lib", LT)
    loosen(place)
    if named:
        env = {**env, "ASSAY_CUDA_PATH": str(place)}
    done = run("assay-probe-gemm", *SHAPE, env=env)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert f"{LT} is not loaded: " in done.stderr and ("chmod go-w" in done.stderr or "chown root" in done.stderr)


def test_the_search_is_bounded(run, bare, gpu_libraries):  # noqa: F811
    env, root = bare()
    (root / "opt").mkdir()
    for i in range(21000):
        (root / f"opt/{i}").touch()
    put(gpu_libraries, root / "opt/zzz/lib", LT)
    start = time.monotonic()
    done = run("assay-probe-gemm", *SHAPE, env=env)
    assert time.monotonic() - start < 60
    assert done.returncode in (0, 1)
    if done.returncode:  # depends on the order of the directory listing
        assert "which are too large to be searched" in done.stderr
