# SPDX-License-Identifier: Apache-2.0
"""assayctl's actions on a real controller with the embedded cluster: people, automation, and both concurrently."""
import contextlib
import hashlib
import json
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

NODES = [f"gpu-{i:02d}" for i in range(8)]
ROLES = {"read": None, "operate": "ann", "shared": None, "admin": None}
RULES = "rules:\n  - {name: fatal-signature, match: {severity: fatal}, action: cordon}\n  - {name: rest, match: {check: '*'}, action: alert}\n"


def policy(budget="total: {percent: 100, nodes: 0}, domain: {label: none, max: 100}, rate: {cordons: 100, per: 10m}", more=""):
    return f"v: 1\nmode: enforce\nbudget: {{{budget}}}\n{more}{RULES}"


def dead(check="gpu.xid"):
    return [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)] + \
        [sample(check=check, subject="gpu:3", value=1, unit="1", better="none", ok=False, severity="fatal", note="fell off the bus")]


class Acting:
    """A controller with tokens and a policy, with a report of each host, and assayctl as its client."""

    def __init__(self, start, run, tmp_path, text, nodes):
        self.start, self.run, self.tmp, self.seq = start, run, tmp_path, {}
        (tmp_path / "policies" / "sku").mkdir(parents=True, exist_ok=True)
        (tmp_path / "policies" / "default.yaml").write_text(text)
        rows = ["v: 1", "tokens:"]
        for name, person in ROLES.items():
            (tmp_path / name).write_text("token-" + name)
            digest = hashlib.sha256(("token-" + name).encode()).hexdigest()
            rows.append(f"  - {{sha256: {digest}, role: {'operate' if name == 'shared' else name}" + (f", name: {person}}}" if person else "}"))
        (tmp_path / "tokens.yaml").write_text("\n".join(rows) + "\n")
        self.again()
        for node in nodes:
            self.report(node)

    def again(self):
        """Starts or restarts it on the same store."""
        self.c = self.start("--mode", "enforce", "--tokens", self.tmp / "tokens.yaml", env={"ASSAY_POLICY_DIR": str(self.tmp / "policies")})

    def report(self, node, samples=None):
        self.seq[node] = self.seq.get(node, 0) + 1
        answer = self.c.post_again(report(node, seq=self.seq[node], samples=samples), token="token-admin")
        assert answer.status == 202
        return answer

    def ctl(self, *words, token="operate"):
        return self.run("assayctl", *words, "--controller", f"http://127.0.0.1:{self.c.port}", "--token-file", self.tmp / token,
                        env={"SUDO_USER": ""})

    def post(self, path, body, token="token-operate"):
        return self.c.call("POST", "/v1/" + path, json.dumps(body).encode(), token=token)

    def get(self, path):
        return self.c.get("/v1/" + path, token="token-read").json

    def life(self, node):
        return self.get(f"nodes/{node}/why")["life"]

    def actions(self, **only):
        return [a for a in self.get("actions?limit=1000")["items"] if all(a[k] == v for k, v in only.items())]

    def settled(self):
        """Waits until only tests that a host would have to run are pending."""
        assert wait_for(lambda: not [a for a in self.actions(state="decided") if a["action"] != "retest"]), self.actions(state="decided")

    def counts_who_is_out(self):
        """Reads both again each time, because a silence may end at any time and a host then be cordoned."""
        used = next(b["used"] for b in self.get("breaker")["budget"] if b["rule"] == "budget.total")
        return used == len(out_of(self))

    def ready(self):
        """Waits until the actor knows its hosts; before that, requests get 503."""
        return wait_for(lambda: self.post(f"nodes/{NODES[0]}/silence", {"reason": "ready?", "for": "1s"}).status == 200)


@pytest.fixture
def acting(controller, run, tmp_path):
    def start(text=None, nodes=NODES):
        a = Acting(controller, run, tmp_path, text or policy(), nodes)
        assert a.ready()
        return a

    return start


def out_of(a):
    return sorted(n for n in NODES if not a.life(n)["schedulable"])


def test_a_person_takes_a_host_out_and_gives_it_back(acting):
    a = acting()
    done = a.ctl("cordon", "gpu-03", "--reason", "fan 3, ticket 812")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("gpu-03: ")
    assert out_of(a) == ["gpu-03"]
    text = a.ctl("why", "gpu-03", token="read").stdout
    assert "state      cordoned since " in text and "by operator ann at " in text and ": fan 3, ticket 812" in text
    assert "releases   only an operator" in text and "assayctl uncordon gpu-03 --reason ..." in text
    again = a.ctl("cordon", "gpu-03", "--reason", "again")
    assert again.returncode == 0 and "already" in again.stdout
    assert len(a.actions(node="gpu-03", action="cordon", state="done")) == 1
    for _ in range(2):
        assert a.ctl("uncordon", "gpu-03", "--reason", "replaced").returncode == 0
    assert out_of(a) == [] and len(a.actions(node="gpu-03", action="uncordon", state="done")) == 1
    assert a.life("gpu-03")["override_until"]
    text = a.ctl("actions", "--node", "gpu-03").stdout
    assert "fan 3, ticket 812" in text and "operator ann" in text
    coverage = a.ctl("coverage", "-o", "json", token="read")
    assert coverage.returncode == 0 and {i["node"] for i in json.loads(coverage.stdout)["items"]} <= set(NODES)
    shared = a.ctl("cordon", "gpu-04", "--reason", "x", token="shared")
    assert shared.returncode == 0 and "as named by the caller (role operate)" in a.actions(node="gpu-04")[0]["by"]


def test_roles_are_kept_and_breaking_the_glass_is_recorded(acting):
    a = acting(policy("total: {percent: 100, nodes: 1}, rate: {cordons: 100, per: 10m}"))
    refused = a.ctl("cordon", "gpu-01", "--reason", "x", token="read")
    assert refused.returncode == 2 and "lacks the role operate (it has: read)" in refused.stderr and refused.stderr.count("\n") == 1
    assert a.post("nodes/gpu-01/cordon", {"reason": "x"}, token=None).status == 401
    assert a.ctl("cordon", "gpu-01", "--reason", "x").returncode == 0
    refused = a.ctl("cordon", "gpu-02", "--reason", "x")
    assert refused.returncode == 1 and "budget.total" in refused.stderr and "to allow it: " in refused.stderr
    problem = a.post("nodes/gpu-02/cordon", {"reason": "x"})
    assert problem.status == 409 and problem.json["rule"] == "budget.total" and problem.json["allows"]
    refused = a.ctl("cordon", "gpu-02", "--reason", "x", "--break-glass")
    assert refused.returncode == 2 and "role admin" in refused.stderr
    assert out_of(a) == ["gpu-01"]
    assert a.ctl("cordon", "gpu-02", "--reason", "it burns", "--break-glass", token="admin").returncode == 0
    assert out_of(a) == ["gpu-01", "gpu-02"]
    assert [x["reason"] for x in a.actions() if x["break_glass"]] == ["it burns"]
    assert "BREAK-GLASS: it burns" in a.ctl("actions").stdout
    rows = a.ctl("breaker", token="read").stdout.splitlines()
    assert rows[1].split()[:3] == ["budget.total", "2", "1"]
    for node in ("gpu-01", "gpu-02"):
        assert a.ctl("uncordon", node, "--reason", "x").returncode == 0
    assert a.ctl("cordon", "gpu-03", "--reason", "x").returncode == 0, "the budget is free again"


@pytest.mark.parametrize("path,body,status,words", [
    ("nodes/gpu-00/cordon", b"", 400, "body"),
    ("nodes/gpu-00/cordon", b"{", 400, "body"),
    ("nodes/gpu-00/cordon", b"[]", 422, "expected an object"),
    ("nodes/gpu-00/cordon", b'{"reason": "x", "reason": "y"}', 400, "duplicate"),
    ("nodes/gpu-00/cordon", {}, 422, "reason: is required"),
    ("nodes/gpu-00/cordon", {"reason": ""}, 422, "expected a reason"),
    ("nodes/gpu-00/cordon", {"reason": " \n\t"}, 422, "expected a reason"),
    ("nodes/gpu-00/cordon", {"reason": "x" * 501}, 422, "500 bytes"),
    ("nodes/gpu-00/cordon", {"reason": 7}, 422, "expected a string"),
    ("nodes/gpu-00/cordon", {"reason": "x", "force": True}, 422, "force: unknown key"),
    ("nodes/gpu-00/cordon", {"reason": "x", "until": "2h"}, 422, "until: does not apply here"),
    ("nodes/gpu-00/uncordon", {"reason": "x", "break_glass": True}, 422, "break_glass: does not apply here"),
    ("nodes/gpu-00/cordon", {"reason": "x" * 5000}, 413, "4096 bytes"),
    ("nodes/gpu-00/override", {"reason": "x"}, 422, "until: is required"),
    ("nodes/gpu-00/override", {"until": "2020-01-01T00:00:00Z"}, 422, "2020-01-01T00:00:00Z is in the past"),
    ("nodes/gpu-00/override", {"until": "tomorrow"}, 422, "'tomorrow' is neither"),
    ("nodes/gpu-00/override", {"until": "400d"}, 422, "366 days"),
    ("nodes/gpu-00/silence", {"reason": "x"}, 422, "for: is required"),
    ("nodes/gpu-00/silence", {"reason": "x", "for": "soon"}, 422, "for: "),
    ("nodes/nobody/cordon", {"reason": "x"}, 404, "no such node"),
    ("nodes/gpu-00/repair-done", {}, 409, "not cordoned by Assay"),
    ("breaker/reset", {}, 422, "reason: is required"),
    ("policy/replay", {"v": 1}, 400, "since: expected a duration like 7d"),
    ("policy/replay?since=0", {"v": 1}, 400, "since"),
    ("policy/replay?since=7d", {"v": 1, "mode": "on"}, 422, "policy: mode: 'on' is not one of"),
    ("policy/replay?since=7d", b"{v: 1}", 400, "policy"),
    ("policy/replay?since=7d", b"v: 1\nmode: [", 400, "policy: line 3"),
    ("policy/replay?since=7d", b"v: 1\nmode: on", 422, "policy: mode: "),
    ("policy/replay?since=7d", b"v: " + 100 * b"[", 400, "nested too deep"),
])
def test_rude_orders_are_refused_with_the_place(shared_acting, path, body, status, words):
    answer = shared_acting.c.call("POST", "/v1/" + path, body if isinstance(body, bytes) else json.dumps(body).encode(), token="token-operate")
    assert (answer.status, words in answer.json["detail"]) == (status, True), answer.json
    assert out_of(shared_acting) == []


def test_a_policy_is_replayed_as_its_file_is_or_as_json(shared_acting):
    told = []
    for body in (b"# of mine\nv: 1\nmode: observe\n", b'\n {"v": 1, "mode": "observe"}'):
        answer = shared_acting.c.call("POST", "/v1/policy/replay?since=7d", body, token="token-operate")
        assert answer.status == 200, answer.body
        told.append({key: answer.json[key] for key in ("reports", "rules", "nodes", "refusals", "sentence")})
    assert told[0] == told[1]


@pytest.fixture(scope="module")
def shared_acting(build, tmp_path_factory):
    """One controller for all requests that are refused anyway."""
    import os
    import subprocess

    from fixtures_controller import Controller, START_S
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    tmp = tmp_path_factory.mktemp("acting")
    started = []

    def start(*args, env=None):
        process = subprocess.Popen([str(build / "assay-controller"), "--listen", "127.0.0.1:0", "--db", str(tmp / "a.db"), *map(str, args)],
                                   env={**os.environ, "ASSAY_STATE_DIR": str(tmp), "ASSAY_CONF_DIR": str(tmp), **env},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started.append(process)
        return Controller(process, process.stdout.readline().split()[-1], tmp / "a.db")

    a = Acting(start, None, tmp, policy(), NODES)
    assert a.ready()
    yield a
    for process in started:
        process.terminate()
        process.communicate(timeout=START_S)


def test_what_people_type_wrong_names_what_to_do(acting):
    a = acting()
    done = a.ctl("cordon", "gpu-30", "--reason", "x")
    assert done.returncode == 1 and "unknown host 'gpu-30'; did you mean gpu-0" in done.stderr
    done = a.ctl("override", "gpu-03", "--until", "2020-01-01T00:00:00Z")
    assert done.returncode == 2 and "is in the past" in done.stderr
    done = a.ctl("repair-done", "gpu-03")
    assert done.returncode == 1 and "not cordoned by Assay" in done.stderr
    assert out_of(a) == []


def test_what_is_meant_to_be_gone_is_forgotten_when_somebody_says_so(acting):
    a, node = acting(), NODES[1]

    def after(n):
        a.report(node, [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(n)])
        return a.get(f"nodes/{node}")

    assert after(8)["verdict"] == "pass"
    gone = after(7)
    assert gone["verdict"] == "inconclusive" and "cpu:7 is missing" in gone["sentence"] and "assayctl repair-done" in gone["sentence"]
    assert after(7)["verdict"] == "inconclusive"
    done = a.ctl("repair-done", node, "--reason", "one core less by order")
    assert done.returncode == 0, done.stderr
    a.settled()
    here = after(7)
    assert here["verdict"] == "pass", here
    assert [x["reason"] for x in a.actions(action="repair-done", node=node)] == ["one core less by order"]
    done = a.ctl("repair-done", node, "--reason", "again")
    assert done.returncode == 1 and "nothing is wrong with it" in done.stderr
    assert out_of(a) == []


def test_the_same_order_from_many_hands_is_done_once(acting):
    a = acting(policy("total: {percent: 100, nodes: 3}, rate: {cordons: 100, per: 10m}"))
    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda _: a.post("nodes/gpu-01/cordon", {"reason": "x"}), range(8)))
        a.settled()
        others = list(pool.map(lambda node: a.post(f"nodes/{node}/cordon", {"reason": "x"}), NODES))
    a.settled()
    assert {answer.status for answer in same} <= {200, 409} and 200 in {answer.status for answer in same}
    assert {answer.json["rule"] for answer in same if answer.status == 409} <= {"busy"}
    assert len(a.actions(node="gpu-01", action="cordon", state="done")) == 1
    assert len(out_of(a)) == 3, "three may be out, however many ask at once"
    assert {answer.json["rule"] for answer in others if answer.status == 409} == {"budget.total"}


def test_a_dead_host_goes_by_itself_and_a_person_s_word_holds(acting):
    a = acting()
    a.report("gpu-05", dead())
    assert wait_for(lambda: out_of(a) == ["gpu-05"])
    text = a.ctl("why", "gpu-05").stdout
    assert "cordon     by assay at " in text and "releases   30m without a finding" in text and "rule fatal-signature" in text
    kept = a.ctl("cordon", "gpu-05", "--reason", "keep it out until I say so")
    assert kept.returncode == 1 and "already" in kept.stderr, "it would end by itself, which is not what was asked for"
    assert a.ctl("uncordon", "gpu-05", "--reason", "false alarm").returncode == 0
    a.settled()
    for _ in range(3):
        a.report("gpu-05")
    a.settled()
    assert out_of(a) == [] and a.life("gpu-05")["override_until"]
    assert len(a.actions(node="gpu-05", action="cordon", state="done")) == 1
    bundle = json.loads(a.ctl("evidence", "gpu-05", "-o", "json").stdout)
    assert [s["to"] for s in bundle["acted"]["transitions"]][-1:] and bundle["incidents"][0]["check"] == "gpu.xid"
    assert "fell off the bus" in a.ctl("evidence", "gpu-05").stdout


def test_an_open_breaker_refuses_until_a_person_resets_it(acting):
    a = acting()
    for node in NODES:
        a.report(node, dead())
    assert wait_for(lambda: a.get("breaker")["open"]), a.get("breaker")
    before = out_of(a)
    text = a.ctl("breaker", token="read").stdout
    assert "the breaker has been OPEN since " in text and "assayctl breaker reset --reason ..." in text
    free = next(n for n in NODES if n not in before)
    refused = a.ctl("cordon", free, "--reason", "x")
    assert refused.returncode == 1 and "breaker" in refused.stderr
    if before:
        assert a.ctl("uncordon", before[0], "--reason", "releases go on").returncode == 0
    a.c.kill()
    a.again()
    assert a.ready() and a.get("breaker")["open"], "it stays open over a restart"
    assert a.ctl("breaker", "reset", "--reason", "bad file, reverted", token="read").returncode == 2
    assert a.ctl("breaker", "reset", "--reason", "bad file, reverted").returncode == 0
    state = a.get("breaker")
    assert not state["open"] and "bad file, reverted" in state["reset_by"] and "ann" in state["reset_by"]
    assert a.ctl("cordon", free, "--reason", "x").returncode == 0


def cordon_as_somebody_else(a, node):
    a.c.stop()
    with contextlib.closing(sqlite3.connect(a.c.db)) as db:
        changed = db.execute("UPDATE cluster_nodes SET unschedulable = 1, version = version + 1 WHERE node = ?", (node,))
        assert changed.rowcount == 1
        db.commit()
    a.again()
    assert a.ready()


def test_somebody_else_s_cordon_is_never_lifted(acting):
    a = acting()
    cordon_as_somebody_else(a, "gpu-06")
    assert "by someone else: Assay never lifts it" in a.ctl("why", "gpu-06").stdout
    refused = a.ctl("uncordon", "gpu-06", "--reason", "x")
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1
    assert a.post("nodes/gpu-06/uncordon", {"reason": "x"}).json["rule"] == "not-ours"
    a.report("gpu-06", dead())
    a.settled()
    a.ctl("cordon", "gpu-06", "--reason", "ours too", "--break-glass", token="admin")
    a.ctl("uncordon", "gpu-06", "--reason", "ours no more")
    a.settled()
    assert out_of(a) == ["gpu-06"] and a.life("gpu-06")["cordon"] is None


def test_a_policy_replayed_says_what_it_would_have_done(acting, tmp_path):
    a = acting(nodes=[f"gpu-{i:02d}" for i in range(20)])
    for node in ("gpu-03", "gpu-11"):
        a.report(node, dead(check=f"gpu.xid_{node[-1]}"))
    file = tmp_path / "new.yaml"
    counts = {}
    for name, budget in (("wide", "total: {percent: 50}, rate: {cordons: 9, per: 10m}"), ("narrow", "total: {percent: 5}, rate: {cordons: 9, per: 10m}")):
        file.write_text(policy(budget).replace("enforce", "observe"))
        done = a.ctl("policy", "replay", file, "--since", "1d", "-o", "json", token="read")
        assert done.returncode == 0, done.stderr
        counts[name] = json.loads(done.stdout)
        assert counts[name]["reports"] == 22 and counts[name]["nodes_seen"] == 20
    assert sum(n["cordons"] for n in counts["wide"]["nodes"]) == 2 and counts["wide"]["refusals"] == []
    assert sum(n["cordons"] for n in counts["narrow"]["nodes"]) == 1
    assert [(r["budget"], r["nodes"]) for r in counts["narrow"]["refusals"]] == [("budget.total", 1)]
    assert "fatal-signature" in a.ctl("policy", "replay", file, "--since", "1d").stdout
    assert a.get("policy")["mode"] == "enforce", "nothing of it counts"


def test_people_and_automation_interleaved(acting, full):
    """In any order: a person's cordon stays, a person's uncordon holds, another owner's cordon is never lifted, the count is right."""
    seed = random.randrange(1 << 32)
    r = random.Random(seed)
    a = acting()
    cordon_as_somebody_else(a, "gpu-07")
    mine = NODES[:6]
    by_person, given_back = set(), set()

    def person(what, node):
        body = {"cordon": {"reason": "s"}, "uncordon": {"reason": "s"}, "silence": {"reason": "s", "for": "1s"}, "override": {"until": "1h"}}[what]
        was_out = a.life(node)["cordon"] is not None
        status = a.post(f"nodes/{node}/{what}", body).status
        assert status in (200, 409), (seed, what, node, status)
        if status == 200 and what == "cordon" and a.life(node)["cordon"]["by"] != "assay":
            by_person.add(node)
            given_back.discard(node)
        # For a host in service it also gets 200 but has no effect: actions held back by a silence come after it.
        if status == 200 and what == "uncordon" and was_out:
            by_person.discard(node)
            given_back.add(node)

    def machine(what, node):
        a.report(node, dead(check=f"gpu.xid_{node[-1]}") if what == "dies" else None)
        if what == "dies":
            given_back.discard(node)

    for step in range(400 if full else 25):
        node = r.choice(mine)
        what = r.choice(["cordon", "uncordon", "uncordon", "silence", "override", "dies", "good", "good", "restart"])
        if what == "restart" and r.random() < 0.3:
            a.c.kill()
            a.again()
            assert a.ready()
        elif what in ("dies", "good"):
            machine(what, node)
        elif what != "restart":
            person(what, node)
        a.settled()
        lives = {n: a.life(n) for n in NODES}
        out = {n for n, life in lives.items() if not life["schedulable"]}
        where = (seed, step, what, node)
        assert by_person <= out, where
        assert not given_back & out, where
        assert "gpu-07" in out and not lives["gpu-07"]["cordon"], where
        assert {n for n, life in lives.items() if life["cordon"]} == out - {"gpu-07"}, where
        assert wait_for(a.counts_who_is_out), where
