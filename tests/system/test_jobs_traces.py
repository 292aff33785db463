# SPDX-License-Identifier: Apache-2.0
"""Real and bad traces through the controller and its assay-attribute: the blamed hosts, and the messages about invalid input."""
import gzip
import json
import os
import random
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from fixtures_controller import controller  # noqa: F401
from test_controller_reload import reload
from waiting import wait_for

TOP = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("ASSAY_TRACES", TOP.parent / "shared/traces"))
END_S = 120
ENDS = {"analysed", "rejected", "failed"}
AGES = ((900, 700), (130, 10))  # of two separate windows


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Lines of a trace of eight hosts; gpu-03 is slow."""
    out = tmp_path_factory.mktemp("trace") / "good"
    with open(out, "w") as file:
        subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", "a/b", "--dp", "4", "--pp", "2", "--steps", "12", "--slow", "gpu-03/15"],
                       stdout=file, check=True, timeout=60)
    return out.read_text().splitlines()


def send(c, body, job="a/b", ages=AGES[1], **more):
    headers = {"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])}
    answer = c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": job, **more}), body, headers=headers)
    assert answer.status == 202, answer.body

    def ended():
        items = c.get(f"/v1/jobs/{answer.json['id']}/windows").json["items"]
        return next((w for w in items if w["id"] == answer.json["window"] and w["state"] in ENDS), None)
    found = wait_for(ended, END_S)
    assert found, c.log()
    return found, c.get(f"/v1/jobs/{answer.json['id']}").json


def text(lines):
    return ("\n".join(lines) + "\n").encode()


def changed(lines, change, meta=None):
    """The trace with `change` applied to each operation; None drops it."""
    first = {**json.loads(lines[0]), **(meta or {})}
    made = (change(json.loads(line)) for line in lines[1:])
    return text([json.dumps(first), *(json.dumps(o) for o in made if o is not None)])


def jumped(o):
    return {**o, "start_ts": o["start_ts"] + 3600 * (o["dp_rank"] == 2 and o["step"] >= 106)}


BAD = {
    "cut within a line": (lambda lines: text(lines)[:5000], "line 31"),
    "cut within gzip": (lambda lines: gzip.compress(text(lines))[:2000], "part of it is missing"),
    "no trace": (lambda lines: b"\x7fELF" + bytes(1000), "line 1"),
    "a long line that unpacks to much": (lambda lines: gzip.compress(lines[0].encode() + b"\n" + b"a" * (64 << 20)), "longer than 65536 bytes"),
    "four gigabytes of blank lines": (lambda lines: gzip.compress(text(lines)) + gzip.compress(b"\n" * (1 << 20)) * 4096, "of blank lines"),
    "16385 ranks of a worker": (lambda lines: changed(lines, dict, {"tp_size": 16385, "world_size": 131080, "ranks": []}), "tp_size: 16385"),
    "more ranks than operations": (lambda lines: changed(lines, lambda o: None if o["stage"] else o,
                                                         {"dp_size": 2049, "pp_size": 1, "world_size": 16392, "ranks": []}), "2049 DP ranks"),
    "a rank twice": (lambda lines: text(lines + lines[1:50]), "appears twice"),
    "a rank missing": (lambda lines: changed(lines, lambda o: None if o["stage"] and o["dp_rank"] == 2 else o), "0 of 12 steps are complete"),
    "a clock that jumps": (lambda lines: changed(lines, jumped), "does not add up"),
}


@pytest.mark.once
def test_a_bad_trace_is_rejected_in_one_sentence_and_costs_only_that(controller, good, tmp_path):
    c = controller()
    for name, (make, words) in BAD.items():
        window, job = send(c, make(good), job=name.replace(" ", "-"))
        assert window["state"] == "rejected" and words in window["reason"], (name, window)
        assert "\n" not in window["reason"] and str(tmp_path) not in window["reason"]
        assert job["state"] == "rejected" and job["suspect"] is None
    window, job = send(c, text(good))
    assert window["state"] == "analysed" and window["suspect"] == "gpu-03" and job["state"] == "watched"


@pytest.mark.once
def test_a_slow_host_is_suspected_whatever_the_order_of_lines(controller, good):
    c = controller()
    dice = random.Random(11)
    for i, ages in enumerate(AGES):
        lines = [good[0], *dice.sample(good[1:], len(good) - 1)]
        window, job = send(c, gzip.compress(text(lines)), ages=ages)
        assert window["suspect"] == "gpu-03" and not window["coarse"], i
    assert job["state"] == "suspected" and [s["name"] for s in job["suspects"]] == ["gpu-03"]


@pytest.mark.once
@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_in_parts_is_what_it_is_whole(controller, good, packed):
    c = controller()
    parts = [text([good[0], *good[1 + i::3]]) for i in range(3)]
    query = {"job": "a/b", "of": 3}
    for i in (2, 0):
        answer = c.call("POST", "/v1/traces?" + urllib.parse.urlencode({**query, "part": i + 1}), gzip.compress(parts[i]) if packed else parts[i])
        assert answer.status == 202
    window, _ = send(c, gzip.compress(parts[1]) if packed else parts[1], part=2, of=3)
    whole, _ = send(c, text(good), job="whole")
    same = ("state", "steps", "slowdown", "slowdown_low", "cause", "suspect")
    assert [window[k] for k in same] == [whole[k] for k in same] and whole["suspect"] == "gpu-03"
    assert window["coarse"]  # some parts had no times


POLICY = """v: 1
mode: observe
rules:
  - {name: any, match: {}, floor: {ratio: 0.9, k: 3.5}, windows: {k: 1, n: 1}, action: alert}
jobs: {%s}
"""


@pytest.mark.once
def test_the_policys_numbers_say_who_counts_from_the_next_analysis_on(controller, good, tmp_path):
    policy, conf = tmp_path / "policy.yaml", tmp_path / "controller.yaml"
    policy.write_text(POLICY % "min_gain: 0.03")
    conf.write_text(f"v: 1\npolicy: {policy}\n")
    c = controller("--config", conf)
    window, _ = send(c, text(good))
    assert window["suspect"] == "gpu-03"
    for job, numbers in (("gain", "min_gain: 0.9"), ("share", "share: 1")):
        policy.write_text(POLICY % numbers)
        assert reload(c)[1] == 0
        window, job = send(c, text(good), job=job)
        assert window["state"] == "analysed" and window["suspect"] is None and window["slowdown"] > 1
        assert job["suspects"] == [] and job["decision"]["action"] in ("watch", "none", "owner")
    policy.write_text(POLICY % "min_gain: 0.03, share: 0.5")
    assert reload(c)[1] == 0
    assert send(c, text(good), job="again")[0]["suspect"] == "gpu-03"


def named(meta):
    """The shape of a published job, with host names for each eight ranks."""
    shape = dict(line.split(": ") for line in meta.splitlines() if ": " in line)
    dp, pp = int(shape["dp_size"]), int(shape["pp_size"])
    peers = int(shape["world_size"]) // dp // pp
    ranks = [(d, p, (p * dp + d) * peers) for p in range(pp) for d in range(dp)]
    return meta + "ranks:" + "".join(f"\n  - {{rank: {r}, dp_rank: {d}, stage: {p}, node: n{r // 8:03}}}" for d, p, r in ranks) + "\n"


@pytest.mark.once
@pytest.mark.parametrize("name,worker,host,state", [("AR", "dp 0 stage 0", "n000", "suspected"), ("SE", None, None, "owner informed"),
                                                    ("ST", None, None, "owner informed")])
def test_published_traces_blame_whom_they_should(controller, name, worker, host, state):
    if not TRACES.is_dir():
        pytest.skip("no published traces beside the repository (shared/traces)")
    c = controller()
    plain = (TRACES / f"meta-{name}.yaml").read_text()
    body = gzip.decompress((TRACES / f"trace-{name}.csv.gz").read_bytes())
    for ages, sent in zip(AGES, (body, gzip.compress(body))):
        window, job = send(c, sent, job=name, ages=ages, meta=named(plain) if host else plain)
        assert window["state"] == "analysed" and window["suspect"] == host
    assert job["state"] == state and [s["hosts"] for s in job["suspects"]] == ([[host]] if host else [])
    # Without host names there is no host to test.
    window, job = send(c, body, job=f"{name}-nameless", meta=plain)
    assert job["state"] in ("watched", "slow", "owner informed") and job["decision"]["action"] in ("watch", "owner")
    assert window["suspect"] in (worker, None)
