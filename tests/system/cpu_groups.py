# SPDX-License-Identifier: Apache-2.0
"""Two cgroups that share the CPUs of this host, like a service and the jobs beside it."""
import contextlib
import os
import subprocess
from pathlib import Path

HUNDRED = 1024  # cpu.shares (cgroup v1) that correspond to CPUWeight=100


class CannotShare(Exception):
    """The reason why such cgroups are not possible here."""


def _mounted():
    """(directory, whether it is v2) of the hierarchy with the cpu controller."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, path, kind, options = line.split()[:4]
        if kind == "cgroup" and "cpu" in options.split(","):
            return Path(path), False
        if kind == "cgroup2" and "cpu" in (Path(path) / "cgroup.controllers").read_text().split():
            return Path(path), True
    raise CannotShare("no control groups with the controller cpu")


def _weigh(group, weight, second):
    if weight == "idle":
        (group / "cpu.idle").write_text("1")
    elif second:
        (group / "cpu.weight").write_text(str(weight))
    else:
        (group / "cpu.shares").write_text(str(int(weight) * HUNDRED // 100))


@contextlib.contextmanager
def shared(**weights):
    """with shared(jobs=100, ours="idle") as enter: Popen(..., preexec_fn=enter["ours"]). Their processes must have ended at the exit."""
    top, second = _mounted()
    parent = top / f"assay-cpu-{os.getpid()}"
    made = []
    try:
        if second:
            (top / "cgroup.subtree_control").write_text("+cpu")
        for group in (parent, *(parent / name for name in weights)):
            group.mkdir()
            made.append(group)
            if group == parent and second:
                (parent / "cgroup.subtree_control").write_text("+cpu")
        for name, weight in weights.items():
            _weigh(parent / name, weight, second)
        yield {name: lambda group=parent / name: (group / "cgroup.procs").write_text(str(os.getpid())) for name in weights}
    except OSError as e:
        raise CannotShare(f"no control groups to share CPUs in: {e}") from e
    finally:
        for group in reversed(made):
            group.rmdir()


def load(enter, n):
    """`n` processes that compute endlessly in the cgroup of `enter`."""
    return [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=enter) for _ in range(n)]
