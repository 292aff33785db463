# SPDX-License-Identifier: Apache-2.0
"""assay admit, black box: whatever is in the state directory, it answers at once and never refuses by mistake."""
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest
from conftest import sample
from processes import gone

DAY = 86400


def stamp(offset_s=0.0):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + offset_s))


def item(level="fail", fatal=False, sentence="cpu:3 is slow"):
    return {"check": "gemm.rate", "subject": "cpu:3", "verdict": level, "value": 1.0, "unit": "FLOP/s", "expected": 2.0,
            "floor": 1.9, "source": "peers", "n": 7, "sentence": sentence, "fatal": fatal}


def verdict(level="pass", items=(), age_s=60, node="n1", **more):
    return {"v": 1, "kind": "verdict", "node": node, "time": stamp(-age_s), "seq": 1, "profile": "quick", "verdict": level,
            "sentence": "s", "items": list(items), **more}


@pytest.fixture
def admit(run, environ):
    """admit(verdict or bytes or None, *options) -> (exit status, answer object)."""

    def ask(value, *options):
        path = os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")
        if value is not None:
            with open(path, "wb") as f:
                f.write(value if isinstance(value, bytes) else json.dumps(value).encode())
        done = run("assay", "admit", "-o", "json", *options, env={"ASSAY_NODE": "n1"})
        assert done.stdout.count("\n") == 1, done.stderr
        answer = json.loads(done.stdout)
        assert list(answer) == ["v", "kind", "answer", "admit", "age_s", "profile", "source", "reasons"]
        assert done.returncode == (0 if answer["admit"] else 1)
        return done.returncode, answer

    return ask


@pytest.mark.parametrize("value, answer", [
    (verdict(), "ok"),
    (verdict("warn", [item("warn")]), "degraded"),
    (verdict("fail", [item()]), "degraded"),
    (verdict("fail", [item(fatal=True)]), "bad"),
    (verdict("inconclusive", [item("inconclusive")]), "unknown"),
    (verdict(age_s=2 * DAY), "unknown"),
    (verdict(age_s=-3600), "unknown"),
    (verdict(node="other"), "unknown"),
    (verdict(fleet={"verdict": "bad", "policy": "p", "expires": stamp(DAY), "sentence": "cordoned"}), "bad"),
    (verdict(fleet={"verdict": "bad", "policy": "p", "expires": stamp(-60), "sentence": "cordoned"}), "ok"),
    (None, "unknown"),
    (b"", "unknown"),
    (json.dumps(verdict()).encode()[:-20], "unknown"),
    (b"\xff\xfe\x00", "unknown"),
    (b"[" * 100000, "unknown"),
    (b"{}", "unknown"),
    (b" " * (5 << 20), "unknown"),
], ids=lambda value: value if isinstance(value, str) else None if value is None else "bytes" if isinstance(value, bytes) else
   value["verdict"])
def test_the_answer(admit, value, answer):
    status, got = admit(value)
    assert got["answer"] == answer
    assert status == (1 if answer == "bad" else 0)
    assert (got["reasons"] == []) == (answer == "ok")
    assert got["source"] == ("fleet" if got["reasons"] == ["cordoned"] else "local")


@pytest.mark.parametrize("hand, answer", [
    ({}, "ok"),
    ({"time": stamp(2 * DAY)}, "unknown"),
    ({"time": stamp(-2 * DAY)}, "unknown"),
    ({"time": "2020-01-01T00:00:00Z"}, "unknown"),
    ({"time": "yesterday"}, "unknown"),
    ({"node": "other"}, "unknown"),
], ids=str)
def test_the_verdict_of_a_real_run_that_a_hand_has_edited(run, admit, says, profiles, environ, hand, answer):
    """The wall clock time in it counts, although the run was in this boot and has a boot time too."""
    where = profiles(quick=[{"name": "p", "exec": says("p", sample())}])
    assert run("assay", "run", "--profiles", where, env={"ASSAY_NODE": "n1"}).returncode == 0
    with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")) as f:
        written = json.load(f)
    assert written["uptime_s"] > 0 and written["uptime_at"] == written["time"]
    assert admit({**written, **hand})[1]["answer"] == answer


@pytest.mark.parametrize("fleet, shown", [(None, "?]0;owned? gpu:0? is slow"), ("\x1b[31m red\x9b", "?[31m red?")])
def test_no_sentence_drives_the_terminal(admit, build, environ, fleet, shown):
    """Its text comes from the controller, and contains names that hosts choose."""
    value = verdict("fail", [item(sentence="\x1b]0;owned\x07 gpu:0\n is slow")])
    if fleet:
        value["fleet"] = {"verdict": "fail", "policy": "p", "expires": stamp(3600), "sentence": fleet, "seq": 1}
    admit(value)
    out = subprocess.run([build / "assay", "admit"], env={**environ, "ASSAY_NODE": "n1"}, capture_output=True, text=True)
    assert shown in out.stdout and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out.stdout)


@pytest.mark.parametrize("profile, words", [("quick", "by a quick run "), ("probes", "by a run of chosen probes ")])
def test_the_table_says_which_run_it_goes_by(run, environ, profile, words):
    with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"), "w", encoding="utf-8") as f:
        json.dump(verdict(profile=profile), f)
    done = run("assay", "admit", env={"ASSAY_NODE": "n1"})
    assert done.returncode == 0 and done.stdout.startswith(f"ok: admitted, {words}")


def test_strict_and_fail_closed_refuse_more(admit):
    assert admit(verdict("warn", [item("warn")]), "--strict")[0] == 1
    assert admit(verdict(), "--strict", "--fail-closed")[0] == 0
    assert admit(verdict(age_s=100), "--max-age", "99s", "--fail-closed")[0] == 1
    assert admit(verdict(age_s=100), "--max-age", "200s", "--fail-closed")[0] == 0


@pytest.mark.parametrize("make", [
    lambda path: os.mkdir(path),
    lambda path: os.mkfifo(path),
    lambda path: os.symlink("/dev/zero", path),
    lambda path: os.symlink(path, path),
])
def test_what_is_no_file_is_unknown_and_never_a_hang(admit, environ, make):
    make(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"))
    assert admit(None)[1]["answer"] == "unknown"


def test_a_yield_file_that_is_a_pipe_is_never_a_hang(admit, environ):
    os.makedirs(environ["ASSAY_RUN_DIR"], exist_ok=True)
    os.mkfifo(os.path.join(environ["ASSAY_RUN_DIR"], "yield"))
    assert admit(verdict())[1]["answer"] == "ok"


def test_unreadable_is_unknown(build, environ, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    path = os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")
    with open(path, "w") as f:
        f.write(json.dumps(verdict()))
    os.chmod(path, 0)
    for directory in tmp_path.parents:
        if str(directory).startswith("/tmp/") and directory.stat().st_uid == os.geteuid():
            os.chmod(directory, 0o755)
    os.chmod(tmp_path, 0o755)
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", build / "assay", "admit", "-o", "json"],
                          env={**environ, "ASSAY_NODE": "n1"}, capture_output=True, text=True, timeout=60, check=False)
    if "Permission denied" in done.stderr and not done.stdout:
        pytest.skip("the build directory is closed to other users")
    assert json.loads(done.stdout)["answer"] == "unknown"


@pytest.mark.parametrize("options", [["--max-age", "soon"], ["--budget", "-1s"], ["--job-nodes", "0"], ["-o", "xml"], ["x"]])
def test_bad_usage_is_2(run, options):
    assert run("assay", "admit", *options).returncode == 2


def test_a_stale_verdict_with_a_budget_is_renewed_by_a_quick_run(run, admit, says, profiles, environ, tmp_path):
    policy = tmp_path / "policy"
    policy.mkdir()
    environ["ASSAY_POLICY_DIR"] = str(policy)
    os.rename(profiles(quick=[{"name": "p", "exec": says("p", sample())}]), policy / "profiles.yaml")
    (policy / "sku").mkdir()
    assert admit(verdict(age_s=9 * DAY))[1]["answer"] == "unknown"
    status, got = admit(verdict(age_s=9 * DAY), "--budget", "20s", "--fail-closed")
    assert (status, got["answer"]) == (0, "ok") and got["age_s"] < 20


def test_a_quick_run_that_hangs_ends_with_its_budget(run, admit, script, profiles, environ, tmp_path):
    policy = tmp_path / "policy"
    (policy / "sku").mkdir(parents=True)
    environ["ASSAY_POLICY_DIR"] = str(policy)
    os.rename(profiles(quick=[{"name": "p", "exec": script("p", "exec sleep 1000\n"), "budget": "60s"}]), policy / "profiles.yaml")
    began = time.monotonic()
    assert admit(None, "--budget", "1s")[1]["answer"] == "unknown"
    assert time.monotonic() - began < 15


WRONG = sample("gemm.correct", "gpu:0", 0, unit="1", better="none", ok=False, severity="fatal", note="wrong data")


def test_a_run_that_finds_the_devices_taken_clears_nothing(run, says, profiles, environ):
    def quick():
        done = run("assay", "run", "-o", "json", "--profiles", str(path))
        return json.loads(done.stdout)["verdict"]["verdict"], run("assay", "admit").stdout.split(":")[0]

    path = profiles(quick=[{"name": "gemm", "exec": says("gemm", WRONG)}])
    assert quick() == ("fail", "bad")
    with open(os.path.join(environ["ASSAY_RUN_DIR"], "active.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(2):
            assert quick() == ("inconclusive", "bad")
    says("gemm", end="exit 1")
    assert quick() == ("inconclusive", "bad")
    says("gemm", sample("gemm.correct", "gpu:0", 1, unit="1", better="none", ok=True))
    assert quick() == ("pass", "ok")


def test_a_job_that_stops_a_probe_heals_nothing(run, says, profiles, environ):
    fatal = {"unit": "FLOP/s", "ok": False, "severity": "fatal"}
    path = profiles(quick=[{"name": "gemm", "exec": says("gemm", sample("gemm.rate", "gpu:0", 0, **fatal))}])
    assert run("assay", "run", "--profiles", str(path)).returncode == 1
    for state in ("aborted", "busy"):
        says("gemm", sample("gemm.rate", "gpu:0", None, state=state))
        assert run("assay", "run", "--profiles", str(path)).returncode == 3
        assert run("assay", "admit").stdout.startswith("bad")
        with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"), encoding="utf-8") as f:
            assert [i["verdict"] for i in json.load(f)["items"]] == ["fail"]
    says("gemm", sample("gemm.rate", "gpu:0", 1e12, unit="FLOP/s"))
    assert run("assay", "run", "--profiles", str(path)).returncode == 0
    assert run("assay", "admit").stdout.startswith("ok")


def test_probes_picked_by_hand_miss_nothing_of_those_that_were_not(run, says, profiles, environ):
    """The sets differ from run to run: results of other runs are neither missing nor cleared."""
    bad = {"ok": False, "severity": "warn"}
    path = profiles(quick=[{"name": "memory", "exec": says("memory", sample("memory.read_bw", "numa:0", 1e9, **bad))},
                           {"name": "gemm", "exec": says("gemm", sample("gemm.rate", "cpu:0", 1e9, unit="FLOP/s"))}])

    def pick(probe):
        done = run("assay", "run", "-o", "json", "--profiles", str(path), "--probe", probe)
        with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"), encoding="utf-8") as f:
            kept = {i["check"]: i["verdict"] for i in json.load(f)["items"]}
        return {i["check"]: i["verdict"] for i in json.loads(done.stdout)["verdict"]["items"]}, kept

    both = {"memory.read_bw": "warn", "gemm.rate": "pass"}
    assert pick("memory")[0] == {"memory.read_bw": "warn"}
    assert pick("gemm") == ({"gemm.rate": "pass"}, both)
    assert run("assay", "admit").stdout.startswith("degraded")
    assert pick("gemm") == ({"gemm.rate": "pass"}, both)
    # a missing part of a probe that was picked again is noticed, however many other runs came between
    says("memory", sample("memory.read_bw", "numa:1", 1e9))
    items = json.loads(run("assay", "run", "-o", "json", "--profiles", str(path), "--probe", "memory").stdout)["verdict"]["items"]
    assert [(i["subject"], i["verdict"]) for i in items] == [("numa:0", "inconclusive"), ("numa:1", "pass")]
    assert run("assay", "admit").stdout.startswith("degraded"), "what it found there before stands"


@pytest.mark.parametrize("state", ["busy", "aborted", "set-up"])
def test_a_slow_part_that_cannot_be_measured_now_is_slow_still(run, says, profiles, environ, state):
    cores = [sample("gemm.rate", f"cpu:{i}", 1e9 * (0.5 if i == 3 else 1), unit="FLOP/s") for i in range(8)]
    path = profiles(quick=[{"name": "gemm", "exec": says("gemm", *cores)}])

    def quick():
        run("assay", "run", "--profiles", str(path))
        with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"), encoding="utf-8") as f:
            return json.load(f)

    first = quick()
    assert (first["verdict"], first["items"][0]["subject"]) == ("fail", "cpu:3")
    says("gemm", *(sample("gemm.rate", f"cpu:{i}", None, state=state) for i in range(8)))
    for _ in range(2):
        merged = quick()
        assert (merged["verdict"], merged["items"][0]["subject"]) == ("fail", "cpu:3")
        assert merged["items"][0]["time"] == first["items"][0]["time"] and {i["verdict"] for i in merged["items"][1:]} == {"inconclusive"}
    assert run("assay", "admit", "--strict").returncode == 1
    says("gemm", *(sample("gemm.rate", f"cpu:{i}", 1e9, unit="FLOP/s") for i in range(8)))
    assert quick()["verdict"] == "pass"


def test_what_is_missing_after_a_crash_is_told_until_its_file_is_removed(run, says, profiles, environ):
    def quick():
        done = run("assay", "run", "-o", "json", "--profiles", str(path))
        return json.loads(done.stdout)["verdict"]

    nodes = [sample("memory.read_bw", f"numa:{i}", 1e10) for i in range(2)]
    path = profiles(quick=[{"name": "memory", "exec": says("memory", *nodes)}])
    assert quick()["verdict"] == "pass"
    says("memory", end="exit 1")
    quick()
    says("memory", nodes[0])
    for _ in range(2):
        missing = quick()
        assert (missing["verdict"], missing["items"][0]["subject"]) == ("inconclusive", "numa:1")
    assert "remove the file 'last/quick.json' from the state directory" in missing["sentence"]
    os.unlink(os.path.join(environ["ASSAY_STATE_DIR"], "last/quick.json"))
    assert quick()["verdict"] == "pass"
    assert run("assay", "admit").stdout.startswith("ok")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_quick_run_ends_with_the_admission_that_asked_for_it(build, script, profiles, environ, wait_until, tmp_path,
                                                               number):
    pid = tmp_path / "pid"
    slow = script("slow", f"echo $$ >{pid}.new; mv {pid}.new {pid}\nexec sleep 60\n")
    path = profiles(quick=[{"name": "gemm", "exec": slow}])
    policies = tmp_path / "policies"
    policies.mkdir()
    path.rename(policies / "profiles.yaml")
    with subprocess.Popen([str(build / "assay"), "admit", "--budget", "30s"], stdout=subprocess.DEVNULL,
                          env={**environ, "ASSAY_POLICY_DIR": str(policies)}) as process:
        wait_until(pid.exists)
        process.send_signal(number)
        process.wait(60)
    wait_until(lambda: gone(int(pid.read_text())), what="the end of the probe")


@pytest.fixture
def active_run(build, environ, script, profiles, wait_until, tmp_path):
    """active_run() starts `assay run` with an active probe that never ends. Returns (process, PID of the probe)."""
    started = []

    def start():
        note = tmp_path / f"pid{len(started)}"
        probe = script("forever", f"cat <<'EOF'\n{sample()}\nEOF\necho $$ > {note}.new && mv {note}.new {note}\nexec sleep 1000\n")
        file = profiles(full=[{"name": "forever", "exec": probe, "budget": "60s"}])
        process = subprocess.Popen([build / "assay", "run", "--profile", "full", "--profiles", file, "-o", "json"],
                                   env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        wait_until(note.exists, what="the probe to start")
        return process, int(note.read_text())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def arrives_by_signal(process, **_):
    process.send_signal(signal.SIGUSR1)


def arrives_by_admit(run, **_):
    assert run("assay", "admit").returncode == 0


@pytest.mark.alone  # a promise in seconds
@pytest.mark.parametrize("arrives", [arrives_by_signal, arrives_by_admit])
def test_a_job_that_arrives_gets_the_devices_within_2_s(active_run, run, wait_until, full, arrives):
    for _ in range(25 if full else 2):
        process, probe = active_run()
        arrives(process=process, run=run)
        wait_until(lambda pid=probe: gone(pid), 2.0, "the probe to be gone")
        out, err = process.communicate(timeout=60)
        report = json.loads(out)["report"]
        assert [s["state"] for s in report["samples"]] == ["aborted"]
        assert [p["code"] for p in report["problems"]] == ["busy"]
        assert "a job arrived" in err
        assert process.returncode == 3


def device_env(environ, tmp_path):
    """A root with one GPU device node: a plain file, because there is no GPU; its users are found by real means."""
    node = tmp_path / "root" / "dev" / "nvidia0"
    node.parent.mkdir(parents=True)
    node.write_text("")
    environ["ASSAY_SYSROOT"] = str(tmp_path / "root")
    return node


@pytest.mark.alone  # a promise in seconds
def test_a_process_that_opens_a_gpu_is_a_job(active_run, environ, tmp_path, wait_until, full):
    node = device_env(environ, tmp_path)
    for _ in range(50 if full else 2):
        process, probe = active_run()
        job = subprocess.Popen(["sh", "-c", f"exec sleep 1000 <{node}"])
        try:
            wait_until(lambda pid=probe: gone(pid), 2.0, "the probe to be gone")
            _, err = process.communicate(timeout=60)
            assert f"pid {job.pid} (s" in err and "/dev/nvidia0" in err
        finally:
            job.kill()
            job.wait()


def test_active_probes_are_not_started_beside_a_job(run, says, profiles, environ, tmp_path):
    node = device_env(environ, tmp_path)
    file = profiles(full=[{"name": "load", "exec": says("load", sample())},
                          {"name": "look", "exec": says("look", sample("test.look")), "active": False}])
    with open(node) as _:
        done = run("assay", "run", "--profile", "full", "--profiles", file, "-o", "json")
        report = json.loads(done.stdout)["report"]
        assert [s["check"] for s in report["samples"]] == ["test.look"]
        assert [(p["probe"], p["code"]) for p in report["problems"]] == [("load", "busy")]
        assert f"pid {os.getpid()} " in report["problems"][0]["detail"]
        done = run("assay", "run", "--profile", "full", "--profiles", file, "-o", "json", "--busy", "run")
        assert len(json.loads(done.stdout)["report"]["samples"]) == 2


def test_hosts_with_a_wrong_sku_file_are_all_admitted(run, says, profiles, environ, tmp_path, full):
    """A file that expects ten times the rate of any host: every run fails, but no host refuses a job."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(json.dumps({
        "v": 1, "sku": "wrong", "match": {}, "inventory": {"gpus": {"count": 80, "source": "a slip of the pen"}},
        "expect": [{"check": "test.rate", "value": 100.0, "floor": 95.0, "unit": "B/s", "source": "a slip of the pen"}]}))
    file = profiles(quick=[{"name": "p", "exec": says("p", *(sample(subject=f"gpu:{i}", value=10 + i / 100) for i in range(8)),
                                                      sample("inventory.gpus", "host", 8.0, unit="1"))}])
    for host in range(64 if full else 4):
        state = tmp_path / f"host{host}"
        env = {"ASSAY_STATE_DIR": str(state), "ASSAY_NODE": f"host{host}"}
        assert run("assay", "run", "--profiles", file, "--sku", wrong, env=env).returncode == 1
        done = run("assay", "admit", "-o", "json", env=env)
        assert (done.returncode, json.loads(done.stdout)["answer"]) == (0, "degraded")


def active_probes(environ):
    """PIDs of the active probes of this test's run directory; other runs on the host do not count."""
    mark = b"ASSAY_RUN_DIR=" + environ["ASSAY_RUN_DIR"].encode()
    names = {b"assay-probe-gemm", b"assay-probe-memory"}
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as f:
                program = os.path.basename(f.read().split(b"\0")[0])
            with open(f"/proc/{entry}/environ", "rb") as f:
                ours = mark in f.read().split(b"\0")
        except OSError:
            continue
        if ours and program in names and not gone(int(entry)):
            found.append(int(entry))
    return found


@pytest.mark.alone  # a promise in seconds
def test_a_job_at_any_moment_of_a_real_full_run_finds_the_devices_free(build, environ, run, wait_until, full):
    """The real probes at random moments: warming up, measuring, checking, or between two probes."""
    moments = random.Random(7)
    for i in range(50 if full else 2):
        process = subprocess.Popen([build / "assay", "run", "--profile", "full", "-o", "json"], env=environ,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: active_probes(environ), what="an active probe")
            at = time.monotonic() + moments.uniform(0, 12 if full else 3)
            wait_until(lambda end=at: time.monotonic() >= end or process.poll() is not None, 20, "the moment")
            if process.poll() is None:
                (arrives_by_signal if i % 2 else arrives_by_admit)(process=process, run=run)
                wait_until(lambda: not active_probes(environ), 2.0, f"the devices to be free (moment {i})")
            out, _ = process.communicate(timeout=60)
            json.loads(out)
        finally:
            process.kill()
            process.communicate()
