# SPDX-License-Identifier: Apache-2.0
"""assay list: the descriptions of probes, and probes that do not answer."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import sample

SUITE = ["host-state", "gpu-state", "rnic-state", "gemm", "memory", "loopback", "rnic-pair", "all-to-all", "all-reduce"]

DESCRIBES = json.dumps({"v": 1, "kind": "describe", "probe": "gemm", "summary": "s", "active": True, "budget": "10s",
                        "checks": [{"check": "gemm.rate", "unit": "FLOP/s", "better": "higher", "finds": "slow cores"}]})


@pytest.fixture
def probe_dir(tmp_path, script):
    """probe_dir(gemm="shell text") is a directory with these probes."""

    def make(**texts):
        directory = tmp_path / "probes"
        directory.mkdir(exist_ok=True)
        for name, text in texts.items():
            shutil.move(script(name, text), directory / f"assay-probe-{name.replace('_', '-')}")
        return {"ASSAY_PROBE_DIR": str(directory)}

    return make


def by_name(done):
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert (value["v"], value["kind"]) == (1, "list")
    return {p["probe"]: p for p in value["probes"]}


def test_every_probe_of_the_suite_is_listed(run, build):
    probes = by_name(run("assay", "list", "-o", "json"))
    assert list(probes) == SUITE
    for name, p in probes.items():
        built = (build / f"assay-probe-{name}").exists()
        assert built or p == {"probe": name, "here": False, "reason": "not built here"}
        if built:
            assert isinstance(p["active"], bool) and p["summary"] and p["budget"] and p["checks"]
            assert all(c["check"] and c["unit"] and c["finds"] for c in p["checks"])


def test_a_probe_says_what_it_finds(run, probe_dir):
    env = probe_dir(gemm=f"echo '{DESCRIBES}'")
    gemm = by_name(run("assay", "list", "-o", "json", env=env))["gemm"]
    assert gemm["here"] is True and gemm["active"] is True and gemm["checks"][0]["finds"] == "slow cores"
    table = run("assay", "list", env=env).stdout
    row = next(line for line in table.splitlines() if line.startswith("gemm"))
    # untried ones may or may not work here
    assert row.split() == ["gemm", "active", "?", "gemm.rate", "FLOP/s", "slow", "cores"]
    assert "HERE is ? for a check that no run has tried yet" in table
    assert "probes.3.checks.0.check=gemm.rate" in run("assay", "list", "-o", "kv", env=env).stdout.splitlines()


@pytest.mark.parametrize("text, reason", [
    pytest.param("exec sleep 600", "did not answer in time", marks=pytest.mark.once),
    pytest.param("exec >&-; exec sleep 600", "did not end in time", marks=pytest.mark.once),
    ("kill -SEGV $$", "died by signal 11"),
    ("exit 3", "exit status 3"),
    ("yes", "answered more than 65536 bytes"),
    ("echo words", "--describe: line 1"),
    ("echo '{}'", "--describe: probe: missing"),
    ("echo '{\"probe\": \"gemm\", \"active\": true, \"checks\": 3}'", "--describe: checks: expected a list"),
])
def test_a_probe_that_does_not_answer_is_shown_as_such(run, probe_dir, text, reason):
    env = probe_dir(gemm=text)
    probes = by_name(run("assay", "list", "-o", "json", env=env))
    assert probes["gemm"]["here"] is False and probes["gemm"]["reason"].startswith(reason)
    assert probes["memory"]["reason"] == "not built here"


def test_what_the_last_run_found_not_applicable_is_not_here(run, probe_dir, tmp_path):
    env = probe_dir(gemm=f"[ \"$1\" = --describe ] && echo '{DESCRIBES}' && exit 0\necho 'no core to load' >&2; exit 77")
    run("assay", "run", "--probe", "gemm", env=env)
    gemm = by_name(run("assay", "list", "-o", "json", env=env))["gemm"]
    assert gemm["here"] is False and "no core to load" in gemm["reason"]


@pytest.fixture
def host(run, probe_dir, tmp_path):
    """host(cpu0, cpu1, ...) runs a scripted gemm with these rates; host.sensitivity() returns the row of gemm.rate."""
    values = tmp_path / "values"
    env = probe_dir(gemm=f"[ \"$1\" = --describe ] && echo '{DESCRIBES}' && exit 0\ncat {values}")

    class Host:
        def __call__(self, *rates, **more):
            values.write_text("".join(sample("gemm.rate", f"cpu:{i}", rate, unit="FLOP/s", **more) + "\n"
                                      for i, rate in enumerate(rates)))
            return json.loads(run("assay", "run", "--probe", "gemm", "-o", "json", env=env).stdout)["verdict"]

        def list(self, *args):
            return run("assay", "list", "--sensitivity", *args, env=env)

        def sensitivity(self, *args):
            done = self.list("-o", "json", *args)
            assert done.returncode == 0, done.stderr
            value = json.loads(done.stdout)
            assert (value["v"], value["kind"]) == (1, "sensitivity")
            return {c["check"]: c for c in value["checks"]}

    return Host()


def test_sensitivity_without_a_run_says_what_to_run(run):
    for output in ([], ["-o", "json"], ["-o", "kv"]):
        done = run("assay", "list", "--sensitivity", *output)
        assert done.returncode == 3 and done.stdout == "" and done.stderr.count("\n") == 1
        assert "run `assay run --profile full` first" in done.stderr


def test_the_loss_that_is_told_is_the_one_that_a_run_names(host):
    rates = [100e9 + i * 1e8 for i in range(8)]
    assert host(*rates)["verdict"] == "pass"
    row = host.sensitivity()["gemm.rate"]
    for key, level in (("warns", "warn"), ("fails", "fail")):
        loss = row[key]
        slow = int(loss["subject"].removeprefix("cpu:"))
        assert loss["value"] == rates[slow] and loss["limit"] == pytest.approx(loss["value"] - loss["amount"])
        assert loss["by"] == ["peers"] and loss["percent"] == pytest.approx(100 * loss["amount"] / loss["value"])
        for part, beyond in ((0.999, False), (1.001, True)):
            trial = list(rates)
            trial[slow] -= part * loss["amount"]
            found = {i["subject"]: i["verdict"] for i in host(*trial)["items"]}
            assert (found.pop(f"cpu:{slow}") == level) is beyond
            assert set(found.values()) == {"pass"}


def test_sensitivity_of_peers_is_a_line_of_the_table(host):
    host(*[100e9] * 8, w=[99e9, 100e9, 101e9] * 3)
    lines = host.list().stdout.splitlines()
    assert lines[0].split() == ["CHECK", "CLASS", "SUBJECTS", "SEES", "FAILS", "AT", "NOISE", "BY", "NEEDS"]
    row = next(line for line in lines if line.startswith("gemm.rate"))
    assert row.split() == ["gemm.rate", "-", "8", "-5.0", "%,", "5.00", "GFLOP/s", "-15.0", "%", "1.5", "%", "peers"]
    assert any(line.startswith("SEES: the smallest loss") for line in lines)


def test_own_history_becomes_a_reference_after_five_runs(host):
    needs = []
    for _ in range(6):
        host(100e9)
        row = host.sensitivity()["gemm.rate"]
        needs.append(row["needs"])
    assert needs[0] == "nothing to compare with: 4 more good runs for own history, or a SKU file with a value for it"
    assert "1 more good run for own history" in needs[3]
    assert needs[4] is None and row["warns"]["by"] == ["history"] and row["warns"]["percent"] == pytest.approx(5)
    assert row["windows"] == {"k": 2, "n": 3} and row["references"][0]["n"] == 6
    assert host(94e9)["verdict"] == "warn" and host(84e9)["verdict"] == "fail"


def test_a_sku_file_gives_a_reference(host, tmp_path):
    host(100e9)
    sku = tmp_path / "sku.yaml"
    sku.write_text("v: 1\nsku: mine\nmatch: {gpu: []}\n"
                   "expect: [{check: gemm.rate, value: 98e9, floor: 90e9, unit: FLOP/s, source: test}]\n")
    row = host.sensitivity("--sku", sku)["gemm.rate"]
    assert row["warns"]["by"] == ["sku"] and row["warns"]["percent"] == pytest.approx(10)
    assert row["references"][0]["margin_percent"] == pytest.approx(100 * 8 / 98)
    sku.write_text("v: 1\nwhat: 3\n")
    done = host.list("--sku", sku)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(f"{sku}: ")


def test_a_check_that_was_never_measured_is_listed(host, probe_dir):
    host(100e9)
    describe = DESCRIBES.replace("gemm", "memory")
    probe_dir(memory=f"echo '{describe}'")
    checks = host.sensitivity()
    assert checks["memory.rate"]["sense"] == "not-measured" and checks["memory.rate"]["subjects"] == 0
    assert checks["memory.rate"]["needs"] == "assay run --profile full"
    table = host.list().stdout
    assert any(line.startswith("memory.rate") and "not measured here yet" in line for line in table.splitlines())


def test_what_was_busy_last_time_has_no_loss_to_tell(host):
    host(100e9, 100e9)
    assert host.sensitivity()["gemm.rate"]["warns"]["percent"] == pytest.approx(15)
    host(None, None, state="busy")
    row = host.sensitivity()["gemm.rate"]
    assert (row["subjects"], row["measured"], row["warns"], row["fails"]) == (2, 0, None, None)
    assert row["needs"] == "a run that measures it: the last one was busy"


def test_broken_and_foreign_runs_count_as_not_there(host, environ):
    host(100e9, 100e9)
    last = Path(environ["ASSAY_STATE_DIR"]) / "last"
    run = json.loads((last / "probes.json").read_text())
    run["report"]["node"] = "elsewhere"
    (last / "quick.json").write_text(json.dumps(run))
    (last / "full.json").write_text('{"report": ')
    assert host.sensitivity()["gemm.rate"]["profile"] == "probes"
    (last / "probes.json").unlink()
    assert host.list().returncode == 3


@pytest.mark.parametrize("args", [["assay", "list"], ["assay", "list", "-o", "json"], ["assay", "topology", "-o", "kv"],
                                  ["assay-probe-host-state", "--describe"],
                                  # An admission takes effect although it cannot be read: here it is a refusal.
                                  ["assay", "admit", "--fail-closed", "-o", "json"], ["assay", "admit", "--fail-closed"]])
def test_a_result_that_cannot_be_written_is_said(run, args):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run(*args, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    if "no hwloc" in done.stderr:
        pytest.skip("built without hwloc")
    assert done.returncode == 1
    assert "cannot " in done.stderr and done.stderr.count("\n") == 1


def test_bad_options(run):
    for args in (["-o", "xml"], ["what"], ["--sensitivity", "--sku", "/nowhere/sku.yaml"]):
        done = run("assay", "list", *args)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
