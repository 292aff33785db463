# SPDX-License-Identifier: Apache-2.0
"""assayctl's views of a real controller: nodes, why, incidents."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401


def slow(value=40e9, part=3):
    return [sample(subject=f"cpu:{i}", value=value if i == part else 70e9 + i * 1e8,
                   w=[value * (1 + k / 100) for k in range(8)], seconds=4.0) for i in range(8)]


def busy():
    return [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)] + \
        [sample(subject="cpu:9", value=None, state="busy", note="pid 5100 (ld)")]


@pytest.fixture
def fleet(controller, run):
    """fleet(): 16 hosts, gpu-07 with a slow core and another kernel, gpu-03 with a busy core; ctl(...) runs assayctl on it."""

    def start(*args, **more):
        c = controller(*args, **more)
        for seq in (1, 2):
            with ThreadPoolExecutor(16) as pool:
                done = pool.map(lambda i: c.post_again(report(  # noqa: B023
                    f"gpu-{i:02d}", seq=seq, samples=slow() if i == 7 else busy() if i == 3 else None,
                    env={"kernel": "5.15.0" if i == 7 else "6.1.0", "bios": "2.3"})), range(16))
                assert {answer.status for answer in done} == {202}
        c.ctl = lambda *words, **more: run("assayctl", *words, "--controller", f"http://127.0.0.1:{c.port}", **more)
        return c

    return start


def kv(text):
    return dict(line.split("=", 1) for line in text.splitlines())


def test_nodes_are_a_table_with_the_worst_first_and_one_sentence(fleet):
    done = fleet().ctl("nodes")
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["VERDICT", "NODE", "SERVICE", "SKU", "SEEN", "AGENT", "WHAT"]
    assert [row.split()[:2] for row in rows[:3]] == [["fail", "gpu-07"], ["inconclusive", "gpu-03"], ["pass", "gpu-00"]]
    assert len({row.index(name) for row, name in zip(rows, ["gpu-07", "gpu-03", "gpu-00"])}) == 1, "columns are aligned"
    assert rows[-1].startswith("16 hosts: 14 pass, 1 fail, 1 inconclusive; worst gpu-07: cpu:3 runs at 40.0 of ")
    assert "\x1b" not in done.stdout


def test_nodes_filtered(fleet):
    c = fleet()
    c.post(report("cpu-only", sku="other"))

    def names(*words):
        return [n["node"] for n in json.loads(c.ctl("nodes", *words, "-o", "json").stdout)["items"]]

    assert names("--verdict", "fail") == ["gpu-07"]
    assert names("--verdict=inconclusive") == ["gpu-03"]
    assert names("--sku", "other") == ["cpu-only"]
    assert names("--sku", "nothing") == [] and names("--stale") == []
    assert names("--limit", "3") == ["gpu-07", "gpu-03", "cpu-only"]
    assert "1 of 17 hosts: 1 fail; worst gpu-07" in c.ctl("nodes", "--verdict", "fail").stdout
    assert c.ctl("nodes", "--sku", "nothing").stdout == "none of 17 hosts\n"


def test_options_stand_before_and_after_the_command(fleet):
    c = fleet()
    url = f"http://127.0.0.1:{c.port}/"
    one = c.ctl("nodes", "-o", "json", "--verdict", "fail").stdout
    assert c.ctl("-ojson", "--verdict=fail", "nodes").stdout.partition('"age_s"')[0] == one.partition('"age_s"')[0]
    assert '"gpu-07"' in one
    assert c.ctl("-o=json", "nodes", env={"ASSAY_CONTROLLER": "http://127.0.0.1:1"}).returncode == 0
    assert kv(c.ctl("--controller", url, "nodes", "-o", "kv").stdout)["items.15.verdict"] == "pass"


def test_why_is_a_ticket(fleet):
    done = fleet().ctl("why", "gpu-07")
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith("gpu-07: fail: cpu:3 runs at 40.0 of 70.4 GFLOP/s (57 %) in gemm.rate: below what its 7 peers")
    lines = {line.split("  ")[1]: line.split("  ", 2)[2].strip() for line in rest if line.startswith("  ") and line[2] != " "}
    assert lines["seen"].startswith("40.0 GFLOP/s, 56.8 % of what is expected; 40.0 GFLOP/s to 42.8 GFLOP/s over 8 parts of 4 s")
    assert lines["against"] == "70.4 GFLOP/s expected, floor 66.9 GFLOP/s (95 %): the median of its 7 peers on this host"
    assert lines["how often"].startswith("bad in 2 of the last 2 runs, since 20") and "2 of 3 make an incident" in lines["how often"]
    assert lines["clears"] == "after 3 more good runs in a row"
    assert lines["incident"].startswith("1, open since ") and "rule slow-compute" in lines["incident"]
    assert lines["proof"] == "40.0 GFLOP/s in the quick run of 2026-11-20T10:00:00Z: boot b0, report 2"
    assert lines["newest"] == "boot b0, report 2 (quick) of 2026-11-20T10:00:00Z"
    assert lines["drift"] == "kernel is 5.15.0; 15 of 16 hosts of its SKU have 6.1.0"
    assert rest[-1] == "1 finding in 8 checked parts; 7 of them pass."


def test_why_of_what_could_not_be_told_and_of_a_good_host(fleet):
    c = fleet()
    text = c.ctl("why", "gpu-03").stdout
    assert "\ncould not be determined\n  unknown    cpu:9 was busy with pid 5100 (ld) (gemm.rate not measured)\n" in text
    assert "\n1. " not in text and "0 findings in 9 checked parts; 8 of them pass." in text
    text = c.ctl("why", "gpu-00").stdout
    assert text.startswith("gpu-00: pass: 8 checks, nothing below its floor\n\nhost\n")
    assert "drift      none: set up like most hosts of its SKU" in text


def test_why_for_programs_has_all_of_it(fleet):
    c = fleet()
    why = json.loads(c.ctl("why", "gpu-07", "-o", "json").stdout)
    assert why["items"][0]["sample"]["w"][0] == 40e9 and why["drift"][0]["majority"] == "6.1.0"
    assert why["incidents"][0]["rule"] == "slow-compute"
    pairs = kv(c.ctl("why", "gpu-07", "-o", "kv").stdout)
    assert pairs["items.0.subject"] == "cpu:3" and pairs["drift.0.key"] == "kernel"


def test_an_unknown_host_is_no_with_the_names_that_are_near(fleet):
    c = fleet()
    for name, words in (
            ("gpu-70", "unknown host 'gpu-70'; did you mean gpu-00, gpu-07, gpu-10?\n"),
            ("gpu", "unknown host 'gpu'; `assayctl nodes` lists the 16 known hosts\n"),
            ("../../metrics", "unknown host '../../metrics'"),
            ("gpu-07?limit=1", "unknown host 'gpu-07?limit=1'"),
            ("\x1b[31mred", "unknown host '?[31mred'")):
        done = c.ctl("why", name)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"assayctl: {words}") and done.stderr.count("\n") == 1


def test_incidents_open_and_closed(fleet):
    c = fleet()
    done = c.ctl("incidents")
    assert (done.returncode, done.stderr) == (0, "")
    head, row, note, empty, last = done.stdout.splitlines()
    assert head.split() == ["VERDICT", "ID", "NODE", "CHECK", "OPENED", "LAST", "ASKS", "FOR"]
    assert row.split()[:4] == ["fail", "1", "gpu-07", "gemm.rate"]
    assert note.startswith("    gpu-07: cpu:3 runs at ") and note.endswith("bad in 2 of the last 2 runs")
    assert empty == "" and last.startswith("1 incident, 1 open; worst: gpu-07: cpu:3 ")
    for seq in (3, 4, 5):
        c.post(report("gpu-07", seq=seq))
    assert c.ctl("incidents").stdout == "no incidents\n"
    assert "was fail  1   gpu-07" in c.ctl("incidents", "--all").stdout
    assert json.loads(c.ctl("incidents", "--all", "--node", "gpu-07", "-o", "json").stdout)["items"][0]["state"] == "closed"
    assert json.loads(c.ctl("incidents", "--all", "--node", "gpu-00", "-o", "json").stdout) == {"items": []}


def test_one_host_with_its_last_reports(fleet):
    c = fleet()
    done = c.ctl("node", "gpu-07")
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert text.startswith("gpu-07: fail: cpu:3 runs at 40.0 ") and "\n  kernel     5.15.0\n" in text
    assert [row.split()[-1] and row.split()[:1] for row in text.partition("WHAT\n")[2].splitlines() if row] == [["fail"], ["fail"]]
    node = json.loads(c.ctl("node", "gpu-07", "-o", "json").stdout)
    assert [r["seq"] for r in node["reports"]] == [2, 1] and node["drift"][0]["value"] == "5.15.0"
    assert c.ctl("node", "gpu-8").returncode == 1


def test_baselines_tell_what_hosts_reach(fleet):
    c = fleet()
    head, row, empty, last = c.ctl("baselines").stdout.splitlines()
    assert head.split() == ["CHECK", "SKU", "CLASS", "HOSTS", "MEDIAN", "SPREAD", "WITH"]
    # One of 16 hosts is slow, and one was busy during part of the check.
    assert row.split()[:6] == ["gemm.rate", "generic-cpu", "-", "14", "70.3", "GFLOP/s"]
    assert (empty, last) == ("", "1 baseline; SPREAD is the median deviation")
    assert c.ctl("baselines", "--sku", "x", "-o", "json").stdout.split() == '{ "items": [] }'.split()


def test_drift_names_who_differs(fleet):
    c = fleet()
    head, row, note, empty, last = c.ctl("drift").stdout.splitlines()
    assert row.split() == ["kernel", "generic-cpu", "15", "of", "16", "6.1.0"] and note == "    5.15.0: gpu-07"
    assert last == "1 setting on which hosts of a SKU differ; gpu-07 differs in 1"
    assert json.loads(c.ctl("drift", "--node", "gpu-07", "-o", "json").stdout)["items"][0]["nodes"][0]["node"] == "gpu-07"
    assert c.ctl("drift", "--node", "gpu-00").stdout == "none of them\n"
