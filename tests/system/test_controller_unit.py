# SPDX-License-Identifier: Apache-2.0
"""assay-controller.service: checked by systemd-analyze, and run by systemd in its sandbox."""
import json
import re

import booted
import pytest
from fixtures_controller import report
from test_systemd import analyze, root, settings  # noqa: F401

# Calls the service from inside; its responses are in the OUT directory.
CLIENT = r"""
import http.client, sys
method, path, name = sys.argv[1:4]
body = open("/run/out/" + sys.argv[4]).read() if len(sys.argv) > 4 else None
c = http.client.HTTPConnection("127.0.0.1", int(open("/run/out/port").read()), timeout=20)
c.request(method, path, body)
a = c.getresponse()
open("/run/out/" + name, "w").write("%d\n%s" % (a.status, a.read().decode()))
"""
SCRIPT = r"""
cd /run/out
mkdir -p @conf@
echo 'v: 1' >@conf@/controller.yaml
echo 'listen: 127.0.0.1:0' >>@conf@/controller.yaml
show() { systemctl show -p ActiveState,StatusText,MainPID,NRestarts,Result assay-controller.service >$1; }
port() { systemctl show --value -p StatusText assay-controller.service | sed 's/.*://' >port; [ -s port ]; }
try() { for i in $(seq 500); do "$@" && return; sleep 0.02; done; }
came_back() { [ "$(systemctl show --value -p NRestarts,ActiveState assay-controller.service | sort | tr -d '\n')" = 1active ]; }
ask() { /usr/bin/python3 client.py "$@"; }
systemctl start assay-controller.service && touch started
port && ask POST /v1/reports posted report.json
pid=$(systemctl show --value -p MainPID assay-controller.service)
grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$pid/status >process
grep 'open files' /proc/$pid/limits >>process
systemctl reload assay-controller.service && touch reloaded
show first.show
kill -9 $pid
try came_back
show second.show
port && ask GET /v1/nodes/gpu-1 node
date +%s%N >stop.began
systemctl stop assay-controller.service
date +%s%N >stop.ended
show third.show
"""


@pytest.fixture(scope="module")
def unit(installed_units):
    path = installed_units / "assay-controller.service"
    if not path.exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    return path


def test_verify_has_no_complaint(unit, root, analyze):
    kill = root / "bin" / "kill"  # as on every system
    kill.parent.mkdir(exist_ok=True)
    kill.write_text("")
    kill.chmod(0o755)
    assert analyze("verify", "--man=no", f"--root={root}", unit.name) == (0, "")


def test_exposure_is_at_most_two(unit, analyze):
    status, words = analyze("security", "--offline=yes", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", words)
    assert status == 0 and found, words
    print(found.group(1))
    assert float(found.group(1)) <= 2.0


def test_all_paths_are_filled_in_and_there_is_room_for_ten_thousand_hosts(unit):
    assert not re.search(r"@\w+@|\$\{|NONE", unit.read_text())
    assert int(settings(unit)["LimitNOFILE"]) >= 2 * 10_000


@pytest.fixture(scope="module")
def ran(unit, installed, installed_units, configured, tmp_path_factory):
    """The output directory of SCRIPT after it ran under a private systemd."""
    if configured("enable-sanitizers"):
        pytest.skip("what the sanitizers need is closed by the sandbox")
    conf = re.search(r"--config (\S+)/controller.yaml", settings(unit)["ExecStart"]).group(1)
    out = tmp_path_factory.mktemp("controller") / "out"
    out.mkdir()
    (out / "client.py").write_text(CLIENT)
    (out / "report.json").write_text(json.dumps(report("gpu-1")))
    try:
        booted.boot(out, installed, "/" + str(installed_units.relative_to(installed)), SCRIPT.replace("@conf@", conf))
    except booted.CannotBoot as why:
        pytest.skip(f"no private systemd here: {why}")
    for name in ("console", "stderr", "words"):
        print((out / name).read_text() if (out / name).exists() else "")
    assert (out / "done").exists()
    return out


def show(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if line)


def test_the_service_starts_takes_reports_reloads_comes_back_and_stops(ran):
    assert (ran / "started").exists() and (ran / "reloaded").exists()
    assert (ran / "posted").read_text() == '202\n{"accepted":1}'
    first, second, third = (show(ran / f"{name}.show") for name in ("first", "second", "third"))
    assert first["ActiveState"] == "active" and first["StatusText"].startswith("listening on 127.0.0.1:")
    assert second["ActiveState"] == "active" and second["MainPID"] != first["MainPID"] and second["NRestarts"] == "1"
    assert third["ActiveState"] == "inactive" and third["Result"] == "success"
    status, _, node = (ran / "node").read_text().partition("\n")
    assert status == "200" and json.loads(node)["seq"] == 1  # kill -9 lost nothing
    took_s = (int((ran / "stop.ended").read_text()) - int((ran / "stop.began").read_text())) / 1e9
    print(f"stopped after {took_s:.2f} s")
    assert took_s < 20  # below TimeoutStopSec (30 s): it stopped by itself


def test_the_service_has_no_rights_and_many_descriptors(ran):
    process = dict(re.findall(r"^(\w+):\s+(.*)$", (ran / "process").read_text(), re.M))
    descriptors = re.search(r"^Max open files\s+(\d+)", (ran / "process").read_text(), re.M).group(1)
    assert int(process["CapEff"], 16) == int(process["CapBnd"], 16) == 0
    assert "0" not in process["Uid"].split() and process["NoNewPrivs"] == "1" and process["Seccomp"] == "2"
    assert int(descriptors) >= 20_000
