# SPDX-License-Identifier: Apache-2.0
"""The state directory after kill -9 and power loss: no sequence number is used twice, no truncated file is read."""
import copy
import json
import os
import random
import re
import signal
import subprocess
import time

import disk
import pytest
from conftest import sample

READ_WHOLE = re.compile(r"state/((verdict|last/[^/]+|spool/\d+|probe/[^/]+)\.json|sku)")  # what readers open


@pytest.fixture
def command(build, tmp_path, says, profiles):
    """The program under test: a passive run on this host, with a scripted probe that finds a fault every other time."""
    rates = [sample("gemm.rate", f"cpu:{n}", 1e9, unit="FLOP/s") for n in range(8)]
    flag = tmp_path / "flag"
    probe = says("probe", *rates, end="if [ -e '%s' ]; then rm -f '%s'; echo '%s'; else : >'%s'; fi" % (
        flag, flag, sample("gemm.correct", value=1, unit="1", better="none", ok=False), flag))
    given = profiles(passive=[{"name": "probe", "exec": probe, "active": False},
                              {"name": "host-state", "exec": build / "assay-probe-host-state", "active": False}])
    return [str(build / "assay"), "run", "--profile", "passive", "--profiles", str(given), "--report", "-o", "json"]


@pytest.fixture(scope="module")
def disk_log(build, configured):
    """The library that logs file operations."""
    if configured("enable-sanitizers"):
        pytest.skip("the library that records writes cannot be loaded before that of the sanitizers")
    name = "tests/fakes/disk_log.so"
    subprocess.run(["make", "-s", "-C", str(build), name], check=True, capture_output=True)
    return build / name


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def torn_files(tree):
    """Incomplete files that a reader would open."""
    return [name for name, text in tree.items() if text is not None and (
        READ_WHOLE.fullmatch(name) and not is_json(text) or name == "state/seq" and not re.fullmatch(rb"[1-9]\d*\n", text))]


def shown_seqs(tree):
    """All sequence numbers visible in files."""
    names = {int(m.group(1)) for m in (re.fullmatch(r"state/spool/(\d+)\.json", name) for name in tree) if m}
    shown = [text for name, text in tree.items() if text and (READ_WHOLE.fullmatch(name) or name == "state/history.jsonl")]
    return names | {int(n) for text in shown for n in disk.SEQ.findall(text)}


def last_seq(tree):
    """The number from which the next run continues; 0 if there is none."""
    text = tree.get("state/seq", b"")
    return int(text) if re.fullmatch(rb"\d+\n", text) else 0


class Numbers:
    """The exposed sequence numbers, run after run."""

    def __init__(self):
        self.used = set()

    def take(self, seen, given=None):
        """Checks one run's numbers: at most one new one, higher than all before; `given`: those on its stdout."""
        new = seen - self.used
        assert len(new) <= 1 and all(n > max(self.used, default=0) for n in new), (new, self.used)
        assert given is None or given in new, (given, self.used)
        self.used |= seen


def run_to_its_end(command, environ):
    out = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert out.returncode in (0, 1, 3) and out.stderr == "", out.stderr
    return json.loads(out.stdout)["report"]["seq"]


def check_after_kill(where, child, out, numbers):
    """Checks the disk after a run that may have been killed. Returns whether it was."""
    tree = disk.read_tree(where)
    assert torn_files(tree) == []
    given = json.loads(out)["report"]["seq"] if out.endswith(b"\n") else None
    numbers.take(shown_seqs(tree) | ({given} if given else set()), given)
    assert last_seq(tree) >= max(numbers.used, default=0)
    return child.returncode == -signal.SIGKILL


@pytest.mark.once
def test_no_number_is_given_twice_when_killed_at_random_moments(command, environ, tmp_path, full):
    rng, numbers, killed, where = random.Random(1), Numbers(), 0, tmp_path / "disk"
    where.mkdir()
    environ = {**environ, "ASSAY_STATE_DIR": str(where / "state")}
    start = time.monotonic()
    numbers.take({run_to_its_end(command, environ)})
    usual = time.monotonic() - start
    for _ in range(200 if full else 20):
        child = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            child.wait(rng.uniform(0, 1.2 * usual))
        except subprocess.TimeoutExpired:
            child.kill()
        killed += check_after_kill(where, child, child.communicate()[0], numbers)
    assert killed > 0
    numbers.take({run_to_its_end(command, environ)})


@pytest.fixture
def recorded(disk_log, environ, tmp_path):
    """recorded(command, disk, kill=N) runs a program and logs its writes under `disk`: (child, stdout, operations).

    The state directory is disk/state. The program kills itself at its Nth operation.
    """
    log, out = tmp_path / "operations", tmp_path / "stdout"

    def start(command, where, kill=0):
        log.write_bytes(b"")
        env = {**environ, "LD_PRELOAD": str(disk_log), "ASSAY_DISK_ROOT": os.path.realpath(where), "ASSAY_DISK_LOG": str(log),
               "ASSAY_DISK_STDOUT": str(out), "ASSAY_DISK_KILL": str(kill), "ASSAY_STATE_DIR": str(where / "state")}
        with open(out, "wb") as stdout:
            child = subprocess.run(command, env=env, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False)
        return child, out.read_bytes(), disk.read_record(log)

    return start


def test_no_number_is_given_twice_when_killed_after_any_operation(command, recorded, tmp_path):
    numbers, where = Numbers(), tmp_path / "disk"
    where.mkdir()
    for kill in range(1, 1000):
        child, out, _ = recorded(command, where, kill)
        if not check_after_kill(where, child, out, numbers):
            break
    assert 20 < kill < 1000 and child.returncode in (0, 1, 3)


def lose_power(model, ops, rng):
    """A possible disk after `ops` and a power loss, and the numbers that the operations exposed."""
    used = set()
    for op in ops:
        model.do(*op)
        used |= disk.used_seqs(op[0], op[3])
    return model.tree(rng), used


def history_ends_whole(tree):
    text = tree.get("state/history.jsonl")
    return text is None or text.endswith(b"\n") and is_json(text.splitlines()[-1])


def test_power_loss_tears_no_file_and_gives_no_number_twice(command, recorded, tmp_path, full):
    """Many lives of a host: each starts on the disk left by the last power loss."""
    for seed in range(200 if full else 30):
        rng, where = random.Random(seed), tmp_path / f"disk{seed}"
        if seed % 8 == 0:  # a new host
            numbers, tree = Numbers(), {"": None}
        disk.write_tree(tree, where)
        model = disk.Disk(where)
        child, out, ops = recorded(command, where)
        assert child.returncode in (0, 1, 3) and child.stderr == b"", child.stderr
        assert json.loads(out)["report"]["seq"] > max(numbers.used, default=0)
        whole = disk.read_tree(where)
        assert history_ends_whole(whole)
        done = copy.deepcopy(model)
        lose_power(done, ops, rng)
        assert done.tree() == whole, "the record does not hold all that was done"
        tree, used = lose_power(model, ops[:rng.randrange(len(ops) + 1)], rng)
        numbers.take(used)
        assert torn_files(tree) == []
        assert last_seq(tree) >= max(numbers.used, default=0)


def check_all_losses(model, ops, rounds):
    """Returns errors after a power loss at each operation, with `rounds` variants each."""
    bad = set()
    for cut in range(len(ops) + 1):
        at_cut = copy.deepcopy(model)
        _, used = lose_power(at_cut, ops[:cut], None)
        for seed in range(rounds):
            tree = at_cut.tree(random.Random(seed))
            bad |= {f"torn {name}" for name in torn_files(tree)}
            if last_seq(tree) < max(used, default=0):
                bad.add("a number can be given twice")
    return bad


@pytest.mark.parametrize("runs_before", [0, 1, 3])
def test_power_loss_after_any_operation_tears_nothing(command, recorded, tmp_path, full, runs_before):
    where = tmp_path / "disk"
    where.mkdir()
    for _ in range(runs_before):
        assert recorded(command, where)[0].returncode in (0, 1, 3)
    if runs_before > 1:  # with all state of a host
        kept = disk.read_tree(where)
        assert {"state/spool/1.json", "state/history.jsonl", "state/sku", "state/probe/host-state.json"} <= kept.keys()
        assert [name for name in kept if name.endswith(".keep")]
    model = disk.Disk(where)
    ops = recorded(command, where)[2]
    assert check_all_losses(model, ops, 400 if full else 40) == set()


WRITER = """
import os, sys
state = os.environ["ASSAY_STATE_DIR"]
os.mkdir(state)
def sync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
def replace(name, text, careful):
    fd = os.open(f"{state}/{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, text)
    if careful != "no fsync of the file":
        os.fsync(fd)
    os.close(fd)
    os.rename(f"{state}/{name}.tmp", f"{state}/{name}")
    if careful != "no fsync of the directory":
        sync(state)
if sys.argv[1] != "no fsync of the parent":
    sync(state + "/..")
replace("seq", b"1\\n", sys.argv[1])
replace("verdict.json", b'{"seq": 1}', sys.argv[1])
os.write(1, b'{"seq": 1}')
"""


@pytest.mark.parametrize("fault,found", [
    ("none", set()),
    ("no fsync of the file", {"torn state/seq", "torn state/verdict.json", "a number can be given twice"}),
    ("no fsync of the directory", {"a number can be given twice"}),
    ("no fsync of the parent", {"a number can be given twice"}),
])
def test_the_forgetful_disk_catches_a_careless_writer(recorded, tmp_path, fault, found):
    where = tmp_path / "disk"
    where.mkdir()
    model = disk.Disk(where)
    child, out, ops = recorded(["/usr/bin/python3", "-I", "-S", "-c", WRITER, fault], where)
    assert child.returncode == 0 and out == b'{"seq": 1}', child.stderr
    assert check_all_losses(model, ops, 40) == found
