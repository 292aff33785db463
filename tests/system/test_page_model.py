# SPDX-License-Identifier: Apache-2.0
"""page/job_model.js in Node.js: the sentences about a job and its hosts. Its views in a browser: test_page_jobs.py."""
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from browser import modules  # noqa: F401

pytestmark = pytest.mark.once

TOP = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("ASSAY_TRACES", TOP.parent / "shared/traces"))


@pytest.fixture
def model(modules):
    """model("return m.pattern(x)", argument)"""
    return lambda body, argument=None: modules("job_model.js", body, argument)


def heat(rows, columns, slow, level=1.4, rest=1.0):
    """A map with stages as rows and DP ranks as columns; the cells `slow`, (dp, stage), are at `level`."""
    return {"row": "dp", "column": "stage", "values": [[level if (d, p) in slow else rest for p in range(rows)] for d in range(columns)]}


PATTERNS = (  # rows, columns, the slow cells, their level, the others'
    ("even", 4, 4, set(), 1.0, 1.0),
    ("even", 4, 4, {(0, 0)}, 1.029, 1.0),
    ("cell", 4, 4, {(0, 0)}, 1.97, 1.0),
    ("cell", 16, 8, {(3, 1)}, 1.087, 1.01),
    ("cell", 1, 16, {(3, 0)}, 1.1, 1.0),
    ("cell", 8, 1, {(0, 3)}, 1.1, 1.0),
    ("row", 4, 2, {(0, 3), (1, 3)}, 1.17, 0.99),
    ("row", 4, 8, {(d, 2) for d in range(7)}, 1.3, 1.0),
    ("column", 16, 8, {(3, p) for p in range(16)}, 1.2, 1.0),
    ("cells", 4, 4, {(0, 0), (1, 1)}, 1.2, 1.0),
    ("cells", 4, 8, {(0, 0), (0, 1), (1, 0), (1, 1)}, 1.5, 1.0),
    ("diffuse", 2, 32, {(d, p) for d in range(32) for p in range(2)}, 1.17, 1.0),
    ("diffuse", 1, 16, {(d, 0) for d in range(12)}, 1.1, 1.0),
    ("none", 1, 1, {(0, 0)}, 1.5, 1.0),
)


def test_the_pattern_is_named(model):
    said = model("return x.map(h => m.pattern(m.heatOf(h)))", [heat(*row[1:]) for row in PATTERNS])
    for (kind, rows, columns, slow, *_), found in zip(PATTERNS, said):
        assert found["kind"] == kind, found
        if kind in ("cell", "row", "column", "cells"):
            assert {(c["d"], c["p"]) for c in found["cells"]} == slow
        if kind == "cell":
            (d, p), = slow
            assert f"dp {d}, stage {p}" in found["words"] and f"out of {rows * columns}" in found["words"]


def test_who_is_beside_the_worst_cell_is_no_cell_that_keeps_pace(model):
    values = heat(4, 4, {(0, 0)}, 1.97)
    assert "keep pace" in model("return m.pattern(m.heatOf(x)).words", values)
    values["values"][0][2] = 1.31
    assert "the next of its row and its column is at 1.31" in model("return m.pattern(m.heatOf(x)).words", values)


def test_the_pattern_does_not_hang_on_how_ranks_are_numbered(model):
    dice = random.Random(3)
    maps = []
    for _ in range(20):
        rows, columns = dice.randint(1, 6), dice.randint(1, 6)
        values = [[1 + dice.random() ** 4 for _ in range(rows)] for _ in range(columns)]
        maps.append([{"row": "dp", "column": "stage", "values": dice.sample(values, columns)} for _ in range(4)])
    for said in model("return x.map(same => same.map(h => { const f = m.pattern(m.heatOf(h)); return f.kind + f.cells.length; }))", maps):
        assert len(set(said)) == 1


def analysis(cause="worker", kind="compute", counts=True, **more):
    suspect = {"hosts": ["gpu-17"], "dp": 3, "stage": 1, "class": "compute", "counts": counts, "identifiable": True,
               "share": {"value": 0.94, "low": 0.88, "high": 0.99}, "gain": {"value": 0.0756, "low": 0.07, "high": 0.08}}
    return {"cause": cause, "class": kind, "suspects": [suspect], "heat": heat(16, 8, {(3, 1)}, 1.087, 1.01),
            "detail": {"T": 8.99, "T_ideal": 8.27, "T_act": 9.05, "mended": {"M_w": 0.94, "M_s": None, "M_comm": 0.06, "M_seq": 0.03, "M_gc": 0.0},
                       "S_t": {"forward-compute": 1.031, "backward-compute": 1.058}, "step": [], "beside": 8}, **more}


@pytest.mark.parametrize("dp,slow", [(1500, 0), (1500, 1), (1500, 777), (1500, 1499), (1024, 777)])
def test_a_cell_that_stands_for_several_workers_is_named_by_them(model, dp, slow):
    """With more than 4,096 workers a cell has the worst of several, as pooled by attribution/summary.c."""
    worst = [[max(1.4 if (d, p) == (slow, 2) else 1.0 for d in range(row * dp // 1024, (row + 1) * dp // 1024)) for p in range(4)] for row in range(1024)]
    a = analysis(dp=dp, pp=4, heat={"row": "dp", "column": "stage", "values": worst})
    a["suspects"][0] |= {"dp": slow, "stage": 2}
    found = model("return [m.patternWords(x), m.outlined(x).map(c => m.cellLabel(x, c.d, c.p)), m.pattern(m.mapOf(x)).kind]", a)
    first, last = (int(word) for word in re.search(r"dp (\d+)(?: to (\d+))?, stage 2\)", found[0]).groups(default=slow))
    assert found[2] == "cell" and first <= slow <= last <= first + 1 and found[1] == ["gpu-17"]


JOB = {"job": "research/llm-7", "step_s": 8.99, "slowdown": 1.09, "state": "suspected"}


def test_a_host_that_counts_is_named_with_what_it_costs(model):
    said = model("return [m.headline(x.job, x.a).words, m.cellLabel(x.a, 3, 1), m.remedies(x.a, {pays_s: 7200})[0]]", {"job": JOB, "a": analysis()})
    assert said[0] == "gpu-17 slows research/llm-7: 8.99 s a step, 8.31 s without it."
    assert said[1] == "gpu-17"
    assert said[2]["cost"] == "a restart, which pays after 2.0 h" and said[2]["share"] == 0.94 and said[2]["first"]


@pytest.mark.parametrize("cause,kind,counts", [("stage", "job", True), ("seqlen", "job", True), ("gc", "job", True), ("worker", "unclear", False),
                                               ("none", "none", False), ("comm", "fabric", False)])
def test_no_host_is_named_where_it_is_not_to_blame(model, cause, kind, counts):
    """Even if an analysis lists a suspect above the thresholds next to a cause of the job itself."""
    states = ("suspected", "watched", "slow", "owner informed", "healthy", "acquitted")
    said = model("""return x.states.map(state => ({...x.job, state})).map(job => [m.headline(job, x.a).words, m.patternWords(x.a), m.cellLabel(x.a, 3, 1), m.remedies(x.a, null).map(r => r.what),
                    m.chain({...job, suspects: []}, x.a).map(c => c.what + c.how)])""", {"job": JOB, "states": states, "a": analysis(cause, kind, counts)})
    assert len(said) == len(states) and "gpu-17" not in json.dumps(said), said


def test_a_worker_whose_host_is_in_doubt_is_told_without_one(model):
    a = analysis(counts=False)
    a["suspects"][0]["placed"] = {"source": None, "sure": False, "reason": "its ranks moved"}
    said = model("return [m.headline(x.job, x.a).words, m.patternWords(x.a)]", {"job": JOB, "a": a})
    assert said[0].startswith("The worker at dp 3, stage 1 slows research/llm-7, on a host that is not known")
    assert "its ranks moved" in said[1] and "gpu-17" not in json.dumps(said)


def test_what_each_remedy_gives_is_what_its_share_says(model):
    rows = {r["key"]: r for r in model("return m.remedies(x, null)", analysis())}
    assert set(rows) == {"hosts", "M_w", "M_comm", "M_seq", "M_gc"}  # without the last stage: M_s is null
    assert rows["M_w"]["then"] == pytest.approx(8.99 - 0.94 * (8.99 - 8.27))
    assert rows["hosts"]["then"] == pytest.approx(8.99 * (1 - 0.0756))
    assert rows["hosts"]["low"] < rows["hosts"]["then"] < rows["hosts"]["high"]


def test_a_cell_knows_its_ranks_host_and_neighbours_with_direction(model):
    a = {"heat": heat(3, 2, set()), "detail": {"ranks": [0, 8, 16, 4, 12, 20], "beside": 4, "hosts": ["a", "b"], "nodes": [0, 0, 0, 1, 1, -1]}}
    found = model("return m.worker(x, 1, 1)", a)
    assert (found["rank"], found["ranks"], found["host"]) == (12, "ranks 12 to 15", "b")
    assert [(p["p"], p["ranks"], p["host"]) for p in found["peers"]] == [(0, "ranks 4 to 7", "b"), (2, "ranks 20 to 23", "")]
    assert "receives activations" in found["peers"][0]["what"] and "sends activations" in found["peers"][1]["what"]
    assert model("return m.cellName(x, m.heatOf(x.heat), 1, 1)", a) == "dp 1, stage 1, ranks 12 to 15, b: slowdown 1.000"


def test_the_scale_is_the_same_for_every_job(model, top):
    assert model("return [1.0, 1.25, 1.5, 3, 0.9, null].map(m.level)") == [0, 2.5, 5, 5, 0, None]
    source = (top / "attribution/form_heatmap.c").read_text()
    assert "#define LOW 1.0\n" in source and "#define HIGH 1.5\n" in source and "COLOURS = 6," in source


HOSTILE = (None, 1, "x", [], {}, [None], {"values": 3}, {"values": [None]}, {"values": [[None, "1"], 7]}, True)


def test_an_answer_of_any_shape_is_no_error(model):
    assert model("""for (const v of x) for (const a of [v, {heat: v}, {suspects: v}, {detail: v}, {suspects: [v]}, {detail: {T: 1, T_ideal: 1, mended: v, S_t: v, step: v, ranks: v, hosts: v}}]) {
               for (const job of [v, {job: v, suspects: v, hang: v, decision: v, state: "hung"}, {suspects: [v], state: "suspected", prediction: v}]) {
                 m.headline(job, a); m.patternWords(a); m.remedies(a, v); m.operations(a); m.steps(a); m.stepWords(a); m.worker(a, 0, 0); m.command(job);
                 m.cellLabel(a, 0, 0); m.chain(job && typeof job === "object" ? job : {}, a); m.listWords([job]); m.ranked(v); m.causeWords(v);
               } }
             return true;""", list(HOSTILE))


def test_jobs_that_want_somebody_come_first(model):
    jobs = [{"job": "a", "state": "healthy", "slowdown": 1.02}, {"job": "b", "state": "owner informed", "slowdown": 1.5},
            {"job": "c", "state": "suspected", "slowdown": 1.09, "suspect": "gpu-17"}, {"job": "d", "state": "hung"}]
    assert [j["job"] for j in model("return m.ranked(x)", jobs)] == ["d", "c", "b", "a"]
    assert model("return m.listWords(x).words", jobs[:3]) == "c is slowed by gpu-17, 1.09 times; 1 more of 3 jobs needs attention."
    assert model("return m.listWords(x).words", jobs[:1]) == "No job is slowed: 1 job."
    assert model("return m.listWords(x).words", []) == "No job has sent a trace yet."


def test_a_command_is_quoted_where_a_shell_would_take_it_apart(model):
    assert model("return m.command(x)", {"job": "research/llm-7"}) == "assayctl job research/llm-7"
    assert model("return m.command(x)", {"job": "a'; reboot"}) == "assayctl job 'a'\\''; reboot'"


PUBLISHED = {
    "AR": ("cell", "One cell stands out of 16 (dp 0, stage 0), at 1.97: the others of its row and its column keep pace.", "the same cell in all 44 steps"),
    "SE": ("diffuse", "sequences of very different lengths. No host is to blame.", "43 steps"),
    "ST": ("row", "One row stands out: stage 3, in all of its 2 columns, at up to 1.18", "32 steps"),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_traces(model, build, name):
    """With the program only; with a controller and a browser: test_page_jobs.py."""
    if not (TRACES / f"trace-{name}.csv.gz").exists():
        pytest.skip(f"no {TRACES}/trace-{name}.csv.gz: set ASSAY_TRACES to the published traces")
    out = subprocess.run([build / "assay-attribute", TRACES / f"trace-{name}.csv.gz", "--meta", TRACES / f"meta-{name}.yaml", "--summary"],
                         capture_output=True, text=True, check=True, timeout=120).stdout
    kind, words, steps = PUBLISHED[name]
    found = model("return [m.pattern(m.heatOf(x.heat)).kind, m.patternWords(x), m.stepWords(x), m.headline({job: 'J', step_s: x.step_s, slowdown: x.slowdown.value, state: 'slow'}, x).words]",
                  json.loads(out))
    assert found[0] == kind and words in found[1] and steps in found[2], found
    assert ("The worker at dp 0, stage 0 slows J" in found[3]) == (name == "AR") and "n000" not in found[3]
