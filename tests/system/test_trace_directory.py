# SPDX-License-Identifier: Apache-2.0
"""assayd follows directories of profiles: each becomes a part of its job's trace, and hostile files do no harm."""
import contextlib
import gzip
import hashlib
import json
import os
import re
import socket
import stat
import subprocess
import threading
import time
import urllib.parse

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Answer
from fixtures_controller import controller  # noqa: F401
from test_optrace import kineto
from test_processes import environment, tree  # noqa: F401
from waiting import wait_for

JOB = "research/llm-7"
USER, OTHER = 12345, 12346
ENDS = {"analysed", "rejected", "failed"}
END_S = 120
MIB = 1 << 20

# Once: most tests wait, and the sanitizers need more memory than an analysis is allowed.
pytestmark = [pytest.mark.once, pytest.mark.skipif(os.geteuid() != 0, reason="files of several users take root to make")]


@pytest.fixture
def rank(tree):  # noqa: F811
    """rank(0, WORLD_SIZE=2) is a process of a job with a GPU open, as USER; all are killed at the end."""
    running = []

    def start(number, user=USER, job=JOB, **env):
        held = os.open(tree / "dev" / "nvidia0", os.O_RDONLY)
        words = {"PATH": os.environ["PATH"], "RANK": str(number), "WORLD_SIZE": "2", "ASSAY_JOB": job, **{k: str(v) for k, v in env.items()}}
        process = subprocess.Popen(["sleep", "600"], env={k: v for k, v in words.items() if v}, pass_fds=[held], user=user)
        os.close(held)
        running.append(process)
        assert wait_for(lambda: environment(process))
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "traces"
    path.mkdir(mode=0o777)
    return path


@pytest.fixture
def follower(assayd, config, folder, tree, tmp_path):  # noqa: F811
    """follower(controller=URL) is an assayd that follows `folder`; .counts() are its counts of files."""
    def start(controller=None, prefix=(), token_file=None, **traces):  # noqa: F811
        config(traces={"dirs": [str(folder)], **traces}, token_file=token_file, **({"controller": controller} if controller else {}))
        daemon = assayd(env={"ASSAY_SYSROOT": str(tree), "ASSAY_RUN_DIR": str(tmp_path / "run")}, prefix=prefix)

        def counts():
            with contextlib.suppress(OSError):
                text = (tmp_path / "run" / "traces.prom").read_text()
                return {m[1]: int(m[2]) for m in re.finditer(r'total\{result="(\w+)"\} (\d+)', text) if int(m[2])}
            return None

        daemon.counts = counts
        assert wait_for(lambda: counts() is not None), daemon.log()
        return daemon

    return start


def put(folder, name, body, user=USER):
    """Writes it like a profiler: complete under another name, then renamed."""
    temporary = folder / f".{time.monotonic_ns()}"
    temporary.write_bytes(body)
    os.chown(temporary, user, user)
    temporary.rename(folder / name)


def profile(number, began=None, **more):
    """A profile of steps that began at the given time by our clock; default: 20 s ago."""
    return json.dumps(kineto(number, base=int((began or time.time() - 20) * 1e9), **more)).encode()


def ended(c, job=JOB, **more):
    """The finished windows of the job."""
    jobs = c.get(f"/v1/jobs?name={job}", **more).json["items"]
    items = c.get(f"/v1/jobs/{jobs[0]['id']}/windows", **more).json["items"] if jobs else []
    return [w for w in items if w["state"] in ENDS]


@pytest.mark.once  # the sanitizers want more memory than an analysis may have
def test_the_profiles_of_two_ranks_become_a_window(controller, follower, rank, folder):  # noqa: F811
    c = controller()
    rank(0)
    rank(1)
    daemon = follower(f"http://{c.host}:{c.port}")
    began = time.time() - 20
    put(folder, "gpu-17_4711.1790000000000.pt.trace.json.gz", gzip.compress(profile(0, began)))
    (folder / "rank1.pt.trace.json").touch()
    os.chown(folder / "rank1.pt.trace.json", USER, USER)
    (folder / "rank1.pt.trace.json").write_bytes(profile(1, began))
    assert wait_for(lambda: ended(c), END_S), daemon.log() + c.log()
    (window,) = ended(c)
    assert window["state"] == "analysed" and not window["coarse"] and window["steps"] == 12, (window["state"], window["reason"])
    job = c.get(f"/v1/jobs?name={JOB}").json["items"][0]
    assert job["state"] == "healthy" and job["run"] == 1
    assert wait_for(lambda: daemon.counts() == {"taken": 2}), daemon.counts()


def test_what_pytorch_itself_writes_becomes_a_window(controller, follower, rank, folder, top, tmp_path):  # noqa: F811
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip(f"{python} has no torch: install python3-torch")
    if not os.path.exists("/sys/class/net/eth0"):
        pytest.skip("no eth0, over which the ranks of tests/job/train.py meet")
    c = controller()
    rank(0)
    rank(1)
    daemon = follower(f"http://{c.host}:{c.port}")
    (tmp_path / "window-0").mkdir()
    words = "--model mlp --dp 2 --pp 1 --steps 12 --windows 1 --seed 1".split()
    processor = str(min(os.sched_getaffinity(0)))
    ranks = [subprocess.Popen([python, top / "tests/job/train.py", *words, "--rank", str(n), "--processor", processor, tmp_path],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for n in range(2)]
    assert [p.wait(END_S) for p in ranks] == [0, 0]
    for number in range(2):
        put(folder, f"rank{number}.json", (tmp_path / "window-0" / f"rank{number}.json").read_bytes())
    assert wait_for(lambda: ended(c), END_S), daemon.log() + c.log()
    (window,) = ended(c)
    # Steps delayed by busy CPUs may be inconsistent; such a window has no results. That is not tested here.
    assert not window["coarse"], window
    assert window["steps"] == 12 if window["state"] == "analysed" else window["reason"].endswith("the trace does not add up."), window


@pytest.mark.once  # the sanitizers want more memory than an analysis may have
def test_a_host_sends_by_its_own_token_for_the_jobs_that_run_there(controller, follower, rank, folder, tmp_path):  # noqa: F811
    tokens = {"h" * 32: f"node: {NODE}", "r" * 32: "role: read", "o" * 32: "node: other"}
    file = tmp_path / "tokens.yaml"
    file.write_text("v: 1\ntokens:\n" + "".join(f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {role}}}\n"
                                                for t, role in tokens.items()))
    file.chmod(0o600)
    c = controller("--tokens", file)
    mine = tmp_path / "token"
    mine.write_text("h" * 32)
    mine.chmod(0o600)
    rank(0)
    rank(1)
    daemon = follower(f"http://{c.host}:{c.port}", token_file=str(mine))
    began = time.time() - 20
    for number in range(2):
        put(folder, f"rank{number}.json", profile(number, began))
    assert wait_for(lambda: ended(c, token="r" * 32), END_S), daemon.log() + c.log()
    assert ended(c, token="r" * 32)[0]["state"] == "analysed"
    # A host without a rank of the job may not send for it.
    answer = c.call("POST", f"/v1/traces?job={JOB}", b"x", token="o" * 32)
    assert answer.status == 403 and "is known to run on 'other'" in answer.json["detail"]
    assert c.call("POST", "/v1/traces?job=research/another", b"x", token="h" * 32).status == 403


# The capabilities of the installed assayd.service, and those that the drop-in of docs/jobs.md adds.
USUAL = "+dac_read_search,+sys_ptrace,+ipc_lock,+syslog"
MORE = "+setuid,+setgid,+kill"


def test_the_capabilities_of_the_drop_in_are_enough_and_without_them_it_says_so(stub, follower, rank, folder):  # noqa: F811
    rank(0)
    for words, counts in ((USUAL, {"sandbox": 1}), (f"{USUAL},{MORE}", {"unpacks": 1})):
        daemon = follower(prefix=("setpriv", "--bounding-set", f"-all,{words}", "--inh-caps=-all"))
        put(folder, "bomb.json.gz", gzip.compress(b'"' + b" " * (20 * MIB)))
        assert wait_for(lambda: daemon.counts() == counts, END_S), daemon.log()
        daemon.kill()
        daemon.wait()
        (folder / "bomb.json.gz").unlink()
        (folder.parent / "run" / "traces.prom").unlink()


class Taker:
    """A controller that accepts no part until told to; received ones are in `came`, in order."""

    def __init__(self, stub):  # noqa: F811
        self.answer, self.came, self.refused, stub.on_trace = Answer(429, {"title": "wait"}, {"Retry-After": "1"}), [], 0, self.take

    def take(self, handler, body):
        if self.answer.status != 202:
            self.refused += 1
            return self.answer
        query = urllib.parse.parse_qs(handler.path.partition("?")[2])
        lines = [json.loads(line) for line in gzip.decompress(body).splitlines()]
        self.came.append((query, lines, {k: float(v) for k, v in handler.headers.items() if k.endswith("-Age")}))
        return Answer(202, {"state": "queued"})


def test_while_the_controller_is_away_the_newest_four_windows_wait(stub, follower, rank, folder):  # noqa: F811
    taker = Taker(stub)
    rank(0, job="research/llm-7:a", ASSAY_RUN=3)
    daemon = follower()
    for i in range(6):
        put(folder, f"rank0.{i}.json", profile(0, time.time() - 20, first=100 * i))
    assert wait_for(lambda: daemon.counts() == {"stale": 2}, END_S), daemon.log()
    assert wait_for(lambda: taker.refused)
    taker.answer = Answer(202)
    assert wait_for(lambda: daemon.counts() == {"stale": 2, "taken": 4}, END_S), daemon.log()
    assert sorted(lines[1]["step"] for _, lines, _ in taker.came) == [200, 300, 400, 500]
    for query, lines, ages in taker.came:
        assert query == {"job": ["research/llm-7:a"], "run": ["3"], "part": ["1"], "of": ["2"]}
        assert lines[0]["dp_size"] == 2 and len(lines) == 1 + 3 * 12
        assert 20 <= ages["Assay-First-Step-Age"] < 20 + END_S
        assert ages["Assay-First-Step-Age"] - ages["Assay-Last-Step-Age"] == pytest.approx(1.173, abs=0.001)


def test_a_part_leaves_after_the_reports(stub, spool, follower, rank, folder):  # noqa: F811
    taker = Taker(stub)
    taker.answer = Answer(202)
    stub.script[:] = [Answer(503)] * 100
    rank(0)
    daemon = follower()
    spool(1)
    assert wait_for(lambda: stub.came), daemon.log()
    put(folder, "rank0.json", profile(0))
    assert wait_for(lambda: len(stub.came) >= 3), daemon.log()
    assert not taker.came
    with stub.lock:
        stub.script.clear()
    assert wait_for(lambda: taker.came, END_S), daemon.log()
    assert spool.left() == []


def hostile(folder):
    """Files that may be in a world-writable directory: {reason: how many}."""
    secret = folder.parent / "secret.json"
    secret.write_bytes(profile(0))
    os.chown(secret, USER, USER)
    made = [folder / f".{i}" for i in range(7)]
    made[0].symlink_to(secret)
    made[1].symlink_to("..")
    os.link(secret, made[2])
    os.mkfifo(made[3])
    os.mknod(made[4], stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: never ends
    os.mknod(made[5], stat.S_IFBLK | 0o666, os.makedev(7, 200))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(made[6]))
    for i, path in enumerate(made):
        path.rename(folder / f"hostile{i}.json")
    put(folder, "stranger_rank0.json", profile(0), OTHER)
    put(folder, "root_rank0.json", profile(0), 0)
    put(folder, "empty.json", b"")  # like one that is about to be written
    with open(folder / ".large", "wb") as file:
        file.truncate(64 * MIB + 1)
    os.chown(folder / ".large", USER, USER)
    (folder / ".large").rename(folder / "large.json")
    put(folder, "bomb.json.gz", gzip.compress(b'"' + b" " * (200 * MIB)))
    put(folder, "rank7.json", profile(7))
    put(folder, "no.json", b"\x7fELF")
    put(folder, "odd \x1b[2J\n\u202e'\"$(reboot);--part.json", b"nothing")
    put(folder, os.fsdecode(b"\xff\xfe.json"), b"nothing")
    put(folder, "-".ljust(249, "-") + ".json", b"nothing")
    put(folder, "readme.txt", b"of no profiler")
    put(folder, "deep.json", b"[" * 100000)
    return {"link": 2, "links": 1, "kind": 4, "stranger": 2, "large": 1, "unpacks": 1, "rank": 1, "unusable": 5}


def test_nothing_that_lies_there_harms_and_each_is_refused_by_its_reason(controller, follower, rank, folder):  # noqa: F811
    c = controller()
    rank(0)
    daemon = follower(f"http://{c.host}:{c.port}")
    wanted = hostile(folder)
    assert wait_for(lambda: daemon.counts() == wanted, END_S), (daemon.counts(), wanted, daemon.log())
    log = daemon.log()
    for reason in wanted:
        assert f"reason={reason}" in log
    assert "\x1b" not in log and "\u202e" not in log and all(line.isprintable() for line in log.splitlines())
    # The same before its start, and good files are still accepted.
    daemon.send_signal(1)
    put(folder, "rank0.json", profile(0))
    assert wait_for(lambda: daemon.counts().get("taken") == 1, END_S), daemon.log()
    assert daemon.counts()["kind"] == 2 * wanted["kind"] and daemon.poll() is None
    assert not [p for p in (folder.parent / "state").glob("part-*")]


def test_a_file_that_changes_while_it_is_read_is_refused(stub, follower, rank, folder):  # noqa: F811
    rank(0)
    daemon = follower()
    path = folder / "rank0.json"
    stop = threading.Event()

    def change():
        """A writer that has the file open, and extends and truncates it."""
        with open(path, "r+b") as file:
            while not stop.is_set():
                os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size ^ 1)
                time.sleep(0.001)

    put(folder, path.name, profile(0, pad=[str(i) for i in range(MIB)]))
    writer = threading.Thread(target=change)
    writer.start()
    try:
        assert wait_for(lambda: (daemon.counts() or {}).get("changed"), END_S), daemon.log()
    finally:
        stop.set()
        writer.join()
    assert "taken" not in daemon.counts() and daemon.poll() is None


def test_a_directory_that_goes_and_comes_is_followed_again(stub, follower, rank, folder):  # noqa: F811
    rank(0)
    daemon = follower()
    folder.rename(folder.parent / "away")
    folder.symlink_to("away")
    assert wait_for(lambda: "it leads through a symbolic link" in daemon.log()), daemon.log()
    folder.unlink()
    folder.mkdir(mode=0o777)
    put(folder, "rank7.json", profile(7))  # before it is followed
    assert wait_for(lambda: (daemon.counts() or {}).get("rank") == 1, END_S), daemon.log()
    put(folder.parent / "away", "rank8.json", profile(8))
    put(folder, "rank9.json", profile(9))
    assert wait_for(lambda: daemon.counts() == {"rank": 2}, END_S), daemon.counts()


def rss_kib(daemon, field="RssAnon"):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
        return int(re.search(rf"{field}:\s+(\d+)", file.read())[1])


@pytest.mark.long
def test_who_follows_and_converts_has_little_more_memory_than_who_does_not(stub, assayd, follower, rank, folder, configured):  # noqa: F811
    if configured("enable-sanitizers"):
        pytest.skip("the plain build: sanitizers keep what is freed")
    taker = Taker(stub)
    taker.answer = Answer(202)
    plain = assayd()
    assert wait_for(lambda: "connected to the controller" in plain.log())
    usual = {field: rss_kib(plain, field) for field in ("RssAnon", "VmRSS", "VmHWM")}
    plain.kill()
    plain.wait()
    rank(0)
    daemon = follower()
    for i in range(4):  # parts of some 100 KiB of profiles of 13 MiB
        put(folder, f"rank0.{i}.json", profile(0, time.time() - 200, steps=1000, first=1000 * i, pad=["x" * 1000] * 13000))
        assert wait_for(lambda n=i: daemon.counts() == {"taken": n + 1}, END_S), daemon.log()
    grown = {field: rss_kib(daemon, field) - before for field, before in usual.items()}
    print(f"KiB more: {grown}")
    assert grown["RssAnon"] <= 1024 and grown["VmRSS"] <= 1024 and grown["VmHWM"] <= 1024, (usual, grown)


@pytest.mark.long
def test_a_flood_of_files_costs_no_memory_and_no_other_user_a_file(controller, follower, rank, folder, configured):  # noqa: F811
    c = controller()
    rank(0)
    rank(1, user=OTHER)
    daemon = follower(f"http://{c.host}:{c.port}")
    before = rss_kib(daemon)
    os.chmod(folder, 0o777)
    for i in range(100_000):
        file = os.open(folder / f"flood{i:06}.json", os.O_CREAT | os.O_WRONLY)
        os.write(file, b"x")
        os.close(file)
    put(folder, "rank1.json", profile(1), OTHER)
    assert wait_for(lambda: daemon.counts().get("taken") == 1, END_S), daemon.counts()
    assert set(daemon.counts()) == {"taken", "stranger"} and daemon.counts()["stranger"] > 1000
    if not configured("enable-sanitizers"):
        assert rss_kib(daemon) - before <= 1024


@pytest.mark.parametrize("traces, words", [
    ({}, "assayd.yaml: traces.dirs: missing"), ({"dirs": "/a"}, "traces.dirs: expected"), ({"dirs": ["a"]}, "traces.dirs[0]: expected the absolute path of a directory"),
    ({"dirs": ["/a"] * 17}, "traces.dirs: "), ({"dirs": [1]}, "traces.dirs[0]: expected"), ({"dirs": [], "on": True}, "traces.on: unknown key"),
    ({"dirs": [], "converter": "kineto"}, "traces.converter: "), ({"dirs": [], "keep": 64}, "traces.keep: expected a size from 4MiB to 1024MiB, such as 64MiB"),
    ({"dirs": [], "keep": "3MiB"}, "traces.keep: expected"), ({"dirs": [], "keep": "1025MiB"}, "traces.keep: expected"),
    ({"dirs": [], "keep": "64"}, "traces.keep: expected"), ({"dirs": [], "keep": "18446744073709551616MiB"}, "traces.keep: expected"),
    (7, "assayd.yaml: traces: expected an object")])
def test_settings_that_cannot_be_are_refused(run, assayd_path, config, traces, words):  # noqa: F811
    config(traces=traces)
    out = run("assayd", "--check")
    assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1, out.stderr


@pytest.mark.parametrize("traces", [{"dirs": []}, {"dirs": ["/a", "/b"], "converter": "ndtimeline", "keep": "4MiB"},
                                    {"dirs": ["/a"], "converter": "none", "keep": "1024MiB"}])
def test_settings_that_can_be(run, assayd_path, config, traces):  # noqa: F811
    config(traces=traces)
    assert run("assayd", "--check").returncode == 0


@pytest.mark.parametrize("converter", ["ndtimeline", "none"])
def test_files_of_other_profilers_are_taken(stub, follower, rank, folder, converter):  # noqa: F811
    taker = Taker(stub)
    taker.answer = Answer(202)
    rank(1)
    daemon = follower(converter=converter)
    worker, began = {"rank": 1, "dp_rank": 1, "stage": 0, "step": 5}, time.time() - 20
    if converter == "none":
        lines = [{"type": "meta"}, {**worker, "optype": "forward-compute", "start_ts": began, "duration": 0.5}]
    else:
        lines = [{**worker, "tp_rank": 0, "metric": "forward-compute", "start_ts": [began], "duration": [0.5]}]
    put(folder, "records.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
    assert wait_for(lambda: daemon.counts() == {"taken": 1}, END_S), daemon.log()
    ((query, lines, ages),) = taker.came
    assert query["part"] == ["2"] and query["of"] == ["2"] and lines[1]["start_ts"] == pytest.approx(began, abs=1e-6)
    assert ages["Assay-First-Step-Age"] - ages["Assay-Last-Step-Age"] == pytest.approx(0.5, abs=1e-3)
