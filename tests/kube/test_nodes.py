# SPDX-License-Identifier: Apache-2.0
"""The controller's watch of nodes on a real API server: it is complete, and its view converges to the server's."""
import json
import queue
import random
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

NODES = "/api/v1/nodes"
SPEED = 60  # of the watch's clock: a minute per second
IMAGES = [{"names": [f"registry.example/team/image-{i}@sha256:{i:064d}", f"registry.example/team/image-{i}:v{i}"], "sizeBytes": 1000 * i}
          for i in range(1, 51)]  # as many as a kubelet reports


class Watcher:
    """One watch, and the view built from its events."""

    def __init__(self, program, kubeconfig, speed=1, selector=None):
        command = [program, kubeconfig, str(speed), *([selector] if selector else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines, self.nodes, self.stale, self.synced, self.told, self.gone = queue.Queue(), {}, None, 0, 0, 0
        self.thread = threading.Thread(target=lambda: [self.lines.put(line) for line in self.process.stdout], daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(30) == 0

    def look(self):
        """Processes new events. Returns itself."""
        while not self.lines.empty():
            self.take(json.loads(self.lines.get()))
        return self

    def take(self, line):
        if "node" in line:
            before = self.nodes.get(line["node"])
            assert before is None or before["uid"] == line["uid"], "another one came before the old one went"
            self.nodes[line["node"]] = line
            self.told += 1
        elif "gone" in line:
            del self.nodes[line["gone"]]  # fails for an unknown node
            self.gone += 1
        elif "synced" in line:
            self.synced = line["synced"]
        else:
            self.stale = line["stale"]

    def is_like(self, api):
        """Does its view match the server?"""
        items = api.get(NODES).body["items"]
        theirs = {i["metadata"]["name"]: (i["metadata"]["uid"], i["spec"].get("unschedulable", False)) for i in items}
        self.look()
        return theirs == {n: (line["uid"], line["unschedulable"]) for n, line in self.nodes.items()}


@pytest.fixture
def watch(build):
    """watch(kubeconfig, ...): a Watcher."""
    program = Path(build) / "tests/kube/kube_watcher"
    if not program.exists():
        pytest.skip(f"no {program.name}: built without libcurl, libsystemd, SQLite or libmicrohttpd")
    return lambda kubeconfig, **more: Watcher(program, kubeconfig, **more)


def make(api, names, images=()):
    """Creates many at once, like a cluster that scales up."""
    def one(name):
        api.post(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"pool": "gpu"}},
                         "status": {"images": images, "conditions": [{"type": "Ready", "status": "True"}]}})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, names))


def test_all_nodes_of_many_pages_are_known(kube, watch, wait_until, full):
    n, images = (2000, IMAGES) if full else (320, ())
    make(kube.admin, [f"gpu-{i:04d}" for i in range(n)], images)
    kube.admin.create_node("cpu-1", labels={"pool": "cpu"})
    began = time.monotonic()
    with watch(kube.kubeconfig("ctl"), selector="pool=gpu") as w:
        wait_until(lambda: w.look().synced, 60, "the first list")
        took = time.monotonic() - began
        rss = next(line for line in Path(f"/proc/{w.process.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        print(f"{n} nodes: listed in {took:.2f} s, {rss}")
        assert len(w.nodes) == n and w.told == n and w.stale is None and "cpu-1" not in w.nodes
        kube.admin.patch(f"{NODES}/gpu-0007", {"spec": {"unschedulable": True}})
        kube.admin.delete(f"{NODES}/gpu-0008")
        kube.admin.patch(f"{NODES}/cpu-1", {"metadata": {"labels": {"pool": "gpu"}}})
        wait_until(lambda: w.is_like(kube.admin), 20, "the changes")
        assert w.synced == 1 and w.gone == 1 and "cpu-1" in w.nodes
        kube.admin.patch(f"{NODES}/cpu-1", {"metadata": {"labels": {"pool": "cpu"}}})
        wait_until(lambda: "cpu-1" not in w.look().nodes, 20, "a node that is ours no more")


def shake(kube, names, rng):
    """Random changes that people and clouds make to nodes."""
    for name in rng.sample(names, len(names) // 2):
        kind = rng.randrange(4)
        if kind == 0:
            kube.admin.delete(f"{NODES}/{name}", check=False)
        elif kind == 1:
            kube.admin.delete(f"{NODES}/{name}", check=False)
            make(kube.admin, [name])
        else:
            kube.admin.patch(f"{NODES}/{name}", {"spec": {"unschedulable": rng.random() < 0.5}}, check=False)


def test_a_restart_of_the_server_ends_in_the_servers_picture(kube_own, watch, wait_until, full):
    rng, names = random.Random(7), [f"gpu-{i}" for i in range(20)]
    make(kube_own.admin, names)
    with watch(kube_own.kubeconfig("ctl")) as w:
        wait_until(lambda: w.look().synced, 30, "the first list")
        for _ in range(5 if full else 1):
            synced = w.look().synced
            w.process.send_signal(signal.SIGSTOP)
            kube_own.restart()  # no later event is buffered in its socket
            shake(kube_own, names, rng)
            kube_own.restart()  # earlier history is gone: watches from before get 410
            w.process.send_signal(signal.SIGCONT)
            shake(kube_own, names, rng)
            wait_until(lambda: w.is_like(kube_own.admin), 60, "the picture after a restart")
            assert w.synced > synced


def test_connections_that_are_cut_end_in_the_servers_picture(kube, way, watch, wait_until, full):
    rng, names = random.Random(11), [f"gpu-{i}" for i in range(12)]
    make(kube.admin, names)
    with watch(kube.kubeconfig("ctl", url=way.url), speed=5) as w:
        wait_until(lambda: w.look().synced, 30, "the first list")
        for _ in range(20 if full else 4):
            for mode, options in (("cut", {}), ("busy", {"retry_after": 1}), ("gone", {}), ("drop", {}), ("pass", {})):
                way.set(mode, **options)
                shake(kube, names, rng)
            wait_until(lambda: w.is_like(kube.admin), 60, "the picture after the cuts")


def test_a_server_that_hangs_is_stale_and_known_again(kube_own, watch, wait_until):
    make(kube_own.admin, ["gpu-1", "gpu-2"])
    with watch(kube_own.kubeconfig("ctl"), speed=SPEED) as w:
        wait_until(lambda: w.look().synced and w.stale is None, 30, "the first list")
        kube_own.pause()
        wait_until(lambda: w.look().stale, 30, "that nobody answers")
        assert "has been unknown since" in w.stale
        kube_own.resume()
        wait_until(lambda: w.look().stale is None, 60, "an answer")
        kube_own.stop()
        wait_until(lambda: w.look().stale, 30, "that nobody is there")
        kube_own.start()
        wait_until(lambda: w.look().stale is None and w.is_like(kube_own.admin), 60, "the picture")


@pytest.mark.parametrize("user, status", [("nobody", "403"), ("stranger", "401")])
def test_who_may_not_list_is_told_in_words(kube, watch, wait_until, user, status):
    make(kube.admin, ["gpu-1"])
    with watch(kube.kubeconfig(user)) as w:
        wait_until(lambda: w.look().stale, 30, "words")
        assert "not known yet" in w.stale and status in w.stale and not w.nodes and not w.synced
