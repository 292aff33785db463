# SPDX-License-Identifier: Apache-2.0
"""assay-probe-loopback: without a device here, and on Soft-RoCE in the guest."""
import json
import re

import pytest
from guest_steps import assert_not_applicable, assert_refused, blames_nobody, needs, steps_of

pytestmark = pytest.mark.short  # the shortest of the tests in emulated machines

CHECKS = ["loopback.write_bw", "loopback.read_bw", "loopback.write_lat", "loopback.read_lat"]


@pytest.fixture
def probe(build):
    return needs(build, "assay-probe-loopback")


@pytest.mark.parametrize("words, message", [
    (["--size", "7"], "--size: '7' is not a number from 8 to 1048576"),
    (["--depth", "1x"], "--depth: '1x' is not a number"),
    (["--qps", "0"], "--qps: '0' is not a number from 1 to 16"),
    (["--gid-index", "-1"], "--gid-index: '-1' is not a number"),
    (["--gid-index", "256"], "--gid-index: '256' is not a number from 0 to 255"),
    (["--sl", "16"], "--sl: '16' is not a number from 0 to 15"),
    (["--tclass", "256"], "--tclass: '256' is not a number from 0 to 255"),
    (["--pkey-index", "x"], "--pkey-index: 'x' is not a number"),
    (["--devices", "mlx5 0"], "--devices: 'mlx5 0' is not a device"),
    (["--devices", "^="], "--devices: '' is not a device"),
    (["--cells", "x" * 9000], "--cells: longer than 8192 bytes"),
    (["--cells", "@@@"], "--cells: '@@@' is not a cell such as mlx5_0:1>numa:0"),
    (["--cells", ""], "--cells: '' is not a cell"),
    (["--cells", "mlx5_0:1>numa:0,"], "--cells: '' is not a cell"),
    (["--cells", "mlx5_0:1>numa:0,mlx5_0>numa:0"], "--cells: 'mlx5_0>numa:0' is not a cell"),
    (["--cells", "mlx5_0:1>numa:0>numa:1"], "--cells: 'mlx5_0:1>numa:0>numa:1' is not a cell"),
    (["--cells", "mlx5_0:1>numa:"], "--cells: 'mlx5_0:1>numa:' is not a cell"),
    (["--cells", ":1>numa:0"], "--cells: ':1>numa:0' is not a cell"),
    (["--set", "some"], "--set: 'some' is neither quick nor full"),
])
def test_bad_numbers_are_refused(run, probe, words, message):
    assert_refused(run, probe, words, message)


@pytest.mark.parametrize("name", ["loopback", "rnic-pair", "all-reduce", "all-to-all"])
def test_what_the_site_says_of_its_fabric_is_checked(run, build, tmp_path, name):
    (tmp_path / "rdma.yaml").write_text("v: 1\ntclass: 300\n")
    (tmp_path / "token").write_text("0123456789abcdef0123456789abcdef\npassed h:1\n")
    words = {"all-reduce": ["--peers", "[::1]:7001,h:1", "--rank", "1", "--token-file", tmp_path / "token", "--force"],
             "all-to-all": ["--engine", "verbs"]}
    done = run(needs(build, f"assay-probe-{name}"), *words.get(name, []), env={"ASSAY_CONF_DIR": str(tmp_path)})
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().endswith(f"{tmp_path}/rdma.yaml: tclass: expected a whole number from 0 to 255")


def test_without_a_device_it_does_not_apply(run, probe):
    assert_not_applicable(run, probe)


def test_it_describes_itself(run, probe):
    done = run(probe, "--describe")
    told = json.loads(done.stdout)
    assert [c["check"] for c in told["checks"]] == CHECKS
    assert told["budget"] == "75s" and "--set quick" in told["summary"]


@pytest.mark.parametrize("words, budget", [(["--set", "quick"], "20s"), (["--set", "full"], "75s"),
                                           (["--set", "quick", "--budget", "30s"], "30s"),
                                           (["--set", "quick", "--budget", "75s"], "75s"),
                                           (["--budget", "75s", "--set", "quick"], "75s"),
                                           (["--budget", "5s", "--set", "full"], "5s")])
def test_a_set_has_its_own_budget(run, probe, words, budget):
    assert json.loads(run(probe, *words, "--describe").stdout)["budget"] == budget


@pytest.fixture(scope="module")
def steps(guest, build):
    """{name: [Step]} of one boot of the scenario, used by all tests below."""
    needs(build, "assay-probe-loopback")
    done = guest("loopback", "--timeout", "240")
    assert done.returncode == 0, done.stdout + done.stderr
    return steps_of(done.stdout, "loopback")


def complete(step):
    """Its samples, of all checks."""
    assert step.status == [0] and [s["check"] for s in step.samples] == CHECKS, (step.samples, step.words)
    return step.samples


def test_on_soft_roce(steps):
    samples = steps["good"][0].samples
    assert steps["good"][0].status == [0]
    assert [(s["subject"], s["check"]) for s in samples] == [
        (f"rxe{i}:1>numa:0", check) for i in range(2) for check in CHECKS]
    for s in samples:
        assert s["state"] == "measured" and s["value"] > 0, s
        assert 8 <= len(s.get("w", [1] * 8)) <= 32 and all(w > 0 for w in s.get("w", [])), s
        assert s["note"].startswith("GID index 1, RoCE v2 IPv4 10.0.0."), s


def test_huge_pages_are_used_when_there_are_some(steps):
    meanwhile, afterwards = ({line.split()[0]: int(line.split()[1]) for line in steps[f"huge-{when}"][0].words}
                             for when in ("meanwhile", "afterwards"))
    assert 0 <= meanwhile["HugePages_Free:"] < meanwhile["HugePages_Total:"]
    assert afterwards["HugePages_Free:"] == afterwards["HugePages_Total:"]
    assert all(s["state"] == "measured" for s in complete(steps["in-huge-pages"][0]) if s["check"].endswith("bw"))


@pytest.mark.parametrize("name, words", [
    ("wrong-gid", "rxe0 port 1 has no GID of index 77"),
    ("mtu-mismatch", "MTU mismatch: --mtu is 4096, but rxe2 port 1 has 1024"),
    ("no-address", "Network is unreachable"),
    ("no-permission", "cannot open /dev/infiniband/uverbs0: Permission denied"),
    ("small-memlock", "raise the limit on locked memory (ulimit -l, now 64 KiB)"),
    ("port-down", "the port is down"),
])
def test_a_fault_of_the_set_up_accuses_nobody(steps, name, words):
    assert all(blames_nobody(s, "set-up", words) for s in complete(steps[name][0])), steps[name][0].samples


def test_a_port_that_others_use_is_busy(steps):
    for s in complete(steps["busy"][0]):
        assert blames_nobody(s, "busy", "of others, connected"), s
        assert re.match(r"ib_write_bw \(pid \d+\) uses rxe0: \d queue pairs? of others", s["note"]), s


def test_traffic_of_others_is_not_slowness(steps):
    samples = complete(steps["foreign-before"][0])
    assert [s["state"] for s in samples if s["check"].endswith("bw")] == ["foreign-traffic"] * 2, samples
    # On a slow machine too few round trips may fit in a fiftieth of a budget.
    assert {s["state"] for s in samples} <= {"foreign-traffic", "timeout"}, samples
    samples = steps["foreign-meanwhile"][0].samples
    assert steps["foreign-meanwhile"][0].status == [0] and {s["state"] for s in samples} <= {"foreign-traffic", "measured"}
    foreign = [s for s in samples if s["state"] == "foreign-traffic"]
    assert foreign, samples
    for s in foreign:
        assert s["value"] is None and s["ok"] is None, s
        assert re.match(r"other traffic of about [\d.]+ MB/s used the port during the test, in addition to our", s["note"]), s


def test_a_port_that_goes_down_is_a_warning(steps):
    samples = complete(steps["port-went-down"][0])
    down = [s for s in samples if s.get("code") == "rdma:port-down"]
    assert len(down) == 1 and down[0]["note"] == "rxe0 port 1 went down during the measurement", samples
    assert down[0]["state"] == "measured" and down[0]["ok"] is False and down[0]["severity"] == "warn"
    after = samples[samples.index(down[0]) + 1:]
    assert all(s["state"] == "set-up" and "an earlier check of this cell failed" in s["note"] for s in after), samples


def test_a_port_that_an_operator_takes_down_accuses_nobody(steps):
    samples = complete(steps["port-taken-down"][0])
    off = [s for s in samples if s.get("code") == "rdma:taken-down"]
    assert len(off) == 1, samples
    assert blames_nobody(off[0], "aborted", "rxe1 port 1 was taken down by an operator during the measurement"), off
    assert all(s["ok"] is None for s in samples), samples


def test_a_device_that_is_removed_accuses_nobody(steps):
    samples = complete(steps["removed"][0])
    assert "rxe3 was removed during the measurement" in [s["note"] for s in samples]
    assert all(s["ok"] is None for s in samples)


def test_a_cell_that_is_not_here_is_wrong_use(steps):
    step = steps["no-such-cell"][0]
    assert not step.samples and step.status == [2] and "none of these cells is on this host" in step.words[0]


def test_nothing_is_left_in_the_kernel(steps):
    before, after = (step.words for step in steps["resources"])
    assert before == after and len(before) == 4
    # The removed device could disappear only after it was closed.
    assert [line for line in before if "rxe3" not in line] == steps["left"][0].words
