# SPDX-License-Identifier: Apache-2.0
"""assayctl's actions with a stub: its requests, and its messages about the answers."""
import json
import os
import pwd

import pytest

from stub_lists import node, stub  # noqa: F401

LIFE = {"state": "cordoned", "since": "2026-11-20T10:00:00Z", "by": "assay", "schedulable": False, "managed": True, "passes": 0,
        "cordon": {"by": "assay", "at": "2026-11-20T10:00:00Z", "reason": "cpu:3 is slow", "incident": "7", "pre": False},
        "override_until": None, "silence_until": None, "hold_until": None, "tested": None, "labels": {},
        "releases": "30m without a finding and 1 pass of an active test"}


def action(number=1, **more):
    return {"id": str(number), "node": "gpu-17", "action": "cordon", "state": "done", "by": "assay", "rule": "slow-compute", "incident": "7",
            "reason": "cpu:3 is slow", "evidence": {}, "undo": "assayctl uncordon gpu-17", "result": None, "break_glass": False,
            "until": None, "epoch": 1, "at": "2026-11-20T10:00:00Z", "done": "2026-11-20T10:00:01Z", **more}


def problem(status, detail, **more):
    return status, {"type": "about:blank", "title": "x", "status": status, "detail": detail, **more}, "Content-Type: application/problem+json"


@pytest.fixture
def ctl(run, stub):
    return lambda *words: run("assayctl", *words, "--controller", stub.url, env={"SUDO_USER": ""})


@pytest.mark.parametrize("words,path,body", [
    ("cordon gpu-17 --reason fan", "/v1/nodes/gpu-17/cordon", {"reason": "fan"}),
    ("cordon gpu-17 -r fan --break-glass", "/v1/nodes/gpu-17/cordon", {"reason": "fan", "break_glass": True}),
    ("uncordon gpu-17 -r done", "/v1/nodes/gpu-17/uncordon", {"reason": "done"}),
    ("repair-done gpu-17", "/v1/nodes/gpu-17/repair-done", {}),
    ("repair-done gpu-17 -r RMA", "/v1/nodes/gpu-17/repair-done", {"reason": "RMA"}),
    ("override gpu-17 --until 12h", "/v1/nodes/gpu-17/override", {"until": "12h"}),
    ("override gpu-17 --until 2026-11-22T08:00:00Z", "/v1/nodes/gpu-17/override", {"until": "2026-11-22T08:00:00Z"}),
    ("silence gpu-17 --for 90m -r firmware", "/v1/nodes/gpu-17/silence", {"reason": "firmware", "for": "90m"}),
    ("breaker reset -r reverted", "/v1/breaker/reset", {"reason": "reverted"}),
])
def test_an_order_is_sent_with_what_was_given_and_answered_in_a_sentence(stub, ctl, words, path, body):
    stub.answers[path] = (200, {"sentence": "gpu-17 is \x1b[31mdone", "action": "4"})
    done = ctl(*words.split())
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first == "gpu-17 is ?[31mdone" and len(rest) <= 1
    assert stub.sent == [(path, {**body, "by": pwd.getpwuid(os.getuid()).pw_name})]
    answer = json.loads(ctl(*words.split(), "-o", "json").stdout)
    assert answer["action"] == "4" and rest == ([f"to undo: {answer['undo']}"] if "undo" in answer else [])
    assert bool(rest) == (words.split()[0] in ("cordon", "uncordon"))


def test_a_name_with_rude_characters_is_one_segment(stub, ctl):
    done = ctl("cordon", "../breaker/reset?x#", "--reason", "x")
    assert done.returncode == 1 and [path for path, _ in stub.sent] == ["/v1/nodes/..%2Fbreaker%2Freset%3Fx%23/cordon"]
    assert done.stderr == "assayctl: unknown host '../breaker/reset?x#'; `assayctl nodes` lists the 2 known hosts\n"


@pytest.mark.parametrize("answer,status,message", [
    (problem(409, "budget.total: 2 of 2 hosts are out; wait, release one, or --break-glass", rule="budget.total"), 1,
     "budget.total: 2 of 2 hosts are out; wait, release one, or --break-glass"),
    (problem(422, "until: 2020-01-01T00:00:00Z is past"), 2, "until: 2020-01-01T00:00:00Z is past"),
    (problem(400, "body: no JSON"), 2, "body: no JSON"),
    (problem(401, "who?"), 2, "unauthorized: who?"),
    (problem(403, "this takes a token with the role operate"), 2,
     "forbidden: this takes a token with the role operate"),
    (problem(503, "the store is full"), 3, "the controller cannot answer now (the store is full)"),
    ((200, b"{"), 3, "is this a controller?"),
    ((200, []), 3, "the answer is not an object"),
    ((500, {}), 3, "the controller answered with status 500"),
])
def test_a_refusal_is_one_line_with_what_would_allow_it(stub, ctl, answer, status, message):
    stub.answers["/v1/nodes/gpu-17/cordon"] = answer
    done = ctl("cordon", "gpu-17", "--reason", "x")
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr and done.stderr.startswith("assayctl: ") and done.stderr.count("\n") == 1


def test_an_order_without_a_controller_says_that_nothing_is_known(stub, ctl):
    stub.close()
    done = ctl("cordon", "gpu-17", "--reason", "x")
    assert done.returncode == 3 and "is it running?" in done.stderr and done.stderr.count("\n") == 1


def test_actions_tell_what_was_done_and_by_whom(stub, ctl):
    stub.list("/v1/actions", [
        action(3, state="refused", rule="budget.total", result="budget.total: 2 of 2 hosts are out"),
        action(2, by="operator ann", rule=None, incident=None, reason="fan\x1b[2J", break_glass=True),
        action(1, state="decided"), action(0, state="tomorrow's")])
    done = ctl("actions")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["STATE", "ID", "WHEN", "NODE", "ACTION", "BY"]
    assert lines[1].split()[:2] == ["refused", "3"] and lines[2] == "    cpu:3 is slow; rule budget.total, incident 7: 2 of 2 hosts are out"
    assert "operator ann" in lines[3] and lines[4] == "    BREAK-GLASS: fan?[2J"
    assert lines[5].startswith("under way") and lines[7].startswith("tomorrow's")
    assert lines[-1] == "4 actions: 1 refused, 1 under way, 1 done"
    assert len(json.loads(ctl("actions", "-o", "json").stdout)["items"]) == 4
    assert ctl("actions", "--limit", "1").stdout.splitlines()[-1] == "1 action of more: 1 refused"
    ctl("actions", "--node", "a&b")
    assert stub.asked[-1].startswith("/v1/actions?node=a%26b&")
    stub.list("/v1/actions", [])
    assert ctl("actions").stdout == "nothing has been done yet\n"


def test_why_tells_which_windows_of_a_job_blame_the_host(stub, ctl):
    stub.list("/v1/drift", [])
    job = {"job": "research/llm-\x1b7", "id": "j1", "run": 2, "last": None, "class": "compute", "share": {"value": 0.94, "low": 0.88, "high": 0.99},
           "hits": 2, "of": 3, "windows": [9, 7], "action": "probe", "reason": "gpu-17 would be tested with gemm"}
    stub.answers["/v1/nodes/gpu-17/why"] = why(life=None, actions=[], jobs=[job])
    lines = [line.strip() for line in ctl("why", "gpu-17").stdout.partition("blamed by jobs\n")[2].partition("\nhost\n")[0].splitlines() if line]
    assert lines == ["job        research/llm-?7 run 2: compute, share 0.94 [0.88, 0.99]; windows 9, 7 (2 of 3)",
                     "heard of   -",
                     "then       probe: gpu-17 would be tested with gemm",
                     "would help assayctl plan research/llm-?7 --without gpu-17"]
    stub.answers["/v1/nodes/gpu-17/why"] = why(life=None, actions=[], jobs=[{**job, "speed": {"now": 0.88, "tested": 0.99}}])
    assert "(2 of 3); it computes at 88 % of what is usual for its model, and its own tests ran at 99 %" in " ".join(ctl("why", "gpu-17").stdout.split())
    for jobs in ({}, {"jobs": []}):
        stub.answers["/v1/nodes/gpu-17/why"] = why(life=None, actions=[], **jobs)
        assert "blamed by jobs" not in ctl("why", "gpu-17").stdout


@pytest.mark.parametrize("breaker,words", [
    ({"open": False, "reset": None, "mode": "observe"}, "the breaker is closed; mode observe: decisions are shown, not carried out"),
    ({"open": False, "reset": "2026-11-20T10:00:00Z", "reset_by": "operator ann", "mode": "enforce"}, " by operator ann; mode enforce\n"),
    ({"open": True, "opened": "2026-11-20T10:00:00Z", "reason": "31 % of the agents are silent", "mode": "enforce"},
     "31 % of the agents are silent; nothing is cordoned until `assayctl breaker reset --reason ...`, releases continue; mode enforce"),
])
def test_the_breaker_says_what_is_open_and_how_much_is_left(stub, ctl, breaker, words):
    stub.answers["/v1/breaker"] = (200, {**breaker, "epoch": 1, "budget": [{"rule": "budget.total", "used": 2, "limit": 2},
                                                                           {"rule": "budget.new", "used": None, "limit": 7}]})
    done = ctl("breaker")
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout
    assert done.stdout.splitlines()[1].split()[:3] == ["budget.total", "2", "2"]
    assert done.stdout.splitlines()[2].split() == ["budget.new", "-", "7"]


def test_coverage_tells_whose_turn_it_is(stub, ctl):
    stub.list("/v1/coverage", [{"node": "gpu-07", "tested": None, "ordered": None},
                               {"node": "gpu-\x1b17", "tested": "2026-11-20T10:00:00Z", "ordered": "2026-11-21T10:00:00Z"}])
    rows = ctl("coverage").stdout.splitlines()
    assert rows[1].split() == ["gpu-07", "never", "-"] and rows[2].startswith("gpu-?17") and rows[2].count("ago") + rows[2].count("now") == 2
    assert rows[-1] == "2 of 2 hosts without a thorough test as recent as the policy requires"
    stub.list("/v1/coverage", [])
    assert ctl("coverage").stdout == "every host was tested as recently as the policy requires\n"


def why(**more):
    return (200, {**node("gpu-17"), "items": [], "measured": 8, "incidents": [], **more})


def test_why_tells_who_took_the_host_out_and_what_releases_it(stub, ctl):
    stub.list("/v1/drift", [])
    stub.answers["/v1/nodes/gpu-17/why"] = why(life=LIFE, actions=[action()])
    text = ctl("why", "gpu-17").stdout
    lines = [line.strip() for line in text.partition("in service?\n")[2].partition("\nhost\n")[0].splitlines() if line]
    assert lines[0].startswith("state      cordoned since 2026-11-20T10:00:00Z")
    assert lines[1:4] == ["cordon     by assay at 2026-11-20T10:00:00Z: cpu:3 is slow",
                          "releases   30m without a finding and 1 pass of an active test",
                          "by hand    assayctl uncordon gpu-17 --reason ..."]
    assert lines[4].startswith("actions    cordon done by assay, ")
    stub.answers["/v1/nodes/gpu-17/why"] = why(actions=[], life={**LIFE, "state": "healthy", "cordon": None})
    assert "by someone else: Assay never lifts it" in ctl("why", "gpu-17").stdout
    for life in (None, {**LIFE, "state": "healthy", "cordon": None, "schedulable": True}):
        stub.answers["/v1/nodes/gpu-17/why"] = why(life=life, actions=[])
        assert "in service?" not in ctl("why", "gpu-17").stdout


def test_why_tells_that_a_host_has_joined_and_passed_nothing_yet(stub, ctl):
    stub.list("/v1/drift", [])
    healthy = {**LIFE, "state": "healthy", "since": None, "cordon": None, "schedulable": True}
    stub.answers["/v1/nodes/gpu-17/why"] = why(life=healthy, actions=[], unverified=True, env={"machine": "m:f838", "host.smt": "off", "host.iommu": "on"})
    lines = ctl("why", "gpu-17").stdout.splitlines()
    assert "  joined     unverified until a quick or full run passes as a whole: `assay admit` says degraded" in lines
    at = lines.index("  machine    m:f838")
    assert lines[at + 1:at + 3] == ["  settings   host.smt off", "             host.iommu on"]
    stub.answers["/v1/nodes/gpu-17/why"] = why(life=healthy, actions=[], unverified=False)
    assert "joined" not in ctl("why", "gpu-17").stdout


def test_evidence_is_one_text_or_one_document(stub, ctl):
    digest = "0" * 64
    stub.list("/v1/drift", [])
    stub.list("/v1/incidents", [{"id": "7", "node": "gpu-17", "verdict": "fail", "check": "gemm.rate", "state": "open", "sentence": "it is slow",
                                 "opened": "2026-11-20T10:00:00Z", "closed": None}, {"id": "8", "node": "gpu-07", "sentence": "not this"}])
    stub.answers["/v1/nodes/gpu-17/evidence"] = (200, {"life": LIFE, "actions": [action()], "transitions": [
        {"at": "2026-11-20T10:00:00Z", "from": "suspected", "to": "cordoned", "by": "assay", "why": "cpu:3 is slow"}]})
    stub.list("/v1/nodes/gpu-17/samples", [
        {"check": "host.kernel_log", "subject": "gpu:0", "value": 3, "unit": "1", "code": "xid:79", "severity": "fatal",
         "note": "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus", "state": "measured", "profile": "passive", "time": "T1"},
        {"check": "rnic.module", "subject": "mlx5_0:1", "value": 1, "unit": "1", "note": "ACME QSFP, serial SN123, ok", "state": "measured"},
        {"check": "gemm.rate", "subject": "gpu:GPU-aa", "value": 1e12, "unit": "FLOP/s", "ok": False, "state": "measured"},
        {"check": "loopback.write_bw", "subject": "mlx5_0:1>gpu:GPU-aa", "value": None, "state": "busy"}])
    stub.list("/v1/nodes/gpu-17/verdicts", [{"verdict": "fail", "seen": "2026-11-20T10:00:00Z", "seq": 4, "sentence": "fail: slow"}])
    stub.answers[f"/v1/topologies/{digest}"] = (200, {
        "nodes": [{"id": "gpu:0000:1b:00.0", "type": "gpu", "name": "GPU-aa", "pci": "0000:1b:00.0"}, {"id": "numa:0", "type": "numa"}],
        "neighbors": [{"rnic": "rnic:mlx5_0", "switch": "leaf-3", "port": "swp7"}]})
    stub.answers["/v1/nodes/gpu-17/why"] = why(life=LIFE, actions=[], topology=digest)
    done = ctl("evidence", "gpu-17")
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("ACME QSFP, serial SN123", "leaf-3 port swp7", "gpu:0000:1b:00.0", "gpu:GPU-aa", "xid:79", "has fallen off the bus", "it is slow",
                  "cordoned since", "1.00 TFLOP/s", "busy"):
        assert words in done.stdout, words
    assert "not this" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("evidence for gpu-17, collected at 20")
    bundle = json.loads(ctl("evidence", "gpu-17", "-o", "json").stdout)
    assert (bundle["v"], bundle["kind"], bundle["node"]) == (1, "evidence", "gpu-17")
    assert [p["id"] for p in bundle["parts"] if p["part"] == "gpu"] == ["gpu:0000:1b:00.0", "gpu:GPU-aa"]
    assert [i["id"] for i in bundle["incidents"]] == ["7"] and bundle["kernel_log"][0]["code"] == "xid:79"
    assert len(bundle["samples"]) == 4 and bundle["topology"]["nodes"] and bundle["acted"]["actions"][0]["id"] == "1"
    del stub.answers[f"/v1/topologies/{digest}"]
    assert json.loads(ctl("evidence", "gpu-17", "-o", "json").stdout)["topology"] is None
    stub.answers["/v1/nodes/gpu-17/evidence"] = problem(503, "busy")
    assert ctl("evidence", "gpu-17").returncode == 3, "half of the evidence is none"
    assert ctl("evidence", "gpu-18").returncode == 1


def test_a_policy_is_replayed_with_what_it_would_have_done(stub, ctl, tmp_path, top):
    stub.answers["/v1/policy/replay"] = (200, {
        "rules": [{"rule": "slow-compute", "action": "cordon", "done": 2, "refused": 4, "nodes": 3}],
        "nodes": [{"node": "gpu-17", "cordons": 1, "releases": 0, "refused": 4, "first": "2026-11-20T10:00:00Z", "out_s": 5400}],
        "refusals": [{"budget": "budget.total", "times": 4, "nodes": 1, "allows": "a larger budget.total.nodes"}],
        "sentence": "2 cordons of 2 hosts in 7d"})
    done = ctl("policy", "replay", top / "policies/default.yaml", "--since", "7d")
    assert (done.returncode, done.stderr) == (0, "")
    path, sent = stub.sent[0]
    assert path == "/v1/policy/replay?since=7d" and sent["v"] == 1 and "rules" in sent
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["slow-compute", "cordon", "2", "4", "3"] in rows and rows[-1][:2] == ["2", "cordons"]
    assert any(row[:4] == ["gpu-17", "1", "0", "4"] and row[-2:] == ["1.5", "h"] for row in rows)
    assert "a larger budget.total.nodes" in done.stdout
    assert json.loads(ctl("policy", "replay", top / "policies/default.yaml", "--since", "7d", "-o", "json").stdout)["refusals"][0]["times"] == 4
