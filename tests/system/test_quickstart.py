# SPDX-License-Identifier: Apache-2.0
"""scripts/quickstart fleet, job: an operator sees the sick hosts, and nothing is left behind."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))
import hosts  # noqa: E402

pytestmark = pytest.mark.once

SECONDS = 120  # a generous deadline: it takes five on two idle cores


@pytest.fixture
def quickstart(top, build, environ, tmp_path):
    """quickstart("fleet") starts it in its own session, with its temporary files in .where."""
    for name in ("assay-controller", "assayctl"):
        if not (build / name).exists():
            pytest.skip(f"{name} is not built")
    where = tmp_path / "tmp"
    where.mkdir()
    running = []

    def start(*words):
        process = subprocess.Popen([top / "scripts" / "quickstart", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                                   env={**environ, "ASSAY_BUILD": str(build), "TMPDIR": str(where)},
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        running.append(process)
        return process

    def processes():
        """Processes whose working directory is its directory."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = path.read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(where) in command:
                found.append(int(path.parent.name))
        return found

    start.where, start.processes = where, processes
    yield start
    for pid in processes():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(pid, signal.SIGKILL)
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_operator_sees_both_sick_hosts_named(quickstart):
    process = quickstart("fleet")
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, out
    assert re.search(r"^fail +gpu-07 .*gpu 3 runs at \d+ of \d+ TFLOP/s \(\d+ %\) in gemm.rate", out, re.M)
    switch = "PCIe switch " + hosts.switch_of(2).partition(":")[2]
    named = rf"{switch} uplink: 2[67]\.\d of (49|50)\.\d GB/s, seen on 28 paths, contradicted by none"
    assert re.search(rf"^fail +gpu-11 .*{named}", out, re.M)
    assert len(re.findall(r"^pass +gpu-\d\d ", out, re.M)) == 14
    incidents = out.partition("$ assayctl incidents")[2].partition("$ assayctl")[0]
    assert set(re.findall(r"^    (gpu-\d\d): ", incidents, re.M)) == {"gpu-07", "gpu-11"}
    assert re.search(rf"^    gpu-11: {named}", incidents, re.M)
    why = out.partition("$ assayctl why gpu-11")[2].partition("$ assayctl")[0]
    assert f"1. fail  loopback.link of {hosts.uplink(1)}" in why and "56 measurements: " in why
    assert not re.search(r"^2\. ", out.partition("$ assayctl why gpu-11")[2], re.M), "its cells are no findings beside it"
    for name in ("gpu-07", "gpu-11"):
        why = out.partition(f"$ assayctl why {name}")[2].partition("$ assayctl")[0]
        assert "1. fail " in why and "against " in why and "clears " in why
    actions = out.partition("$ assayctl actions")[2]
    assert re.search(r"^dry-run +\d+ .*gpu-11 +retest +automatic", actions, re.M) and "would be done" in actions
    assert list(quickstart.where.iterdir()) == [] and quickstart.processes() == []


def test_the_slow_host_is_suspected_and_the_other_owner_told(quickstart):
    process = quickstart("job")
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, out
    rows = {line.split()[0]: line for line in out.partition("$ assayctl jobs")[2].partition("$ assayctl")[0].splitlines() if line.startswith("research/")}
    assert re.search(r" 16 +1 .* 1\.\d\d +compute +gpu-11 +suspected$", rows["research/llm-7"])
    assert re.search(r" 8 +1 .* 1\.\d\d +seqlen +- +owner informed$", rows["research/moe-2"])
    slow = out.partition("$ assayctl job research/llm-7")[2].partition("$ assayctl")[0]
    assert re.search(r"^ +3 .* 1\.\d\d[-=#@]  stage 1: gpu-11$", slow, re.M)
    between = r"\d\.\d\d \[\d\.\d\d, \d\.\d\d\]"
    gain = r"\d\.\d\d\d \[\d\.\d\d\d, \d\.\d\d\d\]"
    assert re.search(rf"^suspect +gpu-11 \(dp 3 stage 1, ranks 88-95\): share {between}, gain {gain} of the step, 2 of 2 windows; compute$", slow, re.M)
    assert re.search(r"^decision +probe: .*test", slow, re.M) and "2 analysed, 0 rejected, 0 failed, 0 queued" in slow
    own = out.partition("$ assayctl job research/moe-2")[2]
    assert re.search(r"^suspect +nobody$", own, re.M) and re.search(r"^cause +seqlen: ", own, re.M) and re.search(r"^decision +owner: ", own, re.M)
    assert list(quickstart.where.iterdir()) == [] and quickstart.processes() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_it_is_stopped(quickstart, wait_until, number):
    process = quickstart("fleet")
    wait_until(lambda: list(quickstart.where.glob("*/hosts.log")), seconds=SECONDS)
    os.killpg(process.pid, number)
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number, out
    assert list(quickstart.where.iterdir()) == []
    wait_until(lambda: quickstart.processes() == [])


def wiring_of(run, exported, name):
    done = run("assayctl", "evidence", name, "-o", "json", env=exported)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["topology"]


def test_a_fleet_that_is_kept_can_be_looked_at_and_ended(quickstart, run, wait_until):
    process = quickstart("--keep", "fleet")
    out = ""
    for line in process.stdout:
        out += line
    assert process.wait(SECONDS) == 0, out
    exported = dict(re.findall(r"(ASSAY_\w+)=(\S+)", out))
    nodes = run("assayctl", "nodes", env=exported)
    assert nodes.returncode == 0 and "gpu-15" in nodes.stdout and "connected" in nodes.stdout
    narrow = wiring_of(run, exported, "gpu-11")
    assert [x["id"] for x in narrow["links"] if x["width"] != x["max_width"]] == [hosts.uplink(1)]
    whole = wiring_of(run, exported, "gpu-00")
    assert whole["digest"] == wiring_of(run, exported, "gpu-15")["digest"] != narrow["digest"]
    page = re.search(r"In a browser: (\S+) .*cat (\S+)\)", out)
    with urllib.request.urlopen(page[1], timeout=SECONDS) as answer:  # it prints the page's address
        assert answer.url.endswith("/page/") and b"<title>Assay" in answer.read()
    assert page[2] == exported["ASSAY_TOKEN_FILE"]
    end = re.search(r"kill [\d ]+; for p in [\d ]+; .*rm -r \S+", out)[0]
    assert subprocess.run(["bash", "-c", end], check=False).returncode == 0
    wait_until(lambda: quickstart.processes() == [])
    assert list(quickstart.where.iterdir()) == []


def test_a_word_that_is_none_is_told(quickstart):
    process = quickstart("--kep")
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 2 and "unknown argument: --kep" in out and "--keep" in out
