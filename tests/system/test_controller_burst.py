# SPDX-License-Identifier: Apache-2.0
"""Many hosts at once: who is too many is told when to come again, and nobody is lost."""
import contextlib
import json
import pathlib
import signal
import subprocess
import sys

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401

BENCH = pathlib.Path(__file__).parents[1] / "bench" / "bench_controller.py"
HOSTS = 400
SAMPLES = 200  # so many that they are more work than one batch takes


@pytest.mark.once
def test_a_fleet_that_comes_back_at_once_is_acknowledged_to_the_last_host(build):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    out = subprocess.run([sys.executable, BENCH, build, "--burst", str(HOSTS), "--samples", str(SAMPLES),
                          "--hold-up", "1"], text=True, capture_output=True, timeout=180)
    assert out.returncode == 0, out.stdout + out.stderr
    told = json.loads(out.stdout.splitlines()[0])
    assert (told["hosts"], told["acknowledged"]) == (HOSTS, HOSTS)
    assert (told["kept"], told["kept_hosts"]) == (HOSTS, HOSTS), "lost, or kept twice"
    assert told["not_accepted"] == 0, "an answer that is neither acceptance nor 503 with Retry-After"
    assert told["told_to_come_again"] > 0, "nobody was too many: the test asks for too little"


def body_of(number):
    """A report that is longer the higher its number is."""
    return json.dumps(report(f"gpu-{number}", samples=[sample(subject=f"cpu:{i}") for i in range(4 * number + 1)])).encode()


def status_of(peer):
    """Of its answer; 0 when the connection ended without one."""
    try:
        return int(peer.recv(4096)[9:12] or 0)
    except ConnectionError:
        return 0


def test_a_stop_amid_reports_is_clean(controller):
    """Some of them are complete only when the controller has begun to stop."""
    c = controller()
    bodies = [body_of(i) for i in range(80)]
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(c.connect()) for _ in bodies]
        c.process.send_signal(signal.SIGSTOP)
        for peer, body in zip(peers, bodies):
            peer.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        c.process.send_signal(signal.SIGTERM)
        c.process.send_signal(signal.SIGCONT)
        assert c.process.wait(timeout=60) == 0, c.log()
        accepted = [body for peer, body in zip(peers, bodies) if status_of(peer) == 202]
    assert c.log() == ""
    again = controller()
    assert [again.post(body).status for body in accepted] == [200] * len(accepted), "acknowledged, and gone"
