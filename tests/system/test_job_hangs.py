# SPDX-License-Identifier: Apache-2.0
"""A job hangs: hosts report the state of their ranks, get the order `look`, and the stopped rank is named; no host is ever cordoned for it."""
import contextlib
import hashlib
import itertools
import json
import re
import sqlite3
import subprocess

import pytest
from clock_fixtures import clock, clock_shift  # noqa: F401
from fixtures_controller import controller, report  # noqa: F401
from test_job_beats import LIMIT_S, STEP_S, Time, beat, job
from test_placement import put, ranks
from waiting import wait_for

JOB = "research/llm-7"
HOSTS = ["gpu-1", "gpu-2", "gpu-3", "gpu-4"]
WORLD = 16
EACH = WORLD // len(HOSTS)
CULPRIT = 6  # on gpu-2


def of(node):
    """The ranks of a host."""
    i = HOSTS.index(node)
    return range(i * EACH, (i + 1) * EACH)


def op(seq=411, name="all_reduce", state="enqueued", for_s=300, **more):
    return {"group": 0, "seq": seq, "op": name, "peer": None, "count": 1024, "count_out": 1024, "dtype": "Float", "state": state, "for_s": for_s, **more}


def rank(number, enqueued=411, started=-1, completed=410, sources=("flight-recorder", "process"), process=None, ops=None, device=None, **more):
    return {"rank": number, "sources": list(sources), "pid": 1000 + number, "gpu": f"gpu {number % EACH}",
            "process": process or {"state": "futex", "for_s": 300, "wchan": "futex_wait_queue", "syscall": "futex"},
            **({"device": device} if device else {}),
            "positions": [{"group": 0, "place": number, "enqueued": enqueued, "started": started, "completed": completed}],
            "ops": [op()] if ops is None else ops, **more}


def document(node, members, world=WORLD, **more):
    return {"format": "assay-hang/1", "node": node, "boot_id": "b1", "job": JOB, "run": 1, "world": world, "age_s": 0.5,
            "groups": [{"name": "0", "desc": "default_pg", "size": world, "ranks": list(range(world)), "p2p": False}],
            "ranks": members, "missing": [], **more}


def say(c, node, doc, **more):
    return c.call("PUT", f"/v1/nodes/{node}/hang", json.dumps(doc).encode(), **more)


def place(c, hosts=HOSTS, run="1"):
    for node in hosts:
        assert put(c, node, ranks(*of(node), ASSAY_RUN=run)).status == 200


def all_say(c, culprit=None, hosts=HOSTS, **like):
    """Each host reports its ranks; the stopped rank gets `culprit`."""
    for node in hosts:
        members = [rank(r, **{**like, **(culprit if culprit and r == CULPRIT else {})}) for r in of(node)]
        assert say(c, node, document(node, members)).status == 204


STOPPED = {"enqueued": 410, "ops": [], "process": {"state": "stopped", "for_s": 300, "wchan": "do_signal_stop"}, "sources": ("process",)}

# The reports of all ranks, that of rank 6; the class, the ranks, and whether no host is to be tested for it.
CLASSES = {
    "host-stalled": ({}, {"enqueued": 410, "ops": []}, [CULPRIT], True),
    "stopped": ({}, STOPPED, [CULPRIT], True),
    "own-gpu-stopped": ({"completed": 411, "ops": [op(412)], "enqueued": 412},
                        {"completed": 409, "ops": [op(410), op(411), op(412)], "enqueued": 412}, [CULPRIT], False),
    "xid": ({}, {"device": {"xid": 79, "util": 1.0, "power": 0.2}}, [CULPRIT], False),
    "fabric": ({"sources": ("ring",), "started": 411, "ops": [op(state="started", wait=9, for_s=700)]}, {}, None, False),
    "mismatch": ({}, {"ops": [op(name="all_gather", count_out=16384)]}, [CULPRIT], True),
    "equal-count": ({}, {}, [], True),
}
NAMES = {"stopped": "host-stalled", "xid": "own-gpu-stopped"}


def hang(c, name=JOB, **more):
    shown = job(c, name, **more)
    return shown and shown["hang"]


def commits(c):
    return c.metrics()["assay_store_commit_seconds_count"]


def ranks_of(c, **more):
    return c.get("/v1/jobs/j1/ranks", **more).json


def events(c):
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        return [m for (m,) in db.execute("SELECT message FROM cluster_events WHERE reason = 'AssayJobStopped' ORDER BY id")]


def told(c, words="hangs: none of its ranks"):
    return wait_for(lambda: words in c.log())


# --- permissions ---

def test_a_host_speaks_of_its_own_ranks_alone(controller, tmp_path):  # noqa: F811
    file = tmp_path / "tokens.yaml"
    rows = [f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {role}}}\n"
            for t, role in {"one": "node: gpu-1", "two": "node: gpu-2", "read": "role: read", "operate": "role: operate"}.items()]
    file.write_text("v: 1\ntokens:\n" + "".join(rows))
    c = controller("--tokens", file)
    doc = document("gpu-1", [rank(0, **STOPPED)])
    other = say(c, "gpu-1", doc, token="two")
    assert other.status == 403 and "may not report the state of its ranks on 'gpu-1'" in other.json["detail"]
    assert say(c, "gpu-1", doc, token="read").status == 403 and say(c, "gpu-1", doc).status == 401
    assert say(c, "gpu-1", doc, token="operate").status == 403
    strange = say(c, "gpu-1", doc, token="one")
    assert strange.status == 403 and "no rank of 'research/llm-7' is known to run on 'gpu-1'" in strange.json["detail"]
    assert put(c, "gpu-1", ranks(0), token="one").status == 200
    assert say(c, "gpu-1", doc, token="one").status == 204
    assert c.get("/v1/jobs", token="read").status == 200 and c.get("/v1/jobs/j9/ranks", token="read").status == 404


@pytest.mark.parametrize("status,words,body", [
    (400, "hang: ", b"{"),
    (400, "hang: ", b'{"age_s": NaN}'),
    (422, "hang: ", b"[]"),
    (422, "format", {"format": "assay-hang/2"}),
    (422, "node: is not 'gpu-1', the host that sends it", {"node": "gpu-2"}),
    (422, "job: is not the name of a job", {"job": "no job"}),
    (422, "world", {"world": 16385}),
    (422, "ranks[0]", {"ranks": [{"rank": -1}]}),
    (422, "ranks", {"ranks": 7}),
    (413, "", {"missing": ["x" * (1 << 20)]}),
])
def test_what_is_none_is_refused_in_a_sentence(controller, status, words, body):  # noqa: F811
    c = controller()
    place(c)
    text = body if isinstance(body, bytes) else json.dumps({**document("gpu-1", [rank(0)]), **body}).encode()
    said = c.call("PUT", "/v1/nodes/gpu-1/hang", text)
    assert said.status == status and words in said.json["detail"], said.body
    assert job(c) is None


def test_a_document_that_is_small_and_says_much_is_refused(controller):  # noqa: F811
    c = controller()
    place(c)
    much = say(c, "gpu-1", document("gpu-1", [rank(0, ops=[{"group": 0}] * 60000)]))
    assert much.status == 422 and "KiB of memory" in much.json["detail"], much.body
    assert say(c, "gpu-1", document("gpu-1", [rank(0, ops=[{"group": 0}] * 6000)])).status == 204


def test_a_host_that_lies_of_ranks_that_it_has_not_is_not_believed(controller):  # noqa: F811
    c = controller()
    place(c)
    lies = [rank(r, **STOPPED) for r in (*of("gpu-1"), *of("gpu-2"))]
    refused = say(c, "gpu-1", document("gpu-1", [rank(r, **STOPPED) for r in of("gpu-2")]))
    assert refused.status == 403 and "none of these ranks" in refused.json["detail"]
    assert say(c, "gpu-1", document("gpu-1", lies, world=16384)).status == 204
    assert say(c, "gpu-2", document("gpu-2", [rank(r) for r in of("gpu-2")])).status == 204
    assert wait_for(lambda: (hang(c) or {}).get("verdict"))
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) == WORLD)
    states = {r["rank"]: r["process"] for r in ranks_of(c)["ranks"]}
    assert [states[r] for r in of("gpu-1")] == ["stopped"] * EACH
    assert [states[r] for r in of("gpu-2")] == ["futex"] * EACH
    assert set(hang(c)["verdict"]["ranks"]) <= set(of("gpu-1"))


def test_two_that_claim_a_rank_are_both_not_believed_of_it(controller):  # noqa: F811
    c = controller()
    place(c)
    assert put(c, "gpu-9", ranks(CULPRIT, 99, ASSAY_RUN="1")).status == 200
    assert say(c, "gpu-9", document("gpu-9", [rank(CULPRIT, **STOPPED), rank(99, **STOPPED)], world=100)).status == 204
    all_say(c, sources=("flight-recorder", "process"))
    assert wait_for(lambda: (hang(c) or {}).get("verdict"))
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) >= WORLD)
    one = ranks_of(c)["ranks"][CULPRIT]
    assert one["sources"] == [] and one["node"] is None
    assert CULPRIT not in hang(c)["verdict"]["ranks"]


def test_of_ranks_of_others_only_what_ras_told_counts_and_only_while_they_are_silent(controller):  # noqa: F811
    c = controller()
    place(c)
    told_of = rank(CULPRIT, enqueued=400, completed=400, sources=("ras", "process"), process={"state": "stopped", "for_s": 999}, ops=[])
    assert say(c, "gpu-1", document("gpu-1", [*(rank(r) for r in of("gpu-1")), told_of])).status == 204
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) == WORLD if job(c) else False)
    one = ranks_of(c)["ranks"][CULPRIT]
    assert one["sources"] == ["ras"] and one["process"] == "unknown" and one["node"] == "gpu-2"
    assert say(c, "gpu-2", document("gpu-2", [rank(r) for r in of("gpu-2")])).status == 204
    assert wait_for(lambda: ranks_of(c)["ranks"][CULPRIT]["sources"] == ["flight-recorder", "process"])


# --- state ---

def test_a_job_without_beats_is_hung_by_what_hosts_say_and_goes_on(controller):  # noqa: F811
    c = controller()
    place(c)
    all_say(c, STOPPED, ops=[op()])
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung")
    assert told(c)
    shown = hang(c)
    assert shown["state"] == "hung" and shown["until"] is None and shown["since"] and shown["run"] == 1
    assert c.get("/v1/jobs/j1").json["state"] == "hung" and c.get("/v1/jobs/j1").json["hang"]["sentence"] == shown["sentence"]
    assert wait_for(lambda: c.metrics()["assay_jobs_hung"] == 1)
    assert sum(v for k, v in c.metrics().items() if k.startswith("assay_job_hangs_total")) == 1
    # A rank has continued: the hang is over.
    all_say(c, enqueued=500, completed=499, ops=[op(500, for_s=1)], sources=("ring",))
    assert wait_for(lambda: job(c)["state"] == "waiting"), job(c)
    assert hang(c)["state"] == "over" and hang(c)["until"] and ranks_of(c)["ranks"] == []
    assert wait_for(lambda: c.metrics()["assay_jobs_hung"] == 0)
    (only,) = events(c)
    assert only.startswith(f"{JOB} hangs: none of its ranks is making progress for 5m; ")


def test_of_many_jobs_that_hang_at_once_each_is_judged(controller):  # noqa: F811
    c = controller()
    jobs = {f"research/many-{i}": f"gpu-{i}" for i in range(8)}
    for name, node in jobs.items():
        assert put(c, node, ranks(0, 1, ASSAY_RUN="1", ASSAY_JOB=name)).status == 200

    def all_judged():
        for name, node in jobs.items():  # each always has new input to judge
            assert say(c, node, {**document(node, [rank(0), rank(1, **STOPPED)], world=2), "job": name}).status == 204
        return all((hang(c, name) or {}).get("verdict") for name in jobs)

    assert wait_for(all_judged)


def test_what_logs_say_stands_beside_what_was_found(controller, run):  # noqa: F811
    c = controller()
    place(c)
    logs = [{"pattern": "nccl-timeout", "says": "PyTorch gave up a collective that did not end", "count": 3, "last_s": 12.4},
            {"pattern": "x", "says": 7, "count": 1, "last_s": 1}, {"pattern": "y", "says": "\u001b[2Jz", "count": 1, "last_s": 0}, "no object"]
    members = {node: [rank(r, **(STOPPED if r == CULPRIT else {})) for r in of(node)] for node in HOSTS}
    for node in HOSTS:
        assert say(c, node, document(node, members[node], **({"logs": logs} if node == "gpu-3" else {}))).status == 204
    assert wait_for(lambda: (hang(c) or {}).get("verdict")), c.log()
    shown = hang(c)
    assert shown["logs"] == ["gpu-3: PyTorch gave up a collective that did not end (nccl-timeout, 3 lines, 12 s ago)", "gpu-3: ?[2Jz (y, 1 line, 0 s ago)"]
    assert shown["verdict"]["ranks"] == [CULPRIT] and not [e for e in shown["verdict"]["evidence"] if "gave up" in e]
    done = run("assayctl", "job", JOB, "--ranks", "--controller", f"http://{c.host}:{c.port}")
    assert "gave up a collective" in done.stdout, (done.stdout, done.stderr)


def test_a_pause_is_quiet_and_no_hang(controller):  # noqa: F811
    c = controller()
    place(c)
    disk = {"state": "disk", "for_s": 300, "wchan": "folio_wait"}
    all_say(c, sources=("process",), process=disk, ops=[])
    assert beat(c, 5).status == 200  # makes the job known, independent of its hosts
    assert wait_for(lambda: hang(c) is None or hang(c)["state"] == "quiet")
    assert job(c)["state"] == "waiting"
    assert " hangs: " not in c.log()


def test_old_documents_expire(controller, clock):  # noqa: F811
    c = controller(env=clock.env())
    time_of = Time(clock)
    place(c)
    all_say(c, STOPPED)
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung")
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) == WORLD) and c.metrics()["assay_hang_document_bytes"] > 0
    for _ in range(7):
        time_of.leap(STEP_S)
        place(c)
    assert wait_for(lambda: job(c)["state"] == "waiting") and hang(c)["state"] == "over"
    assert wait_for(lambda: c.metrics()["assay_hang_document_bytes"] == 0)


def test_what_was_found_outlives_a_restart(controller):  # noqa: F811
    c = controller()
    place(c)
    all_say(c, STOPPED)
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung") and told(c)
    before = hang(c)
    c.kill()
    c = controller()
    shown = job(c)
    assert shown["state"] == "hung" and shown["hang"]["verdict"] == before["verdict"] and shown["hang"]["sentence"] == before["sentence"]
    assert ranks_of(c)["ranks"] == [] and ranks_of(c)["verdict"] == before["verdict"]
    all_say(c, STOPPED)
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) == WORLD) and job(c)["state"] == "hung"
    assert len(events(c)) == 1  # no new result


def test_what_could_not_be_written_is_kept_again(controller):  # noqa: F811
    c = controller()
    seq = itertools.count(1)

    def is_written():
        return c.post(report(seq=next(seq))).status == 202  # and all pending writes before it

    place(c)
    all_say(c, STOPPED, ops=[op()])
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung") and told(c)
    assert is_written()
    subprocess.run(["prlimit", f"--pid={c.process.pid}", "--fsize=1:"], check=True)
    all_say(c, enqueued=500, completed=499, ops=[op(500, for_s=1)], sources=("ring",))
    assert wait_for(lambda: c.metrics()["assay_store_commit_failures_total"])
    subprocess.run(["prlimit", f"--pid={c.process.pid}", "--fsize=unlimited:"], check=True)
    assert wait_for(lambda: is_written() and "the store can be written again" in c.log())
    written = commits(c)
    assert wait_for(lambda: hang(c)["until"]) and wait_for(lambda: commits(c) > written)  # no more reports
    c.kill()
    c = controller()
    assert job(c)["state"] != "hung" and hang(c)["until"]


def test_hangs_that_are_over_make_room_for_those_of_now(controller):  # noqa: F811
    c = controller()
    c.stop()
    over = {"run": 1, "since": "2026-01-01T00:00:00.000Z", "judged": None, "until": "2026-01-01T00:00:00.000Z", "sentence": "s", "act": "a",
            "verdict": {"class": "cannot say", "ranks": [], "suspects": [], "nodes": [], "suspect_nodes": []}}
    with contextlib.closing(sqlite3.connect(c.db)) as db, db:
        db.executemany("INSERT INTO jobs (name, created_us, last_us, shown) VALUES (?, 1, 1, ?)",
                       [(f"research/over-{i}", json.dumps({"hang": over})) for i in range(1024)])
    c = controller(db=c.db)
    place(c)
    all_say(c, STOPPED)
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung") and told(c)


def test_hosts_that_never_say_it_again_after_a_restart_leave_no_hang(controller, clock):  # noqa: F811
    c = controller(env=clock.env())
    time_of = Time(clock)
    place(c)
    all_say(c, STOPPED)
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung") and told(c)
    c.kill()
    c = controller(env=clock.env())
    assert job(c)["state"] == "hung"
    for _ in range(3):
        time_of.leap(STEP_S)
    assert wait_for(lambda: job(c)["state"] == "waiting") and hang(c)["state"] == "over"


# --- the order `look` ---

def orders(c, node, wait=0):
    said = c.get(f"/v1/nodes/{node}/orders?wait={wait}")
    return [o for o in (said.json if said.status == 200 else []) if o["kind"] == "look"]


def test_hosts_of_a_job_without_steps_are_asked_to_look_once(controller, clock):  # noqa: F811
    c = controller(env=clock.env())
    time_of = Time(clock)
    place(c)
    assert beat(c, 1204).status == 200
    assert orders(c, "gpu-1") == []
    time_of.quiet(c, LIMIT_S / 2 + STEP_S, lambda: beat(c, 1204))
    assert job(c)["state"] == "waiting"  # not hung yet
    assert wait_for(lambda: (found := orders(c, "gpu-1")) and found[0]["job"] == JOB and found[0]["deadline"] > found[0]["now"])
    assert orders(c, "gpu-1") == [] and orders(c, "elsewhere") == []
    for node in HOSTS[1:]:
        assert len(orders(c, node)) == 1
    assert c.metrics()["assay_hang_looks_total"] == 4
    all_say(c, STOPPED)
    assert wait_for(lambda: hang(c) and hang(c)["answered"] == 4 and hang(c)["asked"] == 4)
    place(c)
    shown = time_of.quiet(c, LIMIT_S, lambda: (beat(c, 1204), all_say(c, STOPPED)))
    assert shown["state"] in ("stands still", "hung") and wait_for(lambda: "stands still: no step" in c.log())
    assert wait_for(lambda: re.search("stands still: no step for .*step 1204; .*: ", c.log()))  # includes the stopped rank


def test_hosts_that_never_answer_are_asked_three_times(controller, clock):  # noqa: F811
    c = controller(env=clock.env())
    time_of = Time(clock)
    place(c)
    assert say(c, "gpu-1", document("gpu-1", [rank(r, **STOPPED) for r in of("gpu-1")])).status == 204
    given = 0
    for _ in range(5):
        given += given < 3 and len(wait_for(lambda: orders(c, "gpu-4"), seconds=20))
        assert orders(c, "gpu-4") == []
        time_of.leap(61)
        place(c)
        assert say(c, "gpu-1", document("gpu-1", [rank(r, **STOPPED) for r in of("gpu-1")])).status == 204
    assert given == 3
    assert job(c)["state"] == "hung" and hang(c)["asked"] == 4


# --- consequences ---

POLICY = "v: 1\nmode: enforce\nbreaker: {silent_percent: 100}\njobs: {mode: enforce, on_stop: diagnose}\nrules: []\n"


@pytest.mark.parametrize("case", sorted(CLASSES))
def test_who_has_stopped_is_told_and_no_host_is_cordoned_for_it(controller, run, tmp_path, case):  # noqa: F811
    file, config = tmp_path / "policy.yaml", tmp_path / "controller.yaml"
    file.write_text(POLICY)
    config.write_text(f"v: 1\npolicy: {file}\n")
    c = controller("--config", config, "--mode", "enforce")
    for node in HOSTS:
        assert c.post(report(node=node)).status == 202
    place(c)
    like, culprit, named, owner = CLASSES[case]
    all_say(c, culprit, **like)
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung")
    assert wait_for(lambda: hang(c)["verdict"] and len(ranks_of(c)["ranks"]) == WORLD)
    assert wait_for(lambda: hang(c)["verdict"]["class"] == NAMES.get(case, case)), hang(c)
    assert named is None or hang(c)["verdict"]["ranks"] == named
    assert told(c, "hangs: none of its ranks")
    why = c.get("/v1/nodes/gpu-2/why").json["hangs"]
    if named is not None:
        assert [h["ranks"] for h in why] == ([named] if named else [])
        assert c.get("/v1/nodes/gpu-1/why").json["hangs"] == []
    assert wait_for(lambda: c.metrics()[f'assay_job_hangs_total{{class="{NAMES.get(case, case)}"}}'] == 1)
    # Nothing happens to a host: no order, no test, no action, no cordon.
    assert c.get("/v1/actions").json["items"] == [] and c.get("/v1/investigations").json["items"] == []
    for node in HOSTS:
        life = c.get(f"/v1/nodes/{node}/why").json["life"]
        assert life is None or life["state"] not in ("cordoned", "draining", "suspect"), life
    if named:
        assert "named by jobs that hang" in run("assayctl", "why", "gpu-2", "--controller", f"http://{c.host}:{c.port}").stdout
    said = run("assayctl", "job", JOB, "--ranks", "--controller", f"http://{c.host}:{c.port}")
    assert said.returncode == 0 and NAMES.get(case, case) in said.stdout
    if named:
        rows = [line.split()[0] for line in said.stdout.splitlines() if re.match(r"^\d+ ", line)]
        assert rows[0] == str(CULPRIT), said.stdout


@pytest.mark.long
def test_a_thousand_ranks_are_put_together_by_what_they_wait_for(controller, run):  # noqa: F811
    c = controller()
    world, each = 1024, 8
    for i in range(world // each):
        node = f"host-{i:03}"
        mine = range(i * each, (i + 1) * each)
        assert put(c, node, ranks(*mine, ASSAY_RUN="1")).status == 200
        members = [rank(r, **(STOPPED if r == 9 else {}), gpu=f"gpu {r % each}") for r in mine]
        assert say(c, node, document(node, members, world=world)).status == 204
    assert wait_for(lambda: (job(c) or {}).get("state") == "hung") and told(c)
    assert wait_for(lambda: hang(c)["verdict"]["ranks"] == [9] and c.get("/v1/jobs/j1/ranks?limit=1").json["world"] == world)
    assert wait_for(lambda: c.get("/v1/jobs/j1/ranks?cursor=1023").json["ranks"][0]["sources"])  # all were judged
    page = c.get("/v1/jobs/j1/ranks?limit=1000").json
    assert len(page["ranks"]) == 1000 and page["next"] == "1000" and page["run"] == 1 and page["groups"] == [{"name": "0", "desc": "default_pg", "size": world}]
    rest = c.get(f"/v1/jobs/j1/ranks?limit=1000&cursor={page['next']}").json
    assert len(rest["ranks"]) == 24 and rest["next"] is None and page["ranks"][0]["waits_for"] == [9]

    def shown(*words):
        done = run("assayctl", "job", JOB, *words, "--controller", f"http://{c.host}:{c.port}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    table = shown("--ranks")
    rows = [line for line in table.splitlines() if re.match(r"^\d", line)]
    assert table.startswith("hang ") and "rank 9 (host-001, gpu 1)" in table.partition("\n\n")[0].replace("\n            ", " ")
    assert rows[0].split()[:2] == ["9", "host-001"] and "stopped 300s" in rows[0]
    assert len(rows) == 2 and rows[1].startswith("0-8, 10-1023") and rows[1].rstrip().endswith("9"), rows
    assert len([line for line in shown("--ranks", "-o", "wide").splitlines() if re.match(r"^\d", line)]) == world
    whole = json.loads(shown("--ranks", "-o", "json"))
    assert [r["rank"] for r in whole["ranks"]] == list(range(world)) and whole["verdict"]["class"] == "host-stalled" and "next" not in whole
    assert re.search(r"^hang +hung since .*rank 9", shown(), re.M)
    why = run("assayctl", "why", "host-001", "--controller", f"http://{c.host}:{c.port}")
    assert why.returncode != 0 or "named by jobs that hang" in why.stdout  # the host has sent no report
    mixed = run("assayctl", "job", JOB, "--ranks", "--windows", "--controller", f"http://{c.host}:{c.port}")
    assert mixed.returncode == 2 and "--ranks and --windows cannot be combined" in mixed.stderr
