# SPDX-License-Identifier: Apache-2.0
"""assay-lateness: the late ranks, from files of NCCL's Inspector and CoMMA, generated from a job with known truth."""
import importlib.machinery
import importlib.util
import json
import random
import subprocess
import time

import pytest

pytestmark = pytest.mark.once  # it is a script

RANKS, XFER, LATE = 8, 900, 400  # microseconds
FUNCTIONS = ("AllReduce", "AllGather", "ReduceScatter")
TIMES, FULL_S = 2000, 1800


@pytest.fixture
def lateness(top):
    def start(*words, status=0):
        result = subprocess.run(["/usr/bin/python3", top / "attribution/assay-lateness", *map(str, words)], capture_output=True,
                                text=True, timeout=60, check=False)
        assert result.returncode == status, result.stderr
        return result

    return start


def job(seed, late=None, n=200, ranks=RANKS):
    """[(function, number, times in it by rank)]: all ranks leave together, arrive at random, and one arrives later."""
    dice, counts = random.Random(seed), dict.fromkeys(FUNCTIONS, 0)
    for _ in range(n):
        function = dice.choice(FUNCTIONS)
        counts[function] += 1
        starts = [dice.gauss(0, 60) + (LATE if rank == late else 0) for rank in range(ranks)]
        yield function, counts[function], [round(max(starts) + XFER - start) for start in starts]


def inspector_line(rank, function, number, time, **more):
    return {"header": {"id": "0x7f8c496ae9f661", "rank": rank, "n_ranks": RANKS, "nnodes": 2},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
                         "dump_timestamp_us": 1748030377748202 + number, "hostname": f"gpu-{rank // 4}", "pid": 4000 + rank},
            "coll_perf": {"coll": function, "coll_sn": number, "coll_msg_size_bytes": 1 << 24, "coll_exec_time_us": time,
                          "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 277.2, "coll_busbw_gbs": 485.1, **more}}


def comma_event(rank, function, number, time):
    name = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter"}[function]
    return {"args": {"size": 20971520}, "cat": "COLL", "child_dur": time, "comm_hash": "0x58aecebabb9e37af", "dur": 11039, "name": name,
            "ph": "X", "rank": rank, "pid": 169 + rank, "seq_num": number, "ts": 9615369, "proxyops": []}


def write(folder, line_of, collectives, ranks=RANKS, listed=False):
    lines = [[] for _ in range(ranks)]
    for function, number, times in collectives:
        for rank in range(ranks):
            lines[rank].append(line_of(rank, function, number, times[rank]))
    for rank, mine in enumerate(lines):
        path = folder / f"gpu-pid{rank}.log"
        path.write_text(json.dumps(mine) if listed else "".join(json.dumps(line) + "\n" for line in mine))
        yield path


FORMS = {"inspector": (inspector_line, False), "comma": (comma_event, False), "comma-list": (comma_event, True)}


@pytest.mark.parametrize("form", FORMS)
def test_the_late_rank_is_last_though_it_looks_fastest(lateness, tmp_path, form):
    line_of, listed = FORMS[form]
    files = list(write(tmp_path, line_of, job(7, late=5), listed=listed))
    doc = json.loads(lateness(form.split("-", maxsplit=1)[0], "-o", "json", *files).stdout)
    assert (doc["v"], doc["kind"], doc["collectives"], doc["left_out"]) == (1, "lateness", 200, {})
    first, *others = doc["workers"]
    assert first["rank"] == 5 and first["last"] > 0.95 and first["late_us"]["p50"] == pytest.approx(LATE, abs=60)
    assert len(others) == RANKS - 1 and all(row["last"] < 0.05 and abs(row["late_us"]["p50"]) < 80 for row in others)
    assert bool(doc["notes"]) == form.startswith("comma")


def test_of_equal_ranks_nobody_stands_out(lateness, tmp_path):
    doc = json.loads(lateness("inspector", "-o", "json", *write(tmp_path, inspector_line, job(3))).stdout)
    assert all(row["last"] < 0.3 and abs(row["late_us"]["p50"]) < 40 for row in doc["workers"])


def test_the_table_has_the_late_one_first(lateness, tmp_path):
    words = lateness("inspector", *write(tmp_path, inspector_line, job(7, late=5))).stdout.splitlines()
    assert words[0].split()[:3] == ["HOST", "PID", "RANK"] and words[1].split()[:3] == ["gpu-1", "4005", "5"]


def test_what_not_all_ranks_recorded_does_not_count(lateness, tmp_path):
    files = list(write(tmp_path, inspector_line, job(7, late=5)))
    result = lateness("inspector", "-o", "json", *files[:5], *files[6:], status=1)
    assert "left out 1400 collectives that not all their ranks recorded" in result.stderr
    assert "give the files of all processes" in result.stderr and json.loads(result.stdout)["workers"] == []


def test_what_says_nothing_of_lateness_is_left_out(lateness, tmp_path):
    """Host times of calls; broadcasts, which ranks leave one by one; a truncated last line; repeated dumps."""
    files = list(write(tmp_path, inspector_line, job(7, late=5, n=20)))
    extra = [inspector_line(0, "AllReduce", 99, 1, coll_timing_source="collective_cpu"), inspector_line(0, "Broadcast", 1, 1),
             {"header": {}, "metadata": {}, "p2p_perf": {}}, inspector_line(0, "AllReduce", 1, 5)]
    with open(files[0], "a", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in extra) + '{"header": {"id"')
    doc = json.loads(lateness("inspector", "-o", "json", *files).stdout)
    assert doc["collectives"] == 20 and doc["workers"][0]["rank"] == 5
    assert doc["left_out"] == {"collectives that are there twice": 1, "collectives that not all leave together": 1,
                               "collectives that were timed by the call": 1, "records that are no collective": 1}


@pytest.mark.parametrize("tool, text, words", [
    ("inspector", "x\n", "line 1: not JSON"),
    ("inspector", "3\n", "line 1: expected an object"),
    ("inspector", '{"coll_perf": 3, "header": {}, "metadata": {}}\n', "line 1: coll_perf: expected an object"),
    ("inspector", json.dumps(inspector_line(8, "AllReduce", 1, 5)) + "\n", "header.rank: expected a rank of the communicator"),
    ("inspector", json.dumps(inspector_line(0, "AllReduce", 1, -5)) + "\n", "coll_exec_time_us: expected microseconds"),
    ("comma", "[3]", "[0]: expected an object"),
    ("comma", '[{"cat": "COLL"}]', "[0]: comm_hash: expected a text"),
    ("comma", "[", "not JSON"),
    pytest.param("comma", "[" * 200000, "not JSON", id="deep"),
])
def test_bad_input_is_one_line_with_its_place(lateness, tmp_path, tool, text, words):
    path = tmp_path / "bad.log"
    path.write_text(text)
    result = lateness(tool, path, status=2)
    assert result.stderr.count("\n") == 1 and words in result.stderr and str(path) in result.stderr


@pytest.fixture
def module(top):
    loader = importlib.machinery.SourceFileLoader("assay_lateness", str(top / "attribution/assay-lateness"))
    found = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(found)
    return found


ODD = [None, True, -1, 0, 1 << 70, 1e308, float("nan"), "", "x" * 500, [], {}, [[]], "AllReduce", "\ud800"]


def changed(value, dice):
    """The same with a random change."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(sorted(value))
        if dice.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: changed(value[key], dice)}
    return dice.choice(ODD)


@pytest.mark.parametrize("tool, line_of", [("inspector", inspector_line), ("comma", comma_event)])
def test_any_file_is_used_or_refused_in_a_sentence(module, full, tmp_path, capsys, monkeypatch, tool, line_of):
    """Lines with any value in any place, changed bytes, truncated files. With --full half an hour each, seeded by the day."""
    seed = time.time_ns() if full else 11
    dice, path, refused, n, end = random.Random(seed), tmp_path / "any.log", 0, 0, time.monotonic() + (FULL_S if full else 0)
    whole = [line_of(rank, "AllReduce", number, 50 + rank) for number in range(3) for rank in range(RANKS)]
    while n < TIMES or time.monotonic() < end:
        n += 1
        lines = [changed(line, dice) if dice.random() < 0.05 else line for line in whole]
        data = bytearray((json.dumps(lines) if dice.random() < 0.3 else "".join(json.dumps(line) + "\n" for line in lines)).encode())
        for _ in range(dice.choice((0, 0, 1, 5))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data[:dice.randrange(len(data))] if dice.random() < 0.2 else data)
        monkeypatch.setattr("sys.argv", ["assay-lateness", tool, "-o", dice.choice(("json", "table")), str(path)])
        status = module.main()
        out = capsys.readouterr()
        assert status in (0, 1, 2), (seed, n)
        refused += status == 2
        if status == 2:
            assert out.err.count("\n") == 1 and out.err.startswith("assay-lateness: ") and out.out == "", (seed, n)
    print(f"{tool}: {n} files of seed {seed}, {refused} refused")
    assert n // 10 < refused < n
