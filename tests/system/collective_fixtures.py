# SPDX-License-Identifier: Apache-2.0
"""Hosts that run collective tests: each has its own directories, controller and assayd, and fake probes that meet over TCP."""
import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from controller_stub import Stub

TOKEN = "0123456789-abcdefghij_ABCDEFGHIJKL"

# It rendezvouses like the real probes: rank 0 listens, waits half of its budget, and names the hosts that did not come.
FAKE = r"""
import argparse, json, os, select, signal, socket, stat, sys, time
from pathlib import Path

p = argparse.ArgumentParser()
for name in ("peers", "listen", "peer", "token-file", "budget", "busy", "memory", "engine"):
    p.add_argument("--" + name)
p.add_argument("--rank", type=int)
o = p.parse_args()
name = Path(sys.argv[0]).name
permit = Path(o.token_file)
facts = {"argv": sys.argv[1:], "pid": os.getpid(), "text": permit.read_text(), "mode": stat.S_IMODE(permit.stat().st_mode),
         "dir_mode": stat.S_IMODE(permit.parent.stat().st_mode), "path": str(permit), "locked": os.environ.get("ASSAY_LOCK_HELD")}
out = Path(os.environ["FAKE_OUT"])
(out / "new").write_text(json.dumps(facts))
(out / "new").rename(out / (name + ".json"))
if os.environ.get("FAKE_HANGS"):
    signal.pause()
assert o.budget.endswith(("ms", "s", "m"))
unit = {"ms": 1e-3, "s": 1, "m": 60}["ms" if o.budget.endswith("ms") else o.budget[-1]]
until = time.monotonic() + float(o.budget.rstrip("ms")) * unit / 2
peers = o.peers.split(",") if o.peers else [o.listen or o.peer, "the other"]
rank = o.rank if o.peers else int(o.listen is None)
host, _, port = peers[0].rpartition(":")
host = host.strip("[]")
token = facts["text"].splitlines()[0]


def emit(check, **more):
    print(json.dumps({"v": 1, "check": check, "subject": "rail:0", "unit": "B/s", "better": "higher", "ok": None,
                      "code": "rail:0", **more}), flush=True)


check = {"assay-probe-all-reduce": "all_reduce.busbw", "assay-probe-rnic-pair": "rnic_pair.write_bw"}[name]


def give_up(why):
    emit(check, state="set-up", value=None, note=why)
    sys.exit(name + ": " + why)


if rank == 0:
    server = socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    there, lines = set(), []
    while len(there) < len(peers) - 1:
        if not select.select([server], [], [], max(until - time.monotonic(), 0))[0]:
            give_up(", ".join(f"rank {i} ({q})" for i, q in enumerate(peers) if i and i not in there) + " did not come")
        line, _ = server.accept()
        word = line.makefile().readline().split()
        if word[0] == token:
            there.add(int(word[1]))
            lines.append(line)
    for line in lines:
        line.sendall(b"go\n")
else:
    while True:
        try:
            line = socket.create_connection((host, int(port)), timeout=max(until - time.monotonic(), 0.01))
            break
        except OSError as e:
            if time.monotonic() > until:
                give_up(f"{peers[0]} does not answer: {e}")
            select.select([], [], [], 0.05)
    line.settimeout(max(until - time.monotonic(), 0.01))
    line.sendall(f"{token} {rank}\n".encode())
    if line.makefile().readline() != "go\n":
        give_up("rank 0 went away")
emit(check, state="measured", value=1e9 + rank)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def order(kind="allreduce", rank=0, seconds=60, ids="r1", port=None, **more):
    """An order for two hosts on this machine; members that are None are left out."""
    peers = [f"127.0.0.1:{port or free_port()}", "127.0.0.1:7411"]
    value = {"id": ids, "kind": kind, "peers": peers, "passed": peers, "rank": rank, "token": TOKEN, "now": stamp(0),
             "deadline": stamp(seconds), **more}
    return {k: v for k, v in value.items() if v is not None}


class Host:
    """One of several hosts on this machine."""

    def __init__(self, name, root, assayd, environ, probes):
        self.name, self.root, self.program, self.stub, self.daemons = name, root, assayd, Stub(), []
        self.env = {k: v for k, v in environ.items() if not k.endswith(("_STATE_DIR", "_RUN_DIR", "_CONF_DIR"))}
        for part in ("state", "run", "conf", "out"):
            (root / part).mkdir(parents=True)
        self.env |= {"ASSAY_STATE_DIR": str(root / "state"), "ASSAY_RUN_DIR": str(root / "run"), "ASSAY_CONF_DIR": str(root / "conf"),
                     "ASSAY_NODE": name, "FAKE_OUT": str(root / "out")}
        if probes:
            self.env["ASSAY_PROBE_DIR"] = str(probes)
        self.permit = root / "run" / "order" / "permit"

    def configure(self, **more):
        value = {"v": 1, "controller": self.stub.url, "node": self.name, "intervals": {"retry_base": "20ms", "retry_max": "100ms"},
                 "collectives": {"ports": "1024-65535"}, **more}
        (self.root / "conf" / "assayd.yaml").write_text(json.dumps(value))

    def start(self, **env):
        log = self.root / f"assayd{len(self.daemons)}.log"
        with open(log, "wb") as out:
            daemon = subprocess.Popen([self.program], env={**self.env, **env}, stderr=out)
        self.daemons.append(daemon)
        return daemon

    def log(self):
        return "".join(path.read_text() for path in sorted(self.root.glob("assayd*.log")))

    def saw(self, probe="all-reduce"):
        """The permit and arguments that the probe got; None before it started."""
        path = self.root / "out" / f"assay-probe-{probe}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def reports(self, ids=None):
        """The reports received, by the id of their order (or only those of the given id)."""
        with self.stub.lock:
            found = [r for r in self.stub.stored.values() if r.get("order")]
        return [r for r in found if r["order"]["id"] == ids] if ids else found

    def problem(self, ids):
        """(code, detail) of the only problem in the only answer; None before it arrives."""
        found = self.reports(ids)
        if not found:
            return None
        (report,) = found
        (problem,) = report["problems"]
        assert not report["samples"], report["samples"]
        return problem["code"], problem["detail"]

    def stop(self):
        for daemon in self.daemons:
            if daemon.poll() is None:
                daemon.kill()
            daemon.wait()
        self.stub.stop()


@pytest.fixture
def fake_probes(tmp_path):
    """A directory of probes that meet over TCP."""
    path = tmp_path / "probes"
    path.mkdir()
    for name in ("all-reduce", "rnic-pair"):
        probe = path / f"assay-probe-{name}"
        probe.write_text(f"#!{sys.executable}\n{FAKE}")
        probe.chmod(0o755)
    return path


@pytest.fixture
def host(build, environ, tmp_path, fake_probes):
    """host("a", config..., env={...}) is a host with a running assayd; probes=None: those of the build."""
    if not (build / "assayd").exists():
        pytest.skip("assayd is not built: libsystemd or libcurl is missing")
    hosts = []

    def make(name="a", env=None, probes=fake_probes, **config):
        one = Host(name, tmp_path / name, build / "assayd", environ, probes)
        hosts.append(one)
        one.configure(**config)
        one.start(**(env or {}))
        return one

    yield make
    for one in hosts:
        one.stop()
