# SPDX-License-Identifier: Apache-2.0
"""Faults of simulated hosts, as data: SlowGpu(gpu=3), SlowLink(uplink(1)), ...

prepare() changes the host when it is created, change() the results of one run. `first` is the number of the first run
(from 1) with the fault; `every` makes it intermittent.
"""
import dataclasses

from hosts import GPUS


@dataclasses.dataclass
class Fault:
    first: int = dataclasses.field(default=1, kw_only=True)
    every: int = dataclasses.field(default=1, kw_only=True)

    def prepare(self, host):
        """No permanent change."""

    def change(self, host, rows, report):
        if report["seq"] < self.first or (report["seq"] - self.first) % self.every:
            return rows
        return [self.touch(host, row) for row in rows if self.keeps(row)]

    def keeps(self, row):
        return True

    def touch(self, host, row):
        return row


def scaled(row, part):
    return dataclasses.replace(row, value=row.value * part)


def said(row, **more):
    return dataclasses.replace(row, more={**row.more, **more})


@dataclasses.dataclass
class SlowGpu(Fault):
    gpu: int
    by: float = 0.10

    def touch(self, host, row):
        return scaled(row, 1 - self.by) if row.check == "gemm.rate" and row.gpu == self.gpu else row


@dataclasses.dataclass
class SlowHost(Fault):
    """All GPUs are slow, as with a bad power or cooling setting."""
    by: float = 0.10

    def touch(self, host, row):
        return scaled(row, 1 - self.by) if row.check == "gemm.rate" else row


@dataclasses.dataclass
class SlowLink(Fault):
    """Every path over it is limited to this fraction of the link: 0.5 is half the lanes."""
    link: str
    left: float = 0.5

    def touch(self, host, row):
        if self.link not in row.links:
            return row
        return dataclasses.replace(row, value=min(row.value, host.capacity[self.link] * self.left))


@dataclasses.dataclass
class WrongData(Fault):
    gpu: int

    def touch(self, host, row):
        if row.check != "gemm.correct" or row.gpu != self.gpu:
            return row
        return said(row, value=3, ok=False, severity="fatal", code="wrong-data",
                    note="3 elements of a product are wrong, also with another buffer and algorithm")


@dataclasses.dataclass
class MissingGpu(Fault):
    gpu: int

    def keeps(self, row):
        return row.gpu != self.gpu

    def touch(self, host, row):
        return dataclasses.replace(row, value=GPUS - 1) if row.check == "inventory.gpus" else row


@dataclasses.dataclass
class Contended(Fault):
    """A job runs at the same time: the probes do not measure."""

    def touch(self, host, row):
        if not row.spread:
            return row
        return dataclasses.replace(row, spread="", more={"value": None, "state": "busy", "note": "pid 4711 (python3)"})


@dataclasses.dataclass
class SetUp(Fault):
    """Setup errors: the RDMA probes have no permission, GPU memory cannot be pinned."""

    def change(self, host, rows, report):
        report["problems"].append({"probe": "loopback", "code": "set-up", "detail": "no permission for /dev/infiniband/uverbs0",
                                   "stderr": ""})
        return [self.touch(host, row) for row in rows if not row.check.startswith("loopback.")]

    def touch(self, host, row):
        if not row.check.startswith("memory.h2d"):
            return row
        return dataclasses.replace(row, spread="", more={"value": None, "state": "set-up", "note": "cannot pin memory"})


@dataclasses.dataclass
class Drift(Fault):
    """Different versions than the others: of the driver, which is in the params of its samples, or of anything in env."""
    env: dict = dataclasses.field(default_factory=lambda: {"driver": "535.129.03"})

    def prepare(self, host):
        host.env.update(self.env)
