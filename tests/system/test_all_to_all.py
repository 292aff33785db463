# SPDX-License-Identifier: Apache-2.0
"""assay-probe-all-to-all with fake GPUs and a fake NCCL: every fault is found on the right GPU with its cause, and nothing else."""
import json
import re
import resource

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

SIZE = ["--size", "262144"]
LINK = 5e8  # bytes/s per direction, of the fakes
BUSBW, PAIR, CORRECT, LINKS, SIZES = (f"all_to_all.{name}" for name in ("busbw", "pair_bw", "correct", "nvlinks", "size_bw"))


@pytest.fixture
def all_to_all(run, gpus):  # noqa: F811
    """all_to_all("count=4 thin=1", "--option", ...) returns (CompletedProcess, {(check, subject): sample})."""

    def start(settings, *args, **kwargs):
        done = run("assay-probe-all-to-all", *SIZE, *args, env=gpus(settings, **kwargs))
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        by_key = {(s["check"], s["subject"]): s for s in samples}
        assert len(by_key) == len(samples)
        return done, by_key

    return start


def check_clean(done):
    """It succeeded, and freed all objects of the libraries."""
    assert (done.returncode, done.stderr) == (0, "")


def pairs_of(samples):
    return {s["subject"]: s["value"] for s in samples.values() if s["check"] == PAIR}


@pytest.mark.parametrize("n", [2, 3, 8])
def test_all_of_a_good_host_is_measured_and_right(all_to_all, n):
    done, samples = all_to_all(f"count={n}")
    check_clean(done)
    busbw, correct = samples[BUSBW, "gpus"], samples[CORRECT, "gpus"]
    assert busbw["value"] == pytest.approx(LINK, rel=0.04), busbw  # includes NCCL's launch time
    assert busbw["state"] == "measured" and 8 <= len(busbw["w"]) <= 32 and "note" not in busbw
    assert busbw["params"].items() >= {"engine": "nccl", "version": "nccl 2.28.9", "ranks": n, "call": "ncclAlltoAll",
                                       "bytes": 262144 // (16 * n) * 16 * n}.items()
    assert (correct["value"], correct["ok"]) == (0, True) and correct["n"] == n * (busbw["params"]["bytes"] // 4)
    assert samples[SIZES, "gpus@64KiB"]["better"] == "none"
    assert {s for check, s in samples if check == LINKS} == {gpu(i) for i in range(n)}
    assert all(samples[LINKS, gpu(i)]["value"] == 18 and samples[LINKS, gpu(i)]["ok"] for i in range(n))
    pairs = pairs_of(samples)
    assert set(pairs) == {f"{gpu(i)}>{gpu(j)}" for i in range(n) for j in range(n) if i != j}
    assert min(pairs.values()) > 0.75 * LINK and max(pairs.values()) < 1.02 * LINK


def check_no_alarm(done, samples):
    check_clean(done)
    assert all(s["state"] == "measured" and s.get("ok") is not False for s in samples.values())
    assert "note" not in samples[BUSBW, "gpus"], samples[BUSBW, "gpus"]["note"]


def test_no_clean_run_raises_an_alarm(all_to_all, full):
    for seed in range(100 if full else 5):
        check_no_alarm(*all_to_all("count=4", "--seed", seed))


def test_no_clean_run_of_all_sizes_raises_an_alarm(all_to_all, full, configured):
    """64 KiB to 1 GiB; the fakes keep only the compared part of each buffer."""
    if configured("enable-sanitizers"):
        pytest.skip("4 x 2 GiB, and as much again of what the sanitizer keeps of them")
    for seed in range(100 if full else 2):
        done, samples = all_to_all("count=4 keep=16", "--seed", seed, "--size", 1 << 30, "--budget", "15m")
        check_no_alarm(done, samples)
        assert {s for check, s in samples if check == SIZES} == {f"gpus@{kib}KiB" for kib in (64, 1024, 16384, 262144)}
        assert samples[BUSBW, "gpus"]["params"]["bytes"] == 1 << 30 and samples[CORRECT, "gpus"]["n"] == 4 * (16 << 20) // 4


def test_a_gpu_with_narrow_links_is_named(all_to_all):
    done, samples = all_to_all("count=4 thin=2")
    check_clean(done)
    assert samples[BUSBW, "gpus"]["value"] == pytest.approx(0.9 * LINK, rel=0.04)
    assert samples[BUSBW, "gpus"]["note"].startswith(f"the pairs of {gpu(2)} reach 9")
    pairs = pairs_of(samples)
    slow = [value for subject, value in pairs.items() if gpu(2) in subject]
    good = [value for subject, value in pairs.items() if gpu(2) not in subject]
    assert max(slow) < 0.95 * min(good)


@pytest.mark.parametrize("run_busy", [False, True])
def test_who_comes_meanwhile_is_given_way_and_makes_nobody_slow(all_to_all, run_busy):
    """With a size that takes more than 40 copies: the user arrives after the start and before rates are measured."""
    args = ["--size", str(1 << 20), *(["--busy", "run"] if run_busy else [])]
    done, samples = all_to_all("count=4 comes=2 pid=4242424", *args)
    check_clean(done)
    busbw = samples[BUSBW, "gpus"]
    if run_busy:
        assert busbw["state"] == "measured" and pairs_of(samples)
        return
    assert (busbw["state"], busbw["value"], busbw["ok"]) == ("busy", None, None)
    assert busbw["note"] == f"pid 4242424 (python3) computes on {gpu(2)}"
    assert samples[SIZES, "gpus@64KiB"]["state"] == "busy" and not pairs_of(samples)
    assert samples[CORRECT, "gpus"]["ok"] is True


@pytest.mark.parametrize("between, words", [("", ": a path through the switches, not the links of a GPU"), ("direct=1", "")])
def test_a_slow_path_is_that_pair_alone(all_to_all, between, words):
    done, samples = all_to_all(f"count=4 path=13 {between}")
    check_clean(done)
    pairs = pairs_of(samples)
    slow = pairs.pop(f"{gpu(1)}>{gpu(3)}")
    assert slow < 0.6 * min(pairs.values())
    note = samples[BUSBW, "gpus"]["note"]
    assert re.fullmatch(rf"only {gpu(1)} to {gpu(3)} is slow, 5\d % of the others{words}", note), note


def test_a_lost_nvlink_is_told_by_its_state(all_to_all):
    done, samples = all_to_all("count=4 linkdown=3", "--set", "quick")
    check_clean(done)
    down = samples[LINKS, gpu(3)]
    assert (down["value"], down["ok"], down["code"]) == (17, False, "nvlink-down")
    assert down["note"] == "17 of 18 NVLinks are up, the same as its peers; down: link 3 (0000:1a:00.0)"
    assert all(samples[LINKS, gpu(i)]["ok"] for i in range(3))
    assert len(pairs_of(samples)) == 12  # on suspicion
    assert gpu(3) in samples[BUSBW, "gpus"]["note"]


def test_of_eight_gpus_the_one_that_lost_a_link_is_named_with_the_link(all_to_all):
    done, samples = all_to_all("count=8 linkdown=5 link=11", "--set", "quick")
    check_clean(done)
    bad = [s for s in samples.values() if s.get("ok") is False]
    assert [(s["check"], s["subject"], s["value"]) for s in bad] == [(LINKS, gpu(5), 17)]
    assert bad[0]["note"].endswith("; down: link 11 (0000:1c:00.0)")
    pairs = pairs_of(samples)
    assert len(pairs) == 56  # on suspicion
    # 17 of 18 links: invisible in the median of all, visible in the GPU's row and column.
    assert re.search(rf"the pairs of {gpu(5)} reach 9[345] % of the others", samples[BUSBW, "gpus"]["note"])
    slow = [value for subject, value in pairs.items() if gpu(5) in subject]
    assert max(slow) < min(value for subject, value in pairs.items() if gpu(5) not in subject)


def test_quick_looks_at_pairs_when_it_was_faster_before(all_to_all):
    for settings, n in (("count=3", 0), ("count=3", 0), ("count=3 thin=0", 6)):
        done, samples = all_to_all(settings, "--set", "quick")
        check_clean(done)
        assert len(pairs_of(samples)) == n


@pytest.mark.parametrize("fault, severity, then", [("damage=21", "fatal", "wrong again"),
                                                   ("damage1=21", "warn", "right when repeated")])
def test_a_wrong_element_names_who_sent_it_to_whom(all_to_all, fault, severity, then):
    done, samples = all_to_all(f"count=4 {fault}", "--set", "quick")
    check_clean(done)
    wrong = samples[CORRECT, "gpus"]
    assert (wrong["ok"], wrong["severity"], wrong["code"], wrong["value"]) == (False, severity, "wrong-data", 1)
    assert wrong["with"] == [gpu(2), gpu(1)]
    assert wrong["note"].startswith(f"what {gpu(2)} sent to {gpu(1)}: element ") and wrong["note"].endswith(f"1 wrong; {then}")


NAME = f"{gpu(2)} (0000:19:00.0)"


@pytest.mark.parametrize("fault, subject, words", [
    ("late=2", gpu(2), rf"{re.escape(NAME)} did not arrive, 3 others waited"),
    ("frozen=2", gpu(2), rf"all 4 GPUs started operation \d+ of \d+ and none finished it; told to abort, {re.escape(NAME)} did not, "
                         "3 others did"),
    ("behind=2", gpu(2), rf"{re.escape(NAME)} finished (\d+) of \d+ operations, the others (\d+)"),
    ("mute=1", "gpus", r"all 4 GPUs started operation \d+ of \d+ and none finished it; told to abort, all did: cannot tell which of "
                       "them held up the others"),
    ("notready=2", "gpus", f"communicators were not ready after 20 s: those of {gpu(0)}, {gpu(1)}"),
])
def test_a_hang_ends_and_names_who_is_behind(all_to_all, fault, subject, words):
    done, samples = all_to_all(f"count=4 {fault}")
    assert (done.returncode, done.stderr) == (0, "")
    late = [s for s in samples.values() if s["state"] == "timeout"]
    assert [s["subject"] for s in late] == [subject], late
    found = re.search(words, late[0]["note"])
    assert found, late[0]["note"]
    assert late[0]["value"] is None and late[0]["ok"] is None
    if fault == "behind=2":
        assert int(found[1]) + 1 == int(found[2])


def test_an_abort_that_hangs_is_bounded_and_names_its_gpu(all_to_all):
    """When an operation hangs on all GPUs, only the abort of one communicator shows whose GPU it is."""
    done, samples = all_to_all("count=4 abortstuck=2", ASSAY_FAKE_PATIENCE="1")
    assert (done.returncode, done.stderr) == (0, "")
    late = [s for s in samples.values() if s["state"] == "timeout"]
    assert [s["subject"] for s in late] == [gpu(2)]
    assert f"none finished it; told to abort, {NAME} did not, 3 others did" in late[0]["note"]


def test_an_asynchronous_error_names_the_gpu_that_had_it(all_to_all):
    done, samples = all_to_all("count=4 async=1")
    check_clean(done)
    bad = [s for s in samples.values() if s.get("ok") is False]
    assert [(s["subject"], s["code"], s["severity"]) for s in bad] == [(gpu(1), "nccl-error", "warn")]
    assert bad[0]["note"] == "its communicator failed: unhandled cuda error (the fake was told to) (0000:18:00.0)"


def test_the_settings_of_nccl_are_those_of_the_probe_alone(run, gpus, script, profiles, build, tmp_path):  # noqa: F811
    """The timeout of a dead link and the RAS port: set in the child, whatever the caller's environment, and nowhere else."""
    env = gpus("count=2", NCCL_IB_TIMEOUT="22", NCCL_RAS_ENABLE="1", ASSAY_FAKE_NCCL_TOLD=str(tmp_path / "told"))
    clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
    probe = script("all-to-all", f'exec env {clock} {build}/assay-probe-all-to-all {" ".join(SIZE)} "$@" --budget 30s\n')
    after = script("after", f'env >{tmp_path}/after\nexec {build}/assay-probe-host-state "$@"\n')
    file = profiles(budget="150s", full=[{"name": "all-to-all", "exec": probe, "budget": "110s"},
                                           {"name": "after", "exec": after, "budget": "30s"}])
    run("assay", "run", "--profile", "full", "--profiles", file, env=env)
    assert (tmp_path / "told").read_text() == "NCCL_IB_TIMEOUT=17\nNCCL_RAS_ENABLE=0\n"
    others = (tmp_path / "after").read_text().splitlines()
    assert {"NCCL_IB_TIMEOUT=22", "NCCL_RAS_ENABLE=1"} <= set(others)


def test_a_gpu_in_use_makes_all_busy(all_to_all):
    done, samples = all_to_all("count=3 busy=1 pid=4242424")
    check_clean(done)
    assert set(samples) == {(BUSBW, "gpus"), (CORRECT, "gpus")}
    assert all(s["state"] == "busy" and s["note"] == f"pid 4242424 (python3) computes on {gpu(1)}" for s in samples.values())
    done, samples = all_to_all("count=3 busy=1 pid=4242424", "--busy", "run")
    check_clean(done)
    assert samples[BUSBW, "gpus"]["note"].startswith("measured although pid 4242424 (python3)")


def test_no_memory_is_the_set_up_of_its_gpu(all_to_all):
    done, samples = all_to_all("count=3 full=1")
    check_clean(done)
    assert samples[BUSBW, gpu(1)]["state"] == "set-up" and "out of memory" in samples[BUSBW, gpu(1)]["note"]


def test_a_driver_that_does_not_come_back_names_the_gpu_and_ends(all_to_all):
    done, samples = all_to_all("count=3 block=1", "--budget", "5s", ASSAY_FAKE_PATIENCE="1")
    assert done.returncode == 1 and f"{gpu(1)}: a call to the GPU driver did not return" in done.stderr
    assert [key for key in samples if key[0] != LINKS] == [(BUSBW, gpu(1))] and samples[BUSBW, gpu(1)]["state"] == "timeout"


def test_a_gpu_that_has_not_started_is_named_and_nothing_is_measured_without_it(all_to_all):
    done, samples = all_to_all("count=3 block=1 at=cuDevicePrimaryCtxRetain", "--budget", "5s", ASSAY_FAKE_PATIENCE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert [key for key in samples if key[0] != LINKS] == [(BUSBW, gpu(1))] and samples[BUSBW, gpu(1)]["state"] == "timeout"
    assert samples[BUSBW, gpu(1)]["note"].startswith("slow to start: not ready after")


@pytest.mark.parametrize("settings, words", [
    ("count=1", "an all-to-all needs at least two GPUs, and there is 1"),
    ("nccl=21304", "libnccl.so.2 is version 21304; at least 21400 (2.14) is needed"),
    ("driver=10020", "the GPU driver supports only CUDA 10.2"),
])
def test_what_is_missing_is_one_sentence(run, gpus, settings, words):  # noqa: F811
    done = run("assay-probe-all-to-all", env=gpus(settings))
    assert (done.returncode, done.stdout) == (77, "") and words in done.stderr and done.stderr.count("\n") == 1


def test_without_a_gpu_there_is_nothing_to_measure_and_it_says_so_at_once(run, tmp_path):
    def run_counted(*args):
        """Its result and CPU seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("assay-probe-all-to-all", *args, env={"ASSAY_SYSROOT": str(tmp_path)})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    starting = min(run_counted("--describe")[1] for _ in range(3))
    runs = [run_counted() for _ in range(3)]
    for done, _ in runs:
        assert (done.returncode, done.stdout) == (77, "") and done.stderr.count("\n") == 1
    # The CUDA and NCCL libraries, which take a second, are not loaded: it costs little more than a process start.
    assert min(seconds for _, seconds in runs) < 3 * starting


@pytest.mark.parametrize("args, words", [(["--size", "7"], "--size: '7' is not a number from 65536 to 1073741824"),
                                         (["--set", "some"], "--set: 'some' is neither quick nor full")])
def test_bad_options(run, args, words):
    done = run("assay-probe-all-to-all", *args)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr


@pytest.mark.parametrize("fault, verdict, words", [
    ("", "pass", "nothing below its floor"),
    ("linkdown=3", "fail", "17 of 18 NVLinks are up"),
    ("damage=31", "fail", f"what {gpu(3)} sent to {gpu(1)}"),
    ("late=3", "inconclusive", "did not arrive, 3 others waited"),
])
def test_a_run_tells_the_fault(build, run, gpus, script, profiles, fault, verdict, words):  # noqa: F811
    """End to end through runner and judge; only the probe's clock is simulated."""
    env = gpus(f"count=4 {fault}")
    clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
    probe = script("all-to-all", f'exec env {clock} {build}/assay-probe-all-to-all {" ".join(SIZE)} "$@" --budget 30s\n')
    file = profiles(budget="120s", full=[{"name": "all-to-all", "exec": probe, "budget": "110s"}])
    done = run("assay", "run", "--profile", "full", "--profiles", file, "-o", "json", env=env)
    found = json.loads(done.stdout)["verdict"]
    assert found["verdict"] == verdict, found
    assert words in " ".join([found["sentence"], *(item["sentence"] for item in found["items"])]), found["items"]


SLOTS = [f"gpu:0000:{0x17 + i:02x}:00.0" for i in range(8)]


@pytest.mark.parametrize("fault, status, words, slow", [
    ("", 0, "no slow link: 56 cells with a path compared", lambda i, j: False),
    ("thin=5", 1, "NVLinks of GPU 0000:1c:00.0: 4[0-9]{2} of 4[0-9]{2} MB/s, seen on 14 paths, contradicted by none", lambda i, j: 5 in (i, j)),
    ("path=13", 1, f"fail: {gpu(1)}>{gpu(3)} moves ", lambda i, j: (i, j) == (1, 3)),
    ("linkdown=5", 1, f"fail: {gpu(5)}: 17 of 18 NVLinks are up, the same as its peers; down: link 3", lambda i, j: False),
])
def test_explain_draws_the_pairs_by_slot_and_names_the_culprit(all_to_all, run, tmp_path, fault, status, words, slow):
    done, _ = all_to_all(f"count=8 {fault}")
    check_clean(done)
    (tmp_path / "samples").write_text(done.stdout)
    told = run("assay", "explain", tmp_path / "samples", env={"COLUMNS": "400"})
    assert told.returncode == status and re.search(words, told.stdout), told.stdout
    rows = {line.split()[0]: line[len(SLOTS[0]):] for line in told.stdout.splitlines() if line.startswith(tuple(SLOTS))}
    assert list(rows) == SLOTS  # in the order of the slots, in both directions
    marked = {(i, j) for i, row in enumerate(rows.values()) for j, cell in enumerate(re.findall(r"\s+[\d.]+([-=#@]?)", row)) if cell}
    assert marked == {(i, j) for i in range(8) for j in range(8) if i != j and slow(i, j)}
