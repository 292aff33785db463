# SPDX-License-Identifier: Apache-2.0
"""The installed units, checked by systemd-analyze."""
import json
import os
import re
import shutil
import subprocess

import cpu_groups
import pytest

pytestmark = pytest.mark.once

SERVICES = ("assay-full.service", "assay-passive.service", "assay-quick.service")
TIMERS = ("assay-full.timer", "assay-passive.timer", "assay-quick.timer")
EXPOSURE_MAX = 4.0
STUBS = ("sysinit", "basic", "shutdown", "timers")
SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


@pytest.fixture
def analyze():
    """analyze("verify", ...) runs systemd-analyze and returns (status, output)."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing: apt-get install systemd")

    def run(*args):
        out = subprocess.run(["systemd-analyze", *map(str, args)], capture_output=True, text=True, timeout=60,
                             env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_COLORS": "0"})
        return out.returncode, out.stdout + out.stderr

    return run


@pytest.fixture
def root(installed_units, installed, tmp_path):
    """A root directory for systemd-analyze: the installed files, and the standard targets."""
    path = tmp_path / "root"
    shutil.copytree(installed, path, symlinks=True)
    for name in STUBS:
        (path / installed_units.relative_to(installed) / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    return path


def settings(path):
    """{key: last value} of a unit file."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if re.match(r"\w+=", line))


def seconds(text):
    number, unit = re.fullmatch(r"(\d+) ?(s|m|min|h)", text).groups()
    return int(number) * SECONDS[unit]


def test_each_template_becomes_a_unit_with_all_its_paths(installed_units):
    found = {p.name for p in installed_units.glob("assay-*")} - {"assay-controller.service"}  # test_controller_unit.py
    assert found == set(SERVICES + TIMERS)
    for unit in installed_units.glob("assay-*"):
        assert not re.search(r"@\w+@|\$\{|NONE", unit.read_text()), unit


@pytest.mark.parametrize("name", SERVICES + TIMERS)
def test_verify_has_no_complaint(root, analyze, name):
    assert analyze("verify", f"--root={root}", name) == (0, "")


def test_verify_would_see_a_misspelt_setting_and_a_missing_program(root, installed, installed_units, analyze):
    path = root / installed_units.relative_to(installed) / "assay-quick.service"
    path.write_text(path.read_text().replace("KillMode=", "KilMode=").replace("/assay run", "/no-such run"))
    status, words = analyze("verify", f"--root={root}", "assay-quick.service")
    assert status != 0 and "KilMode" in words and "no-such is not executable" in words


@pytest.mark.parametrize("name", SERVICES)
def test_exposure_is_at_most_four(installed_units, analyze, name):
    status, words = analyze("security", "--offline=yes", "--no-pager", installed_units / name)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", words)
    assert status == 0 and found, words
    print(name, found.group(1))
    assert float(found.group(1)) <= EXPOSURE_MAX


@pytest.mark.parametrize("name", SERVICES)
def test_a_run_has_time_for_its_budget_and_its_wait(installed_units, top, name):
    yaml = pytest.importorskip("yaml")
    service = settings(installed_units / name)
    profile = re.search(r"--profile (\w+)", service["ExecStart"]).group(1)
    wait = re.search(r"--wait (\w+)", service["ExecStart"])
    profiles = yaml.safe_load((top / "policies/profiles.yaml").read_text())["profiles"]
    needed = seconds(profiles[profile]["budget"]) + (seconds(wait.group(1)) if wait else 0)
    assert seconds(service["TimeoutStartSec"]) >= needed + 30
    assert name == f"assay-{profile}.service"


@pytest.mark.parametrize("name", SERVICES)
def test_a_verdict_is_not_a_failure_and_disabled_stops_all(installed_units, name):
    service = settings(installed_units / name)
    assert service["SuccessExitStatus"].split() == ["1", "3"]
    assert service["ConditionPathExists"].startswith("!") and service["ConditionPathExists"].endswith("/assay/disabled")


@pytest.mark.parametrize("name,calendar", [("assay-passive.timer", "*:00/5"), ("assay-quick.timer", "*:00/15"),
                                           ("assay-full.timer", "daily")])
def test_a_timer_is_spread_over_the_fleet_and_stays_in_its_period(installed_units, analyze, name, calendar):
    timer = settings(installed_units / name)
    period = {"*:00/5": 300, "*:00/15": 900, "daily": 86400}[calendar]
    status, words = analyze("calendar", timer["OnCalendar"])
    assert timer["OnCalendar"] == calendar and status == 0, words
    assert timer["FixedRandomDelay"] == "yes" and period / 2 < seconds(timer["RandomizedDelaySec"]) < period


@pytest.mark.alone
def test_jobs_that_load_every_cpu_do_not_starve_the_passive_run(installed_units, run, environ, build, tmp_path):
    """With its unit's weight, beside a job of ten times the usual weight and four threads per CPU."""
    service = settings(installed_units / "assay-passive.service")
    jobs = []
    try:
        with cpu_groups.shared(jobs=1000, ours=service["CPUWeight"]) as enter:
            try:
                jobs = cpu_groups.load(enter["jobs"], 4 * os.cpu_count())
                done = subprocess.run(["nice", "-n", service["Nice"], build / "assay", "run", "--profile", "passive", "-o", "json"], env=environ, preexec_fn=enter["ours"],
                                      capture_output=True, text=True, timeout=seconds(service["TimeoutStartSec"]), check=False)
            finally:
                for job in jobs:
                    job.kill()
                    job.wait()
    except cpu_groups.CannotShare as why:
        pytest.skip(str(why))
    report = json.loads(done.stdout)["report"]
    assert {p["code"] for p in report["problems"]} <= {"not-applicable", "set-up"} and report["samples"], report["problems"]
