# SPDX-License-Identifier: Apache-2.0
"""The held-out simulation (tests/fleet/held_out.py): that it runs, and that its grading detects bad results.

The long version, with its figures in docs/sim.md, is a separate command, because each day of 200 hosts takes minutes.
"""
import math
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from clock_fixtures import clock_leap  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))
import held_out  # noqa: E402
import silicon  # noqa: E402
from silicon import DAY, HOUR  # noqa: E402


# --- the model ---

def test_good_gpus_differ_by_as_much_as_it_says_and_more_to_the_slow_side():
    world = silicon.make("clean", 7, 1.0)
    gpus = sorted(x for h in world.hosts for x in h.gpu)
    sd = statistics.stdev(gpus)
    assert 0.030 < sd < 0.038
    middle = statistics.median(gpus)
    assert middle - gpus[int(len(gpus) * 0.005)] > 1.5 * (gpus[int(len(gpus) * 0.995)] - middle)
    assert 0.005 < sum(x < 0.9 * middle for x in gpus) / len(gpus) < 0.03
    half = [x for h in silicon.make("clean", 7, 0.5).hosts for x in h.gpu]
    assert math.isclose(statistics.stdev(half), sd / 2, rel_tol=0.1)


def test_the_same_seed_gives_the_same_reports():
    first, again = (silicon.make("faults", 3, 1.0, 40, 2.0).hosts[0].report("full", HOUR) for _ in range(2))
    assert first == again
    assert first != silicon.make("faults", 4, 1.0, 40, 2.0).hosts[0].report("full", HOUR)


# --- the grades ---

def nothing(**more):
    return {"incidents": [], "tests": [], "cordons": [], "refused": [], "openings": [], "told": {}, "verdicts": {}, **more}


def incident(node, at, check="gemm.rate", closed=None):
    return {"node": node, "check": check, "subject": "x", "sentence": "", "opened": at, "closed": closed}


def test_silence_finds_nothing():
    world = silicon.make("faults", 1, 1.0)
    graded = held_out.grade(world, nothing())
    assert graded["false_incidents"] == 0 and graded["named"]["right"] == 0
    assert graded["faults"]["slow-gpu"] == {"hosts": 4, "named": 0, "incidents": 0, "tested": 0, "cordoned": 0}


def test_who_blames_everybody_is_wrong_about_all_that_are_well():
    world = silicon.make("faults", 1, 1.0)
    facts = nothing(incidents=[incident(h.name, 9.9 * DAY, "memory.h2d_bw") for h in world.hosts],
                    cordons=[(h.name, 9.9 * DAY) for h in world.hosts])
    graded = held_out.grade(world, facts)
    clean = [h.name for h in world.hosts if h.clean]
    assert graded["false_incidents"] == len(clean) > 150 and graded["named"]["precision"] < 0.15
    assert set(clean) <= set(graded["false_cordons"])


def test_a_fault_is_found_from_its_onset_on():
    world = silicon.make("faults", 1, 1.0)
    host, fault = next((h, f) for h in world.hosts for f in h.faults if f.kind == "slow-host")
    early = held_out.grade(world, nothing(incidents=[incident(host.name, fault.onset - 1)]))
    late = held_out.grade(world, nothing(incidents=[incident(host.name, fault.onset + 5 * HOUR)],
                                         tests=[(host.name, fault.onset + 6 * HOUR)], cordons=[(host.name, fault.onset + 8 * HOUR)]))
    assert early["named"] == {"right": 0, "wrong": 1, "shared": 0, "precision": 0}
    assert late["named"]["right"] == 1 and late["faults"]["slow-host"]["tested"] == late["faults"]["slow-host"]["cordoned"] == 1
    assert late["delay_h"]["p50"] == pytest.approx(8) and late["false_cordons"] == []


def test_hosts_blamed_singly_for_what_they_share_count_as_wrong():
    world = silicon.make("shared", 1, 1.0)
    cause = world.causes[0]
    facts = nothing(incidents=[incident(name, cause.onset + 3 * HOUR) for name in cause.hosts], told={cause.word: cause.onset + HOUR})
    graded = held_out.grade(world, facts)
    assert graded["named"]["shared"] == len(cause.hosts) == 10 and graded["named"]["precision"] == 0
    assert graded["shared"][0] == {"kind": "hot-rack", "hosts": 10, "told_h": 1, "runs_mean": 0, "blamed": 10, "blamed_after": 10,
                                   "cordoned": 0}
    assert graded["shared"][1]["told_h"] is None


def test_a_gpu_that_anybody_could_tell_is_no_false_incident():
    world = silicon.make("clean", 1, 0.5)
    host = world.hosts[0]
    host.gpu[3] = 0.5
    graded = held_out.grade(world, nothing(incidents=[incident(host.name, DAY), incident(world.hosts[1].name, DAY)]))
    assert (graded["tail_incidents"], graded["false_incidents"]) == (1, 1)


def test_a_run_that_was_low_once_is_no_false_word():
    world = silicon.make("clean", 1, 1.0)
    host = world.hosts[0]
    host.low_runs.append(2 * HOUR)
    runs = {host.name: [(2 * HOUR + 3, "quick", "fail"), (7 * HOUR, "quick", "warn"), (12 * HOUR, "quick", "pass")]}
    assert held_out.grade(world, nothing(verdicts=runs))["runs"] == {"n": 2, "warn": 0.5, "fail": 0}


def test_a_sku_file_is_spoilt_in_what_gpus_do_and_nowhere_else(top):
    good = (top / "policies/sku/hgx-h100.yaml").read_text()
    changed = [(a, b) for a, b in zip(good.splitlines(), held_out.spoil(good).splitlines(), strict=True) if a != b]
    assert len(changed) >= 3 and all(float(b.split()[1]) == pytest.approx(1.3 * float(a.split()[1]), rel=1e-3) for a, b in changed)


# --- the whole, in small ---

class Options:
    hosts, days, keep = 30, 4.0, None


@pytest.mark.once
def test_four_days_of_thirty_hosts_through_a_real_controller(build, clock_leap, tmp_path):  # noqa: F811
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    options = Options()
    options.tmp = str(tmp_path)
    one = {"world": "faults", "seed": 5, "spread": 0.25, "mode": "enforce"}
    result = held_out.run(build, options, one)
    assert result["reports"] > 30 * 4 * 24, "each host spoke about each half hour"
    assert result["runs"]["n"] > 0 and result["clean_node_days"] > 50
    sick = {kind: row for kind, row in result["faults"].items() if kind in silicon.ONSETS}
    assert sick and all(row["named"] == row["hosts"] for row in sick.values()), result["faults"]
    assert sum(row["tested"] for row in sick.values()) > 0, "orders are obeyed"
    assert result["false_cordons"] == []


def test_clocks_that_nothing_moves_are_no_simulation(build, clock_leap, tmp_path, top):  # noqa: F811
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    (tmp_path / "assay-controller").symlink_to(build / "assay-controller")
    done = subprocess.run([top / "tests/fleet/held_out.py", "--build", tmp_path, "--world", "clean", "--hosts", "4", "--days", "1",
                           "--seed", "1", "--spread", "1", "--mode", "enforce"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "clock_leap.so" in done.stderr and done.stdout == ""
