# SPDX-License-Identifier: Apache-2.0
"""assay-probe-rnic-state on fake RNICs."""
import json
import re
import shutil
from pathlib import Path

import pytest

from fake_rnic import HARDWARE, PORT, PROBE, FakeRnic, bad, find, host, probe, rnic, told  # noqa: F401 (fixtures)
from guest_steps import steps_of

COUNTED = ("rnic.link_downs", "rnic.symbol_errors", "rnic.retransmits", "rnic.out_of_sequence", "rnic.congestion",
           "rnic.discards", "rnic.queue_errors")


def test_a_host_without_rnics_has_nothing_to_measure(host, probe):
    host.write("/sys/class/net/lo/mtu", 65536)
    assert probe(expect=77) == []
    assert "no RDMA port" in probe.words


def test_it_describes_what_it_prints(rnic, probe, run):
    described = {c["check"]: c for c in json.loads(run(PROBE, "--describe").stdout)["checks"]}
    probe()
    rnic.hardware(out_of_sequence=7)
    for s in probe("--busy", "run", "--seed", "7", "--budget", "3s"):
        assert s["better"] == described[s["check"]]["better"] and s["unit"] == described[s["check"]]["unit"], s
        assert s["v"] == 1 and s["note"]


# --- counters


def growth_checks(samples):
    return {s["check"] for s in samples} & set(COUNTED)


def test_the_first_run_tells_no_growth_and_says_so(rnic, probe):
    rnic.counters(link_downed=3, symbol_error=500)
    samples = probe()
    assert growth_checks(samples) == set() and bad(samples) == []
    s = find(samples, "rnic.counters")
    assert s["value"] == len(PORT) + len(HARDWARE) + 1 and "first reading since boot" in s["note"]
    samples = probe()
    assert growth_checks(samples) == set(COUNTED) and "first look" not in find(samples, "rnic.counters")["note"]


def test_what_is_not_known_makes_no_host_inconclusive(rnic, probe):
    """The judge treats null as not measured."""
    for _ in range(2):
        assert [s for s in probe() if s["value"] is None] == []


def test_what_did_not_grow_is_good(rnic, probe):
    rnic.counters(link_downed=3, symbol_error=500)
    probe()
    samples = probe()
    for check in COUNTED:
        assert told(find(samples, check)) == (0, True, "fail", None)
    assert bad(samples) == []


def test_a_flap_warns_and_does_not_condemn(rnic, probe):
    probe()
    rnic.counters(link_downed=1)
    rnic.net(carrier_down_count=2)
    s = find(probe(), "rnic.link_downs")
    assert told(s) == (1, False, "warn", "link_downed")
    assert "in 300 s" in s["note"] and "carrier_down_count +1" in s["note"]
    assert find(probe(), "rnic.link_downs")["ok"] is True


def test_a_hardware_counter_wraps_at_32_bits(rnic, probe):
    rnic.hardware(rp_cnp_handled=2**32 - 10)
    probe()
    rnic.hardware(rp_cnp_handled=5)
    assert told(find(probe(), "rnic.congestion")) == (15, None, "fail", "rp_cnp_handled")


def test_a_counter_that_the_driver_reset_counts_from_nothing(rnic, probe):
    rnic.hardware(rnr_nak_retry_err=1000)
    probe()
    rnic.hardware(rnr_nak_retry_err=7)
    assert told(find(probe(), "rnic.queue_errors")) == (7, False, "warn", "rnr_nak_retry_err")


def test_after_a_reboot_nothing_is_known(host, rnic, probe):
    rnic.counters(link_downed=2)
    probe()
    host.boot(2)
    rnic.counters(link_downed=5)
    assert growth_checks(probe()) == set()
    rnic.counters(link_downed=6)
    assert told(find(probe(), "rnic.link_downs"))[:2] == (1, False)


def test_a_narrow_counter_at_its_end_says_that_it_tells_nothing(rnic, probe):
    rnic.counters(link_downed=255)
    probe()
    s = find(probe(), "rnic.link_downs")
    assert told(s) == (0, None, "fail", "link_downed") and "at its maximum" in s["note"]


def test_a_counter_that_is_gone_is_named_once(rnic, probe):
    probe()
    rnic.remove_counter("hw_counters/out_of_sequence")
    s = find(probe(), "rnic.counters")
    assert told(s)[1:] == (False, "warn", "counters-gone") and "hw_counters/out_of_sequence" in s["note"]
    assert find(probe(), "rnic.counters")["ok"] is True


def test_a_network_device_that_a_container_took_is_no_finding(host, rnic, probe):
    probe()
    shutil.rmtree(host.root / "sys/class/net/eth2")
    s = find(probe(), "rnic.counters")
    assert (s["ok"], s["code"]) == (None, "counters-gone") and "namespace" in s["note"]


@pytest.mark.parametrize("growth, ok", [(299, None), (301, False)])
def test_a_rate_by_the_second_is_taken_over_the_whole_time(rnic, probe, growth, ok):
    probe()
    rnic.hardware(local_ack_timeout_err=growth)  # more than 1/s warns
    s = find(probe(), "rnic.retransmits")
    assert (s["value"], s["ok"]) == (growth, ok)


def test_a_rate_by_the_hour_needs_an_hour_or_all_of_its_events(rnic, probe):
    """120 per hour: 50 every 10 minutes is too much, and detected in the third."""
    probe()
    verdicts = []
    for i in range(1, 13):
        rnic.counters(symbol_error=50 * i)
        verdicts.append(find(probe(after=600), "rnic.symbol_errors")["ok"])
    assert verdicts == [None, None] + [False] * 10  # the full first hour still counts during the second
    quiet = [find(probe(after=600), "rnic.symbol_errors")["ok"] for _ in range(12)]
    assert quiet[5:] == [True] * 7  # an hour without any has passed


def test_the_same_moment_twice_tells_nothing_of_cached_counters(rnic, probe):
    rnic.file("ports/1/hw_counters/lifespan", 10000)
    probe()
    rnic.hardware(rnr_nak_retry_err=4)
    samples = probe(after=5)
    assert "rnic.queue_errors" not in growth_checks(samples) and "rnic.link_downs" in growth_checks(samples)
    assert "restarted its counters" in find(samples, "rnic.counters")["note"]
    assert find(probe(after=60), "rnic.queue_errors")["value"] == 4


def test_congestion_is_told_and_not_judged(rnic, probe):
    probe()
    rnic.hardware(np_cnp_sent=100, np_ecn_marked_roce_packets=90000, rp_cnp_handled=7)
    s = find(probe(), "rnic.congestion")
    assert told(s) == (90000, None, "fail", "np_ecn_marked_roce_packets")
    assert "np_cnp_sent +100" in s["note"] and "rp_cnp_handled +7" in s["note"]
    rnic.hardware(rp_cnp_ignored=1)
    assert told(find(probe(), "rnic.congestion"))[1:] == (False, "warn", "rp_cnp_ignored")


def test_a_state_of_nonsense_is_a_first_run(rnic, probe, tmp_path):
    probe()
    (tmp_path / "state/probe/rnic-state.json").write_text('{"v":1,"known":7,"ports":[],"counters":{"x":{}},"windows":3}')
    assert bad(probe()) == []


# --- links


def test_a_port_that_goes_down_warns_and_after_a_minute_is_fatal(rnic, probe):
    assert find(probe(), "rnic.port")["value"] == 1
    rnic.down()
    rnic.counters(link_downed=1)
    s = find(probe(), "rnic.port")
    assert told(s) == (0, False, "warn", "link-down") and "Disabled" in s["note"]
    assert told(find(probe(after=59.5), "rnic.port"))[2] == "warn"
    s = find(probe(after=0.5), "rnic.port")
    assert told(s) == (0, False, "fatal", "link-down") and "60 s" in s["note"]
    rnic.net(flags="0x1002")
    s = find(probe(after=600), "rnic.port")
    assert told(s) == (0, False, "warn", "taken-down") and "ip link set eth2 up" in s["note"]
    rnic.net(flags="0x1003")
    rnic.up()
    assert find(probe(), "rnic.port")["ok"] is True
    rnic.down()
    rnic.counters(link_downed=2)
    assert told(find(probe(), "rnic.port"))[2] == "warn"


def test_a_network_over_infiniband_that_is_off_takes_no_port_down(rnic, probe):
    """IPoIB is usually not configured, so its device is down whatever the port does."""
    rnic.file("ports/1/link_layer", "InfiniBand")
    rnic.net(flags="0x1002")
    assert find(probe(), "rnic.port")["ok"] is True
    rnic.down("2: Polling")
    rnic.counters(link_downed=1)
    assert told(find(probe(), "rnic.port")) == (0, False, "warn", "link-down")
    assert told(find(probe(after=60), "rnic.port")) == (0, False, "fatal", "link-down")


def test_a_port_that_was_up_in_between_is_not_down_for_long(rnic, probe):
    probe()
    for n in (1, 2, 3):
        rnic.down()
        rnic.counters(link_downed=n)
        assert told(find(probe(), "rnic.port"))[2] == "warn"


def test_a_reboot_gives_a_link_that_was_up_its_minute(host, rnic, probe):
    probe()
    rnic.down()
    host.boot(2)
    assert told(find(probe(), "rnic.port"))[2] == "warn"
    assert told(find(probe(after=61), "rnic.port"))[2] == "fatal"


def test_a_port_without_cable_is_a_fact(rnic, probe):
    rnic.down("2: Polling")
    probe()
    s = find(probe(), "rnic.port")
    assert told(s) == (0, None, "fail", None) and "never seen active" in s["note"]


def test_a_port_that_waits_for_its_subnet_manager_has_no_sick_link(rnic, probe):
    probe()
    rnic.state("2: INIT", "5: LinkUp")
    probe()
    assert told(find(probe(), "rnic.port"))[1:] == (False, "warn", "port-inactive")


def test_a_device_that_is_lost_stays_lost_until_it_is_back(host, rnic, probe):
    other = FakeRnic(host, "mlx5_1", "eth3")
    assert told(find(probe(), "rnic.lost", "host")) == (0, True, "fail", None)
    other.remove()
    for boot in (1, 1, 2):
        host.boot(boot)
        s = find(probe(), "rnic.lost", "host")
        assert told(s) == (1, False, "fatal", "device-lost") and "mlx5_1:1 (MT_0000000838)" in s["note"]
    FakeRnic(host, "mlx5_1", "eth3")
    assert find(probe(), "rnic.lost", "host")["ok"] is True


def test_when_all_are_lost_it_is_not_that_there_are_none(rnic, probe):
    probe()
    rnic.remove()
    assert told(find(probe(), "rnic.lost", "host")) == (1, False, "fatal", "device-lost")


def test_a_device_with_a_new_name_is_not_lost(host, rnic, probe):
    probe()
    rnic.remove()
    FakeRnic(host, "rdma0", "eth2")
    assert find(probe(), "rnic.lost", "host")["ok"] is True


def test_a_device_that_a_container_took_is_not_lost(host, rnic, probe):
    host.write("/sys/module/ib_core/parameters/netns_mode", "N")
    probe()
    rnic.remove()
    s = find(probe(), "rnic.lost", "host")
    assert (s["ok"], s["code"]) == (None, "device-lost") and "namespace" in s["note"]


def test_a_device_that_became_part_of_a_bond_is_not_lost(host, rnic, probe):
    other = FakeRnic(host, "mlx5_1", "eth3")
    probe()
    rnic.remove()
    other.remove()
    FakeRnic(host, "mlx5_bond_0", "eth2")
    s = find(probe(), "rnic.lost", "host")
    assert s["ok"] is None and s["value"] == 1 and "bond" in s["note"]


def test_a_device_that_is_excluded_is_not_lost(host, rnic, probe):
    FakeRnic(host, "mlx5_1", "eth3")
    probe()
    assert find(probe("--exclude", "mlx5_1"), "rnic.lost", "host")["ok"] is True


def test_a_lost_port_condemns_the_host_and_a_flap_does_not(host, rnic, run, top):
    other = FakeRnic(host, "mlx5_1", "eth3")
    words = ["assay", "run", "--probe", "rnic-state", "-o", "json"]
    verdicts = []
    for spoil in (lambda: None, lambda: rnic.counters(link_downed=1), other.remove):
        spoil()
        done = run(*words, env=host.env(top / "policies"))
        verdicts.append((done.returncode, json.loads(done.stdout)["verdict"]))
    assert [(status, verdict["verdict"]) for status, verdict in verdicts] == [(0, "pass"), (0, "warn"), (1, "fail")]
    assert "mlx5_0:1" in verdicts[1][1]["sentence"] and "link_downed" in verdicts[1][1]["sentence"]
    assert "mlx5_1:1" in verdicts[2][1]["sentence"] and verdicts[2][1]["items"][0]["fatal"] is True


def test_a_link_slower_than_it_was_warns(rnic, probe):
    assert find(probe(), "rnic.rate")["value"] == 50e9
    rnic.file("ports/1/rate", "200 Gb/sec (2X NDR)")
    s = find(probe(), "rnic.rate")
    assert told(s) == (25e9, False, "warn", "rate-low") and "used to run at 400 Gb/s" in s["note"]


def test_a_link_slower_than_others_of_its_model_is_told(host, rnic, probe):
    FakeRnic(host, "mlx5_1", "eth3", rate="100 Gb/sec (1X NDR)")
    FakeRnic(host, "mlx5_2", "eth4", rate="25 Gb/sec (1X EDR)", board="MT_0000000001")
    samples = probe()
    assert find(samples, "rnic.rate")["ok"] is True and find(samples, "rnic.rate", "mlx5_2:1")["ok"] is True
    s = find(samples, "rnic.rate", "mlx5_1:1")
    assert told(s) == (12.5e9, False, "info", "rate-low") and "others of its model run at 400 Gb/s" in s["note"]
    rnic.down()
    assert find(probe(), "rnic.rate", "mlx5_1:1")["ok"] is True


def test_virtual_functions_and_excluded_devices_are_left_alone(host, rnic, probe):
    FakeRnic(host, "mlx5_1", "eth3")
    host.write("/sys/class/infiniband/mlx5_2/device/physfn/vendor", "0x15b3")
    host.write("/sys/class/infiniband/mlx5_2/ports/1/state", "4: ACTIVE")
    assert {s["subject"] for s in probe("--exclude", "mlx5_0")} == {"host", "mlx5_1:1"}
    assert Path(host.root / "sys/class/infiniband/mlx5_2").exists()


def test_every_counter_and_check_is_in_the_manual(top, run):
    page = (top / "docs/rnic-state.md").read_text()
    rows = re.findall(r'^\t\{ [A-Z_]+, PLACE_\w+, "([^"]+)"', (top / "probes/rnic_state/counter_table.c").read_text(), re.MULTILINE)
    assert len(rows) > 60
    checks = [c["check"] for c in json.loads(run(PROBE, "--describe").stdout)["checks"]]
    assert [name for name in rows + checks if f"`{name}`" not in page] == []


# --- on Soft-RoCE


@pytest.fixture(scope="module")
def steps(guest):
    """{name: [Step]} of one boot of the scenario."""
    done = guest("state", "--timeout", "240")
    assert done.returncode == 0, done.stdout + done.stderr
    return steps_of(done.stdout, "rnic")


def test_on_soft_roce(steps):
    assert {name: step[0].status for name, step in steps.items()} == dict.fromkeys(
        ["first", "traffic", "flap", "down", "long-down", "lost"], [0])
    steps = {name: step[0].samples for name, step in steps.items()}
    port = "rxe0:1"

    # No counters/, no PCI parent, a rate that is only nominal.
    assert bad(steps["first"]) == [] and growth_checks(steps["first"]) == set()
    assert find(steps["first"], "rnic.counters", port)["value"] >= 10
    assert find(steps["first"], "rnic.rate", port)["params"] == {"nominal": True}
    assert bad(steps["traffic"]) == [] and find(steps["traffic"], "rnic.link_downs", port)["value"] == 0
    assert find(steps["traffic"], "rnic.port", port)["value"] == 1

    assert told(find(steps["flap"], "rnic.link_downs", port)) == (1, False, "warn", "link_downed")
    assert find(steps["flap"], "rnic.port", port)["ok"] is True
    assert told(find(steps["down"], "rnic.port", port)) == (0, False, "warn", "link-down")
    assert told(find(steps["long-down"], "rnic.port", port)) == (0, False, "fatal", "link-down")
    assert told(find(steps["long-down"], "rnic.port", "rxe1:1")) == (0, False, "warn", "taken-down")
    assert find(steps["long-down"], "rnic.link_downs", port)["value"] == 0
    assert told(find(steps["lost"], "rnic.lost", "host")) == (1, False, "fatal", "device-lost")
    assert "rxe1:1" in find(steps["lost"], "rnic.lost", "host")["note"]
    assert find(steps["lost"], "rnic.port", port)["ok"] is True
