# SPDX-License-Identifier: Apache-2.0
"""The suspects do not depend on the order of ranks, hosts, windows and lines, nor on forged input."""
import contextlib
import gzip
import itertools
import json
import os
import random
import subprocess
import urllib.parse

import pytest
from fixtures_controller import controller, report  # noqa: F401
from test_jobs import AT_ONCE
from test_jobs_traces import END_S, ENDS, TOP, TRACES, named, send
from test_placement import TOKENS, guarded, process, put  # noqa: F401
from waiting import wait_for

DP, PP, TP = 4, 2, 8
HOSTS = [f"gpu-{i:02}" for i in range(DP * PP)]  # of the workers: replicas adjacent, then stages
AGES = ((1300, 1100), (900, 700), (130, 10))
SLOW = ("gpu-03", "gpu-03", "gpu-06")  # in each of three windows
BAD = ("gpu-03/20", "gpu-03/25", "gpu-06/30")
UNCLEAR = "gpu-03/7"  # named as the slowest, but not blamed


def played(slow, first=100, seed=1):
    """A window of a job: (meta, [operation])."""
    out = subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", "a/b", "--dp", str(DP), "--pp", str(PP), "--steps", "12", "--tp", str(TP),
                          "--first", str(first), "--seed", str(seed), "--slow", slow], capture_output=True, text=True, check=True, timeout=60)
    meta, *lines = out.stdout.splitlines()
    return json.loads(meta), [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def windows():
    """Three windows of a job; the first two have one slow host and the last another."""
    return [played(slow, 100 + 20 * i) for i, slow in enumerate(BAD)]


@pytest.fixture(scope="module")
def unclear():
    return played(UNCLEAR, seed=2)


class Order:
    """A permutation of replicas, hosts, windows and lines."""

    def __init__(self, dice):
        self.dice = dice
        self.replicas = dice.sample(range(DP), DP)
        self.names = dict(zip(HOSTS, dice.sample(HOSTS, len(HOSTS))))
        self.order = dice.sample(range(len(AGES)), len(AGES))
        self.told_by_hosts = dice.random() < 0.3

    def worker(self, o):
        d = self.replicas[o["dp_rank"]]
        return {**o, "dp_rank": d, "rank": (o["stage"] * DP + d) * TP}

    def trace(self, window):
        meta, ops = window
        ranks = [{**self.worker(r), "node": self.names[r["node"]]} for r in meta["ranks"]]
        self.places = {r["rank"]: r["node"] for r in ranks}
        if self.told_by_hosts:
            ranks = [{k: v for k, v in r.items() if k != "node"} for r in ranks]
        self.dice.shuffle(ranks)
        lines = [json.dumps(self.worker(o)) for o in ops]
        self.dice.shuffle(lines)
        return gzip.compress("\n".join([json.dumps({**meta, "ranks": ranks}), *lines, ""]).encode(), 1)

    def tell(self, c, job):
        for rank, host in self.places.items():
            told = [process(rank + i, ASSAY_JOB=job) for i in range(TP)]
            assert put(c, host, told, boot="b1").status == 200


def view(c, windows, order, job):
    """The view of the job once all windows have arrived, with the hosts' unpermuted names."""
    by_name = {v: k for k, v in order.names.items()}
    bodies = [order.trace(w) for w in windows]
    if order.told_by_hosts:
        order.tell(c, job)
    for i in order.order:
        window, shown = send(c, bodies[i], job=job, ages=AGES[i])
        assert by_name.get(window["suspect"]) == SLOW[i], (job, i, window)
    suspects = sorted(([by_name[h] for h in s["hosts"]], s["class"], s["hits"], s["of"], s["action"], round(s["share"]["value"], 6),
                       round(s["gain"]["value"], 6)) for s in shown["suspects"])
    return suspects, shown["state"], shown["cause"], shown["decision"]["action"], round(shown["slowdown"], 6)


@pytest.mark.long
@pytest.mark.once
def test_no_order_of_ranks_hosts_windows_and_lines_changes_who_is_suspected(controller, windows, full):  # noqa: F811
    c = controller()
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "11")))
    plain = Order(random.Random(0))
    plain.replicas, plain.names, plain.order, plain.told_by_hosts = range(DP), {h: h for h in HOSTS}, range(len(AGES)), False
    first = view(c, windows, plain, "plain")
    assert first[1] == "suspected" and [(s[0], s[2], s[3]) for s in first[0]][0] == (["gpu-03"], 2, 3), first
    for i in range(1000 if full else 30):
        assert view(c, windows, Order(dice), f"order-{i}") == first, i


@pytest.mark.once
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_run_whose_steps_are_the_newest_is_shown_whatever_comes_last(controller, windows, order):  # noqa: F811
    """The last window of the first run may complete during the second run, because of late parts."""
    c = controller()
    for i in order:
        meta, ops = windows[i]
        body = "\n".join([json.dumps(meta), *map(json.dumps, ops), ""]).encode()
        _, shown = send(c, body, ages=AGES[i], run=1 if i == 0 else 2)
    assert shown["run"] == 2 and {s["of"] for s in shown["suspects"]} == {2}


def published(name, dice):
    """Two separate windows of a published job, and its shape, with replicas, host names and lines permuted."""
    shape = named((TRACES / f"meta-{name}.yaml").read_text())
    plain, _, rows = shape.partition("ranks:")
    ranks = [{k: v if k == "node" else int(v) for k, v in (item.split(": ") for item in row.strip(" -{}").split(", "))}
             for row in rows.strip().splitlines()]
    dp, ranks_of = max(r["dp_rank"] for r in ranks) + 1, {(r["dp_rank"], r["stage"]): r["rank"] for r in ranks}
    hosts = sorted({r["node"] for r in ranks})
    moved, names = dice.sample(range(dp), dp), dict(zip(hosts, dice.sample(hosts, len(hosts))))
    lines = "".join(f"\n  - {{rank: {ranks_of[moved[r['dp_rank']], r['stage']]}, dp_rank: {moved[r['dp_rank']]}, stage: {r['stage']}, "
                    f"node: {names[r['node']]}}}" for r in ranks)
    head, *rows = gzip.decompress((TRACES / f"trace-{name}.csv.gz").read_bytes()).decode().splitlines()
    at = {column: i for i, column in enumerate(head.split(","))}
    made = []
    for row in rows:
        fields = row.split(",")
        d = moved[int(fields[at["dp_rank"]])]
        fields[at["dp_rank"]], fields[at["rank"]] = str(d), str(ranks_of[d, int(fields[at["stage"]])])
        made.append(",".join(fields))
    dice.shuffle(made)
    body = "\n".join([head, *made, ""]).encode()
    return (body, gzip.compress(body, 1)), (f"{plain}ranks:{lines}\n" if name == "AR" else plain), names


@pytest.mark.once
@pytest.mark.parametrize("name,blamed,state", [("AR", "n000", "suspected"), ("SE", None, "owner informed"), ("ST", None, "owner informed")])
def test_no_order_of_a_published_trace_changes_who_is_suspected(controller, full, name, blamed, state):  # noqa: F811
    if not TRACES.is_dir():
        pytest.skip("no published traces beside the repository (shared/traces)")
    c = controller()
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "14")))
    slowdowns = set()
    for i in range(100 if full else 3):
        bodies, meta, names = published(name, dice)
        for nth in dice.sample(range(2), 2):
            window, job = send(c, bodies[nth], job=f"{name}-{i}", ages=AGES[1 + nth], meta=meta)
            assert window["state"] == "analysed" and window["suspect"] == names.get(blamed), (i, window)
        assert job["state"] == state and [s["hosts"] for s in job["suspects"]] == ([[names[blamed]]] if blamed else [])
        slowdowns.add(round(window["slowdown"], 6))
    assert len(slowdowns) == 1


def ended(c, sent):
    def found():
        items = c.get(f"/v1/jobs/{sent['id']}/windows", token=TOKENS["reader"]).json["items"]
        return next((w for w in items if w["id"] == sent["window"] and w["state"] in ENDS), None)
    return wait_for(found, END_S)


def forged(dice, windows, victims):
    """A trace that claims that foreign hosts, alone or among the job's own, have its ranks."""
    meta, ops = dice.choice(windows)
    ranks = [{**r, "node": dice.choice(victims) if dice.random() < 0.8 else r["node"]} for r in meta["ranks"]]
    return gzip.compress("\n".join([json.dumps({**meta, "ranks": ranks, "forged": dice.random()}), *map(json.dumps, ops), ""]).encode(), 1)


@pytest.mark.once
def test_who_sends_for_some_jobs_blames_no_host_of_another(guarded, windows, unclear, full):  # noqa: F811
    """The forged trace is accepted and analysed, but no victim appears in any view of it, and none is blamed."""
    c = guarded
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "12")))
    victims = [f"victim-{i}" for i in range(4)]
    for host in victims:
        assert c.post(report(host), token=TOKENS["admin"]).status == 202
        told = [process(i, ASSAY_JOB="finance/llm") for i in range(TP)]
        assert put(c, host, told, token=TOKENS["admin"]).status == 200
    sent = []
    for i in range(100 if full else 10):
        query = urllib.parse.urlencode({"job": f"research/{i // 2}"})
        ages = AGES[1 + i % 2]
        answer = c.call("POST", "/v1/traces?" + query, forged(dice, [*windows, unclear], victims), token=TOKENS["sender"],
                        headers={"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])})
        assert answer.status == 202, answer.body
        sent.append(answer.json)
        assert ended(c, answer.json)["state"] == "analysed"
    for one in sent:
        shown = c.get(f"/v1/jobs/{one['id']}", token=TOKENS["reader"])
        whole = c.get(f"/v1/jobs/{one['id']}/windows/{one['window']}", token=TOKENS["reader"])
        assert not any(v in answer.body.decode() for v in victims for answer in (shown, whole)), (shown.body, whole.body)
        assert shown.json["suspects"] == [] and shown.json["decision"]["action"] in ("none", "owner", "watch")
    for host in victims:
        assert c.get(f"/v1/nodes/{host}/why", token=TOKENS["reader"]).json["jobs"] == []
    # Not even as the slowest that is not blamed.
    meta, ops = unclear
    ranks = [{**r, "node": f"victim-{i}"} for i, r in enumerate(meta["ranks"])]
    body = "\n".join([json.dumps({**meta, "ranks": ranks}), *map(json.dumps, ops), ""]).encode()
    for token, words in (("admin", "replacing victim-3"), ("sender", "is trusted for some jobs only")):
        answer = c.call("POST", f"/v1/traces?job=research/{token}", body, token=TOKENS[token])
        assert ended(c, answer.json)["state"] == "analysed"
        shown = c.get(f"/v1/jobs/{answer.json['id']}", token=TOKENS["reader"]).json
        assert words in shown["sentence"] and ("victim" in shown["sentence"]) == (token == "admin")
    # Nor with the token of a host.
    assert put(c, victims[0], [process(0)], token=TOKENS["sender"]).status == 403


def analyses(c):
    """The nice value of each running analysis."""
    with open(f"/proc/{c.process.pid}/task/{c.process.pid}/children") as file:
        children = file.read().split()
    found = []
    for child in children:
        with contextlib.suppress(OSError), open(f"/proc/{child}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
            found += [int(fields[16])] if fields[0] != "Z" else []
    return found


def cpu_s(c):
    """CPU seconds: the controller's own, and those of its finished analyses."""
    with open(f"/proc/{c.process.pid}/stat") as file:
        ticks = [int(n) for n in file.read().rpartition(")")[2].split()[11:15]]
    return [sum(pair) / os.sysconf("SC_CLK_TCK") for pair in (ticks[:2], ticks[2:])]


@pytest.mark.once
def test_a_hundred_forged_windows_a_minute_cost_one_analysis_at_a_time(guarded, windows, tmp_path):  # noqa: F811
    """Four of one job are accepted, of many jobs as many as can wait; reports are accepted as usual."""
    c = guarded
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "13")))
    most, taken = 0, {"one": [], "many": []}
    for i in range(100):
        for jobs, name in (("one", "research/one"), ("many", f"research/many-{i}")):
            answer = c.call("POST", f"/v1/traces?job={name}", forged(dice, windows, HOSTS), token=TOKENS["sender"])
            assert answer.status == 202 or answer.status == 429 and int(answer.headers["Retry-After"]) >= 1, answer.body
            taken[jobs] += [answer.json] if answer.status == 202 else []
        most = max(most, len(analyses(c)))
        assert set(analyses(c)) <= {os.nice(0), 10}  # our own value: before it has set its own
        if i % 10 == 0:
            assert c.post(report("gpu-1", i + 1), token=TOKENS["admin"]).status == 202
    assert len(taken["one"]) == AT_ONCE and most == 1
    for one in taken["one"] + taken["many"]:
        assert ended(c, one)["state"] == "analysed"
    assert wait_for(lambda: list((tmp_path / "traces").iterdir()) == [], END_S)
    own, children = cpu_s(c)
    print(f"of 100 windows of one job {len(taken['one'])} were taken, of 100 of as many jobs {len(taken['many'])}, {most} analysed at once: "
          f"{own:.2f} s of the processor in the controller, {children:.2f} s of analyses at nice 10")
