# SPDX-License-Identifier: Apache-2.0
"""assay-attribute --remedies: the gain of rearranging a job, from its description."""
import json
import math
import re
import subprocess

import pytest
from attribution_fixtures import generator  # noqa: F401
from test_remedy_random import play

DESCRIPTION = """\
# What the job is made of.
layers:
  - {count: 16, memory_gib: 2}
  - {count: 16, memory_gib: 2}
stages: [8, 8, 8, 8]
microbatches: 16
memory_gib: 20
link_gbps: 200
spares: 1
failures: 2
restart_s: 600
failures_a_day: 0.01
repair_h: 48
"""


@pytest.fixture(scope="module")
def slow(generator, tmp_path_factory):  # noqa: F811
    """The trace of a job of four pipelines of four stages, with a slow host, n007."""
    path = tmp_path_factory.mktemp("slow") / "slow.jsonl"
    with path.open("wb") as out:
        subprocess.run([generator, "slow-worker", "5", "dp=4", "pp=4", "mb=16", "tp=8", "steps=6"], stdout=out, check=True)
    return path


@pytest.fixture
def described(tmp_path):
    def make(text=DESCRIPTION, **changes):
        path = tmp_path / "F.yaml"
        for key, value in changes.items():
            lines = [line for line in text.splitlines() if not line.startswith(f"{key}:")]
            text = "\n".join([*lines, f"{key}: {value}"]) + "\n"
        path.write_text(text)
        return path
    return make


def remedies(run, slow, path):
    result = run("assay-attribute", slow, "--remedies", path)
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)["remedies"]


def pipelines_s(doc, remedy):
    """The times of a remedy's pipelines by the tests' simulator; the remedy names the hosts, whose speeds are known."""
    names = [[f"n{p * 4 + d:03}" for p in range(4)] for d in range(4)]
    speed = {name: doc["slowdown"][d][p] for d, row in enumerate(names) for p, name in enumerate(row)}
    forward = [doc["forward_s"][i // 8] / 8 for i in range(32)]
    backward = [doc["backward_s"][i // 8] / 8 for i in range(32)]
    slowest = 0
    for hosts, layers, m in zip(remedy["hosts"], remedy["layers"], remedy["microbatches"]):
        assert sum(layers) == 32 and all(2 * n <= 20 for n in layers)
        seconds, at = [], 0
        for host, n in zip(hosts, layers):
            seconds += [sum(each[at:at + n]) * speed[host] for _ in range(m) for each in (forward, backward)]
            at += n
        slowest = max(slowest, play(len(hosts), m, seconds))
    assert sum(remedy["microbatches"]) == 64
    return slowest


def test_each_remedy_takes_what_another_simulator_says(run, slow, described):
    doc = remedies(run, slow, described())
    assert doc["experimental"] is True and doc["left_out"] == []
    assert {one["kind"] for one in doc["list"]} == {"microbatches", "layers", "both", "malleus", "oobleck"}
    assert [one["gain_s"] for one in doc["list"]] == sorted((one["gain_s"] for one in doc["list"]), reverse=True)
    assert max(row[1] for row in doc["slowdown"]) == doc["slowdown"][3][1] > 1.3
    for one in doc["list"]:
        assert one["after_s"] == pytest.approx(pipelines_s(doc, one) + doc["now_s"] - doc["pipelines_s"], rel=1e-6)
        assert one["gain_s"] == pytest.approx(doc["now_s"] - one["after_s"], abs=1e-6)
        assert one["pays_steps"] == pytest.approx(one["cost_s"] / one["gain_s"], rel=1e-6)
        assert one["after_s"] - (doc["now_s"] - doc["pipelines_s"]) >= doc["bound_s"]


def test_stages_of_several_chunks_are_interleaved(run, generator, tmp_path, described):  # noqa: F811
    """Micro-batches come in multiples of the stages, hosts are exchanged, and layers stay."""
    path = tmp_path / "chunks.jsonl"
    with path.open("wb") as out:
        subprocess.run([generator, "slow-worker", "5", "dp=4", "pp=4", "mb=16", "vpp=2", "tp=8", "steps=6"], stdout=out, check=True)
    doc = remedies(run, path, described())
    assert 0 < doc["now_s"] - doc["pipelines_s"] < 0.02 * doc["now_s"]
    assert {"kind": "layers", "why": "stages have several model chunks"} in doc["left_out"]
    speed = {host: y for row, hosts in zip(doc["slowdown"], ([f"n{d + 4 * p:03}" for p in range(4)] for d in range(4))) for host, y in zip(hosts, row)}
    assert {one["kind"] for one in doc["list"]} == {"microbatches", "malleus"}
    for one in doc["list"]:
        assert sum(one["microbatches"]) == 64 and all(m % 4 == 0 for m in one["microbatches"]) and min(one["microbatches"]) < 16
        assert one["layers"] == [[8] * 4] * 4 and one["gain_s"] > 0
        slowest = max(play(4, m, [each[p] / 2 * speed[hosts[p]] for _ in range(2) for p in range(4) for _ in range(m)
                                  for each in (doc["forward_s"], doc["backward_s"])], 2)
                      for hosts, m in zip(one["hosts"], one["microbatches"]))
        assert one["after_s"] == pytest.approx(slowest + doc["now_s"] - doc["pipelines_s"], rel=1e-6)


def test_whoever_is_slow_gets_less(run, slow, described):
    by = {one["kind"]: one for one in remedies(run, slow, described())["list"] if one["kind"] != "oobleck"}
    assert by["microbatches"]["microbatches"][3] == min(by["microbatches"]["microbatches"]) < 16
    assert by["microbatches"]["cost_s"] == 0
    assert by["layers"]["layers"][3][1] < 8 and by["layers"]["layers"][0] == [8] * 4
    # One layer of 2 GiB to a neighbour, at 200 Gbit/s.
    assert by["layers"]["cost_s"] == pytest.approx(by["layers"]["moved_bytes"] / 25e9, rel=1e-6)
    assert "n007" in by["malleus"]["hosts"][0]
    both = by["both"]
    row = next(i for i, hosts in enumerate(both["hosts"]) if "n007" in hosts)
    stages = ", ".join(str(n) for n in both["layers"][row])
    assert both["note"] == f"the pipeline of n007: stages of {stages} layers (now 8, 8, 8, 8), {both['microbatches'][row]} micro-batches (now 16)"


def test_a_job_goes_on_without_its_slowest_hosts(run, slow, described):
    doc = remedies(run, slow, described())
    first, second = sorted((one for one in doc["list"] if one["kind"] == "oobleck"), key=lambda one: len(one["lost"]))
    assert first["lost"] == ["n007"] and second["lost"][0] == "n007" and len(second["lost"]) == 2
    assert doc["templates"]["n0"] == 4 and sum(doc["templates"]["sizes"]) == 16
    for loss in (first, second):
        placed = [host for row in loss["hosts"] for host in row]
        assert len(set(placed)) == len(placed) and not set(loss["lost"]) & set(placed)
        has = {f"n{p * 4 + d:03}": set(range(8 * p, 8 * p + 8)) for p in range(4) for d in range(4)}
        owned = {host: set(layers) for host, layers in has.items()}
        for copy in loss["copies"]:
            layers = set(range(copy["first_layer"], copy["last_layer"] + 1))
            assert copy["from"] not in loss["lost"] and layers <= owned[copy["from"]]
            has[copy["to"]] |= layers
        for hosts, counts in zip(loss["hosts"], loss["layers"]):
            at = 0
            for host, n in zip(hosts, counts):
                assert set(range(at, at + n)) <= has[host]
                at += n
        assert loss["restart"] is False and loss["cost_s"] > 0
    assert remedies(run, slow, described(lose="[n000, n001]"))["list"][-1]["lost"] == ["n000", "n001"]


def test_spare_hosts_are_counted(run, slow, described):
    doc = remedies(run, slow, described())
    # 16 hosts, each out with probability 0.01 * 2.
    reached = [sum(math.comb(16, k) * 0.02 ** k * 0.98 ** (16 - k) for k in range(spares + 1)) for spares in (1, 2)]
    assert reached[0] < 0.99 < reached[1]
    assert doc["standby"] == {"spares": 2, "have": 1, "certainty": pytest.approx(reached[1], rel=1e-8)}


def test_people_get_a_table(run, slow, described):
    result = run("assay-attribute", slow, "--remedies", described(), "-o", "table")
    assert result.returncode == 0
    text = result.stdout[result.stdout.index("Remedies (experimental)"):]
    assert "REMEDY" in text and "malleus" in text and "oobleck" in text
    assert "Spare hosts: 2 are enough 99.63 % of the time; there are 1" in text


def test_a_restart_that_nobody_priced_has_no_time_to_pay_after(run, slow, described):
    path = described(lose="[n004, n005, n006, n007]", failures=4, memory_gib=24)
    path.write_text(path.read_text().replace("restart_s: 600\n", ""))
    last = next(one for one in remedies(run, slow, path)["list"] if one["kind"] == "oobleck" and len(one["lost"]) == 4)
    assert last["restart"] and last["gain_s"] > 0 and last["cost_s"] is None and last["pays_steps"] is None
    text = run("assay-attribute", slow, "--remedies", path, "-o", "table").stdout
    assert re.search(rf"oobleck +{last['after_s']:.4g} s +{last['gain_s']:.4g} s +- +- ", text)


def test_nobody_who_did_not_ask_is_answered(run, slow):
    assert "remedies" not in json.loads(run("assay-attribute", slow).stdout)


def test_what_cannot_be_had_says_by_how_much(run, slow, described):
    doc = remedies(run, slow, described(failures=4))
    assert {"kind": "oobleck", "why": "16 hosts are 4 fewer than (f + 1) * n0 = 20"} in doc["left_out"]
    assert all(one["kind"] != "oobleck" for one in doc["list"])


@pytest.mark.parametrize("changes,where,words", [
    ({"stages": "[16, 16]"}, 13, "stages: 2 values, but {trace} has 4 (pp_size)"),
    ({"stages": "[8, 8, 8, 9]"}, 13, "stages: they have 33 layers, but layers has 32"),
    ({"microbatches": 12}, 13, "microbatches: 12, but {trace} has 16 forward computes per stage in a step"),
    ({"lose": "[n099]"}, 14, "lose: n099 is not a host of {trace}"),
    ({"lose": "[n001, n002, n001]"}, 14, "lose: n001 is there twice"),
    ({"slowdown": "{n099: 2}"}, 14, "slowdown: n099 is not a host of {trace}"),
    ({"slowdown": "{n000: 2}"}, 14, "slowdown: n000 is 2 times slower, but {trace} has "),
    ({"memory_gib": 14}, 13, "memory_gib: stage 0 needs 1.71799e+10 bytes now, 2.14748e+09 more than the 1.50324e+10 that it has"),
])
def test_a_description_that_contradicts_the_trace_is_refused(run, slow, described, changes, where, words):
    path = described(**changes)
    result = run("assay-attribute", slow, "--remedies", path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{path}:{where}: {words.format(trace=slow)}")
    assert result.stderr.count("\n") == 1


def test_layers_whose_times_are_not_those_of_the_trace_are_refused(run, slow, described):
    path = described(DESCRIPTION.replace("memory_gib: 2}", "memory_gib: 2, forward_ms: 50, backward_ms: 100}"))
    result = run("assay-attribute", slow, "--remedies", path)
    assert result.returncode == 2
    assert result.stderr.startswith(f"{path}:3: layers: those of stage 0 take 400 ms forward, but {slow} has ")


@pytest.mark.parametrize("text,words", [
    ("", "F.yaml: empty"),
    ("layers: 4\n", "layers: expected a list, not a number"),
    ("layers: [{count: 1}]\n", "layers[0].memory_gib: missing"),
    ("layers: [{memory_gib: 1, forward_ms: 3}]\n", "layers[0]: forward_ms and backward_ms go together"),
    ("layers: [{memory_gib: 1}, {memory_gib: 1, forward_ms: 3, backward_ms: 3}]\n", "layers[1]: either all layers have forward_ms, or none"),
    ("layers: [{memory_gib: 1, count: 1000}]\n", "layers[0].count: 1000 is outside 1 to 512"),
    ("layers: []\n", "layers: expected at least one layer"),
    ("layers: [{memory_gib: 1}]\nstages: [1.5]\n", "stages[0]: expected a whole number from 1 to 512"),
    ("layers: [{memory_gib: 1}]\nstages: [1]\nmemory_gib: 1\n", "link_gbps: missing"),
    ("layer: 4\n", "layer: unknown key; did you mean layers?"),
])
def test_a_wrong_description_is_one_line(run, slow, described, text, words):
    result = run("assay-attribute", slow, "--remedies", described(text))
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr and result.stderr.count("\n") == 1
