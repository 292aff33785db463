# SPDX-License-Identifier: Apache-2.0
"""assayctl campaign: its requests, and the display of rounds and the culprit."""
import json
import re

import pytest

from campaign_hosts import fabric  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from stub_lists import stub  # noqa: F401
from waiting import wait_for

NAMES = [f"gpu-{i}" for i in range(6)]


@pytest.mark.parametrize("words,body", [
    ("--domain leaf-3 -r slow", {"domain": "leaf-3", "reason": "slow"}),
    ("--nodes gpu-1,gpu-2 -r slow", {"nodes": ["gpu-1", "gpu-2"], "reason": "slow"}),
    ("--nodes ,gpu-1,,gpu-2, -r slow --kind pair --plan tournament",
     {"nodes": ["gpu-1", "gpu-2"], "reason": "slow", "kind": "pair", "plan": "tournament"}),
    ("--nodes gpu-1,gpu-2 -r slow --memory gpu --engine nccl", {"nodes": ["gpu-1", "gpu-2"], "reason": "slow", "memory": "gpu", "engine": "nccl"}),
    ("--nodes gpu-1,gpu-2,gpu-3 -r slow --plan every-two", {"nodes": ["gpu-1", "gpu-2", "gpu-3"], "reason": "slow", "plan": "every-two"}),
])
def test_what_is_asked_for_is_sent(run, stub, words, body):
    stub.answers["/v1/campaigns"] = (202, {"id": "7", "sentence": "campaign 7 has begun"})
    done = run("assayctl", "campaign", "start", *words.split(), "--controller", stub.url)
    assert (done.returncode, done.stdout) == (0, "campaign 7 has begun\n")
    (path, sent), = stub.sent
    assert path == "/v1/campaigns" and {k: v for k, v in sent.items() if k != "by"} == body


@pytest.mark.parametrize("words,line", [
    ("campaign", "is incomplete"),
    ("campaign start --domain x", "campaign start requires --reason"),
    ("campaign start -r x --plan luck", "--plan: 'luck' is not one of two-pass, tournament, bisect, every-two"),
    ("campaign start -r x --memory disk", "--memory: 'disk' is not one of host, gpu"),
    ("campaign start -r x --kind all", "--kind: 'all' is not one of allreduce, pair"),
    ("campaign show", "campaign show: no ID given"),
    ("campaign list --domain x", "campaign list has no --domain"),
])
def test_wrong_use_is_one_line(run, words, line):
    done = run("assayctl", *words.split())
    assert done.returncode == 2 and line in done.stderr and len(done.stderr.splitlines()) == 1


def test_rounds_and_the_culprit_are_shown(run, fabric):
    f = fabric("collectives: {timeout: 2s}")
    f.add(*NAMES, "gpu-9")
    f.hosts["gpu-3"].part, f.hosts["gpu-9"].way = 0.5, "busy"

    def ctl(*words):
        return run("assayctl", "campaign", *words, "--controller", f"http://{f.c.host}:{f.c.port}")

    assert ctl("list").stdout == "no campaigns\n"
    said = ctl("start", "--nodes", ",".join([*NAMES, "gpu-9"]), "--reason", "job 812 is slow")
    assert said.returncode == 0 and "campaign 1 has started" in said.stdout
    assert wait_for(lambda: f.show("1")["state"] == "done")
    shown = ctl("show", "1")
    assert shown.returncode == 0
    *rows, last = shown.stdout.splitlines()
    assert last.startswith("campaign 1, done: gpu-3 reaches 50 %")
    slow = [row for row in rows if re.search(r"measured +12\.\d GB/s +(49|50|51)\S* % .*gpu-3", row)]
    assert len(slow) == 2 and any("gpu-9 was left out: a job runs here" in row for row in rows)
    assert "job 812 is slow" in ctl("list").stdout
    assert json.loads(ctl("show", "1", "-o", "json").stdout)["id"] == "1"
    assert ctl("show", "2").returncode == 1 and ctl("show", "../nodes").returncode == 1
    refused = ctl("start", "--nodes", "gpu-1,gpu-1", "-r", "x")
    assert refused.returncode == 2 and "fewer than two hosts" in refused.stderr


def test_a_rude_answer_is_shown_in_clean_words(run, stub):
    stub.answers["/v1/campaigns/1"] = (200, {"id": "1\x1b[2J", "state": 7, "sentence": "\x1b[31mx", "rounds": [{"groups": [{"nodes": [None, "a\x07"]}]}, 3],
                                             "nodes": [{"gone": True}]})
    stub.list("/v1/campaigns", [{"id": "\x1b", "nodes": "many"}, {}])
    for words in (("show", "1"), ("list",)):
        done = run("assayctl", "campaign", *words, "--controller", stub.url)
        assert done.returncode == 0 and "\x1b" not in done.stdout and "\x07" not in done.stdout


@pytest.mark.parametrize("resumed,words", [(0, None), (None, None), ("2", None), (1, "the controller restarted once while it ran"), (3, "restarted 3 times while it ran")])
def test_a_campaign_that_outlived_restarts_says_so(run, stub, resumed, words):
    stub.answers["/v1/campaigns/1"] = (200, {"id": "1", "state": "running", "reason": "slow", "who": "operator", "check": "all_reduce.busbw",
                                             "rounds": [], "nodes": [], "resumed": resumed})
    done = run("assayctl", "campaign", "show", "1", "--controller", stub.url)
    assert done.returncode == 0
    assert words in done.stdout if words else "anew" not in done.stdout
