# SPDX-License-Identifier: Apache-2.0
"""Every function of the GPU libraries in turn: it never returns, finds its GPU lost, or does not exist."""
import re

import pytest
from fake_host import FakeHost
from gpu_fixtures import (at_once, functions, gpu, gpu_host, gpu_libraries, gpus, older_libraries,  # noqa: F401
                          samples_of)

STATE, MEMORY = "assay-probe-gpu-state", "assay-probe-memory"
NVML, CUDA = "libnvidia-ml.so.1", "libcuda.so.1"
GPUS = 3
BEFORE = ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlSystemGetDriverVersion", "nvmlSystemGetConfComputeState",
          "nvmlEventSetCreate"]  # any GPU is read
AFTER = ["nvmlEventSetWait_v2", "nvmlEventSetFree", "nvmlShutdown"]
# Calls made only if a driver lacks the preferred one, and calls made only by the engine of other probes.
OLDER = ["nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetPcieReplayCounter", "nvmlDeviceGetNvLinkErrorCounter",
         "nvmlDeviceGetCurrentClocksThrottleReasons"]
NEWER = ["nvmlDeviceGetMarginTemperature", "nvmlDeviceGetCurrentClocksEventReasons"]
NOT_ASKED = ["nvmlErrorString", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo",
             "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetVirtualizationMode", "nvmlDeviceGetC2cModeInfoV"]


@pytest.fixture
def nvml(top):
    """Every NVML function that the suite uses."""
    return {**functions(top, "accel/cuda_abi.h", "CUDA_NVML_FUNCTIONS"),
            **functions(top, "accel/nvml_abi.h", "NVML_HEALTH_FUNCTIONS")}


@pytest.fixture
def host(gpus, tmp_path, top):  # noqa: F811
    """host("gone=1") is the environment of a host with such GPUs; its clock is the real one unless real=False."""

    def make(settings="", real=True, **replaced):
        root = FakeHost(tmp_path / "gpu-host")
        return {**gpus(f"count={GPUS} {settings}".strip(), real=real), **root.env(top / "policies"), **replaced}

    return make


@pytest.fixture
def kept(run, host, tmp_path):
    """The state saved by a clean run."""
    done = run(STATE, env=host())
    assert (done.returncode, done.stderr) == (0, "") and bad(samples_of(done.stdout)) == []
    return tmp_path / "state"


def bad(samples):
    return [(s["check"], s["subject"], s.get("code"), s.get("severity", "fail")) for s in samples if s["ok"] is False]


def answering(samples):
    return sorted(s["subject"] for s in samples if s["check"] == "gpu.nvml" and s["ok"])


def asked(nvml, names):
    """The calls of gpu-state about one GPU, with a driver that has all functions, or only older ones."""
    left = [n for n in nvml if n not in BEFORE + AFTER + NOT_ASKED + (OLDER if names is None else NEWER)]
    assert len(left) > 20
    return left


@pytest.mark.long
@pytest.mark.once
@pytest.mark.alone
def test_a_call_that_never_comes_back_is_named_with_its_gpu(at_once, host, kept, nvml, older_libraries):  # noqa: F811
    """Exit status 0 means that it ended within its budget; after that the harness ends a probe with 1."""
    old = {"LD_LIBRARY_PATH": older_libraries(NVML, NEWER)}
    items = [((n, "host"), STATE, [], host(f"stuck=1 at={n}")) for n in BEFORE + AFTER]
    items += [((n, gpu(1)), STATE, [], host(f"held=1 at={n}")) for n in asked(nvml, None)]
    items += [((n, gpu(1)), STATE, [], host(f"held=1 old=1 at={n}", **old)) for n in OLDER]
    for (name, subject), (status, out, err, _) in at_once(items, kept).items():
        samples = samples_of(out)
        assert (status, err) == (0, ""), (name, err)
        assert bad(samples) == [("gpu.nvml", subject, "nvml-stuck", "fail")], name
        note = next(s["note"] for s in samples if s.get("code") == "nvml-stuck")
        assert note == f"the driver does not answer: {name} took more than 2 s"
        others = [] if name in BEFORE else [gpu(i) for i in range(GPUS) if gpu(i) != subject]
        assert answering(samples) == others, name


@pytest.mark.long
def test_a_gpu_that_is_lost_is_named_whatever_call_tells(run, host, kept, nvml, older_libraries):  # noqa: F811
    old = {"LD_LIBRARY_PATH": older_libraries(NVML, NEWER)}
    cases = [(n, host(f"gone=1 at={n}")) for n in asked(nvml, None)]
    cases += [(n, host(f"gone=1 old=1 at={n}", **old)) for n in OLDER]
    for name, env in cases:
        done = run(STATE, env=env)
        samples = samples_of(done.stdout)
        assert (done.returncode, done.stderr) == (0, ""), name
        assert bad(samples) == [("gpu.lost", gpu(1), "device-lost", "fatal")], name
        note = next(s["note"] for s in samples if s.get("code") == "device-lost")
        assert note == f"lost: it fell off the bus (NVML: GPU is lost, at 0000:18:00.0, call {name})"
        assert answering(samples) == [gpu(0), gpu(2)], name


def test_an_event_of_a_lost_gpu_that_names_none_is_a_finding_of_the_host(run, host, kept):
    done = run(STATE, env=host("gone=1 at=nvmlEventSetWait_v2"))
    assert bad(samples_of(done.stdout)) == [("gpu.lost", "host", "device-lost", "fail")]


@pytest.mark.long
def test_a_driver_that_lacks_a_function_is_read_without_it(run, host, kept, nvml, older_libraries):  # noqa: F811
    optional = [n for n, (needed, _) in nvml.items() if not needed]
    assert len(optional) > 30
    for names in [*([n] for n in nvml), optional]:
        done = run(STATE, env=host(LD_LIBRARY_PATH=older_libraries(NVML, names)))
        if len(names) == 1 and nvml[names[0]][0]:
            assert (done.returncode, done.stdout) == (77, "")
            assert done.stderr.endswith(f"no GPU driver: {NVML} has no {names[0]}: it is too old or damaged\n")
            continue
        samples = samples_of(done.stdout)
        assert (done.returncode, done.stderr) == (0, ""), names
        assert bad(samples) == [] and answering(samples) == [gpu(i) for i in range(GPUS)], names
        assert [s for s in samples if s["state"] != "measured"] == [], names


@pytest.mark.parametrize("fault, names, found", [
    ("hot=1", ["nvmlDeviceGetCurrentClocksEventReasons"], ("gpu.clocks", "hw-thermal", "warn")),
    ("linkcrc=1 amount=500 old=1", [], ("gpu.nvlink_errors", "crc", "warn")),
    ("linkrecovery=1 old=1", [], ("gpu.nvlink_errors", "recovery", "warn")),
    ("dbe=1 old=1", ["nvmlDeviceGetFieldValues"], ("gpu.ecc_errors", "uncorrected", "fail")),
])
def test_an_older_driver_tells_the_same_by_its_older_calls(run, host, kept, older_libraries, fault, names, found):  # noqa: F811
    done = run(STATE, env=host(fault, LD_LIBRARY_PATH=older_libraries(NVML, names)))
    assert bad(samples_of(done.stdout)) == [(found[0], gpu(1), found[1], found[2])]


# --- the driver itself, through the probe that only copies


@pytest.fixture
def memory(host, one_node_of):
    def make(settings, **replaced):
        return one_node_of({**host(f"{settings} copy=500", **replaced)})

    return make


@pytest.fixture
def one_node_of(tmp_path):
    """Puts all GPUs on the only node of this host."""

    def make(env):
        for file in (tmp_path / "gpu-host/sys/bus/pci/devices").glob("*/numa_node"):
            file.write_text("0\n")
        return env

    return make


@pytest.mark.once
@pytest.mark.alone
def test_no_call_of_the_driver_keeps_memory_from_ending(at_once, memory, top):  # noqa: F811
    """It ends within its budget, names the GPU if known, and the process exits although a thread is stuck in the driver."""
    cuda = functions(top, "accel/cuda_abi.h", "CUDA_DRIVER_FUNCTIONS")
    starts = ["cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid",
              "cuDeviceGetPCIBusId", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2"]
    # Not needed while nothing fails: error strings, exports, memory bound to a node.
    not_asked = ["cuGetErrorName", "cuGetErrorString", "cuMemGetInfo_v2", "cuMemHostRegister_v2", "cuMemHostUnregister",
                 "cuMemGetHandleForAddressRange", "cuPointerSetAttribute", "cuStreamQuery"]
    sets_up = ["cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate"]
    # The process exits after its samples without freeing anything.
    ends = ["cuDevicePrimaryCtxRelease_v2", "cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2"]
    args = ["--engine", "cuda", "--size", "16384", "--budget", "3s"]
    items = [(n, MEMORY, args, memory(f"block=1 at={n}")) for n in cuda if n not in not_asked]
    assert len(items) > 20
    for name, (status, out, err, _) in at_once(items).items():
        samples = samples_of(out)
        assert status == (0 if name in sets_up + ends else 1) and "the budget is used up" not in err, (name, err)
        if name in sets_up + ends:
            late = [s for s in samples if s["state"] != "measured"]
            assert err == "" and all(gpu(1) in s["subject"] for s in late) and bool(late) == (name in sets_up), (name, err, late)
            assert all("slow to start: not ready after" in s["note"] for s in late if ">" in s["subject"]), (name, late)
            continue
        if name in starts:
            assert samples == [] and "the GPU driver hangs while it starts" in err, (name, err)
            continue
        assert f"{gpu(1)}: a call to the GPU driver did not return" in err, (name, err)
        last = samples[-1]
        assert (last["check"], last["subject"], last["state"]) == ("memory.h2d_bw", gpu(1), "timeout"), (name, last)
        assert all(s["ok"] is not False for s in samples), name


def test_a_driver_that_lacks_a_function_is_too_old_or_read_without_it(run, memory, older_libraries, top):  # noqa: F811
    cuda = functions(top, "accel/cuda_abi.h", "CUDA_DRIVER_FUNCTIONS")
    for name, (needed, _) in cuda.items():
        done = run(MEMORY, "--engine", "cuda", "--size", "16384",
                   env=memory("", real=False, LD_LIBRARY_PATH=older_libraries(CUDA, [name])))
        if needed:
            assert (done.returncode, done.stdout) == (77, "")
            assert f"{CUDA} has no {name}: it is too old or damaged" in done.stderr and done.stderr.count("\n") == 1
        else:
            assert (done.returncode, done.stderr) == (0, ""), name
            assert {s["state"] for s in samples_of(done.stdout)} == {"measured"}


@pytest.mark.parametrize("settings, status, words", [
    ("nvml=4", 1, r"NVML does not start: Insufficient Permissions: may this process open /dev/nvidiactl"),
    ("nvml=18", 1, r"NVML does not start: Driver/library version mismatch"),
])
def test_a_driver_that_may_not_be_asked_is_one_sentence(run, host, settings, status, words):
    done = run(STATE, env=host(settings))
    assert (done.returncode, done.stdout) == (status, "")
    assert re.search(words, done.stderr) and done.stderr.count("\n") == 1


def test_a_gpu_whose_device_node_may_not_be_opened_is_a_set_up(run, host, kept):
    done = run(STATE, env=host("refused=1"))
    samples = samples_of(done.stdout)
    assert bad(samples) == []
    refused = [s for s in samples if s["subject"] == gpu(1) and s["state"] != "measured"]
    assert [(s["check"], s["state"], s["value"], s["ok"]) for s in refused] == [("gpu.nvml", "set-up", None, None)]
    assert "Insufficient Permissions" in refused[0]["note"] and "/dev/nvidia" in refused[0]["note"]


@pytest.mark.parametrize("program, args, status", [
    (STATE, [], 77), ("assay-probe-all-to-all", [], 77),
    *((f"assay-probe-{name}", ["--engine", engine], status) for name in ("gemm", "memory")
      for engine, status in (("cuda", 77), ("auto", 1)))])
def test_without_a_driver_a_host_with_gpus_says_so_and_never_measures_its_cpu(run, gpu_host, tmp_path, program, args, status):  # noqa: F811
    """tests/bench/bench_no_gpu.py measures how soon."""
    done = run(program, *args, env={**gpu_host(1), "LD_LIBRARY_PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (status, "") and done.stderr.count("\n") == 1
    assert re.search(r"cannot load lib(cuda|nvidia-ml)\.so\.1", done.stderr), done.stderr
