# SPDX-License-Identifier: Apache-2.0
"""HotSPa in assay-attribute --remedies: groups by sequence length with a plan for each, from a description of the job."""
import json
import subprocess

import pytest
from attribution_fixtures import generator  # noqa: F401
from test_remedy_random import play

DESCRIPTION = """\
layers: [{count: 32, memory_gib: 2}]
stages: [8, 8, 8, 8]
memory_gib: 20
link_gbps: 3200
restart_s: 600
hotspa:
  lengths:
    - {tokens: 8192, count: 80}
    - {tokens: 32768, count: 8}
    - {tokens: 2048, count: 496}
  plans:
    - {tp: 8, pp: 4, dp: 4, times: [{tokens: 4096, ms: 11}, {tokens: 32768, ms: 121}]}
    - {tp: 4, pp: 1, dp: 32, times: [{tokens: 1024, ms: 13}, {tokens: 8192, ms: 110}]}
  weights_gib: 24
  inside_gbps: 3600
"""
COUNTS = {32768: 8, 8192: 80, 2048: 496}
TIMES = {4: [(4096, .011), (32768, .121)], 1: [(1024, .013), (8192, .11)]}  # by pp


@pytest.fixture(scope="module")
def traces(generator, tmp_path_factory):  # noqa: F811
    """Two jobs of the same shape: one is slowed by its sequence lengths, the other by a host."""
    made = {}
    for injection in ("sequences", "slow-worker"):
        made[injection] = tmp_path_factory.mktemp("traces") / f"{injection}.jsonl"
        with made[injection].open("wb") as out:
            subprocess.run([generator, injection, "5", "dp=4", "pp=4", "mb=16", "tp=8", "steps=4"], stdout=out, check=True)
    return made


@pytest.fixture
def described(tmp_path):
    def make(*changes):
        text = DESCRIPTION
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "F.yaml"
        path.write_text(text)
        return path
    return make


def answer(run, trace, path):
    result = run("assay-attribute", trace, "--remedies", path)
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


def hotspa(doc):
    return next(one for one in doc["remedies"]["list"] if one["kind"] == "hotspa")


def computes_of(trace):
    """Mean compute seconds per step of a stage, of 4 pipelines with 4 stages."""
    steps, seconds = set(), 0
    for line in trace.read_text().splitlines()[1:]:
        op = json.loads(line)
        steps.add(op["step"])
        seconds += op["duration"] if op["optype"].endswith("-compute") else 0
    return seconds / len(steps) / 16


def packs_of(lengths, bound):
    """First fit: the longest remaining, then each later one that fits."""
    left, packs = sorted(lengths, reverse=True), []
    while left:
        pack, rest, room = [], [], bound
        for tokens in left:
            (pack if tokens <= room else rest).append(tokens)
            room -= tokens if tokens <= room else 0
        packs.append(pack)
        left = rest
    return packs


def seconds_of(pack, bound, pp):
    """A stage's time: a * tokens + b * squares, fitted to both measurements."""
    (s0, t0), (s1, t1) = TIMES[pp]
    square = (t1 / s1 - t0 / s0) / (s1 - s0)
    return (t0 / s0 - square * s0) * bound + square * sum(n * n for n in pack)


def step_of(doc, packs, pp, dp, slow):
    """The slowest pipeline, by the tests' simulator; packs are dealt in turn, costliest first. slow(d, p): slowdown factor."""
    packs = sorted(packs, reverse=True)
    forward, backward = (sum(doc["remedies"][key]) for key in ("forward_s", "backward_s"))
    parts = forward / (forward + backward), backward / (forward + backward)
    return max(play(pp, len(mine), [part * t * slow(d, p) for p in range(pp) for t in mine for part in parts])
               for d in range(dp) for mine in [packs[d::dp]] if mine)


def test_groups_take_what_another_simulator_says(run, traces, described):
    doc = answer(run, traces["sequences"], described())
    one = hotspa(doc)
    assert doc["primary"] == "seqlen" and one["advised"] is True and one["why_not"] is None
    assert [(g["longest"], g["shortest"], g["sequences"]) for g in one["groups"]] == [(32768, 32768, 8), (8192, 2048, 576)]
    assert [g["plan"] for g in one["groups"]] == [{"tp": 8, "pp": 4, "dp": 4, "cp": 1}, {"tp": 4, "pp": 1, "dp": 32, "cp": 1}]
    # A stage of the current plan computes as long as one of the trace.
    packs = [seconds_of(pack, 32768, 4) for pack in packs_of([n for n, count in COUNTS.items() for _ in range(count)], 32768)]
    slow = sum(one["slowdown"], [])  # of hosts: stages inside pipelines, by their ranks
    scale = computes_of(traces["sequences"]) / (sum(packs) / 4) / (sum(slow) / 16)
    hosts = {4: lambda d, p: d * 4 + p, 1: lambda d, p: d // 2}  # of a stage, by pp
    for group in one["groups"]:
        pp, dp, bound = group["plan"]["pp"], group["plan"]["dp"], group["pack_tokens"]
        lengths = [n for n, count in COUNTS.items() for _ in range(count) if group["shortest"] <= n <= group["longest"]]
        mine = [seconds_of(pack, bound, pp) for pack in packs_of(lengths, bound)]
        assert len(mine) == group["packs"]
        # Operations of this trace vary a little, and all wait for the slowest.
        assert group["seconds"] == pytest.approx(scale * step_of(doc, mine, pp, dp, lambda d, p: slow[hosts[pp](d, p)]), rel=5e-3)
    beyond = one["beyond_s"]
    assert one["after_s"] == pytest.approx(sum(g["seconds"] for g in one["groups"]) + one["switches_s"] + beyond, rel=1e-5)
    assert one["single"]["after_s"] == pytest.approx(scale * step_of(doc, packs, 4, 4, lambda d, p: slow[d * 4 + p]) + beyond, rel=5e-3)
    assert one["gain_s"] == pytest.approx(doc["remedies"]["now_s"] - one["after_s"], abs=1e-6)
    assert one["gain_over_single_s"] == pytest.approx(one["single"]["after_s"] - one["after_s"], abs=1e-6) and one["gain_over_single_s"] > 0
    assert one["cost_s"] == 600


def test_switches_are_priced_by_what_they_move(run, traces, described):
    one = hotspa(answer(run, traces["sequences"], described()))
    there, back = one["switches"]
    assert there["to"] == back["from"] == one["groups"][1]["plan"] and there["from"] == back["to"] == one["groups"][0]["plan"]
    # There: each host of 8 GPUs lacks three quarters of the model, for two copies of it, at 400 GB/s.
    assert there["seconds"] == pytest.approx(2 * 0.75 * 24 * 2**30 / 400e9, rel=1e-6)
    # Back: a GPU needs an eighth of a quarter of the model, which another GPU of its host may have, at 450 GB/s.
    assert 0 < back["seconds"] <= 24 * 2**30 / 32 / 450e9 * 4
    assert one["switches_s"] == pytest.approx(there["seconds"] + back["seconds"], rel=1e-6)


@pytest.fixture(scope="module")
def along(traces, tmp_path_factory):
    """The job of "sequences" with pipelines on consecutive hosts: the first has hosts 0 to 3, not 0, 4, 8 and 12."""
    path = tmp_path_factory.mktemp("along") / "along.jsonl"
    with traces["sequences"].open() as lines, path.open("w") as out:
        for line in lines:
            one = json.loads(line)
            for each in one.get("ranks", [one]):
                each["rank"] = 8 * (4 * each["dp_rank"] + each["stage"])
                if "node" in each:
                    each["node"] = f"n{each['rank'] // 8:03}"
            out.write(json.dumps(one) + "\n")
    return path


FEWER_STAGES = ("tp: 4, pp: 1, dp: 32, times: [{tokens: 1024, ms: 13}, {tokens: 8192, ms: 110}]",
                "tp: 8, pp: 2, dp: 8, times: [{tokens: 1024, ms: 3}, {tokens: 8192, ms: 28}]")


@pytest.mark.parametrize("laid,quarters", [("sequences", 1), ("along", 2)])
def test_a_switch_begins_where_the_trace_has_its_hosts(run, traces, along, described, laid, quarters):
    one = hotspa(answer(run, traces.get(laid, along), described(FEWER_STAGES)))
    # Of hosts 0 to 7, which get the first half, some have a quarter of it now, or none.
    assert one["switches"][0]["seconds"] == pytest.approx(quarters * 24 * 2**30 / 4 / 400e9, rel=1e-6)


def test_a_plan_of_the_same_shape_moves_nothing(run, along, described):
    one = hotspa(answer(run, along, described(("tp: 4, pp: 1, dp: 32", "tp: 8, pp: 4, dp: 4"), ("ms: 13}", "ms: 1.3}"), ("ms: 110", "ms: 15"))))
    assert one["switches_s"] == 0 and len(one["groups"]) == 2


def test_it_is_not_advised_for_a_job_that_something_else_slows(run, traces, described):
    doc = answer(run, traces["slow-worker"], described(("ms: 121", "ms: 148"), ("ms: 11}", "ms: 14}")))
    one = hotspa(doc)
    assert doc["primary"] == "worker" and one["advised"] is False
    assert one["why_not"] == "what slows this job is worker, not the lengths of its sequences (seqlen)"
    assert one["note"].startswith(f"not advised: {one['why_not']}; ")
    # Only the difference between the plans; the rest of a step is unchanged.
    assert one["after_s"] == pytest.approx(sum(g["seconds"] for g in one["groups"]) + one["switches_s"] + one["beyond_s"], rel=1e-6)
    assert 0 < one["beyond_s"] < doc["remedies"]["now_s"] - computes_of(traces["slow-worker"])
    assert one["gain_s"] == pytest.approx(one["gain_over_single_s"] + one["single"]["gain_s"], abs=1e-6) and one["single"]["gain_s"] >= 0


def test_nothing_is_advised_for_a_job_that_nothing_slows(run, generator, tmp_path, described):  # noqa: F811
    path = tmp_path / "none.jsonl"
    with path.open("wb") as out:
        subprocess.run([generator, "none", "5", "dp=4", "pp=4", "mb=16", "tp=8", "steps=4"], stdout=out, check=True)
    doc = answer(run, path, described(("ms: 121", "ms: 148"), ("ms: 11}", "ms: 14}")))
    assert doc["primary"] == "none" and hotspa(doc)["advised"] is False
    assert hotspa(doc)["why_not"] == "nothing slows this job, least of all lengths of sequences (seqlen)"


def test_switches_of_too_many_gpus_are_left_out(run, generator, tmp_path, described):  # noqa: F811
    path = tmp_path / "wide.jsonl"
    with path.open("wb") as out:
        subprocess.run([generator, "sequences", "5", "dp=4", "pp=4", "mb=16", "tp=128", "steps=4"], stdout=out, check=True)
    doc = answer(run, path, described(("tp: 8", "tp: 128"), ("tp: 4", "tp: 64")))
    assert {"kind": "hotspa", "why": "2048 GPUs: 1024 more than switch planning supports"} in doc["remedies"]["left_out"]


def test_people_get_its_groups_in_the_table(run, traces, described):
    text = run("assay-attribute", traces["sequences"], "--remedies", described(), "-o", "table").stdout
    assert "hotspa" in text and "sequences of 32768 tokens by tp 8 pp 4 dp 4, sequences of 2048 to 8192 tokens by tp 4 pp 1 dp 32, 2 switches of" in " ".join(text.split())


def test_what_is_no_faster_than_one_plan_is_left_out(run, traces, described):
    slow_link = answer(run, traces["sequences"], described(("link_gbps: 3200", "link_gbps: 20")))["remedies"]
    slow_plan = answer(run, traces["sequences"], described(("ms: 13}", "ms: 26}"), ("ms: 110", "ms: 220")))["remedies"]
    for doc in (slow_link, slow_plan):
        assert all(one["kind"] != "hotspa" for one in doc["list"])
        why = next(one["why"] for one in doc["left_out"] if one["kind"] == "hotspa")
        assert why.startswith("no grouping by length is faster, its switches included, than one plan for all: tp 8 pp 4 dp 4, ")


@pytest.mark.parametrize("change,where,words", [
    (("tp: 8, pp: 4", "tp: 4, pp: 4"), 12, "hotspa.plans[0]: tp 4, but {trace} has 8: the first plan is the current one"),
    (("pp: 4, dp: 4", "pp: 2, dp: 8"), 12, "hotspa.plans[0]: pp 2, but {trace} has 4: the first plan is the current one"),
    (("tp: 8, pp: 4", "cp: 2, tp: 8, pp: 4"), 12, "hotspa.plans[0]: cp 2, but {trace} has 1: the first plan is the current one"),
    (("dp: 32", "dp: 16"), 13, "hotspa.plans[1]: tp * pp * dp * cp is 64 GPUs, but {trace} has 128: every plan uses all of them"),
    (("tp: 4, pp: 1, dp: 32", "tp: 1, pp: 64, dp: 2"), 13, "hotspa.plans[1]: 64 stages, but layers has 32 layers"),
    (("ms: 121", "ms: 60"), 7, "hotspa: its sequences keep a stage of the first plan busy for "),
    (("count: 496", "count: 4960"), 7, "hotspa: its sequences keep a stage of the first plan busy for "),
    (("tokens: 32768, count: 8", "tokens: 65536, count: 8"), 7,
     "hotspa: a sequence has 65536 tokens, but the first plan, the one in use, takes at most 32768"),
])
def test_a_description_that_contradicts_the_trace_is_refused(run, traces, described, change, where, words):
    path = described(change)
    result = run("assay-attribute", traces["sequences"], "--remedies", path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{path}:{where}: {words.format(trace=traces['sequences'])}") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("change,words", [
    (("  weights_gib: 24\n", ""), "hotspa.weights_gib: missing"),
    (("weights_gib", "weight_gib"), "hotspa.weight_gib: unknown key; did you mean weights_gib?"),
    (("tokens: 8192, count: 80", "tokens: 2048, count: 80"), "hotspa.lengths: 2048 tokens are listed twice: add up their counts"),
    (("count: 80", "count: 0"), "hotspa.lengths[0].count: 0 is outside 1 to 65536"),
    (("count: 80", "count: 65536"), "hotspa.lengths: 66040 sequences in a step: expected at most 65536"),
    (("{tokens: 1024, ms: 13}, ", ""), "hotspa.plans[1].times: expected a short sequence and the longest one, not 1"),
    (("tokens: 1024, ms: 13", "tokens: 9000, ms: 13"), "hotspa.plans[1].times: expected the second to have more tokens than the first"),
    (("ms: 110", "ms: 12"), "hotspa.plans[1].times: 8192 tokens take less time than 1024: measure both again"),
    (("ms: 110", "ms: 1300"), "hotspa.plans[1].times: 8192 tokens take 100 times as long as 1024, more than the square of their ratio: "
     "measure both again"),
    (("    - {tp: 8, pp: 4, dp: 4, times: [{tokens: 4096, ms: 11}, {tokens: 32768, ms: 121}]}\n", ""),
     "hotspa.plans: expected the current one and 1 to 7 others, not 1 in total"),
])
def test_a_wrong_description_is_one_line(run, traces, described, change, words):
    result = run("assay-attribute", traces["sequences"], "--remedies", described(change))
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr and result.stderr.count("\n") == 1
