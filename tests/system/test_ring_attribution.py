# SPDX-License-Identifier: Apache-2.0
"""The causes of a slow job from the rings of its collectives, compared with those from its full trace."""
import gzip
import json
import subprocess

import pytest
from attribution_fixtures import attribute, generator, trace  # noqa: F401

STEPS = 14
# Maximum difference between full trace and rings (fraction of the slowdown; share).
APART = 1e-3
INJECTIONS = ["none", "slow-worker", "last-stage", "one-stage", "two-slow", "transient", "worker-and-stage", "sequences", "pauses",
              "flapping-link", "slow-collectives", "one-replica"]


@pytest.fixture(scope="session")
def ring_writer(build):
    program = build / "tests/attribution/rings"
    if not program.exists():
        subprocess.run(["make", "-C", build, "tests/attribution/rings"], check=True, capture_output=True)
    return program


@pytest.fixture
def from_rings(ring_writer, tmp_path):
    """from_rings(injection, seed, "dp=4", ...) -> path of the concatenated parts that its hosts write."""

    def make(injection, seed, *words):
        path = tmp_path / f"rings-{injection}-{seed}.jsonl"
        with path.open("wb") as out:
            subprocess.run([ring_writer, injection, str(seed), f"steps={STEPS}", *words], stdout=out, check=True, stderr=subprocess.PIPE)
        return path

    return make


@pytest.fixture
def whole(trace, tmp_path):
    """The full trace of the steps in the rings, which lack the first and the last."""

    def make(injection, seed, *words):
        path, truth = trace(injection, seed, f"steps={STEPS}", *words)
        meta, *lines = path.read_text().splitlines()
        steps = sorted({json.loads(line)["step"] for line in lines})[1:-1]
        kept = [line for line in lines if json.loads(line)["step"] in steps]
        path.write_text("\n".join([meta, *kept]) + "\n")
        return path, truth

    return make


def suspects(summary):
    return {(s["dp"], s["stage"], s["class"]): s["share"]["value"] for s in summary["suspects"] if s["counts"]}


@pytest.mark.some(6)
@pytest.mark.parametrize("injection", INJECTIONS)
def test_rings_say_what_the_whole_trace_says(from_rings, whole, attribute, injection):
    worst = 0
    for seed in (901, 902, 903):
        path, _ = whole(injection, seed)
        trace = json.loads(attribute("--summary", path))
        rings = json.loads(attribute("--summary", from_rings(injection, seed)))
        apart = abs(rings["slowdown"]["value"] / trace["slowdown"]["value"] - 1)
        assert apart <= APART, (seed, trace["slowdown"], rings["slowdown"])
        assert rings["steps"] == trace["steps"] == STEPS - 2
        theirs, ours = suspects(trace), suspects(rings)
        assert ours.keys() == theirs.keys(), (seed, theirs, ours)
        # In some steps only: the interval's blocks of steps differ.
        for key, share in theirs.items():
            assert abs(ours[key] - share) <= (5e-3 if injection == "transient" else APART), (seed, key)
        worst = max([worst, apart] + [abs(ours[k] - theirs[k]) for k in theirs if injection != "transient"])
    print(f"{injection}: slowdown and shares within {worst:.1e}")


@pytest.mark.some(4)
@pytest.mark.parametrize("host_ms", [0, 2, 5])
@pytest.mark.parametrize("injection", INJECTIONS)
def test_clocks_of_hosts_that_are_off_and_drift_change_nothing(from_rings, whole, attribute, injection, host_ms):
    worst = 0
    for seed in (921, 922, 923):
        path, _ = whole(injection, seed, "together=1")
        trace = json.loads(attribute("--summary", path))
        rings = json.loads(attribute("--summary", from_rings(injection, seed, "together=1", f"host={host_ms * 1000000}", "drift=5000")))
        apart = abs(rings["slowdown"]["value"] / trace["slowdown"]["value"] - 1)
        theirs, ours = suspects(trace), suspects(rings)
        assert apart <= APART, (seed, trace["slowdown"], rings["slowdown"])
        assert ours.keys() == theirs.keys(), (seed, theirs, ours)
        for key, share in theirs.items():
            assert abs(ours[key] - share) <= (5e-3 if injection == "transient" else APART), (seed, key)
        worst = max([worst, apart] + [abs(ours[k] - theirs[k]) for k in theirs if injection != "transient"])
    print(f"{injection}, hosts {host_ms} ms apart: slowdown and shares within {worst:.1e}")


@pytest.mark.parametrize("words", [["dp=4", "pp=4", "mb=16"], ["dp=8", "pp=1", "mb=8"], ["dp=2", "pp=2", "mb=29"]])
def test_a_rank_and_step_fits_2_kib(from_rings, words):
    path = from_rings("slow-worker", 904, *words)
    parts = path.read_text().split('{"type": "meta"')[1:]
    sizes, each = [], []
    for part in parts:
        lines = part.splitlines()[1:]
        collectives = sum("compute" not in line and '"optimizer"' not in line for line in lines)
        packed = len(gzip.compress(('{"type": "meta"' + part).encode()))
        sizes.append(packed / (STEPS - 2))
        each.append(packed / collectives)
    print(f"{' '.join(words)}: at most {max(sizes):.0f} bytes a rank and step, {max(each):.1f} a collective, by gzip")
    assert max(sizes) <= 2048
    assert max(each) <= 64


def test_operations_that_are_lost_cost_their_steps_alone(from_rings, whole, attribute):
    path, _ = whole("slow-worker", 905, "dp=4", "pp=2", "mb=8")
    trace = json.loads(attribute("--summary", path))
    path = from_rings("slow-worker", 905, "dp=4", "pp=2", "mb=8", "lost=2", "steps=40")
    rings = json.loads(attribute("--summary", path))
    assert 10 <= rings["steps"] <= 16
    assert suspects(rings).keys() == suspects(trace).keys() != set()
