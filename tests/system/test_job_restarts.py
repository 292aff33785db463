# SPDX-License-Identifier: Apache-2.0
"""A host kills the jobs it joins: hosts report where ranks were, and it is named as evidence; jobs that die on their own name no host."""
import json

import pytest
from clock_fixtures import DAY, HOUR, MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller, report  # noqa: F401
from test_placement import put
from waiting import wait_for

KILLS = 8  # each takes less than a day: three runs of four hours, and one that dies
LONG, SHORT = 4 * HOUR, 6 * MIN


class Fleet:
    """Consecutive runs, as reported by the hosts."""

    def __init__(self, c, clock):  # noqa: F811
        self.c, self.clock, self.wall, self.start = c, clock, 0, 1000
        for seq, node in enumerate("abcdxy", 1):
            c.post(report(node, seq=seq))

    def run(self, job, hosts, lasts):
        """Runs it to its end; the next begins some minutes later."""
        self.wall += lasts + 5 * MIN
        self.clock.set(wall=self.wall)
        self.start += 1
        for rank, node in enumerate(hosts):
            env = {"RANK": str(rank), "ASSAY_JOB": job}
            assert put(self.c, node, [{"start": self.start, "age_s": lasts, "env": env}]).status == 200
        for node in hosts:
            assert put(self.c, node, []).status == 200

    def next_day(self):
        self.wall += DAY
        self.clock.set(wall=self.wall)

    def why(self, node):
        return self.c.get(f"/v1/nodes/{node}/why").json["restarts"]


@pytest.fixture
def fleet(controller, clock):  # noqa: F811
    return Fleet(controller("--mode", "enforce", env=clock.env()), clock)


def test_a_host_whose_jobs_die_is_named_and_left_in_service(fleet, run, controller, clock):  # noqa: F811
    for _ in range(KILLS):
        fleet.run("research/llm-7", "abc", LONG)
        fleet.run("research/llm-7", "abd", LONG)
        fleet.run("research/llm-7", "abc", LONG)
        fleet.run("research/llm-7", "abx", SHORT)
        fleet.run("research/llm-7", "abx", SHORT)
        fleet.run("research/llm-7", "abd", LONG)
    fleet.next_day()
    assert wait_for(lambda: (fleet.why("x") or {}).get("died") == KILLS), fleet.why("x")
    found = fleet.why("x")
    assert found["named"] and found["joins"] == KILLS and found["short_runs"] == 2 * found["died"] and found["others_died"] == 0, found
    assert found["chance"] < 1 / (365 * 5) and "died within 30 min" in found["sentence"]
    assert [fleet.why(node) for node in "abcd"] == [None] * 4
    url = f"http://{fleet.c.host}:{fleet.c.port}"
    said = run("assayctl", "why", "x", "--controller", url).stdout
    assert "restarts of its jobs" in said and "a suspect: test it before the next job" in said, said
    # Days without any report passed: that alone was acted on.
    assert {a["action"] for a in fleet.c.get("/v1/actions").json["items"]} <= {"breaker-open"}
    assert not any(n.get("cordoned") for n in fleet.c.get("/v1/nodes").json["items"])
    assert fleet.c.log().count(" joined one of ") == 1
    fleet.c.kill()
    c = controller(db=fleet.c.db, env=clock.env())
    assert wait_for(lambda: c.get("/v1/nodes/x/why").json["restarts"] == found), json.dumps(c.get("/v1/nodes/x/why").json["restarts"])


@pytest.mark.once
def test_jobs_that_die_by_themselves_name_nobody(fleet):
    for i in range(KILLS):
        fleet.run("research/sticks", "abx", LONG if i == 4 else SHORT)
        for hosts in ("cd", "cx", "dx", "cd"):
            fleet.run("research/flaps", hosts, SHORT)
        for hosts in ("ab", "cx", "ab", "cd"):
            fleet.run("research/well", hosts, LONG)
        fleet.run("research/well", "cd", SHORT)
        fleet.run("research/hurt", "ab", HOUR)
        fleet.run("research/hurt", "ac", HOUR)
        fleet.run("research/hurt", "ab", HOUR)
        fleet.run("research/hurt", "ay", SHORT)
    fleet.next_day()
    # A line for each notable host shows that the day was evaluated.
    assert wait_for(lambda: (fleet.why("y") or {}).get("died", 0) >= 5), fleet.why("y")
    assert [fleet.why(node) for node in "abcdx"] == [None] * 5
    assert all(" y: of " in line for line in fleet.c.log().splitlines() if " joined one of " in line)  # named or not, with its days
