# SPDX-License-Identifier: Apache-2.0
"""A host with slow launches, on fake GPUs with a boost clock and a given launch cost."""
import json
import re
from pathlib import Path

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

LAUNCH, TAIL, FAR = "gemm.launch", "gemm.launch_p99", "gemm.launch_far"
CHAIN, CHAIN_FAR = "gemm.chain", "gemm.chain_far"
SHAPE = ["--shape", "256,16,256"]


@pytest.fixture
def probe(run, gpus):  # noqa: F811
    """probe("count=2 launchns=3000", "--chain") returns {(check, subject): sample}."""

    def start(settings, *args, nodes=0):
        env = gpus(settings)
        make_nodes(Path(env["ASSAY_SYSROOT"]), nodes)
        done = run("assay-probe-gemm", *SHAPE, *args, env=env)
        assert (done.returncode, done.stderr) == (0, "")
        return {(s["check"], s["subject"]): s for s in map(json.loads, done.stdout.splitlines())}

    return start


def make_nodes(root, count):
    """NUMA nodes with one core each; the fakes assign GPUs and cores to two nodes alternately."""
    for i in range(count):
        node = root / f"sys/devices/system/node/node{i}"
        node.mkdir(parents=True, exist_ok=True)
        (node / "cpulist").write_text(f"{i}\n")
        (node / "meminfo").write_text(f"Node {i} MemTotal: 16777216 kB\nNode {i} MemFree: 8388608 kB\n")
    if count:
        (root / "sys/devices/system/node/online").write_text(f"0-{count - 1}\n")


def share(sample):
    """Percentage of the time in which the GPU waits for the host."""
    return int(re.search(r"waits for the host (\d+) %", sample["note"])[1])


@pytest.mark.some(1)
@pytest.mark.parametrize("boost", ["", "boost=25 boostms=50", "boost=25 boostms=20"])
def test_the_chain_is_held_against_the_gpu_at_the_clock_that_it_has_there(probe, boost):
    """The GPU waits a quarter of the time. After products of 30 ms its clock is throttled, so its own time is a quarter longer."""
    gpu_us, host_us = 79.5 / (1.25 if boost else 1), 85 * (1 if boost else 1.25)
    samples = probe(f"count=3 mflops=20000 launchns={round(100 * host_us) - 1250} {boost}", "--chain")
    for i in range(3):
        s = samples[CHAIN, gpu(i)]
        assert s["code"] == "host-bound" and abs(share(s) - 100 * (1 - gpu_us / host_us)) < 8, s["note"]


def test_what_it_hides_of_late_launches_is_seen_by_themselves(probe):
    good, late = (probe(f"count=2 mflops=2000 seed={seed} launchsd=3 launchns={ns}", "--chain")
                  for seed, ns in ((1, 30000), (2, 33000)))
    for i in range(2):
        chain, launch = ([samples[check, gpu(i)] for samples in (good, late)] for check in (CHAIN, LAUNCH))
        before, after = chain
        assert after["value"] == pytest.approx(before["value"], rel=0.03) and not {"code"} & {*before, *after}
        before, after = launch
        assert after["value"] / before["value"] == pytest.approx(1.1, rel=0.01)
        assert (after["unit"], after["better"], after["n"], after["ok"]) == ("s", "lower", 16, None)
        assert after["params"].items() >= {"shape": "16x16x16", "cpus": "any", "data": "uniform"}.items()
        assert re.match(r"a launch takes the host 3\d\.\d\d us, 99th percentile \d\d\.\d\d us$", after["note"])


def test_what_disturbs_it_is_in_the_tail_alone(probe):
    quiet, noisy = (probe(f"count=1 launchsd=3 launchns=30000 launchtail={tail}") for tail in (0, 20))
    assert noisy[LAUNCH, gpu(0)]["value"] == pytest.approx(quiet[LAUNCH, gpu(0)]["value"], rel=0.01)
    assert noisy[TAIL, gpu(0)]["value"] > 3 * quiet[TAIL, gpu(0)]["value"]


def test_it_is_measured_near_and_far(probe):
    samples = probe("count=2 launchns=30000 launchfar=20 mflops=20000", "--chain", nodes=2)
    for i in range(2):
        near, far = (samples[check, gpu(i)] for check in (LAUNCH, FAR))
        assert far["value"] / near["value"] == pytest.approx(1.2, abs=0.04)
        assert (near["params"]["cpus"], far["params"]["cpus"]) == ("near", "far")
        near, far = (samples[check, gpu(i)] for check in (CHAIN, CHAIN_FAR))
        assert far["value"] / near["value"] == pytest.approx(1.2, abs=0.04)
        assert (near["params"]["cpus"], far["params"]["cpus"]) == ("near", "far")
    one = probe("count=2 launchns=30000", "--chain", nodes=1)
    assert one[LAUNCH, gpu(0)]["params"]["cpus"] == "near" and one[LAUNCH, gpu(1)]["params"]["cpus"] == "any"
    assert not {(check, gpu(i)) for check in (FAR, CHAIN_FAR) for i in range(2)} & set(one)


def test_in_ten_seconds_it_is_measured_on_eight(probe):
    samples = probe("count=8 mflops=2500 launchns=3000 launchsd=3 launchparts=5", "--budget", "10s")
    values = [samples[LAUNCH, gpu(i)]["value"] for i in range(8)]
    assert values[7] > values[0] and (CHAIN, gpu(0)) not in samples


def test_launches_that_no_copy_hides_are_told(probe):
    s = probe("count=1 mflops=20000 delay=3000 keep=1", "--chain", "--budget", "25s")[CHAIN, gpu(0)]
    assert s["code"] == "host-bound" and "the GPU's own time is unknown: launches take longer than copies of 32 MiB" in s["note"]
