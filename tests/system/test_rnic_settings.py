# SPDX-License-Identifier: Apache-2.0
"""Settings and neighbours of fake RNICs."""
import json

import pytest

from fake_rnic import PROBE, SUBJECT, FakeRnic, bad, find, host, probe, rnic, told  # noqa: F401 (fixtures)


def setting(samples, check, subject="host"):
    return find(samples, check, subject)["params"]["setting"]


def test_settings_are_read_where_there_are_any(host, rnic, probe):
    samples = probe()
    assert setting(samples, "rnic.mtu") == "4096 of 9000" and setting(samples, "rnic.firmware") == "28.39.1002"
    assert not {"rnic.ecn", "rnic.traffic_class", "rnic.pfc", "rnic.dcqcn"} & {s["check"] for s in samples}
    for side, on in (("roce_np", (3, 5)), ("roce_rp", (3,))):
        for priority in range(8):
            rnic.net(**{f"ecn/{side}/enable/{priority}": int(priority in on)})
    rnic.net(**{"ecn/roce_np/cnp_dscp": 48, "ecn/roce_rp/rpg_time_reset": 300, "ecn/roce_rp/note": "text"})
    rnic.file("tc/1/traffic_class", "Global tclass=106")
    host.write("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", 106)
    samples = probe()
    assert setting(samples, "rnic.ecn") == "receiver 3,5 sender 3" and find(samples, "rnic.ecn", "host")["value"] == 8
    assert setting(samples, "rnic.dcqcn") == "cnp_dscp=48 rpg_time_reset=300"
    assert setting(samples, "rnic.traffic_class") == "Global tclass=106"
    assert find(samples, "rnic.cm_tos", "host")["value"] == 106
    assert bad(samples) == []


def test_a_network_device_too_small_for_whole_packets_is_told(rnic, probe):
    rnic.net(mtu=1500)
    s = find(probe(), "rnic.mtu", "host")
    assert told(s) == (1024, False, "info", "mtu-small") and "4200" in s["note"]


def test_marks_that_nobody_answers_warn(rnic, probe):
    probe()
    rnic.hardware(np_ecn_marked_roce_packets=1000)
    s = find(probe(), "rnic.ecn_answered")
    assert told(s) == (0, False, "warn", "ecn-not-answered")
    rnic.hardware(np_ecn_marked_roce_packets=2000, np_cnp_sent=1)
    assert find(probe(), "rnic.ecn_answered")["ok"] is True
    assert "rnic.ecn_answered" not in {s["check"] for s in probe()}


def test_settings_reach_the_environment_of_the_report(host, rnic, build, run, top, profiles):
    FakeRnic(host, "mlx5_1", "eth3").net(mtu=1500)
    done = run("assay", "run", "--profile", "passive", "-o", "json", "--profiles",
               profiles(passive=[{"name": "rnic-state", "exec": build / PROBE, "active": False}]),
               env=host.env(top / "policies"))
    env = json.loads(done.stdout)["report"]["env"]
    assert env["rnic.firmware"] == "28.39.1002" and env["rnic.mtu"] == "1024 of 1500 (1), 4096 of 9000 (1)"


# --- neighbors


def lldpcli(host, text):
    host.write("/usr/sbin/lldpcli", "#!/bin/sh\n" + text)
    (host.root / "usr/sbin/lldpcli").chmod(0o755)


def test_the_switch_port_is_what_lldpd_heard(host, rnic, probe):
    chassis, port = [{"name": [{"value": "leaf1"}]}], [{"id": [{"type": "ifname", "value": "swp7"}]}]
    said = {"lldp": [{"interface": [{"name": name, "chassis": chassis, "port": port} for name in ("eth9", "eth2")]}]}
    lldpcli(host, f"""[ "$*" = "-f json0 show neighbors details" ] && echo '{json.dumps(said)}'""")
    samples = probe()
    assert find(samples, "rnic.neighbor")["params"] == {"switch": "leaf1", "port": "swp7"}
    assert [s["subject"] for s in samples if s["check"] == "rnic.neighbor"] == [SUBJECT]


@pytest.mark.parametrize("text", ["exit 1", "echo nonsense", "while :; do echo 0123456789abcdef; done", "exec sleep 1000"])
def test_an_lldpcli_that_fails_costs_nothing_else(host, rnic, probe, text):
    lldpcli(host, text)
    samples = probe("--budget", "2s")
    assert "rnic.neighbor" not in {s["check"] for s in samples} and find(samples, "rnic.port")["ok"] is True
