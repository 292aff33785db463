# SPDX-License-Identifier: Apache-2.0
"""assayd's watch of links between runs, in a network namespace of the test; and the controller's reaction."""
import ctypes
import json
import os
import shutil
import signal
import subprocess

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from fake_rnic import IB, FakeRnic
from fixtures_controller import controller  # noqa: F401
from watch_fixtures import DEVICE, LONG_S, XID79, here, host, log, ready, state, told, verdict  # noqa: F401

CLONE_NEWNET = 0x40000000


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


@pytest.fixture
def network():
    """A network namespace of this test."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not shutil.which("ip"):
        pytest.skip("no ip (iproute2)")
    before = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if libc.unshare(CLONE_NEWNET) < 0:
        pytest.skip(f"no network namespace: {os.strerror(ctypes.get_errno())} (needs root)")
    ip("link", "set", "lo", "up")
    yield
    if libc.setns(before, CLONE_NEWNET) < 0:
        pytest.exit("cannot go back to the network of the host")
    os.close(before)


@pytest.fixture
def cables(network, host):
    """cables("mlx5_0", ...): RNICs whose ports are eth<N>, one end of a veth pair; the other end is far<N>."""

    def lay(*devices):
        for i, device in enumerate(devices):
            made = ip("link", "add", f"eth{i}", "type", "veth", "peer", "name", f"far{i}")
            if made.returncode:
                pytest.skip(f"no veth: {made.stderr.strip()}")
            for end in (f"eth{i}", f"far{i}"):
                ip("link", "set", end, "up")
            FakeRnic(host, device=device, netdev=f"eth{i}")
        return lambda i, word: ip("link", "set", f"far{i}", word)

    return lay


def flap(times):
    """Flaps the link of eth0 quickly: if the second ended in between, it would be reported as two."""
    lines = "link set far0 down\nlink set far0 up\n" * times
    subprocess.run(["ip", "-batch", "-"], input=lines, text=True, capture_output=True, check=True)


def word(samples):
    """The message of the last sample."""
    s = samples[-1] if samples else None
    return s and ("ok" if s["ok"] else s["severity"])


@pytest.fixture
def up(cables, ready, log, told, wait_until):
    """up("mlx5_0", ...) starts assayd on links that are known to be up. Returns (cable, daemon)."""

    def start(*devices):
        cable = cables(*devices)
        daemon = ready()
        log.say("EXT4-fs (loop0): Remounting filesystem read-only")  # the first report has all ports
        wait_until(lambda: len(told("rnic.down_time")) == len(devices), seconds=LONG_S)
        return cable, daemon

    return start


def test_a_pulled_cable_is_told_and_so_is_that_it_is_back(up, told, environ, run, wait_until):
    cable, _ = up("mlx5_0", "mlx5_1")
    cable(0, "down")
    wait_until(lambda: word(told("rnic.down_time", "mlx5_0:1")) == "warn", seconds=LONG_S)
    sample = told("rnic.down_time", "mlx5_0:1")[-1]
    assert sample["code"] == "link-down" and sample["note"].startswith("the link (eth0) is down: ")
    assert word(told("rnic.down_time", "mlx5_1:1")) == "ok"
    item = verdict(environ)["items"][0]
    assert item["verdict"] == "warn" and item["sentence"].startswith("mlx5_0:1: the link (eth0) is down: ")
    cable(0, "up")
    wait_until(lambda: word(told("rnic.down_time", "mlx5_0:1")) == "ok", seconds=LONG_S)
    assert "has been up again since" in told("rnic.down_time", "mlx5_0:1")[-1]["note"]
    assert told("rnic.flaps", "mlx5_0:1")[-1]["value"] == 1 and word(told("rnic.flaps", "mlx5_1:1")) == "ok"


def test_three_flaps_ask_for_a_pair_test(up, told, stub, wait_until):
    """However short: the kernel reports only some of them, but counts them all."""
    up("mlx5_0")
    flap(3)
    wait_until(lambda: told("rnic.flapping"), seconds=LONG_S)
    assert {s["code"] for s in told("rnic.flapping")} == {"pair-test"}
    assert "test the link with a known-good partner" in told("rnic.flapping")[-1]["note"]
    wait_until(lambda: word(told("rnic.down_time")) == "ok", seconds=LONG_S)
    assert told("rnic.flaps")[-1]["value"] == 3 and len(stub.stored) <= 4


def test_what_an_operator_does_is_no_fault(up, told, environ, wait_until):
    _, daemon = up("mlx5_0")
    ip("link", "set", "eth0", "down")
    wait_until(lambda: word(told("rnic.down_time")) == "info", seconds=LONG_S)
    assert "was taken down by an operator" in told("rnic.down_time")[-1]["note"]
    items = {(i["check"], i["verdict"]) for i in verdict(environ)["items"]}
    assert ("rnic.down_time", "pass") in items
    ip("link", "set", "eth0", "up")
    wait_until(lambda: word(told("rnic.down_time")) == "ok", seconds=LONG_S)
    assert told("rnic.flaps")[-1]["value"] == 0 and daemon.poll() is None


def test_a_device_that_is_removed_is_told(up, host, told, wait_until, full):
    up("mlx5_0", "mlx5_1")
    shutil.rmtree(host.root / IB.lstrip("/") / "mlx5_0")
    shutil.rmtree(host.root / "sys/class/net/eth0")
    ip("link", "del", "eth0")
    wait_until(lambda: word(told("rnic.removed", "mlx5_0:1")) == "warn", seconds=LONG_S)
    assert not told("rnic.removed", "mlx5_1:1")
    if full:
        wait_until(lambda: word(told("rnic.removed", "mlx5_0:1")) == "fatal", seconds=90)
        assert told("rnic.removed", "mlx5_0:1")[-1]["code"] == "device-lost"


def test_a_minute_down_is_fatal(up, told, environ, full, wait_until):
    if not full:
        pytest.skip("a minute of waiting: with --full; the unit tests have it on a clock of their own")
    cable, _ = up("mlx5_0")
    cable(0, "down")
    wait_until(lambda: word(told("rnic.down_time")) == "fatal", seconds=120)
    assert told("rnic.down_time")[-1]["value"] >= 60 and verdict(environ)["items"][0]["fatal"]


def test_a_restart_tells_nothing_twice_and_misses_no_flap(up, ready, told, stub, wait_until):
    cable, daemon = up("mlx5_0")
    cable(0, "down")
    wait_until(lambda: word(told("rnic.down_time")) == "warn", seconds=LONG_S)
    daemon.kill()
    daemon.wait()
    reports = len(stub.stored)
    daemon = ready()
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=60) == 0
    assert len(stub.stored) == reports
    cable(0, "up")
    flap(1)
    ready()
    wait_until(lambda: word(told("rnic.down_time")) == "ok", seconds=LONG_S)
    assert told("rnic.flaps")[-1]["value"] == 2


@pytest.mark.once
def test_a_port_without_a_network_device_is_looked_at(ready, host, log, told, wait_until):
    """InfiniBand, or a port whose network device is in a container."""
    rnic = FakeRnic(host, netdev="ib0")
    shutil.rmtree(host.root / "sys/class/net/ib0")
    daemon = ready()
    rnic.down("2: Polling")
    wait_until(lambda: word(told("rnic.down_time", "mlx5_0:1")) == "warn", seconds=2 * LONG_S)
    assert told("rnic.down_time")[-1]["note"].startswith("the link is down: ")
    rnic.down("3: Disabled")
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: word(told("rnic.down_time")) == "info", seconds=LONG_S)
    rnic.up()
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: word(told("rnic.down_time")) == "ok", seconds=LONG_S)
    assert told("rnic.flaps")[-1]["value"] == 0


@pytest.mark.once
def test_infiniband_is_looked_at_whatever_its_network_says(network, ready, host, told, wait_until):
    """IPoIB is down if not configured, and flaps with its multicast groups: its messages are only a hint."""
    made = ip("link", "add", "ib0", "type", "veth", "peer", "name", "far0")
    if made.returncode:
        pytest.skip(f"no veth: {made.stderr.strip()}")
    rnic = FakeRnic(host, netdev="ib0")
    rnic.file("ports/1/link_layer", "InfiniBand")
    ready()
    rnic.down("2: Polling")
    rnic.counters(link_downed=1)
    ip("link", "set", "ib0", "mtu", "1400")
    wait_until(lambda: word(told("rnic.down_time", "mlx5_0:1")) == "warn", seconds=2 * LONG_S)
    assert told("rnic.down_time")[-1]["code"] == "link-down"
    # Up, down and up again, faster than the polling.
    rnic.counters(link_downed=2)
    rnic.state("2: INIT", "5: LinkUp")
    wait_until(lambda: word(told("rnic.down_time")) == "ok", seconds=2 * LONG_S)
    assert told("rnic.flaps")[-1]["value"] == 2


@pytest.mark.once
def test_a_device_that_is_given_another_name_is_not_removed(ready, host, told, environ):
    """As udev does after the driver was reloaded."""
    devices = host.root / IB.lstrip("/")

    def on_pci(device):
        rnic = FakeRnic(host, device=device, netdev="ib0")
        (devices / device / "device").rmdir()
        (devices / device / "device").symlink_to("../../../0000:1b:00.0")
        shutil.rmtree(host.root / "sys/class/net/ib0")
        return rnic

    on_pci("mlx5_0")
    daemon = ready()
    shutil.rmtree(devices / "mlx5_0")
    on_pci("rocep27s0")
    daemon.send_signal(signal.SIGHUP)
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=60) == 0
    assert [port["name"] for port in state(environ)["links"]] == ["rocep27s0:1"] and not told("rnic.removed")


def test_a_device_that_a_container_took_is_not_lost(ready, host, log, told, stub, environ, wait_until):
    host.write("/sys/module/ib_core/parameters/netns_mode", "N")
    for device in ("mlx5_0", "mlx5_1"):
        FakeRnic(host, device=device, netdev="ib0")
    shutil.rmtree(host.root / "sys/class/net/ib0")
    daemon = ready()
    shutil.rmtree(host.root / IB.lstrip("/") / "mlx5_0")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=60) == 0
    assert [port["name"] for port in state(environ)["links"]] == ["mlx5_0:1", "mlx5_1:1"]
    daemon = ready()
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=60) == 0
    assert [port["name"] for port in state(environ)["links"]] == ["mlx5_1:1"] and not stub.stored


def test_why_says_what_was_seen(cables, assayd, here, controller, config, log, run, wait_until):
    cable = cables("mlx5_0")
    c = controller()
    config(controller=f"http://127.0.0.1:{c.port}")
    assayd(env=here)

    def why():
        answer = c.get(f"/v1/nodes/{NODE}/why")
        return answer.json if answer.status == 200 else {"items": [], "incidents": []}

    log.say(XID79)
    wait_until(lambda: why()["items"], seconds=LONG_S)
    flap(3)
    cable(0, "down")
    wait_until(lambda: len(why()["items"]) == 4, seconds=LONG_S)
    items = {item["check"]: item for item in why()["items"]}
    fatal, down = items["host.kernel_log"], items["rnic.down_time"]
    assert XID79 in fatal["sentence"] and fatal["fatal"] and fatal["sentence"].startswith(f"{DEVICE}: the NVIDIA driver")
    assert down["sentence"].startswith("mlx5_0:1: the link (eth0) is down: ") and down["verdict"] == "warn"
    assert {i["check"]: (i["rule"], i["action"]) for i in why()["incidents"]} == {
        "host.kernel_log": ("fatal-signature", "cordon"), "rnic.flapping": ("link-flapping", "retest"),
        "rnic.flaps": ("passive-state", "alert"), "rnic.down_time": ("passive-state", "alert")}
    text = run("assayctl", "--controller", f"http://127.0.0.1:{c.port}", "why", NODE).stdout
    assert "the link (eth0) is down" in text and "GPU has fallen off the bus" in text


# --- on Soft-RoCE, with the kernel's own messages


def parts_of(text):
    """{name: lines} of the scenario's output; "" is the part before the first name."""
    found, name = {"": []}, ""
    for line in text.splitlines():
        if line.startswith("== "):
            name = line[3:]
            found[name] = []
        elif line:
            found[name].append(line)
    return found


@pytest.mark.long
@pytest.mark.once
def test_a_real_device_that_is_removed_is_told(guest, assayd_path, build):
    if not (build / "assay-probe-rnic-pair").exists():
        pytest.skip("built without libibverbs")
    done = guest("watch", "--timeout", "240")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = parts_of(done.stdout)
    assert parts[""] == ["status 0"] and not [line for line in parts["log"] if "not watched" in line], parts["log"]
    reports = [json.loads(line) for line in parts["reports"]]
    samples = [s for report in sorted(reports, key=lambda r: r["seq"]) for s in report["samples"]]
    seen = {}
    for s in samples:
        seen.setdefault((s["check"], s["subject"]), []).append(word([s]))
    assert {r["profile"] for r in reports} == {"watch"}
    # The link of rxe0 went down and came back; rxe1 and eth2 were removed.
    assert "warn" in seen["rnic.down_time", "rxe0:1"] and seen["rnic.down_time", "rxe0:1"][-1] == "ok"
    assert seen["rnic.removed", "rxe1:1"][0] == "warn" and seen["rnic.removed", "rxe1:1"][-1] == "fatal"
    assert ("rnic.removed", "rxe0:1") not in seen and {"rxe2:1", "rxe3:1"} <= {subject for check, subject in seen if check == "rnic.removed"}
    # From the kernel itself; lines that users wrote into its log are ignored.
    assert any("NVRM" in line for line in parts["kernel"])
    logged = [s for s in samples if s["check"] == "host.kernel_log"]
    assert {s["code"] for s in logged} == {"rdma-down"} and {s["subject"] for s in logged} >= {"rxe3"}, logged
    verdict = json.loads("".join(parts["verdict"]))
    assert verdict["verdict"] == "fail" and any(i["subject"] == "rxe1:1" and i["fatal"] for i in verdict["items"])
