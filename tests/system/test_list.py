# SPDX-License-Identifier: Apache-2.0
"""assay list: what each probe says of itself, and those that do not answer."""
import json
import shutil

import pytest

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
    assert row.split() == ["gemm", "active", "yes", "gemm.rate", "FLOP/s", "slow", "cores"]
    assert "probes.3.checks.0.check=gemm.rate" in run("assay", "list", "-o", "kv", env=env).stdout.splitlines()


@pytest.mark.parametrize("text, reason", [
    ("exec sleep 600", "did not answer in time"),
    ("exec >&-; exec sleep 600", "did not end in time"),
    ("kill -SEGV $$", "died by signal 11"),
    ("exit 3", "exit status 3"),
    ("yes", "answered more than 65536 bytes"),
    ("echo words", "--describe: line 1"),
    ("echo '{}'", "--describe: probe: missing"),
    ("echo '{\"probe\": \"gemm\", \"active\": true, \"checks\": 3}'", "--describe: checks: want a list"),
])
def test_a_probe_that_does_not_answer_is_shown_as_such(run, probe_dir, text, reason):
    env = probe_dir(gemm=text)
    probes = by_name(run("assay", "list", "-o", "json", env=env, timeout=30))
    assert probes["gemm"]["here"] is False and probes["gemm"]["reason"].startswith(reason)
    assert probes["memory"]["reason"] == "not built here"


def test_what_the_last_run_found_not_applicable_is_not_here(run, probe_dir, tmp_path):
    env = probe_dir(gemm=f"[ \"$1\" = --describe ] && echo '{DESCRIBES}' && exit 0\necho 'no core to load' >&2; exit 77")
    run("assay", "run", "--probe", "gemm", env=env)
    gemm = by_name(run("assay", "list", "-o", "json", env=env))["gemm"]
    assert gemm["here"] is False and "no core to load" in gemm["reason"]


def test_bad_options(run):
    for args in (["--sensitivity"], ["-o", "xml"], ["what"]):
        done = run("assay", "list", *args)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "not built yet" in run("assay", "list", "--sensitivity").stderr
