# SPDX-License-Identifier: Apache-2.0
"""assay-attribute's command line: options, windows, and rejected input."""
import json

import pytest

META = {"type": "meta", "format": "optrace/1", "job": "small", "dp_size": 2, "pp_size": 1, "tp_size": 1, "vpp_size": 1,
        "dsp_size": 1, "world_size": 2, "time_unit": "s",
        "ranks": [{"rank": d, "dp_rank": d, "stage": 0, "node": f"host-{d}"} for d in range(2)]}


def operations(steps, microbatches=4, slow=1.5):
    """One stage on two ranks; the second has slow computes."""
    for step in steps:
        for d in range(2):
            factor, now = slow if d else 1, 0.0
            row = {"step": step, "dp_rank": d, "stage": 0, "rank": d}
            for i in range(microbatches):
                for kind, length in (("forward-compute", 0.1), ("backward-compute", 0.2)):
                    yield {**row, "optype": kind, "seq_id": i, "mb_id": i, "mc": 0, "gmc": 0, "start_ts": now,
                           "duration": length * factor}
                    now += length * factor
            tail = {**row, "seq_id": 0, "mb_id": -1, "mc": -1, "gmc": -1}
            all_end = 0.3 * slow * microbatches
            yield {**tail, "optype": "optimizer-clip-main-grad", "start_ts": now, "duration": all_end - now + 0.01}
            yield {**tail, "optype": "optimizer", "start_ts": all_end + 0.01, "duration": 0.02}


@pytest.fixture
def trace(tmp_path):
    def write(steps, **kwargs):
        path = tmp_path / "trace.jsonl"
        lines = [META, *operations(steps, **kwargs)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def test_a_slow_host_is_named(run, trace):
    result = run("assay-attribute", trace(range(5)), "-o", "json")
    assert (result.returncode, result.stderr) == (0, "")
    answer = json.loads(result.stdout)
    assert answer["T"] == pytest.approx(1.83, abs=1e-9)
    assert answer["primary"] == "worker"
    assert answer["top_node"] == "host-1"
    assert answer["alignment"] == {"mode": "auto", "offsets_s": {}}


def test_standard_input_is_a_trace_too(run, trace):
    path = trace(range(3))
    with open(path) as f:
        piped = run("assay-attribute", "-", "-o", "json", stdin=f)
    assert piped.returncode == 0
    assert json.loads(piped.stdout) == json.loads(run("assay-attribute", path, "-o", "json").stdout)


def test_a_long_trace_is_cut_into_windows_of_whole_steps(run, trace):
    path = trace(range(300))  # 20 operations per step
    result = run("assay-attribute", path, "--max-ops", "1000", "-o", "json")
    assert result.returncode == 0
    assert "longer than --max-ops 1000: it is cut into windows of whole steps, each with its own ideal times" in result.stderr
    windows = json.loads(result.stdout)["windows"]
    assert len(windows) > 2
    assert [w["window"] for w in windows] == list(range(len(windows)))
    steps = [int(s) for w in windows for s in sorted(w["step_T"], key=int)]
    assert steps == list(range(300))
    assert all(w["primary"] == "worker" for w in windows)


def test_a_step_that_comes_back_after_its_window_is_refused(run, tmp_path):
    path = tmp_path / "trace.jsonl"
    lines = [META, *operations(range(300)), *operations([0], microbatches=5)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("assay-attribute", path, "--max-ops", "1000", "-o", "json")
    assert result.returncode == 2
    assert "step 0 continues after its window was analysed: sort the trace by step, or raise --max-ops" in result.stderr


def test_steps_that_miss_operations_are_dropped_and_listed(run, tmp_path):
    path = tmp_path / "trace.jsonl"
    rows = list(operations(range(6)))
    del rows[3 * 20 + 12]  # step 3, rank 1
    path.write_text("".join(json.dumps(line) + "\n" for line in [META, *rows]))
    answer = json.loads(run("assay-attribute", path, "-o", "json").stdout)
    assert answer["dropped_steps"] == [3]
    assert answer["dropped_why"] == [{"step": 3, "dp_rank": 1, "operations": 9, "expected": 10}]
    assert answer["steps"] == 5


def test_two_steps_are_too_few(run, trace):
    result = run("assay-attribute", trace(range(2)))
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "2 steps are too few: at least 3 are needed" in result.stderr


@pytest.mark.parametrize("args,words", [
    (["--align", "maybe"], "--align: 'maybe' is neither none nor auto"),
    (["--max-ops", "12"], "--max-ops: '12' is not a whole number of at least 1000"),
    (["--max-ops", "1e6"], "--max-ops: '1e6' is not a whole number of at least 1000"),
    (["-o", "xml"], "-o: 'xml' is not one of"),
    (["--remedies", "r.yaml", "--summary"], "--remedies: not with --summary"),
    (["another"], "unexpected argument 'another': give one trace"),
])
def test_wrong_use_is_one_line(run, trace, args, words):
    result = run("assay-attribute", trace(range(3)), *args)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and words in result.stderr


def test_a_trace_must_be_named(run):
    result = run("assay-attribute")
    assert result.returncode == 2
    assert "which trace? A file, or - for standard input" in result.stderr


def test_an_answer_that_cannot_be_written_is_no_answer(run, trace):
    with open("/dev/full", "w") as full:
        result = run("assay-attribute", trace(range(3)), "-o", "json", capture_output=False, stdout=full)
    assert result.returncode == 1
