# SPDX-License-Identifier: Apache-2.0
"""assay-probe-rnic-pair: without a device here, and on Soft-RoCE in the guest."""
import json
import os
import re

import pytest
from guest_steps import assert_not_applicable, assert_refused, blames_nobody, needs, steps_of

CHECKS = ["rnic_pair.connect", "rnic_pair.write_bw", "rnic_pair.write_lat", "rnic_pair.send_bw", "rnic_pair.bidir_bw"]
PAIRS = ["rxe0:1>rxe1:1", "rxe1:1>rxe0:1"]
SHAPED_BYTES_PER_S = 16e6 / 8
SHAPED_BURST_BYTES = 64 * 1024
LATENCY_WARM = 20
CONNECT_PACKETS = 2  # a small one and one of full size


@pytest.fixture
def probe(build):
    return needs(build, "assay-probe-rnic-pair")


@pytest.mark.parametrize("words, message", [
    (["--size", "7"], "--size: '7' is not a number from 8 to 1048576"),
    (["--depth", "1x"], "--depth: '1x' is not a number"),
    (["--qps", "17"], "--qps: '17' is not a number from 1 to 16"),
    (["--gid-index", "-1"], "--gid-index: '-1' is not a number"),
    (["--gid-index", "256"], "--gid-index: '256' is not a number from 0 to 255"),
    (["--memory", ""], "--memory: '' is neither host nor gpu"),
    (["--sl", "16"], "--sl: '16' is not a number from 0 to 15"),
    (["--tclass", "256"], "--tclass: '256' is not a number from 0 to 255"),
    (["--pkey-index", "x"], "--pkey-index: 'x' is not a number"),
    (["--devices", "mlx5 0"], "--devices: 'mlx5 0' is not a device"),
    (["--devices", "^="], "--devices: '' is not a device"),
    (["--mtu", "9000"], "--mtu: '9000' is not a number from 256 to 4096"),
    (["--cells", "x" * 9000], "--cells: longer than 8192 bytes"),
    (["--cells", "@@@"], "--cells: '@@@' is not a cell such as mlx5_0:1>numa:0"),
    (["--cells", ""], "--cells: '' is not a cell"),
    (["--cells", "mlx5_0:1>numa:0,"], "--cells: '' is not a cell"),
    (["--cells", "mlx5_0:1>numa:0,mlx5_0>numa:0"], "--cells: 'mlx5_0>numa:0' is not a cell"),
    (["--cells", "mlx5_0:1>numa:0>numa:1"], "--cells: 'mlx5_0:1>numa:0>numa:1' is not a cell"),
    (["--cells", "mlx5_0:1>numa:"], "--cells: 'mlx5_0:1>numa:' is not a cell"),
    (["--cells", ":1>numa:0"], "--cells: ':1>numa:0' is not a cell"),
    (["--peer", "host:1"], "--token-file: needed with --listen and --peer"),
    (["--peer", "host", "--token-file", "x"], "--peer: 'host' is not HOST:PORT"),
    (["--peer", "host:70000", "--token-file", "x"], "--peer: 'host:70000' is not HOST:PORT"),
    (["--peer", "host:-1", "--token-file", "x"], "--peer: 'host:-1' is not HOST:PORT"),
    (["--listen", ":0", "--token-file", "x"], "--listen: ':0' is not HOST:PORT"),
    (["--peer", "host:1", "--token-file", "/nowhere"], "/nowhere: No such file or directory"),
    (["--listen", "[::1]:0", "--token-file", "/"], "/: "),
    (["--listen", "[::1]:0", "--token-file", "/dev/null"], "/dev/null: not a regular file"),
    (["--token-file", "x"], "--token-file: only with --listen or --peer"),
    (["--peer", "host:1", "--listen", "[::]:0", "--token-file", "x"], "one host listens, the other is its peer"),
    (["--send", "--peer", "host:1", "--token-file", "x"], "only for the rates of pairs within one host"),
    (["--bidirectional", "--connect-only"], "only for the rates of pairs within one host"),
    (["--peer", "host:1", "--token-file", "x", "--cells", "a:1>b:1"], "--cells: only for pairs within one host"),
])
def test_bad_options_are_refused(run, probe, words, message):
    assert_refused(run, probe, words, message)


def test_without_a_device_it_does_not_apply(run, probe):
    assert_not_applicable(run, probe)


def test_it_describes_itself(run, probe):
    done = run(probe, "--describe")
    assert [c["check"] for c in json.loads(done.stdout)["checks"]] == CHECKS + [c.replace(".", ".gpu_") for c in CHECKS]


def test_memory_of_gpus_is_not_asked_of_a_host_without_one(run, probe):
    done = run(probe, "--memory", "gpu")
    assert done.returncode == 77 and "--memory gpu: no NVIDIA GPU on this host's PCI bus" in done.stderr and not done.stdout


@pytest.fixture(scope="module")
def steps(guest, build):
    """{name: [Step]} of one boot of the scenario, used by all tests below."""
    needs(build, "assay-probe-rnic-pair")
    done = guest("pair", "--timeout", "240")
    assert done.returncode == 0, done.stdout + done.stderr
    return steps_of(done.stdout, "rnic_pair")


def is_measured(sample):
    """It was measured; on a slow path or machine with fewer than 8 windows it gives none."""
    return sample["state"] == "measured" and sample["value"] > 0 and sample["ok"] is None and len(sample.get("w", [])) <= 32


def is_connected(step, pairs=PAIRS):
    found = {name: (s["state"], s["value"], s["ok"]) for name, s in step["connect"].items()}
    return found == dict.fromkeys(pairs, ("measured", 1, True))


def assert_set_up(step, words):
    """Every sample is a setup error with a reason, and blames no host."""
    assert step.status == [0] and list(step["connect"]) == PAIRS, step.words
    assert all(blames_nobody(s, "set-up", words) for s in step.samples), step.samples


@pytest.mark.long
def test_a_good_pair_is_measured_both_ways(steps):
    step = steps["good"][0]
    assert step.status == [0] and not step.words and is_connected(step)
    for check in ("write_bw", "write_lat"):
        assert list(step[check]) == PAIRS
        assert all(is_measured(s) for s in step[check].values()), step.samples
    forth = step["connect"][PAIRS[0]]
    assert forth["code"] == "rail:0>1" and forth["from"] == "rnic:rxe0" and forth["to"] == "rnic:rxe1"
    assert forth["note"].startswith("packets of 4096 bytes; GID index 1, RoCE v2 IPv4 10.0.0.1")


def test_sends_and_both_directions_are_measured_when_asked_for(steps):
    step = steps["more"][0]
    assert step.status == [0] and not step.words and is_connected(step)
    for check in ("write_bw", "send_bw", "bidir_bw"):
        assert list(step[check]) == PAIRS and all(is_measured(s) for s in step[check].values()), step.samples
    for forth, back in (PAIRS, PAIRS[::-1]):
        assert re.match(r"\d+ bytes sent", step["send_bw"][forth]["note"])
        assert step["bidir_bw"][forth]["with"] == [back] and "with" not in step["send_bw"][forth]


def test_connect_only_measures_no_rate(steps):
    step = steps["connect"][0]
    assert step.status == [0] and is_connected(step) and {s["check"] for s in step.samples} == {"rnic_pair.connect"}


def test_others_on_the_device_make_it_busy_and_not_slow(steps):
    step = steps["busy"][0]
    assert step.status == [0] and len(step.samples) == 6
    for s in step.samples:
        assert blames_nobody(s, "busy", "of others, connected") and s["note"].startswith("ib_write_bw (pid"), s
    assert is_connected(steps["busy-run"][0])


def test_traffic_of_others_meanwhile_is_not_slowness(steps):
    step = steps["foreign-meanwhile"][0]
    assert step.status == [0] and is_connected(step, PAIRS[:1])
    assert blames_nobody(step.one("write_bw"), "foreign-traffic", "rxe0 port 1: other traffic of about"), step.samples
    # Perhaps too few round trips completed to attribute them.
    assert step.one("write_lat")["state"] in ("foreign-traffic", "timeout", "aborted"), step.samples


def test_the_device_sent_what_is_claimed(steps):
    step = steps["counted"][0]
    bandwidth, latency = step.one("write_bw"), step.one("write_lat")
    assert bandwidth["state"] in ("measured", "timeout"), bandwidth
    if bandwidth["state"] == "timeout" or latency["state"] == "timeout":
        pytest.skip("the guest was so slow that too few writes ended")
    claimed = int(re.match(r"(\d+) bytes written", bandwidth["note"])[1])
    packets, twice = map(int, re.fullmatch(r"packets (\d+), twice (\d+)", step.words[-1]).groups())
    once = packets - twice - latency["n"] - LATENCY_WARM - CONNECT_PACKETS
    assert abs(once * bandwidth["params"]["mtu"] / claimed - 1) < 0.05, (packets, twice, latency["n"], claimed)


def test_only_the_direction_that_is_shaped_reads_low(steps):
    step = steps["shaped"][0]
    assert is_connected(step)
    forth, back = (step["write_bw"][pair] for pair in PAIRS)
    assert is_measured(forth) and is_measured(back)
    # Tokens collected while idle are sent in a burst: tc-tbf(8).
    most = SHAPED_BYTES_PER_S + SHAPED_BURST_BYTES / forth["seconds"]
    assert forth["value"] <= most < back["value"]


def test_lost_packets_are_named_beside_the_rate(steps):
    bandwidth = steps["lossy"][0].one("write_bw")
    assert is_measured(bandwidth) and "packets had to be retransmitted: rxe" in bandwidth["note"], bandwidth


@pytest.mark.parametrize("name, words", [
    ("wrong-gid", "port 1 has no GID of index 77"),
    ("no-accept-local", "set accept_local=1 and rp_filter=0 of both interfaces"),
    ("no-address", "of both an address of the same kind"),
    ("no-permission", "cannot open /dev/infiniband/uverbs"),
    ("small-memlock", "raise the limit on locked memory (ulimit -l, now 64 KiB)"),
])
def test_what_is_set_up_wrongly_blames_no_link(steps, name, words):
    assert_set_up(steps[name][0], words)


def test_the_advice_that_is_given_helps(steps):
    assert is_connected(steps["accept-local"][0]), steps["accept-local"][0].samples


def test_a_smaller_mtu_between_is_told_from_a_dead_path(steps):
    connect = steps["small-between"][0].one("connect")
    assert connect["state"] == "set-up" and connect["ok"] is None
    assert connect["note"].startswith("packets of 4096 bytes do not get from rxe0 to rxe1, but those of 1024 do")


def test_mtus_that_differ_are_named_and_the_smaller_is_used(steps):
    step = steps["mtu"][0]
    assert is_connected(step, PAIRS[:1])
    assert "rxe0 has 4096 bytes, rxe1 has 1024" in step.one("connect")["note"]
    assert is_measured(step.one("write_bw")) and step.one("write_bw")["params"]["mtu"] == 1024, step.samples


def test_a_dead_path_between_live_ports_is_sick(steps):
    step = steps["dead"][0]
    connect = step.one("connect")
    assert (connect["state"], connect["value"], connect["ok"]) == ("measured", 0, False)
    assert "no path from rxe0 to rxe1, though both ports are up" in connect["note"] and "retry exceeded" in connect["note"]
    for check in ("write_bw", "write_lat"):
        assert step.one(check)["state"] == "aborted" and step.one(check)["value"] is None


def test_a_port_that_goes_down_meanwhile_is_a_warning(steps):
    step = steps["down-meanwhile"][0]
    bandwidth = step.one("write_bw")
    assert step.one("connect")["ok"] is True
    assert (bandwidth["state"], bandwidth["ok"], bandwidth.get("severity")) == ("measured", False, "warn"), bandwidth
    assert bandwidth["note"] == "rxe1 port 1 went down during the measurement" and bandwidth["code"] == "rail:0>1"
    assert blames_nobody(step.one("write_lat"), "aborted", "lost in the bandwidth test")


@pytest.mark.parametrize("name, state, words", [
    ("taken-down", "aborted", "rxe1 port 1 was taken down by an operator during the measurement"),
    ("removed", "set-up", "rxe1 was removed during the measurement"),
])
def test_what_somebody_took_away_meanwhile_blames_no_link(steps, name, state, words):
    step = steps[name][0]
    assert step.status == [0] and step.one("connect")["ok"] is True, step.words
    assert blames_nobody(step.one("write_bw"), state, words), step.samples
    assert blames_nobody(step.one("write_lat"), "aborted", "lost in the bandwidth test"), step.samples


def test_a_peer_that_never_answers_is_a_matter_of_set_up(steps):
    step = steps["silent"][0]
    assert step.status == [1] and step.words[0] == "assay-probe-rnic-pair: 127.0.0.1:7475 does not answer"
    assert len(step.samples) == 12
    assert all(blames_nobody(s, "set-up", "127.0.0.1:7475 does not answer") for s in step.samples), step.samples


def assert_went_away(step, name):
    assert step.status == [1] and f"{name} closed the connection" in step.words[-1], step.words
    assert all(s["ok"] is not False for s in step.samples), step.samples
    aborted = [s for s in step.samples if s["state"] == "aborted"]
    assert aborted and all("closed the connection" in s["note"] for s in aborted), step.samples


def test_a_peer_killed_half_way_blames_no_link(steps):
    assert_went_away(steps["killed"][0], "node-a (127.0.0.1:7478)")


def test_a_port_that_is_down_is_not_tried(steps):
    step = steps["port-down"][0]
    assert all(s["state"] == "set-up" and "the port is down" in s["note"] for s in step.samples) and len(step.samples) == 3
    step = steps["no-active"][0]
    assert step.status == [77] and not step.samples and "fewer than two active RDMA ports" in step.words[0]


def test_pairs_that_are_not_here_are_refused(steps):
    step = steps["no-such-cell"][0]
    assert step.status == [2] and not step.samples and "none of these pairs is on this host" in step.words[0]


def test_nothing_is_left_in_the_kernel(steps):
    before, after = steps["resources"]
    assert len(before.words) == 2 and before.words == after.words
    # A new device of that name appeared after the old one was removed.
    assert [re.sub(r"^\d+: ", "", line) for line in steps["left"][0].words] == [re.sub(r"^\d+: ", "", line) for line in before.words]


@pytest.fixture(scope="module")
def two(guest, build):
    """{"a": {name: [Step]}, "b": ...} of two guests on one link."""
    if os.environ.get("ASSAY_FULL") != "1":
        pytest.skip("two guests at once take a minute of CPU: under scripts/test --full")
    needs(build, "assay-probe-rnic-pair")
    done = guest("pair-two", "--two")
    assert done.returncode == 0, done.stdout + done.stderr
    return {letter: steps_of(text, "rnic_pair") for letter, text in re.findall(r"^#### (\w)\n(.*?)(?=^#### |\Z)", done.stdout,
                                                                re.MULTILINE | re.DOTALL)}


def test_two_hosts_tell_the_same(two):
    a, b = two["a"]["good"][0], two["b"]["good"][0]
    assert a.status == b.status == [0], (a.words, b.words)
    assert "listening on 0.0.0.0:7471" in b.words[0]
    for check in ("connect", "write_bw", "write_lat"):
        assert list(a[check]) == ["rxe0:1>node-b/rxe0:1", "node-b/rxe0:1>rxe0:1"]
        assert list(b[check]) == ["node-a/rxe0:1>rxe0:1", "rxe0:1>node-a/rxe0:1"]
        for here, there in zip(a[check].values(), b[check].values()):
            assert here["state"] == there["state"] == "measured" and here["value"] == there["value"] > 0, (here, there)
            assert here["with"] == ["node-b"] and there["with"] == ["node-a"] and here["code"] == there["code"] == "rail:0"
    assert a["write_lat"]["rxe0:1>node-b/rxe0:1"]["params"]["until"] == "completed"


@pytest.mark.parametrize("name, words", [
    ("wrong-token", "10.1.0.2:7473 has another token: give both hosts the same --token-file"),
    ("wrong-version", "10.1.0.2:7474 speaks version 2 and this side version 1: install the same version"),
    ("silent", "10.1.0.2:7475 does not answer"),
    ("nobody", "10.1.0.2:7476 does not answer: Connection refused"),
])
def test_a_peer_that_cannot_be_met_is_a_matter_of_set_up(two, name, words):
    step = two["a"][name][0]
    assert step.status == [1] and len(step.words) == 1 and words in step.words[0]
    assert len(step.samples) == 6
    for s in step.samples:
        assert s["state"] == "set-up" and s["value"] is None and s["ok"] is None and words in s["note"], s


def test_who_listens_goes_on_after_a_stranger_until_its_time_is_up(two):
    step = two["b"]["wrong-token"][0]
    assert step.status == [1] and "nobody connected with this token; the last error: 10.1.0.1:" in step.words[-1]
    assert all(s["state"] == "set-up" for s in step.samples)


def test_both_hosts_name_the_one_that_is_set_up_wrongly(two):
    for letter in "ab":
        step = two[letter]["wrong-gid"][0]
        assert step.status == [0] and len(step.samples) == 6
        for s in step.samples:
            out = s["subject"].startswith("rxe0:1>") == (letter == "a")
            assert s["state"] == "set-up" and s["ok"] is None, s
            assert s["note"].endswith("rxe0 port 1 has no GID of index 77") and (s["note"].startswith("node-a: ") or not out), s


def test_a_peer_that_is_killed_blames_no_link(two):
    step = two["a"]["killed"][0]
    assert_went_away(step, "node-b (10.1.0.2:7478)")
    assert len(step.samples) == 6


def test_traffic_that_only_the_other_end_sees_is_not_slowness(two):
    a, b = two["a"]["foreign"][0], two["b"]["foreign"][0]
    here, there = a["write_bw"]["rxe0:1>node-b/rxe0:1"], b["write_bw"]["node-a/rxe0:1>rxe0:1"]
    for s in (here, there):
        assert blames_nobody(s, "foreign-traffic", "node-b: rxe0 port 1: other traffic of about"), s


def test_what_is_no_token_and_no_address_is_usage(two):
    for name, words in (("no-token-file", "/nowhere: No such file or directory"), ("bad-address", "'nowhere' is not HOST:PORT")):
        step = two["a"][name][0]
        assert step.status == [2] and not step.samples and words in step.words[0]


def test_two_hosts_leave_nothing_in_the_kernel(two):
    for letter in "ab":
        before, after = two[letter]["resources"]
        assert len(before.words) == 1 and before.words == after.words
