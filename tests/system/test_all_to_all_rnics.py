# SPDX-License-Identifier: Apache-2.0
"""assay-probe-all-to-all --engine verbs: from every RDMA port of a host to every other, in a guest with Soft-RoCE."""
import re
import statistics

import pytest
from guest_steps import assert_not_applicable, blames_nobody, needs, steps_of

PORTS = [f"rxe{i}:1" for i in range(4)]
PAIRS = {f"{a}>{b}" for a in PORTS for b in PORTS if a != b}


@pytest.fixture(scope="module")
def told(guest, build):
    """The output of one boot of the scenario, and its {name: Step}."""
    needs(build, "assay-probe-rnic-pair")
    done = guest("all-to-all", "--timeout", "240")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, {name: steps[0] for name, steps in steps_of(done.stdout, "all_to_all").items()}


def pairs_of(step):
    return {subject: sample["value"] for subject, sample in step["rnic_pair_bw"].items()}


@pytest.mark.long
def test_without_a_device_there_is_nothing_to_measure(told):
    step = told[1]["none"]
    assert step.status == [77] and not step.samples and len(step.words) == 1 and "no RDMA device" in step.words[0]


def test_all_ports_of_a_good_host_are_measured_and_right(told):
    step = told[1]["good"]
    assert step.status == [0] and not step.words, step.words
    correct, busbw = step.one("rnic_correct"), step.one("rnic_busbw")
    assert (correct["value"], correct["ok"], correct["subject"]) == (0, True, "rnics")
    assert correct["n"] == 4 * 262144 // 4
    assert busbw["state"] == "measured" and busbw["value"] > 0 and 8 <= len(busbw["w"]) <= 32
    assert busbw["params"].items() >= {"engine": "verbs", "ranks": 4, "bytes": 262144, "depth": 4, "gid": "RoCE v2",
                                       "wait": "events"}.items()
    pairs = pairs_of(step)
    assert set(pairs) == PAIRS and all(value > 0 for value in pairs.values())
    assert set(step["rnic_size_bw"]) == {"rnics@64KiB"}


def test_a_port_that_sends_slowly_is_slow_to_everybody(told):
    good, step = told[1]["good"], told[1]["shaped"]
    assert step.status == [0]
    pairs = pairs_of(step)
    slow = {subject for subject in pairs if subject.startswith("rxe2:1>")}
    # 8 Mbit/s are 1 MB/s, apart from a burst of 64 KiB.
    others = statistics.median(pairs[subject] for subject in set(pairs) - slow)
    assert max(pairs[subject] for subject in slow) < 0.5 * others, pairs
    assert step.one("rnic_busbw")["value"] < good.one("rnic_busbw")["value"]
    assert step.one("rnic_correct")["ok"] is True


def test_a_port_without_a_cable_is_named_and_the_run_ends(told):
    step = told[1]["dead"]
    assert step.status == [0]
    bad = [s for s in step.samples if s["state"] != "measured" or s.get("ok") is False]
    assert bad and all(s.get("value") is None or s["value"] == 0 for s in bad)
    assert "rxe1:1" in bad[0]["subject"] + bad[0]["note"], bad


def test_others_on_a_port_make_all_busy(told):
    step = told[1]["busy"]
    assert step.status == [0]
    for check in ("rnic_busbw", "rnic_correct"):
        assert blames_nobody(step.one(check), "busy", "ib_write_bw"), step.one(check)


def test_nothing_of_it_stays_in_the_kernel(told):
    first, last = re.findall(r"^== resources\n(.*?)(?=^==|\Z)", told[0], re.MULTILINE | re.DOTALL)
    assert first == last


def test_without_rdma_it_is_not_applicable(run):
    def verbs(program):
        return run(program, "--engine", "verbs")

    assert_not_applicable(verbs, "assay-probe-all-to-all")


@pytest.mark.parametrize("args, words", [(["--engine", "cuda"], "--engine: 'cuda' is neither nccl nor verbs"),
                                         (["--depth", "0"], "--depth: '0' is not a number from 1 to 64"),
                                         (["--sl", "16"], "--sl: '16' is not a number from 0 to 15"),
                                         (["--mtu", "9000"], "--mtu: '9000' is not a number from 256 to 4096")])
def test_bad_options(run, args, words):
    done = run("assay-probe-all-to-all", *args)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr
