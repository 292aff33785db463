# SPDX-License-Identifier: Apache-2.0
"""assayd.service: checked by systemd-analyze, and run by systemd in its sandbox."""
import json
import re
import shutil
import socket
import subprocess
import threading

import booted
import pytest
import ring_job
from assayd_fixtures import assayd_path, stub  # noqa: F401
from collective_fixtures import TOKEN, fake_probes, free_port, order  # noqa: F401
from test_systemd import analyze, root, settings  # noqa: F401
from waiting import wait_for

PROCESSES = 128  # RING_PROCESSES_MAX of ring_rules.h

# The view from inside; reports go to the stub outside.
SCRIPT = r"""
cd /run/out
mkdir -p @conf@
echo '@config@' >@conf@/assayd.yaml
show() { systemctl show -p ActiveState,StatusText,MainPID,NRestarts,Result assayd.service >$1; }
try() { for i in $(seq 500); do "$@" && return; sleep 0.02; done; }
spool_is_empty() { [ -z "$(ls @state@/spool/*.json 2>/dev/null)" ]; }
permit_is_gone() { ! grep -q . /run/assay/order/permit; }
came_back() { [ "$(systemctl show --value -p NRestarts,ActiveState assayd.service | sort | tr -d '\n')" = 1active ]; }
mkdir -p units/assayd.service.d
printf '[Service]\nEnvironment=ASSAY_PROBE_DIR=/run/out/probes FAKE_OUT=@state@\n' >units/assayd.service.d/probes.conf
systemctl daemon-reload
systemctl start assayd.service && touch started
try test -e @state@/assay-probe-all-reduce.json && cp @state@/assay-probe-all-reduce.json saw
try permit_is_gone && touch permit-gone
@program@ run --profile passive --report >/dev/null
try spool_is_empty
show first.show
readlink /proc/$(systemctl show --value -p MainPID assayd.service)/fd/* >fds
systemctl reload assayd.service && touch reloaded
kill -9 $(systemctl show --value -p MainPID assayd.service)
try came_back
show second.show
date +%s%N >stop.began
systemctl stop assayd.service
date +%s%N >stop.ended
show third.show
"""

# Two ranks of a job run collectives through the NCCL plug-in; one is killed together with assayd.
RINGS = r"""
cd /run/out
mkdir -p @conf@
echo '@config@' >@conf@/assayd.yaml
try() { for i in $(seq 3000); do "$@" && return; sleep 0.02; done; false; }
has() { grep -qxF "assay_$1" /run/assay/rings.prom 2>/dev/null; }
kept() { [ "$(systemctl show --value -p NFileDescriptorStore assayd.service)" = $1 ]; }
play() {
  RANK=$1 WORLD_SIZE=16 ASSAY_JOB=research/llm-7 @harness@ --plugin @plugin@ --play $1 3</dev/nvidia0 >/dev/null 2>&1 &
}
>/dev/nvidia0
systemctl start assayd.service
try test -S /run/assay/jobs/ring.sock
play 3; lives=$!
play 4; dies=$!
try has 'rings 2' && try kept 4 && touch taken
rm /run/assay/rings.prom
kill -9 $(systemctl show --value -p MainPID assayd.service) $dies
try has 'rings_returned_total{result="taken"} 2' && touch back
systemctl show -p NRestarts assayd.service >killed.show
rm /run/assay/rings.prom
systemctl restart assayd.service
try has 'rings_returned_total{result="taken"} 2' && has 'rings 2' && has 'rings_processes 2' && try kept 4 && touch again
kill $lives
systemctl stop assayd.service
kept 0 && touch let-go
"""


@pytest.fixture(scope="module")
def unit(installed_units):
    path = installed_units / "assayd.service"
    if not path.exists():
        pytest.skip("assayd is not built: libsystemd or libcurl is missing")
    return path


def test_verify_has_no_complaint(unit, root, analyze):
    kill = root / "bin" / "kill"  # as on every system
    kill.parent.mkdir(exist_ok=True)
    kill.write_text("")
    kill.chmod(0o755)
    assert analyze("verify", f"--root={root}", "assayd.service") == (0, "")


def test_exposure_is_at_most_four(unit, analyze):
    status, words = analyze("security", "--offline=yes", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", words)
    assert status == 0 and found, words
    print(found.group(1))
    assert float(found.group(1)) <= 4.0


def test_all_paths_are_filled_in(unit):
    assert not re.search(r"@\w+@|\$\{|NONE", unit.read_text())
    assert settings(unit)["Type"] == "notify" and settings(unit)["WatchdogSec"] == "30s"


def meet(port):
    """Runs rank 1, outside."""

    def dial():
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1)
        except OSError:
            return None

    line = wait_for(dial)
    if line:
        line.sendall(f"{TOKEN} 1\n".encode())
        line.settimeout(booted.TIMEOUT_S)
        line.recv(1)


@pytest.fixture
def ran(unit, stub, fake_probes, installed, installed_units, configured, tmp_path):
    """The directory with the script's output."""
    if configured("enable-sanitizers"):
        pytest.skip("sanitizers need more than the sandbox allows (ptrace, large maps)")
    text = unit.read_text()
    program = re.search(r"^ExecStart=(\S+)/sbin/assayd", text, re.M).group(1) + "/bin/assay"
    conf = re.search(r"--config (\S+)/assayd.yaml", text).group(1)
    other = re.search(r"^ReadWritePaths=(\S+)", text, re.M)
    config = json.dumps({"v": 1, "controller": stub.url, "intervals": {"retry_max": "1s"},
                         "collectives": {"ports": "1024-65535"}})
    script = fill(SCRIPT, program=program, conf=conf, config=config, state=other.group(1) if other else "/var/lib/assay")
    out = tmp_path / "out"
    out.mkdir()
    shutil.copytree(fake_probes, out / "probes")
    port = free_port()
    stub.orders = [order(port=port, seconds=booted.TIMEOUT_S)]
    threading.Thread(target=meet, args=(port,), daemon=True).start()
    boot(out, installed, installed_units, script)
    return out


def boot(out, installed, units, script):
    """The script's machine, with its output in `out`."""
    try:
        booted.boot(out, installed, "/" + str(units.relative_to(installed)), script)
    except booted.CannotBoot as why:
        pytest.skip(f"no private systemd here: {why}")
    print((out / "console").read_text(), (out / "stderr").read_text())
    assert (out / "done").exists()


def show(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if line)


def test_the_service_starts_sends_reloads_comes_back_and_stops(ran, stub):
    assert (ran / "started").exists() and (ran / "reloaded").exists()
    # This machine's kernel log may cause a report of its own.
    assert [r["profile"] for r in stub.stored.values() if r["profile"] != "watch" and not r.get("order")] == ["passive"]
    # A test with another host in the sandbox: it listens, reads its permit and is reachable.
    (answer,) = [r for r in stub.stored.values() if r.get("order")]
    assert answer["order"]["id"] == "r1" and [s["state"] for s in answer["samples"]] == ["measured"] and not answer["problems"]
    saw = json.loads((ran / "saw").read_text())
    assert (saw["mode"], saw["dir_mode"], saw["path"]) == (0o600, 0o700, "/run/assay/order/permit") and (ran / "permit-gone").exists()
    assert "/dev/kmsg" in (ran / "fds").read_text().splitlines()
    first, second, third = (show(ran / f"{name}.show") for name in ("first", "second", "third"))
    assert first["ActiveState"] == "active" and first["StatusText"].startswith(stub.url)
    assert second["ActiveState"] == "active" and second["MainPID"] != first["MainPID"] and second["NRestarts"] == "1"
    assert third["ActiveState"] == "inactive" and third["Result"] == "success"
    took_s = (int((ran / "stop.ended").read_text()) - int((ran / "stop.began").read_text())) / 1e9
    print(f"stopped after {took_s:.2f} s")
    assert took_s < 8  # below TimeoutStopSec (10 s): it stopped by itself


def fill(script, **values):
    for name, value in values.items():
        script = script.replace(f"@{name}@", str(value))
    return script


def test_there_is_room_for_the_rings_that_the_limits_allow(unit):
    rings = (256 << 20) // (ring_job.SIZE + ring_job.CONTROL_SIZE)
    assert int(settings(unit)["FileDescriptorStoreMax"]) >= rings + PROCESSES


@pytest.mark.once
def test_rings_of_jobs_outlive_a_restart(unit, stub, build, installed, installed_units, configured, tmp_path):
    if configured("enable-sanitizers"):
        pytest.skip("sanitizers need more than the sandbox allows (ptrace, large maps)")
    made = subprocess.run(["make", "-s", "-C", str(build), "tests/nccl/harness", "libassay-nccl-profiler.so"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    conf = re.search(r"--config (\S+)/assayd.yaml", unit.read_text()).group(1)
    script = fill(RINGS, conf=conf, config=json.dumps({"v": 1, "controller": stub.url, "rings": {"mode": "on"}}), harness=build / "tests/nccl/harness",
                  plugin=build / "libassay-nccl-profiler.so")
    out = tmp_path / "out"
    out.mkdir()
    boot(out, installed, installed_units, script)
    assert [name for name in ("taken", "back", "again", "let-go") if not (out / name).exists()] == []
    assert show(out / "killed.show")["NRestarts"] == "1"
