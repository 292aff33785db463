# SPDX-License-Identifier: Apache-2.0
"""How soon each side detects that the other is gone: killed, disconnected, or hung. pytest -s prints the figures."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from fixtures_controller import controller, report  # noqa: F401

# Far below the timeouts of TCP and of a held call (15 minutes, 40 s), far above the goals of 1 s and 5 s.
KILLED_S, CUT_S = 10, 10


@pytest.fixture
def connection():
    """connection(c) is the controller's state of the host's agent."""
    return lambda c: c.get(f"/v1/nodes/{NODE}").json["connection"]


@pytest.fixture
def watched(controller, config, assayd, wait_until, connection):
    """watched(...): a controller that has a report of the host, and its assayd, connected."""

    def start(address="127.0.0.1", prefix=(), **settings):
        c = controller("--listen", f"{address}:0", *([] if address == "127.0.0.1" else ["--insecure"]))
        assert c.post(report(NODE)).status == 202
        config(controller=f"http://{address}:{c.port}", **settings)
        daemon = assayd(prefix=prefix)
        wait_until(lambda: connection(c) == "connected")
        return c, daemon

    return start


def seconds_until(wait_until, condition, limit, what):
    began = time.monotonic()
    wait_until(condition, seconds=limit, what=what)
    took = time.monotonic() - began
    print(f"\n{what}: {took:.2f} s")
    return took


def test_a_killed_assayd_is_suspect_and_its_host_is_judged_as_before(watched, assayd, wait_until, connection):
    c, daemon = watched()
    before = c.get(f"/v1/nodes/{NODE}").json
    daemon.kill()
    seconds_until(wait_until, lambda: connection(c) == "suspect", KILLED_S, "kill -9 of assayd seen by the controller")
    after = c.get(f"/v1/nodes/{NODE}").json
    assert {k: after[k] for k in ("verdict", "sentence", "stale", "seq")} == {k: before[k] for k in ("verdict", "sentence", "stale", "seq")}
    assert c.get("/v1/incidents").json["items"] == []
    assayd()
    wait_until(lambda: connection(c) == "connected")


def lost(daemon):
    """Is the last message in the log that it cannot reach the controller?"""
    words = re.findall(r"(cannot reach|connected to) the controller", daemon.log())
    return words and words[-1] == "cannot reach"


def test_a_killed_controller_is_missed_and_found_again(watched, controller, wait_until, connection):
    c, daemon = watched()
    wait_until(lambda: not lost(daemon) and "connected to the controller" in daemon.log())
    c.kill()
    seconds_until(wait_until, lambda: lost(daemon), KILLED_S, "kill -9 of the controller seen by assayd")
    c = controller("--listen", f"127.0.0.1:{c.port}")
    wait_until(lambda: not lost(daemon) and connection(c) == "connected")


@pytest.mark.once
def test_a_silent_assayd_is_suspect_once_it_does_not_ask_again(watched, wait_until, connection):
    """Its kernel still acknowledges, so only the missing next request reveals it: orders_wait plus 5 s later."""
    c, daemon = watched(intervals={"orders_wait": "2s", "retry_base": "20ms", "retry_max": "100ms"})
    daemon.send_signal(signal.SIGSTOP)
    try:
        seconds_until(wait_until, lambda: connection(c) == "suspect", CUT_S, "a stopped assayd (orders_wait 2s) seen by the controller")
    finally:
        daemon.send_signal(signal.SIGCONT)
    wait_until(lambda: connection(c) == "connected")


@pytest.fixture
def network():
    """A host behind a router: .prefix runs commands there, .here is our address, .cut() and .mend() silently drop and restore the traffic."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("a network name space needs root and iproute2")
    router, host, net = f"lr{os.getpid()}", f"lh{os.getpid()}", f"198.18.{os.getpid() % 250}"

    def ip(*args):
        subprocess.run(["ip", *args], capture_output=True, text=True, check=True)

    def forward(on):
        subprocess.run(["ip", "netns", "exec", router, "sh", "-c", f"echo {int(on)} >/proc/sys/net/ipv4/ip_forward"], check=True,
                       capture_output=True)

    def build():
        for name in (router, host):
            ip("netns", "add", name)
        ip("link", "add", f"{router}a", "type", "veth", "peer", "name", "wan", "netns", router)
        ip("-n", router, "link", "add", "lan", "type", "veth", "peer", "name", "wan", "netns", host)
        for space, link, address in (([], f"{router}a", 1), (["-n", router], "wan", 2), (["-n", router], "lan", 5), (["-n", host], "wan", 6)):
            ip(*space, "addr", "add", f"{net}.{address}/30", "dev", link)
            ip(*space, "link", "set", link, "up")
        ip("route", "add", f"{net}.4/30", "via", f"{net}.2")
        ip("-n", host, "route", "add", "default", "via", f"{net}.5")
        forward(True)

    try:
        build()
    except subprocess.CalledProcessError as e:
        pytest.skip(f"no network name space here: {e.stderr}")
    else:
        ip.prefix, ip.here = ["ip", "netns", "exec", host], f"{net}.1"
        ip.cut, ip.mend = (lambda: forward(False)), (lambda: forward(True))
        yield ip
    finally:
        subprocess.run(["ip", "link", "del", f"{router}a"], check=False, capture_output=True)
        for name in (router, host):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.once
@pytest.mark.parametrize("when", ["at rest", "at work"])
def test_a_partition_is_seen_by_both_sides_and_mended(watched, network, spool, wait_until, connection, when):
    """Detected by keepalive if no data is in flight, otherwise by unanswered retransmissions."""
    c, daemon = watched(network.here, network.prefix)
    wait_until(lambda: "connected to the controller" in daemon.log())
    before = c.get(f"/v1/nodes/{NODE}").json["verdict"]
    network.cut()
    began = time.monotonic()
    if when == "at work":
        spool(7)
    seen = {}

    def look():
        for name, condition in (("controller", connection(c) == "suspect"), ("assayd", lost(daemon))):
            if condition:
                seen.setdefault(name, time.monotonic() - began)
        return len(seen) == 2

    wait_until(look, seconds=CUT_S, what=f"both sides to see the partition {when}, not only {seen}")
    print(f"\npartition {when}, seen after: " + ", ".join(f"{name} {took:.2f} s" for name, took in seen.items()))
    assert c.get(f"/v1/nodes/{NODE}").json["verdict"] == before
    network.mend()
    wait_until(lambda: connection(c) == "connected" and not lost(daemon), seconds=60)
    wait_until(lambda: not spool.left(), seconds=60)
