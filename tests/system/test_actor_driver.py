# SPDX-License-Identifier: Apache-2.0
"""Black-box test of the actor (tests/actor_driver): it gets reports, people's requests, a cluster and a clock, it is killed
at named points, and its visible behaviour must keep the invariants.

3,000 seeds with ASSAY_FULL=1, else 100; a tenth in a build with sanitizers, which looks for memory errors.
"""
import os
import subprocess

import pytest

FULL = os.environ.get("ASSAY_FULL") == "1"

# Must have occurred: each kind of action with each of its outcomes.
ENDS = {
    "cordon": "decided done failed dropped dry-run refused",
    "uncordon": "decided done dropped refused",
    "hold": "decided done refused",
    "unhold": "decided done",
    "evict": "decided done failed dropped refused",
    "retest": "decided done failed dropped dry-run",
    "override": "decided done",
    "silence": "decided done",
    "repair-done": "decided done refused",
    "breaker-open": "done",
    "breaker-reset": "decided done",
    "verified": "decided done dropped dry-run refused",
}
ANSWERS = {
    "cordon": "done conflict not-ours again refused",
    "uncordon": "done conflict again",
    "annotate": "done again",
    "hold": "done",
    "verified": "done",
    "evict": "done again",
    "condition": "done refused again",
    "jobs": "done again",
    "confirm": "done again",
    "ledger-read": "done gone again",
    "ledger-write": "done conflict refused again",
}
# ... except these, with so few seeds.
RARE = {("cluster", "cordon", "not-ours"), ("action", "uncordon", "dropped"), ("action", "evict", "failed"),
        ("cluster", "confirm", "again")}


@pytest.fixture(scope="module")
def seeds(configured):
    """The number of seeds, given that of a plain build."""
    return lambda n: range(1, max(n // (10 if configured("enable-sanitizers") else 1), 3) + 1)


@pytest.fixture(scope="module")
def drive(build, tmp_path_factory):
    if not os.path.exists(os.path.join(build, "actor-driver")):
        pytest.skip("actor-driver is not built: libsystemd, SQLite or libmicrohttpd is missing")

    def start(numbers, *options):
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else str(tmp_path_factory.mktemp("stores"))
        return subprocess.Popen([os.path.join(build, "actor-driver"), "--seeds", "%d..%d" % (numbers[0], numbers[-1]),
                                 "--directory", shared, *options],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return start


def finish(process, status=0):
    out, err = process.communicate(timeout=600)
    assert process.returncode == status, err or out[-4000:]
    return out.splitlines()


def lines_of(lines, word):
    return [line.split() for line in lines if line.startswith(word + " ")]


def test_it_holds_whatever_happens_and_everything_does(drive, seeds, configured):
    numbers = seeds(3000 if FULL else 100)
    rows = finish(drive(numbers, "--kills", "--coverage"))
    assert [row for row in lines_of(rows, "seed") if row[3] != "0"] == []
    assert len(lines_of(rows, "seed")) == len(numbers)
    if configured("enable-sanitizers"):
        return  # too few seeds to see everything
    counts = {tuple(row[:-1]): int(row[-1]) for word in ("kill", "event", "action", "cluster", "breaker", "controllers")
              for row in lines_of(rows, word)}
    wanted = [key for key in counts if key[0] in ("kill", "event", "breaker", "controllers")]
    wanted += [("action", kind, end) for kind, ends in ENDS.items() for end in ends.split()]
    wanted += [("cluster", op, answer) for op, answers in ANSWERS.items() for answer in answers.split()]
    assert [key for key in wanted if counts[key] == 0 and (FULL or key not in RARE)] == []


def test_a_seed_is_the_same_whatever_ran_before_or_beside_it(drive, seeds):
    numbers = seeds(200 if FULL else 10)
    halves = numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]
    whole, *parts = [drive(part) for part in (numbers, *halves)]
    assert finish(whole) == [line for part in parts for line in finish(part)]


def test_what_is_shown_is_what_is_hashed(drive, seeds):
    shown = [finish(drive(seeds(1)[:1], "--show", "--kills")) for _ in range(2)]
    assert shown[0] == shown[1]
    assert any(" cluster " in line for line in shown[0]) and any(" end " in line for line in shown[0])


@pytest.mark.parametrize("mutant", ["budget", "unrecorded", "forget"])
def test_what_must_not_be_is_seen(drive, seeds, mutant):
    rows = finish(drive(seeds(100 if FULL else 8), "--kills", "--mutant", mutant), status=1)
    assert any(row[3] != "0" for row in lines_of(rows, "seed"))


@pytest.mark.parametrize("mutant", ["lost", "deaf"])
def test_what_is_another_is_seen(drive, seeds, mutant):
    numbers = seeds(100 if FULL else 4)
    usual, broken = drive(numbers), drive(numbers, "--mutant", mutant)
    broken.wait(timeout=600)  # it may detect violations, too
    usual, broken = (lines_of(finish(process, process.wait()), "seed") for process in (usual, broken))
    assert [row[2] for row in usual] != [row[2] for row in broken]
