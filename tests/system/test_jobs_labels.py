# SPDX-License-Identifier: Apache-2.0
"""Jobs with injected faults, through the controller: its messages are those of assay-attribute, and only slow hosts are blamed."""
import gzip
import json
import subprocess

import pytest
from attribution_fixtures import generator, trace  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_jobs_traces import AGES, TOP, send

INJECTIONS = ("none", "slow-worker", "slow-worker-vpp", "clean-vpp", "two-slow", "sick-node", "transient", "last-stage", "worker-and-stage",
              "sequences", "pauses", "flapping-link", "slow-collectives", "loading", "skew", "missing", "one-stage", "one-replica")
NOBODY = {"none", "stage", "seqlen", "gc", "comm", "rejected"}  # not caused by a host


@pytest.fixture
def summary(run):
    """summary(path): assay-attribute run like by the controller."""
    def make(path):
        out = run("assay-attribute", "--summary", "--min-slowdown=1.03", "--bootstrap=200", path)
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)
    return make


def named(said):
    """The hosts of its suspects; none in a job that slows itself."""
    return sorted(s["hosts"] for s in said["suspects"] if s["counts"] and said["class"] != "job")


def judged(c, path, said, name):
    """Sends two separate windows. Returns the view of the job."""
    body = path.read_bytes()
    for ages, sent in zip(AGES, (body, gzip.compress(body))):
        window, job = send(c, sent, job=name, ages=ages)
        if said["cause"] == "rejected":
            assert window["state"] == "rejected" and window["reason"] == said["sentence"]
            continue
        assert window["state"] == "analysed" and (window["steps"], window["slowdown"]) == (said["steps"], said["slowdown"]["value"])
        analysis = c.get(f"/v1/jobs/{job['id']}/windows/{window['id']}").json
        assert (analysis["label"], analysis["class"]) == (said["cause"], said["class"])
    return job


def check_nobody(job):
    assert job["suspects"] == [] and job["suspect"] is None and job["decision"]["action"] in ("none", "owner", "watch")
    assert job["state"] != "suspected"


@pytest.mark.some(8)
@pytest.mark.once
@pytest.mark.parametrize("injection", INJECTIONS)
def test_the_words_are_those_of_the_analysis_and_nobody_is_blamed_wrongly(controller, trace, summary, full, injection):  # noqa: F811
    c = controller()
    for seed in range(1, 11 if full else 2):
        for ranks in (2, 8):  # per worker: four workers per host, and one
            path, truth = trace(injection, seed, "steps=12", f"tp={ranks}")
            meta = json.loads(path.open().readline())
            slow = {r["node"] for r in meta["ranks"] if [r["dp_rank"], r["stage"]] in truth["workers"]}
            said = summary(path)
            job = judged(c, path, said, f"{injection}-{seed}-{ranks}")
            if truth["label"] in NOBODY:
                check_nobody(job)
            assert {h for s in job["suspects"] for h in s["hosts"]} <= slow, (seed, ranks, job["suspects"], slow)
            if said["cause"] != "rejected":
                assert sorted(s["hosts"] for s in job["suspects"]) == named(said), (seed, ranks, job["suspects"])
            assert (job["state"] == "suspected") == bool(job["suspects"])


def test_every_injection_is_tried(generator):  # noqa: F811
    out = subprocess.run([generator, "list"], capture_output=True, text=True, check=True)
    assert tuple(out.stdout.split()) == INJECTIONS


@pytest.mark.once
@pytest.mark.parametrize("seed", (1, 2, 3))
def test_a_slow_host_in_a_job_of_uneven_sequences_is_named_alone_or_not_at_all(controller, summary, tmp_path, seed):  # noqa: F811
    path = tmp_path / "trace"
    with path.open("wb") as out:
        subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", "a/b", "--dp", "4", "--pp", "2", "--steps", "12", "--seed", str(seed),
                        "--slow", "gpu-03/40", "--sequences"], stdout=out, check=True)
    said = summary(path)
    job = judged(controller(), path, said, "a/b")
    assert sorted(s["hosts"] for s in job["suspects"]) == named(said)
    assert {h for s in job["suspects"] for h in s["hosts"]} <= {"gpu-03"}


@pytest.mark.once
@pytest.mark.parametrize("injection,label", [("slow-worker", "worker"), ("last-stage", "stage")])
@pytest.mark.parametrize("nameless", (True, False))
def test_ranks_that_are_missing_cost_names_and_blame_nobody_else(controller, trace, summary, tmp_path, injection, label, nameless):  # noqa: F811
    """A rank is missing in two steps; and if the host of one rank is not given, none of the names is used."""
    path, truth = trace(injection, 1, "steps=14", "tp=8", "dp=4", "pp=4")
    first, *lines = path.read_text().splitlines()
    meta = json.loads(first)
    slow = [r["node"] for r in meta["ranks"] if [r["dp_rank"], r["stage"]] in truth["workers"]]
    steps = sorted({json.loads(line)["step"] for line in lines})[3:5]
    kept = [line for line in lines if not (json.loads(line)["step"] in steps and json.loads(line)["dp_rank"] == 1)]
    meta["ranks"] = meta["ranks"][nameless:]
    cut = tmp_path / "cut"
    cut.write_text("\n".join([json.dumps(meta), *kept]) + "\n")
    said = summary(cut)
    assert said["cause"] == label and said["steps"] < 14
    job = judged(controller(), cut, said, "a/b")
    assert [s["hosts"] for s in job["suspects"]] == ([] if nameless or not slow else [slow])
    assert not (nameless and slow) or "which host it ran on" in job["sentence"]
