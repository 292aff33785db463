# SPDX-License-Identifier: Apache-2.0
"""assay-probe-host-state and the kernel log; bad files, bad state, no log."""
import json
import os
import resource
import shutil
import subprocess

import pytest

from fake_host import FakeHost

PROBE = "assay-probe-host-state"
XID31 = "NVRM: Xid (PCI:0000:2a:00): 31, pid=7, Ch 8"
XID79 = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "host").cpus()


@pytest.fixture
def start(host, run, top):
    """start() runs the probe on the host and returns the CompletedProcess."""
    return lambda *args, env=None, **kwargs: run(PROBE, *args, env={**host.env(top / "policies"), **(env or {})}, **kwargs)


@pytest.fixture
def log(start):
    """log() runs the probe and returns its samples of the kernel log."""

    def samples(*args, **kwargs):
        done = start(*args, **kwargs)
        assert done.returncode == 0, done.stderr
        return [s for s in map(json.loads, done.stdout.splitlines()) if s["check"] == "host.kernel_log"]

    return samples


@pytest.fixture
def policies(tmp_path, top):
    """A copy of the data files, for tests to break."""
    copy = tmp_path / "policies"
    shutil.copytree(top / "policies", copy)
    return copy


def only(samples, **wanted):
    found = [s for s in samples if all(s.get(k) == v for k, v in wanted.items())]
    assert len(found) == 1, (wanted, samples)
    return found[0]


def test_an_xid_is_named_with_its_gpu_and_its_severity(host, log):
    host.say("Linux version 6.1", XID79, XID79, "NVRM: Xid (PCI:0000:2a:00): 31, pid=7, Ch 8")
    samples = log()
    lost = only(samples, code="xid:79")
    assert (lost["subject"], lost["value"], lost["ok"], lost["severity"]) == ("pci:0000:1b:00.0", 2, False, "fatal")
    assert XID79 in lost["note"] and "off the bus" in lost["note"] and "Azure" in lost["note"]
    fault = only(samples, code="xid:31")
    assert (fault["subject"], fault["severity"]) == ("pci:0000:2a:00.0", "info")
    assert [s for s in samples if s["ok"]] == []


def test_a_line_is_told_once(host, log):
    host.say(XID31)
    assert only(log(), code="xid:31")["value"] == 1
    samples = log()
    assert [(s["ok"], s["value"]) for s in samples] == [(True, 0)]
    host.say(XID31)
    assert only(log(), code="xid:31")["value"] == 1


def test_after_a_reboot_the_log_is_read_from_its_start(host, log):
    host.say("one", "two", "three")
    log()
    host.boot(2)
    host.say(XID79)  # sequence 0 again
    assert only(log(), code="xid:79")["value"] == 1


def test_user_space_cannot_speak_for_the_kernel(host, log):
    host.say(XID79, facility=1)
    host.say(XID79, facility=3)
    assert [s["ok"] for s in log()] == [True]


def test_lines_that_were_overwritten_are_counted(host, log):
    host.say("one", "two")
    log()
    host.say(*["flood"] * 100, XID79)
    host.flush(oldest=90)
    samples = log()
    lost = only(samples, code="overrun")
    assert (lost["value"], lost["ok"]) == (88, None)
    assert only(samples, code="xid:79")


def test_what_was_overwritten_before_the_first_run_is_nobodys_loss(host, log):
    host.say(*["old"] * 50, "new")
    host.flush(oldest=50)
    assert [s.get("code") for s in log()] == [None]


def test_lines_of_one_kind_and_device_are_one_sample(host, log):
    host.say(*[f"NVRM: Xid (PCI:0000:{bus:02x}:00): 94, pid={i}" for i in range(500) for bus in (1, 2)])
    samples = log()
    assert {s["subject"]: s["value"] for s in samples if s.get("code") == "xid:94"} == {
        "pci:0000:01:00.0": 500, "pci:0000:02:00.0": 500}
    assert "pid=0" in only(samples, code="xid:94", subject="pci:0000:01:00.0")["note"]


def test_a_huge_log_is_bounded(host, start):
    """More kinds than can be reported, more lines than one run reads: within budget, little output, nothing lost."""
    with open(host.kmsg, "w", encoding="utf-8") as f:
        for i in range(150000):
            f.write(f"4,{i},{i},-;NVRM: Xid (PCI:0000:{i % 251:02x}:{i % 31:02x}): {i % 7 + 60}, {'x' * 60}\n")
    first = start()
    assert first.returncode == 0 and len(first.stdout) < 512 * 1024
    samples = [s for s in map(json.loads, first.stdout.splitlines()) if s["check"] == "host.kernel_log"]
    assert len(samples) <= 300
    looked = only(samples, params={"pattern": "any"})
    assert 0 < looked["n"] < 150000 and "the next run reads the rest" in looked["note"]
    second = only([json.loads(line) for line in start().stdout.splitlines()], check="host.kernel_log",
                  params={"pattern": "any"})
    assert second["n"] > 0


def test_the_shortest_budget_still_gets_on(host, log):
    host.say(*["nothing"] * 2000, XID79)
    looked = [only(log("--budget", "1ms"), params={"pattern": "any"})["n"] for _ in range(3)]
    assert all(0 < n < 2001 for n in looked)
    while sum(looked) < 2001:
        samples = log("--budget", "1ms")
        looked.append(only(samples, params={"pattern": "any"})["n"])
        assert looked[-1] > 0
    assert only(samples, code="xid:79")


def test_memory_stays_flat_on_one_endless_line(host, start):
    with open(host.kmsg, "wb") as f:
        f.truncate(1 << 30)  # NULs without a newline
    done = start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20)))
    if "AddressSanitizer" in done.stderr:
        pytest.skip("the sanitizers need more memory than the limit of this test")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", [b"\xff\xfe", b"6,1", b";;;;", b"6,0,0,-;\x80\xff\n", b"\x00" * 100, b""])
def test_garbage_in_the_log_is_passed_over(host, log, text):
    host.kmsg.write_bytes(text + b"\n4,7,0,-;" + XID79.encode() + b"\n")
    assert only(log(), code="xid:79")


def test_a_log_that_cannot_be_read_is_a_matter_of_setup(host, log):
    samples = log(env={"ASSAY_KMSG": str(host.root / "absent")})
    assert [(s["state"], s["ok"], s["value"]) for s in samples] == [("set-up", None, None)]
    assert "absent" in samples[0]["note"]


def test_a_log_that_may_not_be_read_says_what_to_do(host, build, environ, top, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give its rights away")
    os.chmod(host.kmsg, 0o600)
    for path in (tmp_path, *tmp_path.parents):  # so that another user can reach it
        if path.is_relative_to("/tmp") and path != path.parent:
            os.chmod(path, os.stat(path).st_mode | 0o011)
    os.chmod(environ["ASSAY_STATE_DIR"], 0o777)
    program = tmp_path / PROBE
    shutil.copy(build / PROBE, program)
    shutil.copytree(top / "policies", tmp_path / "policies")
    done = subprocess.run([str(program)], env={**environ, **host.env(tmp_path / "policies")}, user=65534, group=65534,
                          extra_groups=[], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    sample = only(map(json.loads, done.stdout.splitlines()), check="host.kernel_log")
    assert sample["state"] == "set-up" and "CAP_SYSLOG" in sample["note"]


@pytest.mark.parametrize("name, change, message", [
    ("kernel-log.yaml", lambda t: t.replace(r"'NVRM: Xid \((PCI", r"'NVRM: Xid ((PCI", 1),
     "kernel-log.yaml: patterns[1].match: not a regular expression"),
    ("kernel-log.yaml", lambda t: t.replace("subject: 1", "subject: 9", 1), "kernel-log.yaml: patterns[0].subject: capture 9"),
    ("kernel-log.yaml", lambda t: t.replace("severity: warn", "severity: bad", 1), "kernel-log.yaml: patterns[1].severity: 'bad'"),
    ("kernel-log.yaml", lambda t: t + "extra: 1\n", "kernel-log.yaml: extra: unknown key"),
    ("kernel-log.yaml", lambda t: "", "kernel-log.yaml: empty"),
    ("kernel-log.yaml", None, "kernel-log.yaml: No such file"),
    ("xid.yaml", lambda t: t.replace("xid: 79,", "xid: -79,", 1), ".xid: -79 is negative"),
    ("xid.yaml", lambda t: t.replace("v: 1", "v: 9", 1), "xid.yaml: v: expected 1"),
    ("xid.yaml", lambda t: "[" * 100, "xid.yaml"),
])
def test_a_bad_data_file_is_bad_usage_and_names_the_place(host, start, policies, name, change, message):
    file = policies / name
    if change:
        changed = change(file.read_text())
        assert changed != file.read_text()
        file.write_text(changed)
    else:
        file.unlink()
    host.say(XID79)
    done = start(env={"ASSAY_POLICY_DIR": str(policies)})
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and len(done.stderr.splitlines()) == 1
    # nothing was consumed: once the file is fixed the line is still reported
    again = start()
    assert "xid:79" in again.stdout


def test_one_can_give_an_xid_another_severity(host, log, policies):
    text = (policies / "xid.yaml").read_text()
    changed = text.replace("{xid: 63, severity: warn", "{xid: 63, severity: info")
    assert changed != text
    (policies / "xid.yaml").write_text(changed)
    host.say("NVRM: Xid (PCI:0000:1b:00): 63, Row remapper")
    assert only(log(env={"ASSAY_POLICY_DIR": str(policies)}), code="xid:63")["severity"] == "info"


def test_an_empty_host_is_no_failure(tmp_path, run, top):
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(PROBE, env={"ASSAY_SYSROOT": str(empty), "ASSAY_POLICY_DIR": str(top / "policies")})
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode in (0, 77)
    assert [s for s in samples if s["ok"] is False] == []
    assert {s["check"] for s in samples} <= {"host.kernel_log"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"boot_id": 7, "counters": [], "gpus": {}, "kmsg_next": -1}',
                                  '{"boot_id": "00000000-0000-0000-0000-000000000001", "counters": 7, "kmsg_next": "x", '
                                  '"uptime_s": "y", "gpus": [{"id": 1}], "dimms": null}'])
def test_a_spoilt_state_is_as_none(host, start, environ, text):
    state = os.path.join(environ["ASSAY_STATE_DIR"], "probe", "host-state.json")
    os.makedirs(os.path.dirname(state))
    with open(state, "w", encoding="utf-8") as f:
        f.write(text)
    host.say(XID79)
    done = start()
    assert done.returncode == 0, done.stderr
    assert "xid:79" in done.stdout
    with open(state, encoding="utf-8") as f:
        assert json.load(f)["kmsg_next"] == 1


def test_a_state_that_cannot_be_kept_is_said(host, start, tmp_path):
    (tmp_path / "file").write_text("")
    done = start(env={"ASSAY_STATE_DIR": str(tmp_path / "file")})
    assert done.returncode == 0 and "will report the same errors again" in done.stderr


def test_a_reader_that_goes_uses_nothing_up(host, start, build, environ, top):
    host.say(XID79)
    gone, end = os.pipe()
    os.close(gone)
    done = subprocess.run([str(build / PROBE)], env={**environ, **host.env(top / "policies")}, stdout=end,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(end)
    assert done.returncode == 1, done.stderr
    assert "xid:79" in start().stdout


def test_this_host_is_read_for_real(run, top):
    env = {"ASSAY_POLICY_DIR": str(top / "policies")}
    done = run(PROBE, env=env)
    assert done.returncode == 0, done.stderr
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert only(samples, check="inventory.cpus")["value"] == os.cpu_count()
    assert all(s["state"] in ("measured", "set-up") for s in samples)


def test_a_fatal_line_stands_until_the_next_boot(host, log):
    host.say(XID79)
    assert only(log(), code="xid:79")["value"] == 1
    for _ in range(2):
        again = only(log(), code="xid:79")
        assert (again["subject"], again["value"], again["ok"], again["severity"]) == ("pci:0000:1b:00.0", 0, False, "fatal")
        assert "still in effect" in again["note"] and XID79 in again["note"]
    host.boot(2)
    assert not [s for s in log() if s.get("code") == "xid:79"]
