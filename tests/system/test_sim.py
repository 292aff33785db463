# SPDX-License-Identifier: Apache-2.0
"""assay-sim: the judges and the policy of the controller against a fleet whose faults are known (docs/sim.md).

The numbers asserted are those the issue asks for; with ASSAY_FULL=1 over all 30 seeds.
"""
import collections
import concurrent.futures
import json
import os
import subprocess

import pytest

FULL = os.environ.get("ASSAY_FULL") == "1"
SEEDS = range(1, 31) if FULL else (1, 2)
ONSETS = ("gpu_onset", "host_onset", "pcie", "flapping", "dying")
KEYS = {"recall", "precision", "false_cordons", "node_days", "delay_s", "cordons_per_day", "budget_max_used", "budget_cap"}


@pytest.fixture(scope="module")
def sim(build, top):
    def run(*arguments, status=0):
        env = {**os.environ, "ASSAY_POLICY_DIR": os.path.join(top, "policies"), "NO_COLOR": "1"}
        done = subprocess.run([os.path.join(build, "assay-sim"), *map(str, arguments)], capture_output=True, text=True,
                              env=env, timeout=600, check=False)
        assert done.returncode == status, done.stderr or done.stdout
        return done
    return run


def result(sim, *arguments, status=0):
    return json.loads(sim(*arguments, "-o", "json", status=status).stdout)


@pytest.fixture(scope="module")
def fleets(sim, configured):
    """1,000 hosts for 10 days, once for each seed."""
    if configured("enable-sanitizers"):
        pytest.skip("ten days of a thousand hosts take minutes under sanitizers: the plain build has them")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda seed: result(sim, "--seed", seed), SEEDS))


def total(fleets, faults, key):
    return sum(fleet["faults"][fault][key] for fleet in fleets for fault in faults)


def test_faults_with_an_onset_are_found_within_a_day(fleets, record_property):
    found, hosts = total(fleets, ONSETS, "found"), total(fleets, ONSETS, "hosts")
    for q in ("p50", "p99"):
        record_property(f"delay_{q}_h", max(fleet["delay_s"][q] for fleet in fleets) / 3600)
    record_property("recall", found / hosts)
    assert hosts >= 28 * len(fleets)
    assert found / hosts >= 0.99


def test_hosts_born_slow_are_found(fleets):
    assert total(fleets, ["host_born"], "found") / total(fleets, ["host_born"], "hosts") >= 0.97


def test_a_gpu_born_slow_is_cordoned_only_when_jobs_blame_it(fleets):
    assert total(fleets, ["gpu_born"], "found") == 0
    assert total(fleets, ["gpu_blamed"], "found") > 0


def test_no_good_host_is_cordoned(fleets, record_property):
    assert KEYS <= set(fleets[0])
    record_property("node_days", sum(fleet["node_days"] for fleet in fleets))
    assert sum(fleet["false_cordons"] for fleet in fleets) == 0
    assert all(fleet["precision"] == 1 for fleet in fleets)


def test_no_budget_is_exceeded(fleets):
    assert all(fleet["overruns"] == 0 for fleet in fleets)
    assert all(fleet["budget_max_used"] <= fleet["budget_cap"] == 100 for fleet in fleets)
    assert all(fleet["domain_max_used"] <= fleet["domain_cap"] == 1 for fleet in fleets)


# --- scenarios ---

@pytest.fixture
def scenario(sim, top, configured):
    """scenario("tor") is what came of tests/sim/scenarios/tor.yaml."""
    if configured("enable-sanitizers"):
        pytest.skip("days of 300 hosts take a minute under sanitizers: the plain build has them")

    def run(name, days=4):
        return result(sim, "--nodes", 300, "--days", days, "--faults", os.path.join(top, "tests/sim/scenarios", name + ".yaml"))

    return run


@pytest.mark.parametrize("name", ["roll-out", "roll-out-unseen"])
def test_a_roll_out_that_costs_5_percent_is_one_alarm_and_no_cordon(scenario, name):
    fleet = scenario(name)
    assert fleet["cordons"] == 0 and not fleet["refused"]
    assert fleet["alarms"] == 1 and fleet["breaker_opened"] == 0


def test_a_tor_that_halves_its_hosts_is_one_incident_of_the_domain(scenario):
    fleet = scenario("bad-tor")
    assert fleet["faults"]["tor"]["hosts"] == 64
    assert fleet["domain_incidents"] == 1 and fleet["alarms"] == 0
    assert fleet["cordons"] == fleet["domain_cordons"] <= fleet["domain_cap"] == 1
    assert fleet["domain_max_used"] <= 1 and fleet["overruns"] == 0


def test_a_wrong_sku_file_opens_the_breaker_and_nothing_else(scenario, sim, tmp_path):
    fleet = scenario("wrong-sku", 2)
    assert fleet["breaker_opened"] == 1
    assert fleet["cordons"] == 0 and not fleet["refused"] and fleet["tests"] == 0
    assert fleet["alarms"] == fleet["sku_incidents"] == 2, "one for each check that the file gets wrong, of the SKU"
    (tmp_path / "none.yaml").write_text("v: 1\nrandom: false\nfaults: []\n")
    well = result(sim, "--nodes", 300, "--days", 2, "--faults", tmp_path / "none.yaml")
    assert well["alarms"] == 0
    assert [fleet[k] for k in ("host_incidents", "domain_incidents")] == [well[k] for k in ("host_incidents", "domain_incidents")]


def test_silent_agents_open_the_breaker(scenario):
    fleet = scenario("silent", 2)
    assert fleet["breaker_opened"] == 1 and fleet["cordons"] == 0


def test_a_storm_exceeds_no_budget(scenario):
    fleet = scenario("storm", 2)
    assert fleet["breaker_opened"] == 1 and fleet["overruns"] == 0
    assert fleet["faults"]["dying"]["found"] == 150, "a refusal is no miss"
    assert fleet["refused"]["breaker"] >= 149


def test_what_comes_one_by_one_is_cordoned_to_the_budget_and_not_beyond(scenario):
    fleet = scenario("trickle", 3)
    assert fleet["overruns"] == 0 and fleet["cordons"] > 0 and fleet["false_cordons"] == 0
    assert fleet["domain_max_used"] == fleet["domain_cap"] == 1
    assert fleet["refused"]["budget.domain"] > 0
    assert fleet["faults"]["dying"]["found"] == fleet["faults"]["dying"]["hosts"] == 100


def test_clocks_that_lie_and_reports_that_come_twice_or_late_condemn_nobody(scenario):
    fleet = scenario("lies")
    assert fleet["cordons"] == 0 and not fleet["refused"] and fleet["alarms"] == 0


# --- the program ---

@pytest.mark.once
def test_the_same_seed_gives_the_same_result(sim):
    arguments = ("--nodes", 60, "--days", 3)
    assert result(sim, *arguments) == result(sim, *arguments)
    assert result(sim, *arguments) != result(sim, *arguments, "--seed", 2)


@pytest.mark.once
def test_passive_runs_that_say_nothing_new_change_nothing(sim):
    few, all_of_them = (result(sim, "--nodes", 40, "--days", 2, *more) for more in ((), ("--every-passive",)))
    assert all_of_them.pop("reports") > 2 * few.pop("reports")
    assert few == all_of_them


def test_people_get_one_sentence_and_a_table(sim):
    words = sim("--nodes", 60, "--days", 3, "--trace")
    first, *rest = words.stdout.splitlines()
    assert "recall" in first and "0 false cordons" in first
    assert any(line.startswith("a GPU becomes slow") for line in rest)
    told = collections.Counter(line.split(":")[0].split(" ", 2)[-1] for line in words.stderr.splitlines())
    assert any("cordon" in line for line in told)


def test_a_sharper_policy_is_seen(sim, tmp_path, top):
    """Without retests whatever is bad twice is cordoned: what they are good for."""
    with open(os.path.join(top, "policies/default.yaml"), encoding="utf-8") as f:
        text = f.read()
    (tmp_path / "p.yaml").write_text(text.replace("action: retest", "action: observe"))
    assert result(sim, "--nodes", 100, "--days", 4, "--policy", tmp_path / "p.yaml")["recall"] < 0.6


@pytest.mark.parametrize("text, words", [
    ("v: 2", "v: want 1"),
    ("v: 1\nfaults: [{kind: slow}]", "faults[0].kind"),
    ("v: 1\nfaults: [{kind: slow-gpu, onset: 2d, until: 1d}]", "faults[0]: it ends before it begins"),
    ("v: 1\nfaults: [{kind: slow-gpu, often: true}]", "faults[0].often"),
    ("v: 1\nnoise: {gpu: 2}", "noise.gpu"),
])
def test_a_bad_file_is_one_line_that_names_the_place(sim, tmp_path, text, words):
    path = tmp_path / "f.yaml"
    path.write_text(text)
    line, = sim("--faults", path, "--nodes", 5, "--days", 1, status=2).stderr.splitlines()
    assert str(path) in line and words in line


@pytest.mark.parametrize("output", ["table", "json", "kv"])
def test_a_result_that_cannot_be_written_is_said(build, top, output):
    with open("/dev/full", "w") as full:
        done = subprocess.run([os.path.join(build, "assay-sim"), "--nodes", "4", "--days", "1", "-o", output], stdout=full,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "ASSAY_POLICY_DIR": os.path.join(top, "policies")},
                              timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "assay-sim: cannot write the result\n")


@pytest.mark.parametrize("option", [("--nodes", "0"), ("--days", "x"), ("--seed", "-1"), ("--output", "xml"), ("--policy", "/none")])
def test_a_bad_option_is_one_line(sim, option):
    assert len(sim(*option, status=2).stderr.splitlines()) == 1
