# SPDX-License-Identifier: Apache-2.0
"""assay-probe-all-reduce: its options, and all-reduces between guests over Soft-RoCE."""
import json
import os
import re
import subprocess

import pytest
from guest_steps import assert_not_applicable, assert_refused, blames_nobody, needs, steps_of

CHECKS = ["all_reduce.busbw", "all_reduce.link_bw", "all_reduce.skew", "all_reduce.correct"]
LINK_BYTES_PER_S = 24e6 / 8  # the scenario's traffic shaping of each link, including headers
BUDGET_S = 40
GUESTS_TIMEOUT_S = "260"
SPARE = 1.1  # tokens collected while idle are sent in a burst: tc-tbf(8)


@pytest.fixture
def probe(build):
    return needs(build, "assay-probe-all-reduce")


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("word\npassed a:1\n")
    return str(path)


@pytest.mark.parametrize("words, message", [
    (["--size", "7"], "--size: '7' is not a number from 8 to 1048576"),
    (["--qps", "17"], "--qps: '17' is not a number from 1 to 16"),
    (["--memory", "disk"], "--memory: 'disk' is neither host nor gpu"),
    (["--rank", "64"], "--rank: expected 0 to 63"),
    (["--rank", "0"], "--peers, --rank and --token-file are all needed"),
    (["--peers", "a:1", "--rank", "0", "--token-file", "TOKEN"], "--peers: expected two or more"),
    (["--peers", "a:1,b:x", "--rank", "0", "--token-file", "TOKEN"], "--peers: 'b:x' is not HOST:PORT"),
    (["--peers", "a:1,b:2", "--rank", "0", "--token-file", "TOKEN", "--cells", "a:1>b:1"], "--cells: not supported here"),
    (["--peers", "a:1,b:2", "--rank", "2", "--token-file", "TOKEN"], "--rank 2: --peers has ranks 0 to 1"),
    (["--peers", "a:1,b:2", "--rank", "0", "--token-file", "/nowhere"], "/nowhere: No such file or directory"),
])
def test_bad_options_are_refused(run, probe, token, words, message):
    assert_refused(run, probe, [token if word == "TOKEN" else word for word in words], message)


def test_who_has_not_passed_is_not_met(run, probe, token):
    done = run(probe, "--peers", "a:1,b:2", "--rank", "0", "--token-file", token)
    assert done.returncode == 1 and 'no line "passed b:2"' in done.stderr and not done.stdout


def test_without_a_device_it_does_not_apply(run, probe, token):
    assert_not_applicable(lambda name: run(name, "--peers", "a:1,b:2", "--rank", "0", "--force", "--token-file", token), probe)


def test_it_describes_itself(run, probe):
    done = run(probe, "--describe")
    assert [c["check"] for c in json.loads(done.stdout)["checks"]] == CHECKS + [c.replace(".", ".gpu_") for c in CHECKS] + [c.replace(".", ".nccl_") for c in CHECKS if "link" not in c]


def rounds_of(build, samples):
    """Runs the rounds of lib/pairing on [(node, sample)]. Returns how many, and [(blame or undecided, node, its part)]."""
    lines = "".join(f"{node} {json.dumps(sample)}\n" for node, sample in samples)
    done = subprocess.run([build / "tests/guest/pairing_rounds"], input=lines, text=True, capture_output=True, timeout=20, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return len(re.findall(r"^round", done.stdout, re.MULTILINE)), re.findall(r"^(blame|undecided) (\S+) (\S+)", done.stdout, re.MULTILINE)


@pytest.mark.once  # runs a test program, and the pairing has unit tests under the sanitizers
@pytest.mark.parametrize("slow, blamed", [(None, []), ("c", ["c"])])
def test_pairing_plays_its_rounds_with_samples_of_probes(build, slow, blamed):
    samples = [(here, {"v": 1, "check": "all_reduce.busbw", "subject": "rxe0:1", "value": 1.5e6 if slow in (here, there) else 3e6,
                       "unit": "B/s", "better": "higher", "ok": None, "state": "measured", "with": [there]})
               for here in "abc" for there in "abc" if here != there]
    rounds, found = rounds_of(build, samples)
    assert rounds <= 3 and [(kind, node) for kind, node, _ in found] == [("blame", node) for node in blamed]


def boot(guest, build, how, part):
    """{letter: {name: [Step]}} of one boot of the scenario."""
    if os.environ.get("ASSAY_FULL") != "1":
        pytest.skip("guests at once take minutes of CPU: under scripts/test --full")
    needs(build, "assay-probe-all-reduce")
    done = guest("all-reduce", how, "--set", f"PART={part}", "--timeout", GUESTS_TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return {letter: steps_of(text, "all_reduce")
            for letter, text in re.findall(r"^#### (\w)\n(.*?)(?=^#### |\Z)", done.stdout, re.MULTILINE | re.DOTALL)}


@pytest.fixture(scope="module")
def two(guest, build):
    return boot(guest, build, "--two", "good")


@pytest.fixture(scope="module")
def three(guest, build):
    return boot(guest, build, "--three", "good")


@pytest.fixture(scope="module")
def slow(guest, build):
    return boot(guest, build, "--three", "slow")


@pytest.fixture(scope="module")
def gone(guest, build):
    return boot(guest, build, "--three", "gone")


def took(step):
    return int(re.search(r"^took (\d+)$", "\n".join(step.words), re.MULTILINE)[1])


def assert_measured(steps, letters, name):
    """All ranks measured all values; the sums are correct; no rate is above that of the links."""
    for letter in letters:
        step = steps[letter][name][0]
        assert step.status == [0], (letter, step.words)
        assert [s["check"] for s in step.samples] == CHECKS
        assert all(s["state"] == "measured" and s["code"] == "rail:0" for s in step.samples), step.samples
        assert step.one("correct")["ok"] is True and step.one("correct")["n"] == 2
        assert sorted(step.one("busbw")["with"]) == [f"node-{other}" for other in letters if other != letter]
        assert 0 < step.one("busbw")["value"] < SPARE * LINK_BYTES_PER_S and step.one("skew")["value"] >= 0
        assert list(step["link_bw"]) == [f"rxe0:1>node-{letters[(letters.index(letter) + 1) % len(letters)]}"]


@pytest.mark.parametrize("letters", ["ab", "abc"])
def test_all_ranks_measure_the_same_operation(request, letters):
    steps = request.getfixturevalue("two" if letters == "ab" else "three")
    assert_measured(steps, letters, "clean")
    rates = [steps[letter]["clean"][0].one("busbw")["value"] for letter in letters]
    assert min(rates) > 0.8 * max(rates), rates
    for letter in letters:
        assert "note" not in steps[letter]["clean"][0].one("busbw"), "a clean ring names nobody"


def test_pieces_and_queue_pairs_are_those_of_rank_0(two):
    assert_measured(two, "ab", "pieces")
    for letter in "ab":
        params = two[letter]["pieces"][0].one("busbw")["params"]
        assert (params["size"], params["qps"], params["mtu"]) == (16384, 3, 4096), params


def test_others_on_a_port_make_it_busy_and_not_slow(two):
    for letter in "ab":
        step = two[letter]["busy"][0]
        assert step.status == [1] and len(step.samples) == 4
        assert all(blames_nobody(s, "busy", "ib_write_bw (pid") for s in step.samples), step.samples


def test_traffic_of_others_meanwhile_is_not_slowness(two):
    for letter in "ab":
        step = two[letter]["foreign"][0]
        assert step.status == [0], step.words
        for check in ("busbw", "link_bw", "skew"):
            assert blames_nobody(step.one(check), "foreign-traffic", "rxe0 port 1: other traffic of about"), step.samples
        assert step.one("correct")["ok"] is True


def test_hosts_that_did_not_pass_are_not_met(two):
    for letter in "ab":
        step = two[letter]["unknown"][0]
        assert step.status == [1] and not step.samples and "is not known to have passed" in step.words[0]


def test_the_host_with_the_slow_link_is_named_to_all(slow):
    """Host b sends at half the rate: the whole ring is that slow, and all ranks name the link."""
    assert_measured(slow, "abc", "ring")
    for letter in "abc":
        step = slow[letter]["ring"][0]
        assert step.one("busbw")["value"] < SPARE * LINK_BYTES_PER_S / 2
        # It also sends the acknowledgements, so the link to it may look slow too.
        found = re.match(r"(?:both links of rank 1 \(node-b\) are slow:|the link from rank 1 \(node-b\) to rank 2 \(node-c\) carries) "
                         r"(0\.\d+) of what", step.one("busbw")["note"])
        assert found and 0.4 < float(found[1]) < 0.75, step.one("busbw")


def test_the_host_with_the_slow_link_is_named_by_pairing(slow, build):
    """The unmodified samples of the pairs go through lib/pairing: after the second pass it blames that host and no other."""
    samples = [(f"node-{letter}", step.one("busbw")) for letter in "abc" for step in slow[letter]["pair"]]
    assert len(samples) == 6
    rounds, blamed = rounds_of(build, samples)
    assert rounds <= 3 and [(kind, node) for kind, node, _ in blamed] == [("blame", "node-b")], blamed
    assert 0.4 < float(blamed[0][2]) < 0.75, blamed


def assert_out(step, words):
    assert step.status == [1] and took(step) <= BUDGET_S, step.words
    assert len(step.samples) == 4
    assert all(blames_nobody(s, "aborted", words) for s in step.samples), step.samples


@pytest.mark.parametrize("name, letters, dead", [
    ("killed", "ac", "rank 1 (node-b)"),
    ("killed-first", "bc", "rank 0 (node-a)"),
    ("off", "ab", "rank 2"),
])
def test_who_dies_is_named_and_all_others_are_out(gone, name, letters, dead):
    for letter in letters:
        assert_out(gone[letter][name][0], dead)


@pytest.mark.parametrize("which, letters", [("two", "ab"), ("three", "abc"), ("slow", "abc"), ("gone", "abc")])
def test_nothing_is_left_in_the_kernel(request, which, letters):
    steps = request.getfixturevalue(which)
    for letter in letters:
        before, after = steps[letter]["resources"]
        assert len(before.words) == 1 and before.words == after.words
