# SPDX-License-Identifier: Apache-2.0
"""assay-attribute on the three published traces: the numbers of the authors and of an independent simulator.

The traces are Apache-2.0 data of ByteDance-Seed/StragglerAnalysis and are not part of this tree.
"""
import csv
import gzip
import io
import json
import math
import os
import random
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("ASSAY_TRACES", TOP.parent / "shared/traces"))
JOBS = ("ST", "SE", "AR")
# Relative for times and slowdowns, absolute for shares: the authors computed in single precision.
AUTHORS_RELATIVE, AUTHORS_SHARE = 1e-6, 1e-5
# Both are rounded to nine digits.
REFERENCE_RELATIVE = 1e-9


def published(name):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no {path}: set ASSAY_TRACES to the published traces")
    return path


def load(name):
    return json.loads(published(name).read_text())


@pytest.fixture(scope="module")
def answers():
    return {}


@pytest.fixture(params=JOBS)
def job(request):
    return request.param


@pytest.fixture
def answer(job, run, answers):
    """The program's result for a trace, without correction of clocks."""
    if job not in answers:
        result = run("assay-attribute", published(f"trace-{job}.csv.gz"), "--meta", published(f"meta-{job}.yaml"),
                     "--align", "none", "-o", "json")
        assert (result.returncode, result.stderr) == (0, "")
        answers[job] = json.loads(result.stdout)
    return answers[job]


def close(theirs, ours):
    return ours is not None and math.isclose(theirs, ours, rel_tol=AUTHORS_RELATIVE, abs_tol=0)


def wrong(theirs, ours, where=""):
    """Where two objects of numbers differ, ignoring the order of keys."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict) and set(theirs) == set(ours), where
        return [w for k in theirs for w in wrong(theirs[k], ours[k], f"{where}.{k}")]
    return [] if close(theirs, ours) else [(where, theirs, ours)]


def test_every_number_of_the_authors_result(job, answer):
    theirs = load(f"result-{job}.json")
    pairs = {
        "step_t_base": answer["step_act"],
        "step_t_nodelay": answer["step_T"],
        "step_t_noblk": {step: answer["T_ideal"] for step in answer["step_T"]},
        "launch_slowdown": answer["launch_slowdown"],
        "blocking_slowdown": answer["S"],
        "blocking_step_slowdown": answer["step_S"],
        "launch_step_slowdown": {step: answer["step_act"][step] / t for step, t in answer["step_T"].items()},
        "blocking_decompose_by_dp_rank": answer["S_dp"],
        "blocking_decompose_by_stage": answer["S_pp"],
        "blocking_decompose_by_optype": answer["S_t"],
        "blocking_decompose_by_dp_rank_per_step": answer["step_S_dp"],
        "blocking_decompose_by_stage_per_step": answer["step_S_pp"],
        "blocking_decompose_by_optype_per_step": answer["step_S_t"],
    }
    left = {k for k in theirs if not k.startswith("launch_decompose_")} - {"job_meta"}
    assert left == set(pairs)
    assert [w for key, ours in pairs.items() for w in wrong(theirs[key], ours, key)] == []


@pytest.mark.parametrize("which,share", [("ms", "Ms"), ("mw", "Mw")])
def test_the_authors_remedies(job, answer, which, share):
    theirs, ours = load(f"{which}-{job}.json"), answer[which]
    for key in ("trem", "tadd", "tori", "tideal"):
        assert close(theirs[key], ours[key]), key
    for key in ("rem", "add"):
        assert ours[key] == pytest.approx(theirs[key], abs=AUTHORS_SHARE, rel=0), key
    assert answer["M_" + share[1]] == pytest.approx(theirs[share], abs=AUTHORS_SHARE, rel=0)


def test_replacing_the_hosts_gains_what_the_what_if_says(job, answer):
    """The first of the list is the single node with the highest gain; the list ends when there is no further gain."""
    times = [r["T_fix"] for r in answer["replace"]]
    assert all(r["low"] <= r["T_fix"] <= r["high"] and r["gap_s"] >= 0 for r in answer["replace"]) and len(times) <= 8
    if job == "AR":
        assert [r["node"] for r in answer["replace"]] == [answer["top_node"]] and answer["replace"][0]["gap_s"] == 0
    for first in answer["replace"][:1]:
        assert first["T_fix"] == answer["fix_node"][first["node"]]["T_fix"]


def differences(theirs, ours, where=""):
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), where
        assert set(theirs) <= set(ours), f"{where}: {set(theirs) - set(ours)} are missing"
        return [d for k in theirs for d in differences(theirs[k], ours[k], f"{where}.{k}")]
    if isinstance(theirs, list):
        assert isinstance(ours, list) and len(theirs) == len(ours), where
        return [d for i, (a, b) in enumerate(zip(theirs, ours)) for d in differences(a, b, f"{where}[{i}]")]
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return [] if math.isclose(theirs, ours, rel_tol=REFERENCE_RELATIVE, abs_tol=1e-12) else [(where, theirs, ours)]
    return [] if theirs == ours and type(theirs) is type(ours) else [(where, theirs, ours)]


def test_every_number_of_the_reference_simulator(job, answer):
    assert differences(load(f"ref-{job}.json"), answer) == []


def test_the_labels_are_those_of_the_authors(job, answer):
    assert answer["primary"] == {"ST": "stage", "SE": "seqlen", "AR": "worker"}[job]
    assert answer["class"] == {"ST": ["stage"], "SE": ["stage", "seqlen"], "AR": ["worker"]}[job]


def test_good_clocks_are_left_as_they_are(job, answer, run):
    result = run("assay-attribute", published(f"trace-{job}.csv.gz"), "--meta", published(f"meta-{job}.yaml"), "-o",
                 "json")
    ours = json.loads(result.stdout)
    assert ours.pop("alignment") == {"mode": "auto", "offsets_s": {}}
    assert ours == {k: v for k, v in answer.items() if k != "alignment"}


# ---- what must not change the answer ---------------------------------------------------------------------


@pytest.fixture
def rows():
    with gzip.open(published("trace-ST.csv.gz"), "rt") as f:
        return list(csv.DictReader(f))


@pytest.fixture
def ask(run, tmp_path):
    def answer_to(rows):
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        path = tmp_path / "trace.csv"
        path.write_text(out.getvalue())
        result = run("assay-attribute", path, "--meta", published("meta-ST.yaml"), "--align", "none", "-o", "json")
        assert (result.returncode, result.stderr) == (0, "")
        return json.loads(result.stdout)

    return answer_to


def test_the_order_of_lines_does_not_matter(rows, ask):
    before = ask(rows)
    random.Random(5).shuffle(rows)
    assert ask(rows) == before


def test_when_a_step_began_does_not_matter(rows, ask):
    before = ask(rows)
    for row in rows:
        row["start_ts"] = repr(float(row["start_ts"]) + 4096 * int(row["step"]))
    after = ask(rows)
    assert after["class"] == before["class"]
    for key in ("S", "T", "T_ideal", "M_s", "M_w", "M_seq"):
        assert after[key] == pytest.approx(before[key], rel=1e-6), key


def test_another_order_of_dp_ranks_permutes_the_answer(rows, ask):
    before = ask(rows)
    ranks = {row["dp_rank"]: {} for row in rows}
    for row in rows:
        ranks[row["dp_rank"]][row["stage"]] = row["rank"]
    for row in rows:
        row["dp_rank"] = str(1 - int(row["dp_rank"]))
        row["rank"] = ranks[row["dp_rank"]][row["stage"]]
    after = ask(rows)
    assert after["S"] == pytest.approx(before["S"], rel=1e-9)
    assert after["S_dp"]["0"] == pytest.approx(before["S_dp"]["1"], rel=1e-9)
    assert after["S_dp"]["1"] == pytest.approx(before["S_dp"]["0"], rel=1e-9)
    assert after["S_w_exact"] == before["S_w_exact"][::-1]
