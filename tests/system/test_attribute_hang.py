# SPDX-License-Identifier: Apache-2.0
"""assay-attribute hang: which rank has stopped, from dumps that are complete, missing, truncated, renamed, or no dumps at all."""
import itertools
import json
import os
import random
import re
import shutil
from pathlib import Path

import pytest

CASES = {"gpu_error_2nd": "own-gpu-stopped", "lock_gil_1st": "host-stalled"}
RANKS = 16
SUBSETS = 12  # subsets tried for each number of dropped dumps above one


@pytest.fixture(params=sorted(CASES))
def case(request, top):
    """(directory, culprits, class) of a simulated hung job."""
    shared = Path(os.environ.get("ASSAY_SHARED", top.parent / "shared"))
    path = shared / "traces" / "flight-recorder" / request.param
    if not path.is_dir():
        pytest.skip(f"no dumps of hung jobs: {path} is not there")
    said = re.search(r"\[(.*)\]", (path / "fault_injection.log").read_text()).group(1)
    return path, [int(rank) for rank in said.split(",")], CASES[request.param]


@pytest.fixture
def judge(run):
    """judge(path, ...) -> the verdict."""

    def ask(*paths):
        result = run("assay-attribute", "hang", "-o", "json", *paths)
        assert result.returncode == 0, result.stderr
        verdict = json.loads(result.stdout)
        assert verdict["v"] == 1 and verdict["kind"] == "hang"
        assert all(isinstance(verdict[key], list) for key in ("ranks", "suspects", "evidence", "missing", "tell"))
        return verdict

    return ask


def test_a_real_hang_is_named_exactly(case, judge):
    path, culprits, expected = case
    verdict = judge(path)
    assert (verdict["ranks"], verdict["class"], verdict["missing"]) == (culprits, expected, [])
    assert verdict["act"] == {"own-gpu-stopped": "test-host", "host-stalled": "stacks"}[expected]


def no_innocent(verdict, culprits, dropped, expected):
    assert set(verdict["ranks"]) <= set(culprits) - set(dropped), (dropped, verdict)
    left = set(culprits) - set(dropped)
    assert verdict["class"] in (expected, "cannot say", "equal-count"), (dropped, verdict)
    for rank in dropped:
        assert any(re.search(rf"\b{rank}\b", text) for text in verdict["missing"]), (rank, verdict)
    if set(dropped) & set(culprits) and not left:
        assert verdict["class"] == "cannot say" and verdict["ranks"] == [], (dropped, verdict)


def test_dumps_that_are_missing_make_nobody_guilty(case, judge):
    path, culprits, expected = case
    chosen = random.Random(14)
    subsets = [(rank,) for rank in range(RANKS)]
    for n in (2, 3, 4, 6, 8, 12, 15):
        every = list(itertools.islice(itertools.combinations(range(RANKS), n), 5000))
        subsets += chosen.sample(every, SUBSETS)
    subsets.append(tuple(culprits))
    for dropped in subsets:
        verdict = judge(*(path / f"_dump_{rank}" for rank in range(RANKS) if rank not in dropped))
        no_innocent(verdict, culprits, dropped, expected)
        if len(dropped) == 1 and dropped[0] not in culprits:
            assert verdict["ranks"] == culprits, (dropped, verdict)
        if set(dropped) == set(culprits):
            assert set(culprits) <= set(verdict["suspects"]), verdict


def test_a_dump_that_was_cut_is_missing(case, judge, run, tmp_path):
    path, culprits, expected = case
    for rank in (culprits[0], 0):
        whole = (path / f"_dump_{rank}").read_bytes()
        folder = tmp_path / str(rank)
        shutil.copytree(path, folder, ignore=lambda *_: ["fault_injection.log"])
        folder.chmod(0o755)
        file = folder / f"_dump_{rank}"
        file.unlink()
        for length in [0, 1, 2, 3, *range(40, len(whole), 97), len(whole) - 1]:
            file.write_bytes(whole[:length])
            no_innocent(judge(folder), culprits, [rank], expected)
            alone = run("assay-attribute", "hang", file)
            assert alone.returncode == 2 and alone.stdout == ""
            assert alone.stderr.count("\n") == 1 and str(file) in alone.stderr


def test_names_of_files_do_not_make_anybody_guilty(case, judge, tmp_path):
    path, culprits, expected = case
    for turn in (1, 5, 9):
        folder = tmp_path / f"turned-{turn}"
        folder.mkdir()
        for rank in range(RANKS):
            shutil.copyfile(path / f"_dump_{rank}", folder / f"_dump_{(rank + turn) % RANKS}")
        verdict = judge(folder)
        assert (verdict["ranks"], verdict["class"]) == (culprits, expected), verdict
        assert any("whatever its name says" in text for text in verdict["missing"])
    twice = tmp_path / "twice"
    twice.mkdir()
    for rank in range(RANKS):
        shutil.copyfile(path / f"_dump_{culprits[0] if rank == 3 else rank}", twice / f"_dump_{rank}")
    verdict = judge(twice)
    assert (verdict["ranks"], verdict["class"]) == (culprits, expected), verdict
    assert any(re.search(r"\b3\b", text) for text in verdict["missing"])


# --- without dumps of others --------------------------------------------------------------

def document(node, ranks, groups=(), **more):
    return {"format": "assay-hang/1", "node": node, "world": 4, "groups": list(groups), "ranks": ranks, **more}


@pytest.fixture
def write(tmp_path):
    def put(name, value):
        path = tmp_path / name
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return path

    return put


def test_a_pickle_that_is_no_plain_data_is_refused(run, write, tmp_path):
    evil = write("_dump_3", b"\x80\x02}q\x00X\x07\x00\x00\x00entriescposix\nsystem\nX\x0a\x00\x00\x00touch "
                 + str(tmp_path / "ran").encode()[:4] + b"\x85R.")
    result = run("assay-attribute", "hang", "-o", "json", evil)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == f"{evil}: byte 17: GLOBAL is not plain data: refused\n"


def test_groups_of_several_hosts_are_joined(judge, write):
    """No document lists all members: each host gives the positions of its own ranks."""
    def rank(number, enqueued, completed):
        return {"rank": number, "sources": ["ring"],
                "positions": [{"group": 0, "place": number, "enqueued": enqueued, "completed": completed}]}
    groups = [{"name": "comm 7", "size": 4}]
    a = write("a.json", document("gpu-1", [rank(0, 12, 11), rank(1, 11, 11)], groups))
    b = write("b.json", document("gpu-2", [rank(2, 12, 11), rank(3, 13, 11)], groups))
    verdict = judge(a, b)
    assert (verdict["ranks"], verdict["class"], verdict["nodes"]) == ([1], "host-stalled", ["gpu-1"])
    verdict = judge(a)  # a waiting rank may be the culprit as long as the others may be idle too
    assert (verdict["ranks"], verdict["suspects"], verdict["class"]) == ([], [0, 1], "cannot say")
    verdict = judge(b)
    assert (verdict["ranks"], verdict["class"]) == ([], "cannot say")


def flight_recorder(enqueued, completed, alone=None, world=6):
    """The JSON dump of a rank of one group; a second group that only this rank has proves its identity."""
    groups = {"0": list(range(world)), **({str(1 + alone): [alone]} if alone is not None else {})}
    entries = [{"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": n, "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce",
                "input_sizes": [[7]], "input_dtypes": ["Float"], "output_sizes": [[7]], "state": "scheduled", "is_p2p": False}
               for n in range(completed + 1, enqueued + 1)]
    numbers = [(enqueued, completed), (-1, -1)]
    return {"version": "2.10", "entries": entries,
            "pg_config": {name: {"name": name, "desc": "default_pg", "ranks": str(ranks)} for name, ranks in groups.items()},
            "pg_status": {str(i): {"last_enqueued_collective": str(numbers[i][0]), "last_started_collective": "-1",
                                   "last_completed_collective": str(numbers[i][1])} for i in range(len(groups))}}


def test_where_a_name_lies_none_stands_for_contents_that_do_not_say(judge, write):
    """Rank 0 has stopped, and its dump does not contain its rank; it has the file name of rank 2's dump, which is missing."""
    others = [write(f"_dump_{rank}", flight_recorder(11, 10, alone=rank)) for rank in (1, 3, 4, 5)]
    stopped = write("_dump_0", flight_recorder(10, 10))
    assert judge(stopped, *others)["ranks"] == [0]
    moved = [write("_dump_2", flight_recorder(10, 10)), write("_dump_0", flight_recorder(11, 10, alone=1))]
    verdict = judge(*moved, *others[1:])
    assert (verdict["ranks"], verdict["class"]) == ([], "cannot say")
    assert any("file names are unreliable here" in text for text in verdict["missing"])


def test_counters_of_a_group_with_sends_do_not_compare(judge, write):
    """Stages of a pipeline launch different numbers of sends and receives; the stage with the fewest is not behind."""
    def stage(rank, enqueued, completed, name):
        dump = flight_recorder(enqueued, completed, world=4)
        for entry in dump["entries"]:
            entry.update(p2p_seq_id=entry["collective_seq_id"], profiling_name=name, is_p2p=True)
        return write(f"_dump_{rank}", dump)

    paths = [stage(0, 6, 5, "nccl:recv 0<-1"), stage(1, 10, 9, "nccl:recv 1<-2"), stage(2, 10, 9, "nccl:send 2->1"), stage(3, 5, 5, "")]
    verdict = judge(*paths)
    assert (verdict["ranks"], verdict["suspects"], verdict["class"]) == ([], [], "cannot say")


def test_of_two_dumps_of_a_rank_that_differ_neither_counts(judge, write, tmp_path):
    """One is from an earlier run, which nothing in it reveals."""
    others = [write(f"_dump_{rank}", flight_recorder(11, 10)) for rank in range(6)]
    (tmp_path / "old").mkdir()
    old = write("old/_dump_0", flight_recorder(10, 10))
    assert judge(old, *others[1:])["ranks"] == [0]
    for paths in ((old, *others), (*others, old)):
        verdict = judge(*paths)
        assert (verdict["ranks"], verdict["class"]) == ([], "cannot say")
        assert any(text.startswith("rank 0: two dumps of it differ") for text in verdict["missing"])


def test_documents_of_two_jobs_are_not_joined(run, write):
    def of(name, node, rank, **head):
        ranks = [{"rank": rank, "sources": ["ring"], "positions": [{"group": 0, "place": rank, "enqueued": 12 - rank, "completed": 11}]}]
        return write(name, document(node, ranks, [{"name": "comm 7", "size": 2}], **head))

    first = of("a.json", "gpu-1", 0, job="research/one", run=1)
    for name, head, words in [
        ("b.json", {"job": "research/two", "run": 1}, "it belongs to job 'research/two', another file to 'research/one'"),
        ("c.json", {"job": "research/one", "run": 2}, "it belongs to run 2 of the job, another file to run 1"),
    ]:
        other = of(name, "gpu-2", 1, **head)
        result = run("assay-attribute", "hang", first, other)
        assert (result.returncode, result.stdout, result.stderr) == (2, "", f"{other}: {words}\n")
    assert run("assay-attribute", "hang", first, of("d.json", "gpu-2", 1, job="research/one", run=1)).returncode == 0
    # A dump without a run matches any run, and does not hide that two others differ.
    second, silent = of("c.json", "gpu-2", 1, job="research/one", run=2), of("e.json", "gpu-1", 0, job="research/one")
    assert run("assay-attribute", "hang", silent, first).returncode == 0
    assert run("assay-attribute", "hang", silent, first, second).returncode == 2


def test_of_a_folder_what_tells_of_no_hang_is_passed_over(judge, write, tmp_path):
    write("numbers.json", [1, 2])
    write("job.log", b"gpu-1:77:80 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n")
    ranks = [{"rank": i, "sources": ["process"], "process": {"state": "stopped" if i == 2 else "futex", "for_s": 100}} for i in range(4)]
    write("hang.json", document("gpu-1", ranks))
    assert judge(tmp_path)["ranks"] == [2]


@pytest.mark.parametrize("state, more, act", [
    ("stopped", {"for_s": 100}, "owner"), ("gone", {}, "owner"), ("disk", {"for_s": 100}, "owner"),
])
def test_a_process_that_cannot_go_on_is_named(judge, write, state, more, act):
    ranks = [{"rank": i, "sources": ["process"], "process": {"state": "futex", "syscall": "futex"}} for i in range(4)]
    ranks[2]["process"] = {"state": state, **more}
    verdict = judge(write("a.json", document("gpu-1", ranks)))
    assert (verdict["ranks"], verdict["class"], verdict["act"]) == ([2], "host-stalled", act)


def test_a_loader_that_starves_is_named(judge, write):
    ranks = [{"rank": i, "sources": ["process", "stack"], "process": {"state": "futex", "for_s": 90,
              "where": "all_reduce (distributed_c10d.py:2501)"}} for i in range(4)]
    ranks[1]["process"] = {"state": "sleeping", "for_s": 90, "where": "next (loader.py:31)"}
    verdict = judge(write("a.json", document("gpu-1", ranks)))
    assert (verdict["ranks"], verdict["class"], verdict["act"]) == ([1], "host-stalled", "stacks")
    ranks[1]["process"]["for_s"] = 2
    verdict = judge(write("a.json", document("gpu-1", ranks)))
    assert (verdict["ranks"], verdict["suspects"], verdict["class"]) == ([], [1], "cannot say")
    # It may be in a loop, or wait for its GPU.
    ranks[1] = {**ranks[1], "gpu": "gpu 1", "process": {"state": "spinning", "for_s": 90, "where": "backward (graph.py:825)"}}
    verdict = judge(write("a.json", document("gpu-1", ranks)))
    assert (verdict["ranks"], verdict["suspects"], verdict["class"]) == ([], [1], "cannot say")


def test_only_a_fatal_xid_evicts(judge, write):
    ranks = [{"rank": i, "sources": ["device"], "device": {"xid": 79 if i == 3 else -1}} for i in range(4)]
    verdict = judge(write("a.json", document("gpu-1", ranks)))
    assert (verdict["ranks"], verdict["class"], verdict["act"]) == ([3], "own-gpu-stopped", "evict")


def test_input_that_is_wrong_is_one_line(run, write, tmp_path):
    for path, words in [
        (write("a.json", {"format": "assay-hang/1", "ranks": [{"rank": -5}]}), "ranks[0].rank: must be a whole number"),
        (write("b.txt", b"hello"), "neither a flight recorder dump"),
        (write("c.json", {"some": "thing"}), "of no kind"),
        (write("_dump_1", b""), "it is empty"),
        (tmp_path / "nowhere", "No such file"),
    ]:
        result = run("assay-attribute", "hang", path)
        assert result.returncode == 2 and result.stdout == ""
        assert result.stderr.startswith(str(path)) and words in result.stderr and result.stderr.count("\n") == 1
    result = run("assay-attribute", "hang")
    assert result.returncode == 2 and "which files?" in result.stderr


def test_the_table_names_the_culprit_first(run, write):
    ranks = [{"rank": i, "sources": ["process"], "process": {"state": "futex"}} for i in range(4)]
    ranks[2]["process"] = {"state": "stopped", "for_s": 61}
    result = run("assay-attribute", "hang", write("a.json", document("gpu-1", ranks)))
    lines = result.stdout.splitlines()
    assert lines[0].startswith("host-stalled: rank 2 (gpu-1) stopped on the host")
    assert any(line.startswith("RANK") for line in lines)
