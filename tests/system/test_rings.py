# SPDX-License-Identifier: Apache-2.0
"""assayd accepts rings of jobs that run here, from their own processes, and nothing that is not a ring; it survives any input."""
import concurrent.futures
import contextlib
import gzip
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest
import ring_job
from assayd_fixtures import assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Answer
from fixtures_controller import controller  # noqa: F401
from test_processes import environment, tree  # noqa: F401
from waiting import wait_for

FULL = os.environ.get("ASSAY_FULL") == "1"
STORM = 100_000 if FULL else 3_000
USER, OTHER = 12345, 12346
ROOT = os.geteuid() == 0
KERNELS = 70
needs_root = pytest.mark.skipif(not ROOT, reason="processes of several users take root to start")

pytestmark = pytest.mark.skipif(not hasattr(socket, "SOCK_SEQPACKET"), reason="no SOCK_SEQPACKET")


class Process:
    """ring_job.py as a process; provides every method of its Job."""

    def __init__(self, popen):
        self.popen = popen

    def __getattr__(self, name):
        def ask(**words):
            self.popen.stdin.write(json.dumps({"do": name, **words}) + "\n")
            self.popen.stdin.flush()
            line = self.popen.stdout.readline()
            assert line, f"{name}: the process has ended: {self.popen.poll()}"
            return json.loads(line)
        return ask

    def kill(self):
        self.popen.kill()
        self.popen.wait()


@pytest.fixture
def path(environ, tmp_path):
    return tmp_path / "run" / "jobs" / "ring.sock"


@pytest.fixture
def job(tree, path):  # noqa: F811
    """job(rank=1, user=USER) is a process of a job with a GPU open; all are killed at the end."""
    running = []

    def start(rank=0, name="research/llm-7", user=None, gpu="nvidia0", prefix=(), **env):
        held = os.open(tree / "dev" / gpu, os.O_RDONLY) if gpu else None
        words = {"PATH": os.environ["PATH"], "RANK": None if rank is None else str(rank), "WORLD_SIZE": "2", "ASSAY_JOB": name, **env}
        popen = subprocess.Popen([*prefix, sys.executable, ring_job.__file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 env={k: v for k, v in words.items() if v}, pass_fds=[held] if gpu else [],
                                 **({"user": user} if user is not None else {}))
        if gpu:
            os.close(held)
        running.append(popen)
        assert wait_for(lambda: environment(popen))
        return Process(popen)

    yield start
    for popen in running:
        popen.kill()
        popen.wait()


@pytest.fixture
def keeper(assayd, config, tree, path, tmp_path):  # noqa: F811
    """keeper(mode="on") is an assayd that accepts rings; .told() is its state of them."""

    def returned_of(name):
        return "returned_" if name == "rings_returned_total" else ""

    def start(prefix=(), controller=None, env=(), pass_fds=(), **rings):  # noqa: F811
        config(**({"rings": rings} if rings else {}), **({"controller": controller} if controller else {}))
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
                folder.chmod(folder.stat().st_mode | 0o011)
        daemon = assayd(env={"ASSAY_SYSROOT": str(tree), "ASSAY_RUN_DIR": str(tmp_path / "run"), **dict(env)}, prefix=prefix, pass_fds=pass_fds)

        def told():
            with contextlib.suppress(OSError):
                text = (tmp_path / "run" / "rings.prom").read_text()
                found = {returned_of(m[1]) + (m[2] or m[1]): int(m[3])
                         for m in re.finditer(r'^assay_(\w+)(?:\{\w+="(\w+)"\})? (\d+)$', text, re.M)}
                return {k: v for k, v in found.items() if v}
            return None

        daemon.told = told
        assert wait_for(lambda: path.exists() and told() is not None), daemon.log()
        return daemon

    return start


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


def memory_kib(daemon):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def is_well(daemon, other):
    """It is alive, and accepts a ring of an innocent process."""
    assert daemon.poll() is None, daemon.log()
    assert wait_for(lambda: other.offer(name="well").get("taken") == 1), daemon.log()
    return True


def test_a_ring_is_taken_and_its_control_page_can_only_be_read(keeper, job, path):
    daemon = keeper(mode="on")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 and stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert os.listdir(path.parent) == ["ring.sock"]
    process = job()
    answer = process.offer()
    assert answer["taken"] == 1 and answer["valid"] and answer["fds"] == 1, daemon.log()
    control = answer["control"]
    assert control["magic"] and control["version"] == 1 and control["size"] == ring_job.CONTROL_SIZE
    assert control["seals"] & ring_job.SEALS == ring_job.SEALS
    assert control["can"] == []
    assert control["mask"] == KERNELS and control["until"] > time.monotonic_ns()
    assert wait_for(lambda: daemon.told() == {"rings": 1, "rings_bytes": ring_job.SIZE + ring_job.CONTROL_SIZE, "rings_recording": 1,
                                              "rings_processes": 1, "taken": 1}), daemon.told()
    # The control is renewed as long as assayd lives.
    assert wait_for(lambda: process.control()["until"] > control["until"])
    assert "rank=0" in daemon.log() and "job=research/llm-7" in daemon.log()


def test_what_is_told_is_on_its_page(keeper, job, tmp_path, top):
    daemon = keeper(mode="on")
    assert job().offer()["taken"] == 1
    assert wait_for(lambda: (daemon.told() or {}).get("rings") == 1)
    text = (tmp_path / "run" / "rings.prom").read_text()
    page = (top / "docs/rings.md").read_text()
    assert re.findall(r"^\| `(assay_\w+)` \| (\w+) \|", page, re.M) == re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M)
    reasons = set(re.findall(r'result="(\w+)"', text))
    assert reasons == set(re.findall(r"`(\w+)`", page.partition("`assay_rings_offered_total{result=}`")[2].partition("\n\n")[0])) - {"limits"}


OFFERS = [
    ({"seals": 0}, "kind"), ({"seals": ring_job.SHRINK | ring_job.SEAL}, "kind"), ({"seals": ring_job.GROW | ring_job.SEAL}, "kind"),
    ({"seals": ring_job.SHRINK | ring_job.GROW}, "kind"), ({"size": 0}, "size"), ({"size": ring_job.SIZE - 1}, "size"),
    ({"size": ring_job.SIZE + 1}, "size"), ({"size": 1 << 40}, "size"), ({"size": ring_job.HEAD_SIZE}, "size"),
    ({"magic": 7}, "head"), ({"version": 2}, "head"), ({"slots": 1 << 31}, "head"), ({"slot_size": 0}, "head"), ({"head_size": 0}, "head"),
    ({"ranks": 2, "rank": 2}, "head"), ({"ranks": -1}, "head"), ({"rank": -2}, "head"), ({"ranks": 1 << 30}, "head"),
    *(({"other": kind}, "kind") for kind in ("pipe", "directory", "file", "tmpfs", "device", "socket", "path", "eventfd")),
    ({"copies": 0}, "descriptor"), ({"copies": 2}, "descriptor"), ({"copies": 100}, "descriptor"),
    ({"message": ""}, "message"), ({"message": "00" * 16}, "message"), ({"message": "73617972696e6701"}, "message"), ({"message": "00" * 4000}, "message"),
]


def test_what_is_no_ring_is_refused_by_its_reason(keeper, job):
    daemon = keeper(mode="on", limits={"process": 4})
    process = job()
    assert wait_for(lambda: "connected to the controller" in daemon.log()), daemon.log()
    before = descriptors(daemon)
    for words, why in OFFERS:
        answer = process.offer(**words)
        assert not answer.get("taken") and answer["control"] is None, (words, answer)
        assert wait_for(lambda why=why: (daemon.told() or {}).get(why)), (words, why, daemon.told())
    total = {}
    for _, why in OFFERS:
        total[why] = total.get(why, 0) + 1
    assert wait_for(lambda: daemon.told() == total), (daemon.told(), total)
    assert wait_for(lambda: descriptors(daemon) <= before), daemon.log()
    assert is_well(daemon, process)


def test_a_ring_cannot_be_cut_or_grown_and_holes_in_it_harm_nobody(keeper, job):
    daemon = keeper(mode="on")
    process = job()
    assert process.offer()["taken"] == 1
    assert process.cut() == {"done": []}
    process.put(first=0, n=100)
    assert process.punch() == {"punched": True}
    process.kill()
    assert is_well(daemon, job(rank=1))


def test_the_same_ring_twice_and_too_many_are_refused(keeper, job):
    daemon = keeper(mode="on", limits={"process": 3, "user": 5})
    first, second, third = job(rank=0), job(rank=1), job(rank=2, name="research/other")
    assert first.offer()["taken"] == 1
    assert first.again()["taken"] == 0
    assert first.many(n=4) == [1, 1, 0, 0]
    assert second.many(n=4, first=10) == [1, 1, 0, 0]
    assert third.many(n=1) == [0]  # all belong to one user
    assert wait_for(lambda: daemon.told() and (daemon.told().get("twice"), daemon.told().get("process_full"), daemon.told().get("user_full"))
                    == (1, 2, 3)), daemon.told()
    # Ended processes make room for live ones.
    first.kill()
    assert wait_for(lambda: second.many(n=1, first=20) == [1]), daemon.log()


def test_a_communicator_that_was_given_up_makes_room(keeper, job):
    daemon = keeper(mode="on", sample={"every": "1d"}, limits={"process": 2})
    process = job()
    assert process.offer(name="a", comm=1)["taken"] == 1 and process.offer(name="b", comm=2)["taken"] == 1
    assert process.offer(name="c", comm=3)["taken"] == 0
    process.give_up(name="a")
    # Only for a ring.
    assert process.offer(name="x", magic=7)["taken"] == 0
    assert wait_for(lambda: (daemon.told() or {}).get("head") == 1 and daemon.told()["rings"] == 2), daemon.told()
    assert process.offer(name="d", comm=4)["taken"] == 1, daemon.log()
    assert process.offer(name="e", comm=5)["taken"] == 0


def test_all_rings_together_have_a_bound(keeper, job):
    daemon = keeper(mode="on", limits={"memory": "1MiB"})
    assert job().many(n=3) == [1, 0, 0]
    assert wait_for(lambda: (daemon.told() or {}).get("host_full") == 2), daemon.told()


@needs_root
def test_users_have_bounds_of_their_own(keeper, job):
    keeper(mode="on", limits={"user": 2})
    assert job(user=USER).many(n=3) == [1, 1, 0]
    assert job(user=OTHER, rank=1).many(n=3) == [1, 1, 0]


def test_who_has_no_rank_or_no_gpu_here_is_nobody(keeper, job, tree):  # noqa: F811
    daemon = keeper(mode="on")
    # A file outside /dev is not even inspected, because its file system may hang.
    os.link(tree / "dev" / "nvidia0", tree / "elsewhere")
    strangers = [job(gpu=None), job(rank=None), job(name=None), job(gpu="nvidiactl"), job(gpu="infiniband/uverbs0"), job(gpu="../elsewhere")]
    answers = [p.offer() for p in strangers]
    assert [a.get("taken") for a in answers] == [0] * len(strangers) and not any(a["fds"] for a in answers)
    assert wait_for(lambda: daemon.told() == {"stranger": len(strangers)}), daemon.told()
    assert is_well(daemon, job())


@needs_root
def test_a_user_who_runs_no_rank_is_nobody(keeper, job):
    daemon = keeper(mode="on")
    job()
    assert job(user=OTHER, gpu=None, rank=0).offer()["taken"] == 0
    assert wait_for(lambda: daemon.told() == {"stranger": 1}), daemon.told()


def test_the_last_record_outlives_the_job_and_then_it_is_let_go(keeper, job):
    daemon = keeper(mode="on", hold="3s")
    process = job()
    assert process.offer()["taken"] == 1
    process.put(first=0, n=3)
    assert wait_for(lambda: (daemon.told() or {}).get("rings") == 1)
    process.kill()
    began = time.monotonic()
    assert wait_for(lambda: not (daemon.told() or {}).get("rings")), daemon.told()
    assert time.monotonic() - began > 2
    assert not daemon.told().get("rings_processes")


@pytest.mark.once
def test_a_storm_of_connections_starves_nobody(keeper, job):
    daemon = keeper(mode="on")
    quiet = job(rank=1, **({"user": USER} if ROOT else {}))
    before, memory = descriptors(daemon), memory_kib(daemon)
    most = []
    over = threading.Event()

    def storm(process):
        process.storm(n=STORM // 4)

    def watch():
        while not over.wait(0.05):
            most.append((descriptors(daemon), memory_kib(daemon)))

    watcher = threading.Thread(target=watch)
    stormers = [threading.Thread(target=storm, args=(job(rank=n, gpu=None),)) for n in range(4)]
    for t in (watcher, *stormers):
        t.start()
    answers = []
    while any(t.is_alive() for t in stormers):
        answers.append(quiet.offer(name="q", comm=len(answers)) if len(answers) < 20 else None)
        time.sleep(0.05)
    for t in stormers:
        t.join()
    over.set()
    watcher.join()
    if ROOT:  # otherwise the limit of one user applies
        assert all(a.get("taken") == 1 for a in answers[:20]), answers
    assert daemon.poll() is None, daemon.log()
    assert max(d for d, _ in most) <= before + 64 + 2 * len(answers[:20]), most
    assert max(m for _, m in most) <= memory + 4096, (memory, max(m for _, m in most))
    assert wait_for(lambda: descriptors(daemon) <= before + 3), descriptors(daemon)
    assert wait_for(lambda: daemon.told().get("rate", 0) > STORM // 2), daemon.told()


def test_a_connection_that_says_nothing_ends(keeper, job):
    daemon = keeper(mode="on")
    silent = job(rank=0)
    n = silent.connect(n=100)
    assert n == 100
    assert wait_for(lambda: silent.closed() == 100), daemon.log()
    assert wait_for(lambda: daemon.told().get("late") == 48 and daemon.told().get("rate") == 52), daemon.told()
    assert is_well(daemon, job(rank=1))


def test_what_is_scribbled_into_a_ring_harms_nobody(keeper, job):
    daemon = keeper(mode="on")
    process = job()
    assert process.offer()["taken"] == 1
    for _ in range(5):
        process.scribble()
        process.forge(magic=3)
    assert is_well(daemon, job(rank=1))


def test_off_takes_nothing_and_a_reload_says_so(keeper, job, config, path):
    daemon = keeper(mode="on")
    process = job()
    assert process.offer()["control"]["mask"] == KERNELS
    config(rings={"mode": "off"})
    daemon.send_signal(1)
    assert wait_for(lambda: process.control()["mask"] == 0), daemon.log()
    assert "error" in process.again()
    assert wait_for(lambda: not (daemon.told() or {}).get("rings")), daemon.told()


@pytest.mark.once
def test_a_sample_of_each_rank_becomes_a_part_and_then_nothing_is_recorded(keeper, job, stub):
    came = []

    def on_trace(call, body):
        came.append((urllib.parse.parse_qs(urllib.parse.urlsplit(call.path).query), body))
        return Answer(202, {})

    stub.on_trace = on_trace
    daemon = keeper(sample={"steps": 3, "every": "1m"})
    ranks = [job(rank=0), job(rank=1)]
    for number, process in enumerate(ranks):
        assert process.offer(rank=number)["taken"] == 1

    def steps_of(body):
        return tuple(sorted({json.loads(line)["step"] for line in body.splitlines()[1:]}))

    def both():
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda process: process.train(steps=2), ranks))
        sent = [{steps_of(gzip.decompress(body)) for p, body in came if p["part"] == [part]} for part in ("1", "2")]
        return sent[0] & sent[1]

    # These ranks do not synchronize, so it may take a second round until both have the same steps.
    assert wait_for(both, 200), daemon.log()
    assert all(len(steps) == 3 for steps in both())
    assert {(p["job"][0], p["run"][0], p["of"][0]) for p, _ in came} == {("research/llm-7", "1", "2")}
    first, second = (json.loads(gzip.decompress(body).splitlines()[0]) for _, body in came[:2])
    assert first == second and tuple(first[f"{axis}_size"] for axis in ("dp", "pp", "tp")) == (2, 1, 1), first
    assert wait_for(lambda: [p.control()["mask"] for p in ranks] == [0, 0]), daemon.log()


@pytest.mark.once
def test_samples_of_two_ranks_become_a_window(keeper, job, controller):  # noqa: F811
    c = controller()
    daemon = keeper(controller=f"http://{c.host}:{c.port}", sample={"steps": 10, "every": "1m"})
    ranks = [job(rank=0), job(rank=1)]
    for number, process in enumerate(ranks):
        assert process.offer(rank=number)["taken"] == 1

    def ended():
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda process: process.train(steps=1), ranks))
        jobs = c.get("/v1/jobs?name=research/llm-7").json["items"]
        windows = c.get(f"/v1/jobs/{jobs[0]['id']}/windows").json["items"] if jobs else []
        return [w for w in windows if w["state"] == "analysed"]

    assert wait_for(ended, 250), daemon.log() + c.log()
    window = ended()[0]
    assert window["steps"] == 10 and not window["coarse"], window


@pytest.mark.parametrize("rings,place", [
    ({"mode": "often"}, "rings.mode"), ({"sample": {"steps": 2}}, "rings.sample.steps"), ({"sample": {"every": "1s"}}, "rings.sample.every"),
    ({"limits": {"memory": "1GiB"}}, "rings.limits.memory"), ({"limits": {"process": 0}}, "rings.limits.process"), ({"hold": "0s"}, "rings.hold"),
    ({"limit": 3}, "rings.limit")])
def test_a_bad_key_is_named(assayd_path, environ, config, rings, place):
    config(rings=rings)
    r = subprocess.run([assayd_path, "--check"], env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert r.returncode == 2 and f": {place}: " in r.stderr and r.stderr.count("\n") == 1, r.stderr


@needs_root
def test_a_pod_has_the_socket_alone_and_is_known_by_its_process(keeper, job, path):
    if not shutil.which("unshare") or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False, timeout=60).returncode:
        pytest.skip("unshare cannot make name spaces here")
    daemon = keeper(mode="on")
    # A pod mounts the directory read-only; its processes are in their own PID namespace.
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    pod = job(prefix=["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, str(path.parent)])
    answer = pod.offer()
    assert answer.get("taken") == 1, daemon.log()
    assert answer["control"]["can"] == []
    assert wait_for(lambda: (daemon.told() or {}).get("rings") == 1), daemon.told()
    assert "job=research/llm-7" in daemon.log()
