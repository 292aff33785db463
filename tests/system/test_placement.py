# SPDX-License-Identifier: Apache-2.0
"""Each host reports only its own ranks; a suspect is named by where its ranks were, and otherwise not at all, never by a guess."""
import hashlib
import json
import re
import sqlite3

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from test_jobs import build, job, number, send, trace, window  # noqa: F401
from waiting import wait_for

TOKENS = {"admin": "a" * 32, "host": "h" * 32, "reader": "r" * 32, "sender": "s" * 32}


def process(rank, age=3600, start=1000, **env):
    return {"start": start, "age_s": age, "env": {"RANK": str(rank), "ASSAY_JOB": "research/llm-7", **env}}


def ranks(*numbers, **more):
    return [process(r, **more) for r in numbers]


def put(c, node, processes, boot="b1", **more):
    body = {"format": "assay-processes/1", "boot_id": boot, "processes": processes}
    return c.call("PUT", f"/v1/nodes/{node}/processes", more.pop("body") if "body" in more else json.dumps(body).encode(), **more)


def suspect(**more):
    return {"hosts": [], "dp": 3, "stage": 1, "ranks": [56, 63], "class": "compute", "share": number(0.94), "alone": number(0.9),
            "gain": number(0.07), "identifiable": True, "counts": True, **more}


def nameless(mark="", **more):
    return trace(mark=mark, suspects=[suspect(**more)])


def rows(c, what="job, run, rank, node"):
    """The stored rows. Kills the controller, because its store cannot be read while it runs."""
    c.kill()
    db = sqlite3.connect(f"file:{c.db}?mode=ro", uri=True)
    try:
        return sorted(db.execute(f"SELECT {what} FROM placements"))
    finally:
        db.close()


def shown(c, sent, key):
    return c.get(f"/v1/jobs/{sent.json['id']}", token=TOKENS["reader"]).json[key]


@pytest.fixture
def guarded(controller, tmp_path):
    """A controller with a token of each kind."""
    def line(name, role):
        return f"  - {{sha256: {hashlib.sha256(TOKENS[name].encode()).hexdigest()}, {role}}}\n"
    file = tmp_path / "tokens.yaml"
    file.write_text("v: 1\ntokens:\n" + line("admin", "role: admin") + line("host", "node: gpu-17") +
                    line("reader", "role: read") + line("sender", 'role: submit, jobs: "research/*"'))
    file.chmod(0o600)
    return controller("--tokens", file)


def test_a_trace_without_hosts_finds_them_where_its_ranks_are(controller):
    c = controller()
    assert put(c, "gpu-17", ranks(*range(56, 64))).json == {"ranks": 8}
    sent = send(c, nameless(), ages=(130, 10))
    assert window(c, sent)["suspect"] == "gpu-17"
    said = job(c, sent)
    assert said["state"] == "watched" and said["suspect"] == "gpu-17"
    assert said["suspects"][0]["placed"] == {"source": "agents", "sure": True, "reason": None}
    assert said["sentence"] == "said by the analyser Its ranks ran on gpu-17."
    whole = c.get(f"/v1/jobs/{sent.json['id']}/windows/{sent.json['window']}").json
    assert whole["suspects"][0]["hosts"] == ["gpu-17"]


def test_the_analysis_is_told_how_fast_the_hosts_are_by_their_tests(controller):
    c = controller()
    for seq in range(1, 6):
        for i in range(12):
            speed = 0.9 if i == 3 else 1 + 0.002 * i
            cores = [sample(subject=f"cpu:{core}", value=speed * (70e9 + 1e8 * core)) for core in range(8)]
            assert c.post(report(f"gpu-{i}", seq=seq, samples=cores)).status in (200, 202)
    for node, first in (("gpu-3", 0), ("gpu-5", 8), ("stranger", 16)):
        put(c, node, ranks(*range(first, first + 8)))
    put(c, "gpu-7", ranks(7))  # claimed twice: that rank's host is unknown
    sent = send(c, trace("tested"), ages=(130, 10))
    assert window(c, sent)["state"] == "analysed"
    told = job(c, sent)["sentence"]
    (slow,), (usual,) = re.findall(r"\[0,7,([0-9.]+)\]", told), re.findall(r"\[8,8,([0-9.]+)\]", told)
    assert float(slow) == pytest.approx(0.89, abs=0.02) and float(usual) == pytest.approx(1, abs=0.02), told
    assert "[16," not in told and "spread:" in told and "low:" in told


@pytest.mark.parametrize("claims,hosts,reason", [
    ({"gpu-18": ranks(*range(56, 64))}, ["gpu-17"], "hosts other than"),
    ({"gpu-17": ranks(*range(56, 64)), "gpu-18": ranks(60)}, [], "two hosts"),
    ({"gpu-17": ranks(*range(56, 64)), "gpu-18": ranks(60)}, ["gpu-17"], "two hosts"),
    ({"gpu-17": ranks(*range(56, 60))}, [], "some of its ranks"),
    ({"gpu-17": ranks(*range(56, 64), age=60)}, [], "part of the window"),
    ({}, [], "which host it ran on"),
])
def test_who_is_not_surely_placed_is_not_suspected(controller, claims, hosts, reason):
    c = controller()
    for node, processes in claims.items():
        assert put(c, node, processes).status == 200
    sent = send(c, nameless(hosts=hosts), ages=(130, 10))
    found = window(c, sent)
    assert found["state"] == "analysed" and found["suspect"] is None
    said = job(c, sent)
    assert said["state"] == "slow" and said["suspects"] == [] and reason in said["sentence"]
    assert "said by the analyser" not in said["sentence"]


@pytest.mark.parametrize("spans,hosts", [([[8, 11], [24, 27]], ["gpu-17"]), ([[8, 11], [24, 26]], ["gpu-17"]),
                                         (None, ["gpu-17", "gpu-18"]), ([[8, 12], [24, 27]], ["gpu-17", "gpu-18"])])
def test_ranks_that_are_not_in_a_row_are_asked_for_alone(controller, spans, hosts):
    """Other hosts have those between the first and the last."""
    c = controller()
    put(c, "gpu-17", ranks(*range(8, 12), *range(24, 28)))
    put(c, "gpu-18", ranks(*range(12, 24), *range(28, 32)))
    sent = send(c, nameless(ranks=[8, 27], **({"rank_spans": spans} if spans else {})), ages=(130, 10))
    assert window(c, sent)["suspect"] == ",".join(hosts)
    assert [s["hosts"] for s in job(c, sent)["suspects"]] == [hosts]


def test_a_rank_that_moved_takes_its_suspicion_with_it(controller):
    c = controller()
    assert put(c, "gpu-17", ranks(*range(56, 64))).status == 200
    first = send(c, nameless("1"), ages=(1300, 1200))
    assert window(c, first)["suspect"] == "gpu-17"
    assert put(c, "gpu-17", []).status == 200
    assert put(c, "gpu-18", ranks(*range(56, 64), age=1, start=2000)).status == 200
    second = send(c, nameless("2"), ages=(600, 0))
    assert window(c, second)["suspect"] is None
    assert "two hosts" in job(c, second)["sentence"]
    third = send(c, nameless("3"), ages=(900, 800))
    assert window(c, third)["suspect"] == "gpu-17"
    # Without times all claims of the same run count.
    assert window(c, send(c, nameless("4")))["suspect"] is None


def test_what_is_kept_outlasts_a_kill(controller):
    c = controller()
    put(c, "gpu-17", ranks(*range(56, 64)))
    assert rows(c, "rank, node") == [(rank, "gpu-17") for rank in range(56, 64)]
    c = controller()
    assert window(c, send(c, nameless(), ages=(130, 10)))["suspect"] == "gpu-17"


def test_names_and_runs_of_jobs_are_made_of_what_processes_say(controller):
    c = controller()
    told = [
        process(1),
        process(2, ASSAY_RUN="3"),
        {"start": 1, "age_s": 1, "env": {"SLURM_PROCID": "4", "SLURM_JOB_ID": "77", "SLURM_RESTART_COUNT": "1"}},
        {"start": 1, "age_s": 1, "pod": "0f3c5a52-9d2e-4c11-8f6e-d1b2a3c4e5f6",
         "env": {"RANK": "5", "SLURM_JOB_ID": "77", "SLURM_CLUSTER_NAME": "big"}},
        {"start": 1, "age_s": 1, "env": {"RANK": "6"}},
        process(16384),
        process(7, ASSAY_JOB="no name"),
        {"start": 1, "age_s": 1, "env": {"RANK": "8", "ASSAY_JOB": "x", "TOMORROW": "1"}, "tomorrow": 1},
    ]
    assert put(c, "gpu-1", told).json == {"ranks": 5}
    assert rows(c) == [("research/llm-7", 0, 1, "gpu-1"), ("research/llm-7", 3, 2, "gpu-1"), ("slurm:77", 2, 4, "gpu-1"),
                       ("slurm:big/77", 0, 5, "gpu-1"), ("x", 0, 8, "gpu-1")]


def test_a_host_speaks_of_itself_alone(guarded):
    c = guarded
    assert put(c, "gpu-17", ranks(1), token=TOKENS["host"]).status == 200
    for node, name in (("gpu-18", "host"), ("gpu-17", "reader"), ("gpu-17", "sender")):
        assert put(c, node, ranks(1), token=TOKENS[name]).status == 403
    assert put(c, "gpu-17", ranks(1), token="x" * 32).status == 401
    assert put(c, "gpu-18", ranks(2), token=TOKENS["admin"]).status == 200
    # A host that claims a rank of another's job clears that rank, and can only draw suspicion on itself.
    assert put(c, "gpu-17", ranks(*range(56, 64)), token=TOKENS["host"]).status == 200
    sent = send(c, nameless(hosts=["gpu-99"]), ages=(130, 10), token=TOKENS["sender"])
    seen = wait_for(lambda: shown(c, sent, "windows")["analysed"] and shown(c, sent, "sentence"))
    assert "hosts other than" in seen and shown(c, sent, "suspect") is None
    assert {node for (node,) in rows(c, "node")} == {"gpu-17", "gpu-18"}


@pytest.mark.parametrize("body,status", [
    (b"", 400), (b"{", 400), (b"[]", 422), (b"{}", 422),
    ({"format": "assay-processes/2"}, 422), ({"boot_id": "x" * 65}, 422), ({"boot_id": 1}, 422), ({"processes": {}}, 422),
    ({"processes": [process(0)] * 65}, 422), ({"processes": [1]}, 422), ({"processes": [{**process(0), "start": -1}]}, 422),
    ({"processes": [{**process(0), "age_s": -1}]}, 422), ({"processes": [{**process(0), "age_s": 1e12}]}, 422),
    ({"processes": [{**process(0), "pod": "x"}]}, 422), ({"processes": [{**process(0), "env": []}]}, 422),
    ({"processes": [{**process(0), "env": {"RANK": 1}}]}, 422), (b" " * 65537, 413),
])
def test_what_is_none_of_it_is_refused_and_nothing_kept(controller, body, status):
    c = controller()
    if isinstance(body, dict):
        body = json.dumps({"format": "assay-processes/1", "boot_id": "b1", "processes": [], **body}).encode()
    answer = put(c, "gpu-17", None, body=body)
    assert answer.status == status, answer.body
    assert put(c, ".bad", []).status == 404
    assert rows(c) == []


def test_who_speaks_for_some_jobs_alone_names_no_host_that_is_not_of_them(guarded):
    c = guarded
    for mark, hosts, who, suspected, words in (
            ("1", ["gpu-99"], "sender", None, "is trusted for some jobs only"), ("2", ["gpu-99"], "admin", "gpu-99", "said by the analyser")):
        sent = send(c, nameless(mark, hosts=hosts), ages=(130, 10), token=TOKENS[who])
        assert wait_for(lambda: words in (shown(c, sent, "sentence") or "")), shown(c, sent, "sentence")
        assert shown(c, sent, "suspect") == suspected
    # A host that says so itself belongs to the job.
    assert put(c, "gpu-17", ranks(*range(56, 64)), token=TOKENS["host"]).status == 200
    sent = send(c, nameless("3", hosts=["gpu-17"]), ages=(130, 10), token=TOKENS["sender"])
    assert wait_for(lambda: shown(c, sent, "suspect") == "gpu-17")
