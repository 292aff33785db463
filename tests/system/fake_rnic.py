# SPDX-License-Identifier: Apache-2.0
"""Fake RDMA ports in the tree of fake_host: an mlx5 over Ethernet, healthy until a test breaks it."""
import json
import os
import shutil

import pytest

from fake_host import FakeHost

IB = "/sys/class/infiniband"
PORT = {"symbol_error": 0, "link_downed": 0, "link_error_recovery": 0, "port_xmit_discards": 0, "port_xmit_wait": 0,
        "local_link_integrity_errors": 0}
HARDWARE = {"out_of_sequence": 0, "packet_seq_err": 0, "local_ack_timeout_err": 0, "roce_slow_restart": 0,
            "np_cnp_sent": 0, "np_ecn_marked_roce_packets": 0, "rp_cnp_handled": 0, "rp_cnp_ignored": 0,
            "rnr_nak_retry_err": 0}
PROBE = "assay-probe-rnic-state"
SUBJECT = "mlx5_0:1"


class FakeRnic:
    def __init__(self, host, device="mlx5_0", netdev="eth2", rate="400 Gb/sec (4X NDR)", board="MT_0000000838"):
        self.host, self.device, self.netdev = host, device, netdev
        base = f"{IB}/{device}"
        host.write(f"{base}/board_id", board)
        host.write(f"{base}/fw_ver", "28.39.1002")
        host.write(f"{base}/ports/1/link_layer", "Ethernet")
        host.write(f"{base}/ports/1/rate", rate)
        host.write(f"{base}/ports/1/gid_attrs/ndevs/0", netdev)
        host.write(f"{base}/ports/1/hw_counters/lifespan", 10)
        (host.root / f"{base}/device".lstrip("/")).mkdir(exist_ok=True)
        host.write(f"/sys/class/net/{netdev}/mtu", 9000)
        self.up()
        self.counters(**PORT)
        self.hardware(**HARDWARE)
        self.net(carrier_down_count=1)

    def up(self):
        self.state("4: ACTIVE", "5: LinkUp")

    def down(self, phys="3: Disabled"):
        self.state("1: DOWN", phys)

    def state(self, state, phys):
        self.host.write(f"{IB}/{self.device}/ports/1/state", state)
        self.host.write(f"{IB}/{self.device}/ports/1/phys_state", phys)

    def file(self, name, value):
        self.host.write(f"{IB}/{self.device}/{name}", value)

    def counters(self, **values):
        for name, value in values.items():
            self.file(f"ports/1/counters/{name}", value)

    def hardware(self, **values):
        for name, value in values.items():
            self.file(f"ports/1/hw_counters/{name}", value)

    def net(self, **values):
        for name, value in values.items():
            self.host.write(f"/sys/class/net/{self.netdev}/{name}", value)

    def remove_counter(self, name):
        os.unlink(self.host.root / f"{IB}/{self.device}/ports/1/{name}".lstrip("/"))

    def remove(self):
        """Removes the device, as the kernel does."""
        shutil.rmtree(self.host.root / f"{IB}/{self.device}".lstrip("/"))


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "host")


@pytest.fixture
def rnic(host):
    return FakeRnic(host)


@pytest.fixture
def probe(host, run, top):
    """probe() runs the probe at the given uptime (default: 300 s after the last run) and returns its samples."""
    at = [1000.0]

    def start(*args, after=300.0, expect=0):
        at[0] += after
        host.uptime(at[0])
        done = run(PROBE, *args, env=host.env(top / "policies"))
        assert done.returncode == expect, done.stderr
        start.words = done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return start


def find(samples, check, subject=SUBJECT):
    found = [s for s in samples if s["check"] == check and s["subject"] == subject]
    assert len(found) == 1, f"{check} {subject}: {found} in {samples}"
    return found[0]


def bad(samples):
    return [s for s in samples if s["ok"] is False]


def told(sample):
    return sample["value"], sample["ok"], sample.get("severity", "fail"), sample.get("code")
