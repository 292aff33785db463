# SPDX-License-Identifier: Apache-2.0
"""An assayd with watchers: a fake host, a kernel log that the test writes, and the reports."""
import json
import os
import time

import pytest
from fake_host import FakeHost

XID79 = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
DEVICE = "pci:0000:1b:00.0"
LONG_S = 30  # until a report: a second of batching, a child process, a busy machine


class Log:
    """A kernel log: a FIFO, or a file that grows."""

    def __init__(self, path, fifo=True):
        self.path, self.seq, self.fifo = path, 0, fifo
        path.unlink(missing_ok=True)
        if fifo:
            os.mkfifo(path)
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | (0 if fifo else os.O_APPEND))

    def say(self, *lines):
        """Writes records like the kernel, each in one piece."""
        for text in lines:
            now_us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
            os.write(self.fd, f"4,{self.seq},{now_us},-;{text}\n".encode())
            self.seq += 1


def bad(device):
    """The kernel log line of a contained ECC error."""
    return f"NVRM: Xid (PCI:0000:{device:02x}:00): 94, pid=7, Contained ECC error"


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "host")


@pytest.fixture
def here(host, tmp_path, top):
    """The environment of an assayd on the fake host."""
    return {"ASSAY_SYSROOT": str(host.root), "ASSAY_KMSG": str(tmp_path / "kmsg"), "ASSAY_POLICY_DIR": str(top / "policies")}


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "kmsg")


@pytest.fixture
def told(stub):
    """told(check, subject): its samples in all reports received, oldest first."""

    def samples(check, subject=None, **wanted):
        with stub.lock:
            reports = [report for _, report in sorted(stub.stored.items(), key=lambda entry: entry[0][2])]
        return [s for r in reports for s in r["samples"] if s["check"] == check and (subject is None or s["subject"] == subject)
                and all(s.get(k) == v for k, v in wanted.items())]

    return samples


@pytest.fixture
def ready(assayd, here, stub, wait_until):
    """ready() starts an assayd and waits until it watches."""

    def start(env=None, **more):
        held = stub.times_held
        daemon = assayd(env={**here, **(env or {})}, **more)
        wait_until(lambda: stub.times_held > held, seconds=LONG_S)
        return daemon

    return start


def state(environ):
    with open(os.path.join(environ["ASSAY_STATE_DIR"], "watch.json"), encoding="utf-8") as f:
        return json.load(f)


def verdict(environ):
    with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"), encoding="utf-8") as f:
        return json.load(f)
