# SPDX-License-Identifier: Apache-2.0
"""assay-attribute --summary: the suspects of a window, on which the controller acts."""
import csv
import gzip
import json
import os
import random
from pathlib import Path

import pytest
from attribution_fixtures import attribute, generator, trace  # noqa: F401

TOP = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("ASSAY_TRACES", TOP.parent / "shared/traces"))
ORDERS = 334 if os.environ.get("ASSAY_FULL") == "1" else 2  # permutations of each published trace
KEYS = {"format", "steps", "ranks", "dp", "pp", "hosts", "from_ns", "until_ns", "step_s", "slowdown", "cause", "class", "enough",
        "suspects", "heat", "detail", "sentence", "lateness"}
SUSPECT = {"hosts", "dp", "stage", "ranks", "rank_spans", "class", "share", "alone", "gain", "speed", "identifiable", "counts"}


@pytest.fixture
def summary(attribute):  # noqa: F811
    def start(*words):
        text = attribute("--summary", *words)
        assert text.count("\n") == 1 and text.endswith("\n") and len(text) <= 256 << 10
        doc = json.loads(text)
        assert set(doc) == KEYS and doc["format"] == "assay-attribution-summary/1"
        assert all(set(s) == SUSPECT for s in doc["suspects"]) and len(doc["suspects"]) <= 3
        return doc

    return start


def blamed(doc):
    return sorted(host for s in doc["suspects"] if s["counts"] for host in s["hosts"])


@pytest.mark.parametrize("injection,kind,steps", [
    ("slow-worker", "compute", 10), ("slow-worker-vpp", "compute", 10), ("two-slow", "compute", 10), ("sick-node", "compute", 10),
    ("transient", "compute", 24), ("one-stage", "compute", 10), ("skew", "compute", 10), ("missing", "compute", 14),
    ("worker-and-stage", "compute", 10), ("flapping-link", "link", 10)])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_slow_hosts_are_suspects(trace, summary, injection, kind, steps, seed):  # noqa: F811
    path, truth = trace(injection, seed, f"steps={steps}")
    doc = summary(path)
    ranks = json.loads(path.read_text().split("\n", 1)[0])["ranks"]
    at = {(r["dp_rank"], r["stage"]): r["node"] for r in ranks}
    assert set(blamed(doc)) == {at[tuple(w)] for w in truth["workers"]}, doc["sentence"]
    assert doc["enough"] and doc["class"] == kind and all(s["class"] == kind for s in doc["suspects"])
    for s in doc["suspects"]:
        assert s["identifiable"] and s["gain"]["low"] >= 0.03 and s["share"]["low"] >= 0.5
        assert s["alone"]["value"] is None or s["alone"]["value"] >= 0.5
        assert s["hosts"][0] in doc["sentence"]
        spans = s["rank_spans"]
        assert s["ranks"] == [spans[0][0], spans[-1][1]] and sorted(spans) == spans
        assert {r["node"] for r in ranks if any(a <= r["rank"] <= b for a, b in spans)} == set(s["hosts"])
        assert s["ranks"][0] <= next(r["rank"] for r in ranks if (r["dp_rank"], r["stage"]) == (s["dp"], s["stage"])) <= s["ranks"][1]


@pytest.mark.parametrize("injection,kind", [
    ("none", "none"), ("clean-vpp", "none"), ("last-stage", "job"), ("sequences", "job"), ("pauses", "job"),
    ("slow-collectives", "fabric"), ("loading", "unclear"), ("one-replica", "unclear")])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nobody_is_blamed_for_what_no_host_does(trace, summary, injection, kind, seed):  # noqa: F811
    path, _ = trace(injection, seed, "steps=12")
    doc = summary(path)
    assert blamed(doc) == [] and doc["class"] == kind
    assert "blame" in doc["sentence"] and doc["sentence"].count(". ") == 0
    if injection == "one-replica":
        assert not any(s["identifiable"] for s in doc["suspects"]) and "no other host does the same work" in doc["sentence"]


def test_fewer_steps_than_blocks_need_blame_nobody(trace, summary):  # noqa: F811
    path, _ = trace("slow-worker", 1, "steps=8")
    doc = summary(path)
    assert doc["enough"] is False and blamed(doc) == []
    assert doc["slowdown"]["low"] is None and doc["slowdown"]["value"] > 1.1
    assert doc["sentence"] == "There are too few steps to blame anybody: 8 were recorded, about 10 are needed."


def test_a_host_ten_percent_slow_is_below_the_paper_but_not_below_us(trace, summary, attribute):  # noqa: F811
    path, truth = trace("slow-worker", 5, "dp=4", "pp=4", "mb=16", "tp=8", "steps=20")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    doc = summary(path)
    assert doc["hosts"] == 16 and doc["ranks"] == 128 and blamed(doc) == [truth["node"]]
    gain = doc["suspects"][0]["gain"]["low"]
    assert blamed(summary(path, "--min-gain", f"{gain - 1e-4:.6f}")) == [truth["node"]]
    assert blamed(summary(path, "--min-gain", f"{gain + 1e-4:.6f}")) == []
    share = doc["suspects"][0]["share"]["low"]
    assert blamed(summary(path, "--share", f"{share - 1e-4:.6f}")) == [truth["node"]]
    assert blamed(summary(path, "--share", f"{share + 1e-4:.6f}")) == []
    assert summary(path, "--min-slowdown", "50")["cause"] == "none"
    assert doc["step_s"] == pytest.approx(json.loads(attribute(path, "-o", "json"))["T_act"], rel=0.05)
    last = [op for op in lines[1:] if op["step"] == lines[-1]["step"]]
    end = max(op["start_ts"] + op["duration"] for op in last)
    assert doc["until_ns"] == pytest.approx(end * 1e9, abs=2) and doc["from_ns"] == 0


def test_times_are_those_of_the_clock_of_the_trace(trace, summary):  # noqa: F811
    path, _ = trace("none", 1, "epoch=1790000000", "steps=10")
    ops = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    doc = summary(path)
    assert doc["from_ns"] == pytest.approx(min(op["start_ts"] for op in ops) * 1e9, abs=1000)
    assert doc["until_ns"] == pytest.approx(max(op["start_ts"] + op["duration"] for op in ops) * 1e9, abs=2e6)


def test_hosts_without_names_are_workers(trace, summary):  # noqa: F811
    path, truth = trace("slow-worker", 1, "steps=12")
    lines = path.read_text().split("\n", 1)
    meta = json.loads(lines[0])
    for rank in meta["ranks"]:
        del rank["node"]
    path.write_text(json.dumps(meta) + "\n" + lines[1])
    doc = summary(path)
    assert [(s["dp"], s["stage"], s["hosts"], s["counts"]) for s in doc["suspects"]] == [(*truth["workers"][0], [], True)]
    assert doc["sentence"].startswith("dp %d stage %d (ranks " % tuple(truth["workers"][0]))


def test_the_heat_map_is_pooled(trace, summary):  # noqa: F811
    path, truth = trace("slow-worker", 1, "dp=1500", "pp=4", "mb=2", "steps=3")
    heat = summary(path)["heat"]
    assert heat["rows"] * heat["columns"] <= 4096 and heat["columns"] == 4 and heat["rows"] == 1024
    (d, p), = truth["workers"]
    row = next(i for i in range(1024) if i * 1500 // 1024 <= d < (i + 1) * 1500 // 1024)
    assert heat["values"][row][p] == max(max(r) for r in heat["values"])


@pytest.mark.parametrize("words,says", [
    (("--min-slowdown", "0.9"), "--min-slowdown: '0.9' is not a number from 1 to 100"),
    (("--min-slowdown", "nan"), "--min-slowdown: 'nan' is not a number"),
    (("--min-gain", "2"), "--min-gain: '2' is not a number from 0 to 1"),
    (("--share", "-0.1"), "--share: '-0.1' is not a number from 0 to 1"),
    (("--share", "much"), "--share: 'much' is not a number"),
    (("--bootstrap", "39"), "--bootstrap: '39' is not a number from 40 to 10000"),
    (("--bootstrap", "100.5"), "--bootstrap: '100.5' is not a whole number"),
    (("--max-ops", "5000"), "a summary covers one window, see --max-ops")])
def test_what_cannot_be_is_told(trace, run, words, says):  # noqa: F811
    path, _ = trace("none", 1, "steps=40")
    result = run("assay-attribute", "--summary", *words, path)
    assert result.returncode == 2 and result.stdout == "" and says in result.stderr


def published(name):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no {path}: set ASSAY_TRACES to the published traces")
    return path


@pytest.mark.parametrize("job,culprit", [("ST", None), ("SE", None), ("AR", [0, 0])])
def test_of_the_published_traces_one_accuses_one_host(summary, tmp_path, job, culprit):
    source, meta = published(f"trace-{job}.csv.gz"), published(f"meta-{job}.yaml")
    doc = summary(source, "--meta", meta)
    assert [[s["dp"], s["stage"]] for s in doc["suspects"] if s["counts"]] == ([culprit] if culprit else [])
    assert doc["class"] == ("compute" if culprit else "job")
    # The same with the names of hosts of eight ranks.
    shape = dict(line.split(": ") for line in meta.read_text().splitlines() if ": " in line)
    dp, pp = int(shape["dp_size"]), int(shape["pp_size"])
    peers = int(shape["world_size"]) // dp // pp
    ranks = "".join("\n  - {rank: %d, dp_rank: %d, stage: %d, node: n%03d}" % (r, d, p, r // 8)
                    for p in range(pp) for d in range(dp) for r in [(p * dp + d) * peers])
    named = tmp_path / "meta.yaml"
    named.write_text(meta.read_text() + "ranks:" + ranks + "\n")
    assert blamed(summary(source, "--meta", named)) == (["n000"] if culprit else [])


@pytest.mark.parametrize("job", ["ST", "SE", "AR"])
def test_the_order_of_published_ranks_does_not_matter(run, tmp_path, job):
    """DP ranks and global ranks permuted, lines in another order: no suspect in ST and SE, the same one in AR."""
    meta = published(f"meta-{job}.yaml")
    with gzip.open(published(f"trace-{job}.csv.gz"), "rt") as source:
        head, *rows = csv.reader(source)
    d, p, r = (head.index(name) for name in ("dp_rank", "stage", "rank"))
    workers = sorted({(int(row[d]), int(row[p]), int(row[r])) for row in rows})
    by = {}
    for row in rows:
        by.setdefault((int(row[d]), int(row[p])), []).append(row)
    path = tmp_path / "trace.csv"
    for seed in range(ORDERS):
        chance = random.Random(seed)
        replicas = list(range(1 + max(w[0] for w in workers)))
        ranks = [w[2] for w in workers]
        chance.shuffle(replicas)
        chance.shuffle(ranks)
        names = {w[:2]: (str(replicas[w[0]]), str(rank)) for w, rank in zip(workers, ranks)}
        order = list(by)
        chance.shuffle(order)
        with path.open("w") as out:
            out.write(",".join(head) + "\n")
            for worker in order:
                for row in by[worker]:
                    row[d], row[r] = names[worker]
                    out.write(",".join(row) + "\n")
        result = run("assay-attribute", "--summary", path, "--meta", meta)
        assert (result.returncode, result.stderr) == (0, "")
        found = [(s["dp"], s["stage"], s["ranks"][0]) for s in json.loads(result.stdout)["suspects"] if s["counts"]]
        assert found == ([(replicas[0], 0, int(names[0, 0][1]))] if job == "AR" else [])


def renamed(path, seed):
    """The same job with its DP ranks, hosts and lines permuted."""
    chance = random.Random(seed)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    order = list(range(lines[0]["dp_size"]))
    chance.shuffle(order)
    nodes = sorted({r["node"] for r in lines[0]["ranks"]})
    names = dict(zip(nodes, chance.sample([f"host-{i}" for i in range(len(nodes))], len(nodes))))
    at = {(r["dp_rank"], r["stage"]): r["rank"] for r in lines[0]["ranks"]}
    for line in lines[0]["ranks"]:
        line["node"] = names[line["node"]]
        line["dp_rank"] = order[line["dp_rank"]]
    new = {r["rank"]: r["dp_rank"] for r in lines[0]["ranks"]}
    for op in lines[1:]:
        op["rank"] = at[op["dp_rank"], op["stage"]]
        op["dp_rank"] = new[op["rank"]]
    body = lines[1:]
    chance.shuffle(body)
    return [lines[0]] + body, names


@pytest.mark.parametrize("injection,seed", [("two-slow", 1), ("sequences", 2), ("sick-node", 3)])
def test_the_order_of_ranks_and_names_does_not_matter(trace, summary, tmp_path, injection, seed):  # noqa: F811
    path, _ = trace(injection, seed, "mb=4")
    doc, other = summary(path), tmp_path / "other.jsonl"
    for i in range(3):
        lines, names = renamed(path, i)
        other.write_text("\n".join(map(json.dumps, lines)) + "\n")
        again = summary(other)
        assert blamed(again) == sorted(names[host] for host in blamed(doc))
        assert again["slowdown"]["value"] == pytest.approx(doc["slowdown"]["value"], rel=1e-9)
        if blamed(doc):
            for key in ("gain", "share"):
                assert again["suspects"][0][key]["low"] == pytest.approx(doc["suspects"][0][key]["low"], rel=1e-6), key


def test_without_a_loss_nobody_is_top(trace, attribute):  # noqa: F811
    """All operations of a kind take the same time, so only rounding errors remain."""
    path, _ = trace("none", 1, "dp=2", "pp=1", "mb=4", "steps=10")
    lines = path.read_text().splitlines()
    out, at = [lines[0]], {}
    for op in map(json.loads, lines[1:]):
        op["duration"] = {"forward-compute": 0.1, "backward-compute": 0.2}.get(op["optype"], 0.01)
        key = op["step"], op["dp_rank"]
        op["start_ts"] = at.get(key, 0.0)
        at[key] = op["start_ts"] + op["duration"]
        out.append(json.dumps(op))
    path.write_text("\n".join(out) + "\n")
    doc = json.loads(attribute(path, "-o", "json"))
    assert (doc["fb_corr"], doc["fb_corr_pooled"], doc["top_node"], doc["M_node"]) == (None,) * 4
    assert (doc["primary"], doc["suspects"]) == ("none", [])
    table = attribute(path, "-o", "table")
    assert "any one node" in table and "IF REPLACED" not in table


def test_what_tests_say_of_the_hosts_is_held_beside_what_they_do(trace, summary, run, tmp_path):  # noqa: F811
    path, truth = trace("slow-worker", 1, "steps=10")
    ranks = json.loads(path.read_text().split("\n", 1)[0])["ranks"]
    (slow,) = [r["rank"] for r in ranks if [r["dp_rank"], r["stage"]] in truth["workers"]]
    speeds = tmp_path / "speeds.json"
    speeds.write_text(json.dumps({"v": 1, "spread": 0.02, "low": 0.95, "ranks": [[0, 4096, 1.0]]}))
    doc = summary("--speeds", speeds, path)
    (suspect,) = doc["suspects"]
    assert f"computes at {100 * suspect['speed']['now']:.0f} % of what hosts like it usually reach; in its own tests it reached 100 %" in doc["sentence"]
    assert suspect["counts"] and suspect["ranks"][0] <= slow <= suspect["ranks"][1]
    assert suspect["speed"]["tested"] == 1 and 0.3 < suspect["speed"]["now"] < 0.9
    (without,) = summary(path)["suspects"]
    assert without["speed"] == {"now": None, "tested": None}
    assert {k: v for k, v in without.items() if k != "speed"} == {k: v for k, v in suspect.items() if k != "speed"}
    speeds.write_text('{"v": 1, "ranks": [[8, 8, 0]]}')
    answer = run("assay-attribute", "--speeds", speeds, path)
    assert answer.returncode == 2 and answer.stdout == "" and "speeds.json: ranks[0]: expected a speed from" in answer.stderr
    answer = run("assay-attribute", "--speeds", tmp_path / "none", path)
    assert answer.returncode == 2 and "none" in answer.stderr
