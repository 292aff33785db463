# SPDX-License-Identifier: Apache-2.0
"""assayd follows directories of profiles: each becomes a part of its job's trace, and nothing that lies there harms anybody."""
import contextlib
import gzip
import json
import os
import re
import socket
import stat
import subprocess
import threading
import time

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, stub  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_optrace import kineto
from test_processes import environment, tree  # noqa: F401
from waiting import wait_for

JOB = "research/llm-7"
USER, OTHER = 12345, 12346
ENDS = {"analysed", "rejected", "failed"}
END_S = 120
MIB = 1 << 20

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="files of several users take root to make")


@pytest.fixture
def rank(tree):  # noqa: F811
    """rank(0, WORLD_SIZE=2) is a process of a job that holds a GPU, as USER; all are ended at the end."""
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
    """follower(controller=URL) is an assayd that follows `folder`; .counts() is what it says of files."""
    def start(controller=None, dirs=(folder,), **traces):  # noqa: F811
        more = {"controller": controller} if controller else {}
        config(traces={"dirs": [str(d) for d in dirs], **traces}, **more)
        daemon = assayd(env={"ASSAY_SYSROOT": str(tree), "ASSAY_RUN_DIR": str(tmp_path / "run")})

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
    """As a profiler does it: written whole under another name, then renamed."""
    temporary = folder / f".{time.monotonic_ns()}"
    temporary.write_bytes(body)
    os.chown(temporary, user, user)
    temporary.rename(folder / name)


def profile(number, began=None, **more):
    """Of steps that began then, by our clock; 20 s ago."""
    return json.dumps(kineto(number, base=int((began or time.time() - 20) * 1e9), **more)).encode()


def ended(c, job=JOB):
    """The windows of the job that have ended."""
    jobs = c.get(f"/v1/jobs?name={job}").json["items"]
    items = c.get(f"/v1/jobs/{jobs[0]['id']}/windows").json["items"] if jobs else []
    return [w for w in items if w["state"] in ENDS]


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


def hostile(folder):
    """What may lie in a directory that anybody writes to: {reason: how many}."""
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
    put(folder, "empty.json", b"")
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
    return {"link": 2, "links": 1, "kind": 4, "stranger": 2, "large": 2, "unpacks": 1, "rank": 1, "unusable": 5}


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
    # The same before it came, and what is good is taken still.
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
        """A writer that has the file open, and grows and cuts it."""
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
    put(folder, "rank7.json", profile(7))  # before anybody follows it
    assert wait_for(lambda: (daemon.counts() or {}).get("rank") == 1, END_S), daemon.log()
    put(folder.parent / "away", "rank8.json", profile(8))
    put(folder, "rank9.json", profile(9))
    assert wait_for(lambda: daemon.counts() == {"rank": 2}, END_S), daemon.counts()


def rss_kib(daemon, field="RssAnon"):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
        return int(re.search(rf"{field}:\s+(\d+)", file.read())[1])


@pytest.mark.once
def test_a_flood_of_files_costs_no_memory_and_no_other_user_a_file(controller, follower, rank, folder, configured):  # noqa: F811
    c = controller()
    rank(0)
    rank(1, user=OTHER)
    daemon = follower(f"http://{c.host}:{c.port}")
    before = rss_kib(daemon)
    os.chmod(folder, 0o777)
    for i in range(100_000):
        os.close(os.open(folder / f"flood{i:06}.json", os.O_CREAT | os.O_WRONLY))
    put(folder, "rank1.json", profile(1), OTHER)
    assert wait_for(lambda: daemon.counts().get("taken") == 1, END_S), daemon.counts()
    assert set(daemon.counts()) == {"taken", "large"} and daemon.counts()["large"] > 1000
    if not configured("enable-sanitizers"):
        assert rss_kib(daemon) - before <= 1024
