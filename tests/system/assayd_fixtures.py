# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of assayd: a controller, a spool, a configuration, the daemon."""
import json
import subprocess
import time

import pytest
from controller_stub import Stub

NODE = "n1"
SOON_S = 20  # a stop that waits for no call: calls are held for 30 s, a report may take 60 s


@pytest.fixture
def assayd_path(build):
    if not (build / "assayd").exists():
        pytest.skip("assayd is not built: libsystemd or libcurl is missing")
    return build / "assayd"


@pytest.fixture
def stub():
    controller = Stub()
    yield controller
    controller.stop()


@pytest.fixture
def spool(environ, tmp_path):
    """spool(3, pad=...) puts report 3 into the spool as `assay run --report` does."""
    path = tmp_path / "state" / "spool"
    path.mkdir()

    def put(seq, pad=0, node=NODE, **more):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        report = {"v": 1, "kind": "report", "node": node, "boot_id": "b1", "seq": seq, "time": now, "profile": "quick",
                  "agent": "test", "sku": None, "topology": None, "env": {"pad": "x" * pad}, "duration_s": 1.0,
                  "samples": [], "problems": [], **more}
        temporary = path / f".{seq}.tmp"
        temporary.write_text(json.dumps(report))
        temporary.rename(path / f"{seq}.json")

    put.path = path
    put.left = lambda: sorted(int(p.stem) for p in path.glob("*.json"))
    return put


@pytest.fixture
def config(tmp_path, stub):
    """config(node=..., intervals={...}) writes assayd.yaml."""

    def write(**more):
        value = {"v": 1, "controller": stub.url, "node": NODE, "intervals": {"retry_base": "20ms", "retry_max": "100ms"}, **more}
        (tmp_path / "conf" / "assayd.yaml").write_text(json.dumps({k: v for k, v in value.items() if v is not None}))

    write()
    return write


@pytest.fixture
def assayd(assayd_path, environ, config, tmp_path):
    """assayd() starts one; .log() is its stderr so far. All are stopped at the end."""
    running = []

    def start(env=None, prefix=(), pass_fds=()):
        log = tmp_path / f"assayd{len(running)}.log"
        with open(log, "wb") as out:
            daemon = subprocess.Popen([*prefix, assayd_path], env={**environ, "ASSAY_NODE": NODE, **(env or {})}, stderr=out, pass_fds=pass_fds)
        daemon.log = log.read_text
        running.append(daemon)
        return daemon

    yield start
    for daemon in running:
        if daemon.poll() is None:
            daemon.kill()
        daemon.wait()
