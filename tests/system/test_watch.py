# SPDX-License-Identifier: Apache-2.0
"""assayd's watch of the kernel log between runs."""
import contextlib
import json
import os
import random
import shutil
import signal
import threading
import time

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from test_disk_full import disk, measure  # noqa: F401
from watch_fixtures import DEVICE, LONG_S, XID79, Log, bad, here, host, log, ready, state, told, verdict  # noqa: F401


def test_a_line_of_the_kernel_arrives_by_itself(ready, log, told, stub, environ, run, wait_until):
    ready()
    log.say("all is well", XID79)
    wait_until(lambda: told("host.kernel_log"), seconds=LONG_S)
    sample, = told("host.kernel_log")
    assert (sample["subject"], sample["code"], sample["value"], sample["severity"]) == (DEVICE, "xid:79", 1, "fatal")
    assert sample["note"].startswith("the NVIDIA driver reported a GPU error: GPU has fallen off the bus (do: ")
    assert f"1 line since 20{sample['note'].partition('since 20')[2][:2]}" in sample["note"] and XID79 in sample["note"]
    report, = stub.stored.values()
    assert (report["profile"], report["node"], report["boot_id"]) == ("watch", NODE, "00000000-0000-0000-0000-000000000001")
    assert report["env"]["kernel"] and report["uptime_s"] > 0
    assert verdict(environ)["verdict"] == "fail"
    admit = json.loads(run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE}).stdout)
    assert admit["answer"] == "bad" and XID79 in admit["reasons"][0]


def test_only_assayd_has_watched_is_no_verdict_of_the_host(ready, log, environ, run, wait_until):
    ready()
    log.say("EXT4-fs (loop0): Remounting filesystem read-only")
    wait_until(lambda: os.path.exists(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")), seconds=LONG_S)
    admit = json.loads(run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE}).stdout)
    assert (admit["answer"], admit["reasons"]) == ("unknown", ["no test has run on this host yet; assayd has only watched it"])


def test_lines_of_a_second_are_one_report(ready, log, told, stub, wait_until):
    ready()
    log.say(*[bad(device) for device in range(1, 31)])
    wait_until(lambda: len(told("host.kernel_log")) == 30, seconds=LONG_S)
    assert len(stub.stored) == 1 and {s["value"] for s in told("host.kernel_log")} == {1}


def memory_kib(daemon, key="VmHWM"):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))


def test_a_storm_is_one_report_with_counts_in_bounded_memory(ready, log, told, stub, environ, wait_until, configured):
    """Lines that are not in the first report are counted in the next, a minute later."""
    daemon = ready()
    before = memory_kib(daemon)
    lines = 100_000
    writer = threading.Thread(target=lambda: log.say(*[bad(i % 3) for i in range(lines)]))
    writer.start()
    wait_until(lambda: told("host.kernel_log"), seconds=LONG_S)
    writer.join()
    log.say(XID79)  # after all the others
    wait_until(lambda: told("host.kernel_log", DEVICE), seconds=LONG_S)
    assert len(stub.stored) <= 2
    grown = memory_kib(daemon) - before
    print(f"resident: {before} KiB, {grown} KiB more after {lines} lines")
    if not configured("enable-sanitizers"):
        assert grown < 4096
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=60) == 0
    counted = sum(s["value"] for s in told("host.kernel_log", code="xid:94"))
    assert counted + sum(kind["fresh"] for kind in state(environ)["log"]["kinds"]) == lines


@pytest.mark.once
def test_nothing_is_told_twice_or_lost_whoever_is_killed(assayd, here, stub, told, tmp_path, wait_until, full):
    """Each line is of a different kind, so each must be reported once, in any report."""
    log = Log(tmp_path / "kmsg", fifo=False)
    dice = random.Random(5)
    ends, device = 40 if full else 8, 0
    for end in range(ends):
        held = stub.times_held
        daemon = assayd(env=here)
        wait_until(lambda held=held: stub.times_held > held, seconds=LONG_S)
        for _ in range(dice.randrange(1, 4)):
            device += 1
            log.say(bad(device))
        seen = len(stub.came)
        if end % 2:  # during a report, at any stage
            deadline = time.monotonic() + dice.random() * 1.5
            wait_until(lambda seen=seen, deadline=deadline: len(stub.came) > seen or time.monotonic() > deadline)
        daemon.send_signal(signal.SIGTERM if end % 4 == 3 else signal.SIGKILL)
        daemon.wait(timeout=60)
    assayd(env=here)
    wait_until(lambda: len({s["subject"] for s in told("host.kernel_log")}) == device, seconds=90)
    counted = {}
    for s in told("host.kernel_log"):
        counted[s["subject"]] = counted.get(s["subject"], 0) + s["value"]
    assert set(counted.values()) == {1}


def test_the_file_disabled_stops_it(ready, log, told, tmp_path, wait_until):
    daemon = ready()
    disabled = tmp_path / "conf" / "disabled"
    disabled.touch()
    wait_until(lambda: "nothing is sent and no order" in daemon.log())
    log.say(XID79)
    disabled.unlink()
    log.say(bad(1))
    wait_until(lambda: told("host.kernel_log"), seconds=LONG_S)
    # Lines logged meanwhile are reported now, not before.
    assert {s["subject"] for s in told("host.kernel_log")} == {DEVICE, "pci:0000:01:00.0"}


def opened(daemon):
    """The targets of its open descriptors."""
    found = []
    for fd in os.listdir(f"/proc/{daemon.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(os.readlink(f"/proc/{daemon.pid}/fd/{fd}"))
    return found


def test_what_is_not_wanted_is_not_watched(environ, config, ready, log, told, wait_until):
    config(watch={"kernel_log": False})
    daemon = ready()
    assert str(log.path) not in opened(daemon)
    log.say(XID79)
    config()
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: told("host.kernel_log"), seconds=LONG_S)
    assert str(log.path) in opened(daemon)
    config(watch={"kernel_log": False, "links": False})
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: str(log.path) not in opened(daemon))


def test_bad_rules_are_told_once_and_mended_by_a_reload(ready, log, told, tmp_path, top, wait_until):
    policies = tmp_path / "policies"
    shutil.copytree(top / "policies", policies)
    rules = policies / "kernel-log.yaml"
    good = rules.read_text()
    rules.write_text(good + "extra: 1\n")
    daemon = ready(env={"ASSAY_POLICY_DIR": str(policies)})
    wait_until(lambda: "the kernel log is not watched" in daemon.log())
    assert "kernel-log.yaml: extra: unknown key" in daemon.log()
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: "configuration read again" in daemon.log())
    assert daemon.log().count("the kernel log is not watched") == 1
    rules.write_text(good)
    daemon.send_signal(signal.SIGHUP)
    log.say(XID79)
    wait_until(lambda: told("host.kernel_log"), seconds=LONG_S)


def test_a_log_that_cannot_be_read_is_told_once_and_read_when_it_can(ready, told, tmp_path, wait_until):
    (tmp_path / "kmsg").unlink(missing_ok=True)
    daemon = ready()
    wait_until(lambda: "the kernel log is not watched: cannot read" in daemon.log())
    log = Log(tmp_path / "kmsg")
    log.say(XID79)
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: told("host.kernel_log"), seconds=LONG_S)
    assert daemon.log().count("is not watched") == 1


def test_a_fatal_line_is_forgotten_when_somebody_removes_the_state(ready, log, told, environ, wait_until):
    daemon = ready()
    log.say(XID79)
    wait_until(lambda: told("host.kernel_log") and state(environ).get("report") is None, seconds=LONG_S)
    os.unlink(os.path.join(environ["ASSAY_STATE_DIR"], "watch.json"))
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: len(told("host.watch")) == 2, seconds=LONG_S)
    assert len(told("host.kernel_log")) == 1
    wait_until(lambda: verdict(environ)["verdict"] == "pass", seconds=LONG_S)


def test_on_a_full_disk_older_reports_make_room_for_what_is_seen(disk, assayd, here, config, log, environ, measure, wait_until):  # noqa: F811
    disk.mount("size=256k,nr_inodes=200")
    for _ in range(4):
        measure()
    config(controller="http://127.0.0.1:1")
    assayd(env=here)
    disk.fill()
    log.say(XID79)
    wait_until(lambda: verdict(environ)["verdict"] == "fail", seconds=LONG_S)
    assert XID79 in verdict(environ)["items"][0]["sentence"]


@pytest.mark.parametrize("watch, words", [
    ({"links": "yes"}, "watch.links: expected true or false"),
    ({"kernel_log": 1}, "watch.kernel_log: expected true or false"),
    ({"link": True}, "watch.link: unknown key"),
    ([], "watch: expected an object"),
])
def test_a_bad_configuration_names_its_place(run, config, assayd_path, watch, words):
    config(watch=watch)
    done = run(assayd_path, "--check")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"assayd.yaml: {words}" in done.stderr


@pytest.mark.parametrize("text, words", [
    (None, "No such file"), ("", "state"), ("{}", "report"), ('{"report": {"seq": 0}}', "report.seq: 0 is outside"),
    ('{"report": {"seq": 1, "time": "t", "boot_id": "b", "uptime_s": 1, "samples": [7]}}', "report.samples[0]: expected an object"),
])
def test_keep_refuses_what_is_no_draft(run, tmp_path, environ, text, words):
    draft = tmp_path / "draft.json"
    if text is not None:
        draft.write_text(text)
    done = run("assay", "keep", draft)
    assert done.returncode == 2 and done.stderr.startswith(str(draft)) and done.stderr.count("\n") == 1
    assert words in done.stderr or text == ""
    assert not os.path.exists(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"))
