# SPDX-License-Identifier: Apache-2.0
"""assay-probe-memory on fake GPUs: copies of each, faults on the right GPU, and never the CPU instead."""
import json
import re

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

PROBE = "assay-probe-memory"
SMALL = ["--size", "16384"]  # the fakes copy in host memory
RATE_OF_FAKES = 5e8  # slow, so the host's time between two copies is negligible
PCI = [f"0000:{0x17 + i:02x}:00.0" for i in range(16)]
H2D, D2H, BIDIR, OWN, P2P = (f"memory.{name}_bw" for name in ("h2d", "d2h", "bidir", "device", "p2p"))
H2D_LAT, D2H_LAT = "memory.h2d_lat", "memory.d2h_lat"
PATTERN = "memory.pattern"


@pytest.fixture
def one_node(gpu_host, tmp_path):  # noqa: F811
    """Puts all GPUs of the host on its only node, and gives the host a topology: two root ports, every other GPU below each."""

    def make(env, count):
        nodes = [{"id": "numa:0", "type": "numa", "name": "numa:0"}]
        links = [{"id": "numa:0^numa:0", "a": "numa:0", "b": "numa:0"}]
        for i in range(2):
            root = f"root:0000:{0x10 + i:02x}:01.0"
            nodes.append({"id": root, "type": "root", "name": root, "pci": root[5:]})
            links.append({"id": f"{root}^numa:0", "a": root, "b": "numa:0"})
        for i in range(count):
            root = f"root:0000:{0x10 + i % 2:02x}:01.0"
            nodes.append({"id": f"gpu:{PCI[i]}", "type": "gpu", "name": "Fake", "pci": PCI[i]})
            links.append({"id": f"gpu:{PCI[i]}^{root}", "a": f"gpu:{PCI[i]}", "b": root})
            (tmp_path / f"gpu-host/sys/bus/pci/devices/{PCI[i]}/numa_node").write_text("0\n")
        file = tmp_path / "topology.json"
        file.write_text(json.dumps({"v": 1, "kind": "topology", "nodes": nodes, "links": links, "neighbors": []}))
        return {**env, "ASSAY_TOPOLOGY": str(file)}

    return make


@pytest.fixture
def memory(run, gpus, one_node):  # noqa: F811
    """memory("count=2 slowcopy=1", "--option", ...) returns (CompletedProcess, {(check, subject): sample})."""

    def start(settings, *args, engine="cuda", **kwargs):
        count = int(dict(word.split("=") for word in settings.split()).get("count", 2))
        env = one_node(gpus(f"{settings} copy=500", **kwargs), count)
        done = run(PROBE, "--engine", engine, *SMALL, *args, env=env)
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        by_key = {(s["check"], s["subject"]): s for s in samples}
        assert len(by_key) == len(samples)
        return done, by_key

    return start


def keys(i, count):
    """The expected samples of GPU `i` of `count`, with its rate."""
    there, back = f"numa:0>{gpu(i)}", f"{gpu(i)}>numa:0"
    crowd = {} if count == 1 else {(H2D, f"{there}*{count}"): 1, (D2H, f"{back}*{count}"): 1}
    pairs = {(P2P, f"{gpu(i)}>{gpu(j)}"): 1 for j in range(count) if j != i}
    return {(H2D, there): 1, (D2H, back): 1, (BIDIR, there): 2, (OWN, gpu(i)): 2, **crowd, **pairs}


def all_keys(count):
    """And the small copies."""
    small = {key for i in range(count) for key in ((H2D_LAT, f"numa:0>{gpu(i)}"), (D2H_LAT, f"{gpu(i)}>numa:0"))}
    return small | {key for i in range(count) for key in keys(i, count)}


def check_healthy(samples, i, count, factor=1, without=None):
    for key, times in keys(i, count).items():
        s = samples[key]
        if without is not None and key[1].endswith(f">{gpu(without)}"):
            continue  # a pair needs both
        assert (s["state"], s["ok"], s["unit"], s["better"]) == ("measured", None, "B/s", "higher"), s
        assert s["value"] == pytest.approx(times * factor * RATE_OF_FAKES, rel=0.02), s
        assert 8 <= len(s["w"]) <= 32 and "code" not in s
        assert s["params"].items() >= {"engine": "cuda", "version": "driver 580.65.06 (cuda 13.0)", "power_limit_w": 700}.items()


def check_clean(done):
    assert (done.returncode, done.stderr) == (0, "")


def test_every_gpu_copies_alone_and_with_the_others(memory):
    done, samples = memory("count=3")
    check_clean(done)
    assert set(samples) == all_keys(3)
    for i in range(3):
        check_healthy(samples, i, 3)
    s = samples[H2D, f"numa:0>{gpu(1)}"]
    assert (s["from"], s["to"], s["class"], s["params"]["size"]) == ("numa:0", f"gpu:{PCI[1]}", "node", 16384)
    # In path order, so that a slow link can be localised.
    assert s["path"] == ["numa:0^numa:0", "root:0000:11:01.0^numa:0", f"gpu:{PCI[1]}^root:0000:11:01.0"]
    assert samples[D2H, f"{gpu(1)}>numa:0"]["path"] == s["path"][::-1]
    at_once = samples[H2D, f"numa:0>{gpu(1)}*3"]
    assert (at_once["params"]["at_once"], at_once["with"]) == (3, [gpu(0), gpu(2)])


def test_a_small_copy_takes_what_it_takes_and_not_what_its_launch_does(memory):
    """Launches take longer than the copies: they are put while the GPU is at work on large ones."""
    done, samples = memory("count=2 copyns=1800 copynsat=1 launchns=3000")
    check_clean(done)
    for check, subject in ((H2D_LAT, f"numa:0>{gpu(1)}"), (D2H_LAT, f"{gpu(1)}>numa:0")):
        s = samples[check, subject]
        assert (s["state"], s["ok"], s["unit"], s["better"], s["params"]["size"]) == ("measured", None, "s", "none", 4), s
        assert s["value"] == pytest.approx(1.8e-6, rel=0.01) and len(s["w"]) == 8 and "code" not in s
        assert (s["class"], s["path"]) == ("node", samples[check.replace("lat", "bw"), subject]["path"])
    assert samples[H2D_LAT, f"numa:0>{gpu(0)}"]["value"] < 1e-7


def test_a_host_that_launches_too_slowly_to_tell_says_so(memory):
    done, samples = memory("count=1 copyns=1800 launchns=60000")
    check_clean(done)
    s = samples[H2D_LAT, f"numa:0>{gpu(0)}"]
    assert (s["state"], s["code"]) == ("measured", "host-bound") and "launches too slowly to tell" in s["note"], s


@pytest.fixture
def judged(build, run, gpus, one_node, script, profiles):  # noqa: F811
    """judged("count=8 slowin=3") is the verdict of a run. Only the probe's clock is simulated, so its own budget is in simulated
    time; the one after which it is killed is long enough for a loaded machine."""

    def start(settings, *args):
        count = int(dict(word.split("=") for word in settings.split())["count"])
        env = one_node(gpus(f"{settings} copy=500"), count)
        clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
        words = " ".join([*SMALL, "--engine", "cuda", *map(str, args)])
        probe = script("memory", f'exec env {clock} {build}/{PROBE} {words} "$@" --budget 20s\n')
        file = profiles(budget="120s", quick=[{"name": "memory", "exec": probe, "budget": "110s"}])
        done = run("assay", "run", "--profiles", file, "-o", "json", env=env)
        return json.loads(done.stdout)["verdict"]

    return start


@pytest.mark.long
def test_no_clean_run_of_gpus_that_differ_by_some_per_cent_raises_an_alarm(judged, full):
    for seed in range(100 if full else 3):
        found = judged(f"count=8 spread=4{' mixed=1' if seed % 2 else ''}", "--seed", seed)
        assert found["verdict"] == "pass", (seed, [item for item in found["items"] if item["verdict"] != "pass"])


@pytest.mark.parametrize("fault, check, other", [("slowin=3", H2D, D2H), ("slowout=3", D2H, H2D)])
def test_a_slow_pcie_link_of_one_gpu_is_named_with_its_direction(memory, run, tmp_path, fault, check, other):
    done, samples = memory(f"count=8 spread=4 {fault}")
    check_clean(done)
    file = tmp_path / "samples"
    file.write_text(done.stdout)
    found = json.loads(run("assay", "localise", file, "-o", "json").stdout)["links"]
    explained = json.loads(run("assay", "explain", file, "-o", "json").stdout)["links"]
    assert [(link["link"], link["check"]) for link in explained] == [(link["link"], link["check"]) for link in found]
    assert [link["link"] for link in found] == [f"gpu:{PCI[3]}^root:0000:11:01.0"], found
    assert found[0]["check"] == check and found[0]["ratio"] == pytest.approx(0.75, abs=0.05)
    assert all(gpu(3) in subject or PCI[3] in subject for subject in found[0]["for"]) and found[0]["against"] == []


@pytest.mark.some(1)
@pytest.mark.parametrize("fault, check, words", [("slowin=3", H2D, f"gpu:{PCI[3]}"), ("slowout=3", D2H, f"gpu:{PCI[3]}")])
def test_a_run_names_the_slow_link_and_no_other_gpu(judged, fault, check, words):
    found = judged(f"count=8 spread=4 {fault}")
    low = [item for item in found["items"] if item["verdict"] not in ("pass", "inconclusive")]
    assert found["verdict"] in ("warn", "fail") and low, found
    assert any(item["check"] == "memory.link" and item["subject"].startswith(words) for item in low), low
    assert {item["check"] for item in low} <= {check, "memory.link", BIDIR}, low
    assert all(gpu(3) in item["subject"] or words in item["subject"] for item in low), low


@pytest.mark.long
def test_a_slow_pair_is_that_pair_alone(judged, memory):
    done, samples = memory("count=4 spread=2 slowpair=13")
    check_clean(done)
    rates = {subject: s["value"] for (c, subject), s in samples.items() if c == P2P}
    slow = rates.pop(f"{gpu(1)}>{gpu(3)}")
    assert slow < 0.8 * min(rates.values())
    found = judged("count=4 spread=2 slowpair=13")
    low = [(item["check"], item["subject"]) for item in found["items"] if item["verdict"] != "pass"]
    assert low == [(P2P, f"{gpu(1)}>{gpu(3)}")], found["items"]


@pytest.fixture
def link(memory, tmp_path):
    """link(i, speed, width, above="32.0 GT/s PCIe") sets sysfs for GPU i, which supports x16 at 32 GT/s; above: the maximum of its upstream port."""

    def write(i, speed, width, above=None):
        device = tmp_path / f"gpu-host/sys/bus/pci/devices/{PCI[i]}"
        where = tmp_path / f"gpu-host/sys/devices/pci{i}/{PCI[i]}"
        if not device.is_symlink():  # as in sysfs, where the port is its parent directory
            where.parent.mkdir(parents=True)
            device.rename(where)
            device.symlink_to(where)
        files = {"current_link_speed": speed, "max_link_speed": "32.0 GT/s PCIe", "current_link_width": width, "max_link_width": 16}
        if above:
            files.update({"../max_link_speed": above, "../max_link_width": 16})
        for name, value in files.items():
            (where / name).write_text(f"{value}\n")

    memory("count=3")  # creates the host
    return write


def test_a_link_that_is_trained_down_under_load_is_told_as_the_cause(memory, link):
    link(0, "32.0 GT/s PCIe", 16, "32.0 GT/s PCIe")
    link(1, "16.0 GT/s PCIe", 8, "32.0 GT/s PCIe")
    link(2, "16.0 GT/s PCIe", 16, "32.0 GT/s PCIe")
    done, samples = memory("count=3 slowcopy=1")
    check_clean(done)
    words = "its PCIe link ran at 16 GT/s x8 during the test, but can run at 32 GT/s x16"
    assert samples[H2D, f"numa:0>{gpu(1)}"]["note"] == words
    assert "note" not in samples[H2D, f"numa:0>{gpu(0)}"] and "note" not in samples[OWN, gpu(1)]
    links = [samples["memory.pcie_link", gpu(i)] for i in range(3)]
    assert [(s["value"], s["ok"], s.get("code"), s.get("severity")) for s in links] == [
        (1, True, None, None), (0.25, False, "pcie-width", "warn"), (0.5, False, "pcie-speed", "warn")]
    assert links[1]["note"] == words and links[1]["params"] == {"max_gts": 32, "max_width": 16}


def test_a_link_is_held_against_the_slower_end_and_not_judged_without_it(memory, link):
    link(0, "16.0 GT/s PCIe", 16, "16.0 GT/s PCIe")
    link(1, "16.0 GT/s PCIe", 16)
    done, samples = memory("count=3")
    check_clean(done)
    of = [samples.get(("memory.pcie_link", gpu(i))) for i in range(3)]
    assert (of[0]["value"], of[0]["ok"]) == (1, True) and of[2] is None
    assert (of[1]["value"], of[1]["ok"]) == (0.5, None) and "can run at 32 GT/s x16" in of[1]["note"]


def test_a_slow_gpu_is_the_only_slow_one(memory):
    done, samples = memory("count=3 slowcopy=2")
    check_clean(done)
    check_healthy(samples, 0, 3)
    check_healthy(samples, 1, 3)
    check_healthy(samples, 2, 3, factor=0.75)


@pytest.mark.parametrize("fault, state, code, severity, words", [
    ("hangcopy=1", "timeout", None, None, "windows of copies in time"),
    ("losecopy=1", "measured", "device-lost", "fatal", "is lost (NVML: GPU_IS_LOST)"),
    ("ecccopy=1", "measured", "device-error", "warn", "CUDA_ERROR_ECC_UNCORRECTABLE 214"),
    ("full=1", "set-up", None, None, "out of memory: 0 MiB wanted, 3 of 65536 MiB free"),
    ("taken=1", "set-up", None, None, "cannot make a context: CUDA_ERROR_DEVICE_UNAVAILABLE 46"),
    ("busy=1 pid=4242424", "busy", None, None, "pid 4242424 (python3) computes on it"),
])
def test_a_gpu_that_fails_is_told_of_and_the_others_are_measured(memory, fault, state, code, severity, words):
    done, samples = memory(f"count=3 {fault}")
    assert done.returncode == 0, done.stderr
    assert set(samples) == all_keys(3)
    check_healthy(samples, 0, 3, without=1)
    check_healthy(samples, 2, 3, without=1)
    s = samples[D2H, f"{gpu(1)}>numa:0*3"]
    assert (s["state"], s.get("code"), s.get("severity"), s["value"]) == (state, code, severity, None), s
    assert words in s["note"]


def test_data_that_comes_back_wrong_names_its_gpu(memory):
    done, samples = memory("count=2 rot=1")
    check_clean(done)
    check_healthy(samples, 0, 2)
    s = samples[D2H, f"{gpu(1)}>numa:0"]
    assert (s["ok"], s["code"]) == (False, "copy:wrong-data")
    assert s["note"] == "the GPU returned wrong data, first at byte 0x1000 of 16384"


def test_gpus_that_do_not_reach_each_other_directly_say_so(memory):
    done, samples = memory("count=2 alone=1")
    check_clean(done)
    assert samples[P2P, f"{gpu(0)}>{gpu(1)}"]["params"]["direct"] is True
    assert samples[P2P, f"{gpu(1)}>{gpu(0)}"]["params"]["direct"] is False
    assert "path" not in samples[P2P, f"{gpu(0)}>{gpu(1)}"]  # may be NVLink


@pytest.mark.long
def test_with_time_the_pattern_finds_the_gpu_that_does_not_keep_what_is_written(memory):
    done, samples = memory("count=2 rot=1 copy=20", "--budget", "20s")
    check_clean(done)
    good, bad = samples[PATTERN, gpu(0)], samples[PATTERN, gpu(1)]
    assert (good["value"], good["ok"]) == (0, True) and good["n"] >= 2048
    assert (bad["ok"], bad["code"], bad["severity"]) == (False, "pattern:reproduced", "fatal")
    assert re.match(r"2 of \d+ words were wrong; the first, at offset 0x1000: expected 0x", bad["note"]), bad["note"]


def test_a_driver_that_does_not_come_back_names_the_gpu_and_ends(memory):
    done, samples = memory("count=3 block=1", "--budget", "3s", ASSAY_FAKE_PATIENCE="1")
    assert (done.returncode, done.stderr) == (0, "")
    late = {key for key, s in samples.items() if s["state"] == "timeout"}
    assert all(gpu(1) in subject for _, subject in late) and (H2D, f"numa:0>{gpu(1)}") in late
    assert samples[H2D, f"numa:0>{gpu(1)}"]["note"].startswith("slow to start: not ready after")
    assert {s["state"] for key, s in samples.items() if key not in late} == {"measured"}


def test_one_that_stops_answering_in_mid_work_is_named(memory):
    done, samples = memory("count=3 block=1 at=cuEventElapsedTime", "--budget", "3s", ASSAY_FAKE_PATIENCE="1")
    assert done.returncode == 1 and f"{gpu(1)}: a call to the GPU driver did not return" in done.stderr
    assert samples[H2D, gpu(1)]["state"] == "timeout"


def test_auto_measures_gpus_and_the_host(memory, tmp_path):
    (tmp_path / "gpu-host/sys/devices").mkdir(parents=True)
    (tmp_path / "gpu-host/sys/devices/system").symlink_to("/sys/devices/system")
    done, samples = memory("count=1", "--busy", "run", engine="auto", real=True)
    check_clean(done)
    checks = {check for check, _ in samples}
    assert {H2D, D2H, BIDIR, OWN, "memory.read_bw", "memory.pattern"} <= checks
    assert samples[H2D, f"numa:0>{gpu(0)}"]["state"] == "measured"


def test_without_a_driver_it_says_so_soon_and_never_takes_the_host_instead(run, gpu_host, tmp_path):  # noqa: F811
    env = {**gpu_host(1), "LD_LIBRARY_PATH": str(tmp_path)}
    for engine, status in (("cuda", 77), ("auto", 1)):
        done = run(PROBE, "--engine", engine, env=env)
        assert (done.returncode, done.stdout) == (status, "")
        assert "cannot load libcuda.so.1" in done.stderr and done.stderr.count("\n") == 1


def test_it_needs_no_library_of_products(run, gpus, one_node, tmp_path, gpu_libraries):  # noqa: F811
    """On a host with only the driver."""
    env = one_node(gpus("count=1"), 1)
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        (tmp_path / name).symlink_to(gpu_libraries / name)
    done = run(PROBE, "--engine", "cuda", *SMALL, env={**env, "LD_LIBRARY_PATH": str(tmp_path)})
    check_clean(done)
    assert len(done.stdout.splitlines()) == 6


@pytest.mark.parametrize("size", ["0", "x", "5000", "-4096", "2147483648"])
def test_a_size_that_is_none_is_refused(run, size):
    done = run(PROBE, f"--size={size}")
    assert done.returncode == 2 and f"--size: '{size}' is not a multiple of 4096 bytes, at most 1073741824" in done.stderr
