# SPDX-License-Identifier: Apache-2.0
"""assayctl for many hosts at once: by name, selector, rack, SKU or file; confirmation, refusals and the summary."""
import functools
import json
import os
import pty
import re
import subprocess

import pytest
from fixtures_controller import controller  # noqa: F401
from stub_lists import node, stub  # noqa: F401
from test_assayctl_act import NODES, Acting, out_of, policy
from waiting import wait_for

LABELS = "v: 1\nlabels:\n  - {nodes: 'gpu-0[0-3]', labels: {rack: r1, pool: train}}\n  - {nodes: 'gpu-0[4-6]', labels: {rack: r2, pool: infer}}\n"
WIDE = "total: {percent: 100, nodes: 0}, domain: {label: rack, max: 100}, rate: {cordons: 100, per: 10m"


def in_line(done):
    return " ".join(done.stdout.split())


@pytest.fixture
def racks(controller, run, tmp_path):
    """racks(budget): eight hosts, four in rack r1, three in r2, one without a rack."""
    def start(budget=WIDE + "}"):
        (tmp_path / "controller.yaml").write_text(LABELS)
        a = Acting(functools.partial(controller, "--config", tmp_path / "controller.yaml"), run, tmp_path, policy(budget), NODES)
        assert a.ready() and a.post("nodes/gpu-00/silence", {"reason": "ready", "for": "0s"}).status == 200
        return a

    return start


def names(a, *words):
    done = a.ctl("nodes", "-o", "json", *words, token="read")
    assert done.returncode == 0, done.stderr
    return sorted(n["node"] for n in json.loads(done.stdout)["items"])


# --- which hosts ---------------------------------------------------------------------------


def test_hosts_are_listed_by_label_rack_and_sku(racks):
    a = racks()
    assert names(a, "-l", "pool=train") == NODES[:4] == names(a, "--rack", "r1")
    assert names(a, "-l", "pool!=train") == NODES[4:] and names(a, "--selector", "pool,pool!=train") == NODES[4:7]
    assert names(a, "-l", "!rack") == ["gpu-07"] and names(a, "-l", "rack==r2") == NODES[4:7]
    assert names(a, "--rack", "r1", "--sku", "other") == [] and names(a, "--rack", "r1", "-l", "pool=infer") == []
    one = a.get("nodes/gpu-00")
    assert one["domain"] == "r1" and "labels" not in one
    assert {n["node"]: n["domain"] for n in a.get("nodes?limit=1000")["items"]}["gpu-07"] is None
    assert a.get("nodes?labels=1")["items"][4]["labels"] == {"rack": "r2", "pool": "infer"}


@pytest.mark.parametrize("text", ["", "=x", "a b", "a=b=c", "a=b,", "pool in (a)", "!a=b", ",".join("abcdefghijklmnopq")])
def test_what_is_no_selector_is_wrong_use(run, text):
    done = run("assayctl", "nodes", "-l", text)
    assert done.returncode == 2 and done.stderr.startswith("assayctl: --selector: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words,message", [
    (["cordon", "-r", "x"], "no NODE given"),
    (["cordon", "gpu-1", "--rack", "r1", "-r", "x"], "one of these three"),
    (["cordon", "gpu-1", "--file", "f", "-r", "x"], "one of these three"),
    (["silence", "--sku", "a", "--file", "f", "--for", "1h", "-r", "x"], "one of these three"),
    (["cordon", "--rack", "r1"], "--reason"),
    (["cordon", "", "gpu-1", "--rack", "r1", "-r", "x"], "argument 1 is empty"),
    (["cordon", "", "--rack", "r1", "-r", "x"], "argument 1 is empty"),
    (["cordon", "gpu-1", "", "-r", "x"], "argument 2 is empty"),
    (["why", "--rack", "r1"], "has no --rack"),
])
def test_hosts_are_said_in_one_way(run, words, message):
    done = run("assayctl", *words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_an_older_controller_says_neither_racks_nor_labels(run, stub):
    stub.nodes(node("gpu-1", domain=None))
    for words in (("-l", "a=b"), ("nodes", "-l", "a=b")):
        done = run("assayctl", *(("cordon", *words, "-r", "x") if len(words) == 2 else words), "--controller", stub.url)
        assert done.returncode == 3 and "does not report labels" in done.stderr
    stub.nodes("gpu-1")
    done = run("assayctl", "nodes", "--rack", "r1", "--controller", stub.url)
    assert done.returncode == 3 and "does not report racks" in done.stderr and stub.sent == []


# --- one order for many ---------------------------------------------------------------------


def test_a_rack_goes_out_and_comes_back(racks):
    a = racks()
    done = a.ctl("cordon", "--rack", "r1", "--reason", "PDU swap")
    assert (done.returncode, done.stderr) == (0, "") and out_of(a) == NODES[:4]
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("gpu-")] == NODES[:4]
    assert "4 hosts: 4 cordoned" in lines
    assert lines[-1] == "to undo: assayctl uncordon gpu-00 gpu-01 gpu-02 gpu-03 --reason ..."
    done = a.ctl("uncordon", "-l", "pool=train", "-r", "done")
    assert done.returncode == 0 and "4 hosts: 4 back in service" in done.stdout and out_of(a) == []
    done = a.ctl("cordon", "--rack", "r9", "-r", "x")
    assert (done.returncode, done.stdout) == (1, "") and done.stderr == "assayctl: none of 8 hosts matches\n"


def test_a_file_names_hosts_and_its_errors_name_the_line(racks, tmp_path, build, environ):
    a, file = racks(), tmp_path / "hosts"
    file.write_text("# rack 3\ngpu-05\n\n  gpu-06  # the fan\r\ngpu-05\n")
    done = a.ctl("silence", "--file", file, "--for", "2h", "-r", "firmware")
    assert done.returncode == 0 and "2 hosts: 2 silenced" in done.stdout and len(a.get("silences")["items"]) == 2
    where = ("--controller", f"http://127.0.0.1:{a.c.port}", "--token-file", tmp_path / "operate")
    done = subprocess.run([build / "assayctl", "silence", "end", "-f", "-", *where], input=file.read_text(), env=environ, text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and "2 hosts: 2 no longer silenced" in done.stdout and a.get("silences")["items"] == []
    for text, status, words in (("gpu-05\na b\n", 2, "hosts: line 2: 'a b' is not a host name"), ("x/y\n", 2, "line 1"), ("# none\n", 1, "names no host")):
        file.write_text(text)
        done = a.ctl("cordon", "--file", file, "-r", "x")
        assert (done.returncode, done.stdout) == (status, "") and words in done.stderr and done.stderr.count("\n") == 1
    assert a.ctl("cordon", "--file", tmp_path / "nothing", "-r", "x").returncode == 2 and out_of(a) == []


def test_a_budget_that_is_used_up_ends_it_and_says_what_would_allow_it(racks):
    a = racks(WIDE + ", manual: {cordons: 2, per: 10m}}")
    done = a.ctl("cordon", "--rack", "r1", "-r", "PDU swap")
    assert done.returncode == 1 and out_of(a) == NODES[:2]
    assert done.stderr.count("\n") == 1 and "gpu-02: budget.rate.manual" in done.stderr and "to allow it" in done.stderr
    assert "4 hosts: 2 cordoned, 1 refused, 1 not tried: they would be refused too" in in_line(done)
    assert len(a.actions(action="cordon", state="refused")) == 1
    done = a.ctl("cordon", "--rack", "r1", "-r", "it burns", "--break-glass")
    assert done.returncode == 2 and "role admin" in done.stderr and out_of(a) == NODES[:2]
    done = a.ctl("cordon", "--rack", "r1", "-r", "it burns", "--break-glass", token="admin")
    assert done.returncode == 0 and out_of(a) == NODES[:4] and "4 hosts: 2 cordoned, 2 already" in in_line(done)


def test_one_that_is_unknown_does_not_stop_the_others(racks):
    a = racks()
    done = a.ctl("cordon", "gpu-01", "gpu-99", "gpu-03", "gpu-01", "-r", "x")
    assert done.returncode == 1 and out_of(a) == ["gpu-01", "gpu-03"]
    assert "unknown host 'gpu-99'" in done.stderr and "3 hosts: 2 cordoned, 1 unknown" in in_line(done)


def test_a_dry_run_says_what_would_be_and_does_nothing(racks):
    a = racks(WIDE + ", manual: {cordons: 1, per: 10m}}")
    assert a.ctl("cordon", "gpu-07", "-r", "x").returncode == 0
    before = len(a.actions())
    done = a.ctl("uncordon", "gpu-07", "gpu-06", "--dry-run", "-r", "x")
    assert done.returncode == 0 and "gpu-07: would be back in service" in done.stdout and "gpu-06: already in service" in done.stdout
    assert "to undo" not in done.stdout and "checked on its own" in in_line(done)
    done = a.ctl("cordon", "gpu-01", "--dry-run", "-r", "x")
    assert done.returncode == 1 and "budget.rate.manual" in done.stderr
    done = a.ctl("silence", "--rack", "r2", "--for", "1h", "-r", "x", "--dry-run")
    assert done.returncode == 0 and "3 hosts: 3 would be silenced" in done.stdout
    assert a.ctl("override", "end", "gpu-01", "--dry-run").stdout == "gpu-01: the override would end\n"
    assert out_of(a) == ["gpu-07"] and len(a.actions()) == before and a.get("silences")["items"] == []


def test_what_ends_it_for_all_ends_it_with_a_sum(run, stub):
    stub.nodes(*(node(f"gpu-{i}") for i in range(1, 5)))
    stub.answers["/v1/nodes/gpu-1/cordon"] = (200, {"sentence": "gpu-1: cordoned"})
    stub.answers["/v1/nodes/gpu-2/cordon"] = (500, {})
    done = run("assayctl", "cordon", "gpu-1", "gpu-2", "gpu-3", "-r", "x", "--controller", stub.url)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "3 hosts: 1 cordoned, 1 failed, 1 not tried" in done.stdout and [p for p, _ in stub.sent] == ["/v1/nodes/gpu-1/cordon", "/v1/nodes/gpu-2/cordon"]


def test_a_refusal_that_is_of_the_cluster_ends_it(run, stub):
    stub.nodes(*(node(f"gpu-{i}") for i in range(1, 5)))
    stub.answers["/v1/nodes/gpu-1/cordon"] = (409, {"detail": "gpu-1: the API server is away", "rule": "stale"})
    done = run("assayctl", "cordon", "gpu-1", "gpu-2", "gpu-3", "-r", "x", "--controller", stub.url)
    assert done.returncode == 1 and "2 not tried: they would be refused too" in in_line(done)
    assert [p for p, _ in stub.sent] == ["/v1/nodes/gpu-1/cordon"]


def test_a_controller_that_is_busy_is_asked_again(run, stub):
    waits = iter([503, 429])
    stub.answers["/v1/nodes/gpu-1/cordon"] = lambda _: (next(waits, 200), {"sentence": "gpu-1: cordoned", "detail": "busy"}, "Retry-After: 1")
    stub.answers["/v1/nodes/gpu-2/cordon"] = (200, {"sentence": "gpu-2: cordoned"})
    done = run("assayctl", "cordon", "gpu-1", "gpu-2", "-r", "x", "--controller", stub.url)
    assert (done.returncode, done.stderr) == (0, "") and "2 hosts: 2 cordoned" in done.stdout and len(stub.sent) == 4


# --- several at once --------------------------------------------------------------------------

MANY = [f"gpu-{i:02}" for i in range(40)]
AT_ONCE = 16


def silence(run, stub, *words):
    return run("assayctl", "silence", *MANY, "--for", "1h", "-r", "x", "--controller", stub.url, *words)


def all_silenced(stub):
    stub.nodes(*map(node, MANY))
    for name in MANY:
        stub.answers[f"/v1/nodes/{name}/silence"] = (200, {"sentence": f"{name}: silenced", "action": 1})


def sent(stub):
    return [path.split("/")[3] for path, _ in stub.sent]


def test_orders_that_share_no_budget_go_out_together_and_are_told_in_order(run, stub):
    """The second host is answered only after the 17th request was sent; the 18th is not sent before that."""
    all_silenced(stub)
    seen = []

    def second(_):
        reached = wait_for(lambda: len(sent(stub)) > AT_ONCE)
        seen.append((reached, set(sent(stub))))
        return 200, {"sentence": f"{MANY[1]}: silenced", "action": 1}

    stub.answers[f"/v1/nodes/{MANY[1]}/silence"] = second
    done = silence(run, stub)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.splitlines() == [f"{n}: silenced" for n in MANY] + ["40 hosts: 40 silenced"]
    assert seen == [(True, set(MANY[:AT_ONCE + 1]))] and sent(stub)[0] == MANY[0] and sorted(sent(stub)) == MANY


def test_what_refuses_all_is_asked_once(run, stub):
    all_silenced(stub)
    stub.answers[f"/v1/nodes/{MANY[0]}/silence"] = (403, {"detail": "no"})
    done = silence(run, stub)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and sent(stub) == MANY[:1]


def test_what_was_under_way_when_it_ended_is_told_too(run, stub):
    all_silenced(stub)
    stub.answers[f"/v1/nodes/{MANY[1]}/silence"] = (500, {})
    done = silence(run, stub)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and sorted(sent(stub)) == MANY[:AT_ONCE + 1]
    assert done.stdout.splitlines()[:-1] == [f"{n}: silenced" for n in MANY[:1] + MANY[2:AT_ONCE + 1]]
    assert done.stdout.splitlines()[-1] == "40 hosts: 16 silenced, 1 failed, 23 not tried"


def test_one_that_has_to_be_asked_again_keeps_its_place(run, stub):
    all_silenced(stub)
    waits = iter([503, 429])
    stub.answers[f"/v1/nodes/{MANY[3]}/silence"] = lambda _: (next(waits, 200), {"sentence": f"{MANY[3]}: silenced", "action": 1}, "Retry-After: 1")
    done = silence(run, stub)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.splitlines() == [f"{n}: silenced" for n in MANY] + ["40 hosts: 40 silenced"]
    assert len(stub.sent) == 42


def test_cordons_share_a_budget_and_go_one_after_the_other(run, stub):
    stub.nodes(*map(node, MANY))
    for name in MANY:
        stub.answers[f"/v1/nodes/{name}/cordon"] = (200, {"sentence": f"{name}: cordoned", "action": 1})
    stub.answers[f"/v1/nodes/{MANY[2]}/cordon"] = (409, {"detail": f"{MANY[2]}: budget.total", "rule": "budget.total"})
    done = run("assayctl", "cordon", *MANY, "-r", "x", "--controller", stub.url)
    assert done.returncode == 1 and sent(stub) == MANY[:3] and "40 hosts: 2 cordoned, 1 refused, 37 not tried" in in_line(done)


# --- the question -----------------------------------------------------------------------------


@pytest.mark.parametrize("words,typed,status", [
    ([], b"y\n", 0), ([], b"yes\n", 0), ([], b"n\n", 1), ([], b"\n", 1), ([], b"\x04", 1), (["--yes"], b"", 0), (["--dry-run"], b"", 0),
])
def test_on_a_terminal_many_hosts_are_asked_for_first(racks, build, environ, tmp_path, words, typed, status):
    a = racks()
    master, slave = pty.openpty()
    line = ["cordon", "--rack", "r2", "-r", "x", "--controller", f"http://127.0.0.1:{a.c.port}", "--token-file", tmp_path / "operate", *words]
    process = subprocess.Popen([build / "assayctl", *line], stdin=slave, stderr=slave, stdout=subprocess.PIPE, env=environ)
    os.close(slave)
    said = b""
    while typed and b"[y/N]" not in said:
        said += os.read(master, 4096)
    if typed:
        assert re.search(rb"3 hosts will be cordoned: gpu-04, gpu-05, gpu-06\. Continue\? \[y/N\]", said)
        os.write(master, typed)
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == status
    assert (out_of(a) == NODES[4:7]) == (status == 0 and words != ["--dry-run"])
    assert ("3 hosts: 3 " in out) == (status == 0)
    os.close(master)


def test_one_host_is_not_asked_for(racks, build, environ, tmp_path):
    a = racks()
    master, slave = pty.openpty()
    line = ["cordon", "gpu-03", "-r", "x", "--controller", f"http://127.0.0.1:{a.c.port}", "--token-file", tmp_path / "operate"]
    done = subprocess.run([build / "assayctl", *line], stdin=slave, stderr=slave, stdout=subprocess.PIPE, env=environ, timeout=60, check=False)
    os.close(slave)
    os.close(master)
    assert done.returncode == 0 and out_of(a) == ["gpu-03"]


# --- what holds, and its end --------------------------------------------------------------------


def test_silences_and_overrides_are_listed_with_who_and_why_and_ended(racks):
    a = racks()
    assert a.ctl("silence", "list", token="read").stdout == "no silences\n" and a.ctl("override", "list").stdout == "no overrides\n"
    done = a.ctl("silence", "gpu-01", "--for", "4h", "-r", "firmware")
    assert done.returncode == 0 and re.search(r"^gpu-01: silenced until (\d\d:\d\dZ|20\S+ \d\d:\d\dZ)$", done.stdout.splitlines()[0])
    assert a.ctl("silence", "gpu-02", "--for", "300d", "-r", "lab").returncode == 0
    items = json.loads(a.ctl("silence", "list", "-o", "json", token="read").stdout)["items"]
    assert [(i["node"], i["by"], i["reason"]) for i in items] == [("gpu-01", "operator ann", "firmware"), ("gpu-02", "operator ann", "lab")]
    text = a.ctl("silence", "list", token="read").stdout.splitlines()
    assert text[0].split() == ["NODE", "UNTIL", "SINCE", "BY", "REASON"] and text[-1] == "2 silences" and re.search(r"gpu-02  20\d\d-\d\d-\d\d \d\d:\d\dZ", text[2])
    assert a.ctl("silence", "list", "--node", "gpu-02", token="read").stdout.splitlines()[-1] == "1 of 2 silences"
    assert a.ctl("silence", "end", "gpu-01").stdout == "gpu-01: silence ended\n"
    assert a.actions(node="gpu-01", action="silence")[0]["reason"] == "ended by hand"
    assert [i["node"] for i in a.get("silences")["items"]] == ["gpu-02"]

    assert a.ctl("override", "gpu-03", "--for", "12h", "-r", "benchmark").returncode == 0
    assert a.ctl("cordon", "gpu-04", "-r", "fan").returncode == 0 and a.ctl("uncordon", "gpu-04", "-r", "fan replaced").returncode == 0
    items = {i["node"]: (i["by"], i["reason"]) for i in a.get("overrides")["items"]}
    assert items == {"gpu-03": ("operator ann", "benchmark"), "gpu-04": ("operator ann", "fan replaced")}
    done = a.ctl("override", "end", "gpu-03", "gpu-04", "-r", "over")
    assert done.returncode == 0 and "2 hosts: 2 no longer overridden" in done.stdout and a.get("overrides")["items"] == []
    page = a.get("silences?limit=1")
    assert len(page["items"]) == 1 and page["next"] is None
    assert a.ctl("silence", "end", "gpu-02", token="read").returncode == 2


# --- 80 columns ---------------------------------------------------------------------------------


def test_in_80_columns_the_service_and_the_fact_survive(build, environ, stub):
    uuid = "GPU-1cd89253-cb0a-093d-9298-4f7c05eb5124"
    service = {"state": "in-service", "by": None, "silence_until": None, "override_until": None, "hold_until": None}
    stub.nodes(
        node("a-host-with-a-long-name-1", "fail", f"fail: gpu:{uuid}: gemm.rate is 31.2 of 52.0 TFLOP/s, 60 % of most", sku="hgx-h100-80g",
             service={**service, "state": "cordoned", "by": "operator bartholomew, as named by the caller (role operate)"}),
        node("a-host-with-a-long-name-2", sku="hgx-h100-80g", service={**service, "silence_until": "2999-01-01T06:23:00.000Z"}),
        node("a-host-with-a-long-name-3", sku="hgx-h100-80g", service={**service, "unverified": "it has not passed a test since it joined"}),
        node("a-host-with-a-long-name-4", sku="hgx-h100-80g", service=service, unverified=True))
    master, slave = pty.openpty()
    line = f"stty cols 80; exec {build}/assayctl nodes --controller {stub.url}"
    process = subprocess.Popen(["sh", "-c", line], stdin=slave, stdout=slave, stderr=slave, env={**environ, "TERM": "xterm", "NO_COLOR": "1"})
    os.close(slave)
    text = b""
    while b"use -o kv to see everything" not in text:
        text += os.read(master, 65536)
    process.wait(timeout=60)
    os.close(master)
    rows = text.decode().replace("\r", "").splitlines()
    assert max(map(len, rows)) <= 80
    assert rows[0].split()[:3] == ["VERDICT", "NODE", "SERVICE"]
    assert "cordoned by bartholomew " in rows[1] + " "
    assert rows[2] == "    gpu:GPU-1cd89253: gemm.rate is 31.2 of 52.0 TFLOP/s, 60 % of most"
    assert "silenced until 2999-01-01 " in rows[3] and "unverified" in rows[4] and "unverified" in rows[5]


def test_what_was_so_already_is_counted_apart_and_not_undone(racks):
    a = racks()
    assert a.ctl("cordon", "gpu-00", "-r", "old").returncode == 0
    done = a.ctl("cordon", "gpu-00", "gpu-01", "-r", "PDU swap")
    assert done.returncode == 0 and "2 hosts: 1 cordoned, 1 already" in in_line(done), done
    assert "to undo: assayctl uncordon gpu-01 --reason" in in_line(done)
    assert a.ctl("uncordon", "gpu-01", "-r", "done").returncode == 0
    done = a.ctl("uncordon", "gpu-01", "gpu-02", "-r", "again")
    assert done.returncode == 0 and "2 hosts: 0 back in service, 2 already" in in_line(done) and "to undo" not in done.stdout, done
