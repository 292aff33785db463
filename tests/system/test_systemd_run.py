# SPDX-License-Identifier: Apache-2.0
"""The services run by systemd in their sandbox: the probes still measure."""
import json
import re

import booted
import pytest

# @...@ are installed paths. First without the sandbox, for comparison. "loaded" measures even on a loaded host, to find
# what the sandbox breaks on a busy machine too.
SCRIPT = r"""
cd /run/out
mkdir plain
ASSAY_STATE_DIR=/run/out/plain @program@ run --profile passive -o json >plain.json
rm -rf @state@/*
systemctl start assay-passive.service
ls -di /run/assay >inode.before
systemctl start assay-quick.service
cp @state@/last/quick.json quick.json
ls -di /run/assay >inode.after
ls /run/assay >run.ls
sed 's/--wait 0s/--busy run/' @units@/assay-quick.service >units/assay-loaded.service
systemctl daemon-reload
systemctl start assay-loaded.service
cp @state@/last/quick.json loaded.json
>/dev/nvidia0
setpriv --reuid=65534 --regid=65534 --clear-groups sleep 600 3</dev/nvidia0 &
until grep -q '^Uid:.65534' /proc/$!/status; do :; done
cp @units@/assay-quick.service units/assay-beside.service
systemctl daemon-reload
systemctl start assay-beside.service
cp @state@/last/quick.json beside.json
kill $!
systemctl start assay-full.timer assay-quick.timer assay-passive.timer
for timer in full quick passive; do
  systemctl show -p ActiveState,NextElapseUSecRealtime assay-$timer.timer >$timer.show
done
systemctl stop assay-full.timer assay-quick.timer assay-passive.timer
cp -a @state@ state
mkdir -p @conf@ && touch @conf@/disabled
systemctl start assay-quick.service assay-passive.service assay-full.service
cp @state@/seq seq.disabled
"""


def show(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if line)


@pytest.fixture(scope="module")
def ran(installed, installed_units, configured, tmp_path_factory):
    """The directory with the script's results."""
    if configured("enable-sanitizers"):
        pytest.skip("sanitizers need more than the sandbox allows (ptrace, large maps)")
    service = (installed_units / "assay-quick.service").read_text()
    program = re.search(r"^ExecStart=(\S+)", service, re.M).group(1)
    conf = re.search(r"^ConditionPathExists=!(\S+)/disabled", service, re.M).group(1)
    other = re.search(r"^ReadWritePaths=(\S+)", service, re.M)
    state = other.group(1) if other else "/var/lib/assay"
    units = "/" + str(installed_units.relative_to(installed))
    script = SCRIPT
    for name, path in (("program", program), ("conf", conf), ("state", state), ("units", units)):
        script = script.replace(f"@{name}@", path)
    out = tmp_path_factory.mktemp("booted")
    try:
        booted.boot(out, installed, units, script)
    except booted.CannotBoot as why:
        pytest.skip(f"no private systemd here: {why}")
    print((out / "console").read_text(), (out / "stderr").read_text(), (out / "words").read_text())
    assert (out / "done").exists()
    return out


def samples(run):
    return {(s["check"], s["subject"]): s for s in run["report"]["samples"]}


def ends(path):
    """[(result, exit status)] of each run of the service."""
    return [tuple(line.split()) for line in path.read_text().splitlines()]


def test_the_passive_service_measures_all_that_root_measures(ran):
    (result, status), = ends(ran / "assay-passive.ended")
    assert result == "success" and status in ("0", "1", "3")
    plain = samples(json.loads((ran / "plain.json").read_text()))
    inside = samples(json.loads((ran / "state/last/passive.json").read_text()))
    assert plain and inside.keys() == plain.keys()
    for key, sample in plain.items():
        assert (key, inside[key]["state"]) == (key, sample["state"]), inside[key].get("note")
    assert "host.kernel_log" in {check for check, _ in inside}


@pytest.mark.parametrize("name,states", [("quick", {"measured", "busy"}), ("loaded", {"measured"})])
def test_the_quick_service_loads_the_devices(ran, name, states):
    (result, status), = ends(ran / f"assay-{name}.ended")
    assert result == "success" and status in ("0", "1", "3")
    report = json.loads((ran / f"{name}.json").read_text())["report"]
    assert {s["state"] for s in report["samples"]} <= states, report["samples"]
    assert {p["code"] for p in report["problems"]} <= {"busy", "not-applicable"}, report["problems"]


def test_the_job_of_another_user_is_seen_and_left_alone(ran):
    assert ends(ran / "assay-beside.ended") == [("success", "3")]
    report = json.loads((ran / "beside.json").read_text())["report"]
    assert not [s for s in report["samples"] if s["state"] == "measured" and s["check"].startswith(("gemm.", "memory."))]
    assert "nvidia0" in json.dumps(report), report


def test_locks_outlive_the_service(ran):
    assert "active.lock" in (ran / "run.ls").read_text().split()
    assert (ran / "inode.before").read_text() == (ran / "inode.after").read_text()


@pytest.mark.parametrize("name", ["full", "quick", "passive"])
def test_timers_wait_for_their_time(ran, name):
    timer = show(ran / f"{name}.show")
    assert timer["ActiveState"] == "active" and timer["NextElapseUSecRealtime"]


def test_the_file_disabled_stops_every_service(ran):
    assert (ran / "seq.disabled").read_text() == (ran / "state/seq").read_text()
    assert len(ends(ran / "assay-quick.ended")) == len(ends(ran / "assay-passive.ended")) == 1
    assert not (ran / "assay-full.ended").exists()
