# SPDX-License-Identifier: Apache-2.0
"""assay-optrace: recordings of a job by NDTimeline and the PyTorch profiler are converted back to the same trace."""
import collections
import contextlib
import copy
import gzip
import importlib.machinery
import importlib.util
import io
import json
import subprocess

import pytest
from attribution_fixtures import attribute, generator, trace  # noqa: F401

EPOCH = 1790000000.0
# Operations that these tools do not record.
UNRECORDED = ("gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "optimizer-clip-main-grad")
METRICS = {"params-all-gather": "unshard-all-gather", "grads-reduce-scatter": "grad-reduce-scatter"}
NCCL = {"params-all-gather": "AllGather", "grads-reduce-scatter": "ReduceScatter"}


@pytest.fixture
def convert(top, tmp_path):
    def start(*words, status=0):
        result = subprocess.run(["/usr/bin/python3", top / "attribution/assay-optrace", *map(str, words)],
                                capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == status, result.stderr
        path = tmp_path / "converted.jsonl"
        path.write_text(result.stdout)
        return path, result.stderr

    return start


@pytest.fixture
def job(trace):  # noqa: F811
    """A job of 2 x 4 workers, tp 2, without operations that the tools do not record: (meta, operations, path, truth)."""
    path, truth = trace("slow-worker", 3, "dp=2", "pp=4", "mb=6", "steps=4", "tp=2")
    lines = path.read_text().splitlines()
    ops = [json.loads(line) for line in lines[1:]]
    kept = [op for op in ops if op["optype"] not in UNRECORDED]
    path.write_text("\n".join([lines[0]] + [json.dumps(op) for op in kept]) + "\n")
    return json.loads(lines[0]), kept, path, truth


def same(attribute, path, other):  # noqa: F811
    ours, theirs = (json.loads(attribute(p, "-o", "json", "--align", "none")) for p in (path, other))
    for key in ("S", "T", "T_act", "T_ideal", "M_w"):
        assert theirs[key] == pytest.approx(ours[key], rel=1e-6), key
    assert [w["rank"] for w in theirs["top_workers"]] == [w["rank"] for w in ours["top_workers"]]
    assert (theirs["primary"], theirs["ops_used"], theirs["dropped_steps"]) == (
        ours["primary"], ours["ops_used"], ours["dropped_steps"])
    return theirs


def record(meta, key, ops, tp_rank):
    rank, optype, step = key
    nodes = {r["rank"]: r["node"] for r in meta["ranks"]}
    return {"ts": EPOCH, "rank": rank + tp_rank, "metric": METRICS.get(optype, optype), "iteration": 0, "step": step,
            "value": 1.0, "start_ts": [EPOCH + op["start_ts"] for op in ops], "duration": [op["duration"] for op in ops],
            "model_chunk": 0, "stage": ops[0]["stage"], "dp_rank": ops[0]["dp_rank"], "tp_rank": tp_rank,
            "ip": nodes[rank], "role": "trainer", "trial": "t", "run_id": 0}


def grouped(ops, *keys):
    groups = collections.defaultdict(list)
    for op in ops:
        groups[tuple(op[key] for key in keys)].append(op)
    return groups


def test_ndtimeline(job, convert, attribute, tmp_path):  # noqa: F811
    meta, ops, path, truth = job
    source = tmp_path / "nd.jsonl"
    by = grouped(ops, "rank", "optype", "step").items()
    source.write_text("".join(json.dumps(record(meta, key, group, tp)) + "\n" for key, group in by for tp in (1, 0)))
    converted, words = convert("ndtimeline", source)
    assert f"left out {len(ops)} operations of tensor-parallel peers" in words
    found = same(attribute, path, converted)
    assert found["primary"] == truth["label"] and found["top_node"] == truth["node"]
    head = json.loads(converted.read_text().splitlines()[0])
    assert {k: head[k] for k in ("dp_size", "pp_size", "tp_size", "world_size")} == {
        k: meta[k] for k in ("dp_size", "pp_size", "tp_size", "world_size")}


def test_two_operations_in_one_record_are_two(convert, tmp_path):
    source = tmp_path / "nd.jsonl"
    one = {"rank": 0, "dp_rank": 0, "stage": 0, "tp_rank": 0, "step": 1, "start_ts": [1.5], "duration": [0.25]}
    source.write_text(json.dumps({**one, "metric": "forward-send-backward-recv"}) + "\n" +
                      json.dumps({**one, "metric": "cross-mesh-recv"}) + "\n")
    converted, words = convert("ndtimeline", source)
    ops = [json.loads(line) for line in converted.read_text().splitlines()[1:]]
    assert sorted(op["optype"] for op in ops) == ["backward-recv", "forward-send"]
    assert all((op["duration"], op["seq_id"], op["mc"]) == (0.25, 0, -1) for op in ops)
    assert "left out 1 operations 'cross-mesh-recv'" in words


def profile_event(op, meta):
    event = {"ph": "X", "ts": op["start_ts"] * 1e6, "dur": op["duration"] * 1e6, "pid": 0, "tid": 7, "args": {}}
    tp, dp, pp = meta["tp_size"], meta["dp_size"], meta["pp_size"]
    kind = op["optype"].split("-")[1] if op["optype"].endswith(("-send", "-recv")) else None
    if kind:
        ahead = op["optype"] in ("forward-send", "backward-recv")
        peer = ((op["stage"] + (1 if ahead else -1)) % pp * dp + op["dp_rank"]) * tp
        arrow = "->" if kind == "send" else "<-"
        event.update(cat="kernel", name="ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)")
        event["args"]["Collective name"] = f"nccl:{kind} {op['rank']}{arrow}{peer}"
    elif op["optype"] in NCCL:
        ranks = [(op["stage"] * dp + d) * tp for d in range(dp)]
        event.update(cat="kernel", name=f"ncclDevKernel_{NCCL[op['optype']]}_RING_LL(ncclDevComm*)")
        event["args"].update({"Collective name": "c", "Process Group Ranks": str(ranks)})
    else:
        name = {"optimizer": "Optimizer.step#AdamW.step"}.get(op["optype"], op["optype"])
        event.update(cat="gpu_user_annotation", name=name)
    return event


def profiles(meta, ops, folder):
    """One file per rank; consecutive steps on one clock; a tensor-parallel collective within each compute."""
    for (rank,), mine in grouped(ops, "rank").items():
        events = []
        for (step,), of_step in sorted(grouped(mine, "step").items()):
            shift = 100.0 * step
            moved = [{**op, "start_ts": op["start_ts"] + shift} for op in of_step]
            events.append({"ph": "X", "cat": "gpu_user_annotation", "name": f"ProfilerStep#{step}", "ts": shift * 1e6,
                           "dur": 99e6, "pid": 0, "tid": 7})
            events += [profile_event(op, meta) for op in moved]
            events += [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevComm*)",
                        "ts": op["start_ts"] * 1e6 + 5, "dur": 3, "pid": 0, "tid": 7, "args": {}}
                       for op in moved if op["optype"] == "forward-compute"]
        path = folder / f"rank{rank}.pt.trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1790000000000000000,
                                    "distributedInfo": {"backend": "nccl", "rank": rank}, "traceEvents": events}))
        yield path


def test_pytorch(job, convert, attribute, tmp_path):  # noqa: F811
    meta, ops, path, truth = job
    files = list(profiles(meta, ops, tmp_path))
    converted, words = convert("pytorch", "--dp", 2, "--pp", 4, "--tp", 2, *files)
    forwards = sum(op["optype"] == "forward-compute" for op in ops)
    assert f"left out {forwards} NCCL kernels of other groups" in words
    found = same(attribute, path, converted)
    assert found["primary"] == truth["label"] and found["top_node"] == truth["node"]


GLOO = {"params-all-gather": "gloo:all_gather", "grads-reduce-scatter": "gloo:all_reduce",
        "optimizer": "Optimizer.step#SGD.step"}


def gloo_event(op, began):
    """An event of torch without Kineto: no category, no peer, microseconds since the start of the profile."""
    kind = op["optype"].split("-")[1] if op["optype"].endswith(("-send", "-recv")) else None
    return {"name": f"gloo:{kind}" if kind else GLOO.get(op["optype"], op["optype"]), "ph": "X",
            "ts": (op["start_ts"] - began) * 1e6, "dur": op["duration"] * 1e6,
            "tid": 2 if op["optype"] in GLOO else 1, "pid": "CPU functions", "args": {}}


def gloo_profiles(ops, folder, steps=True, clock=True):
    """Arrays of events, one file per rank, each with its own clock."""
    for n, ((rank,), mine) in enumerate(sorted(grouped(ops, "rank").items())):
        moved = [{**op, "start_ts": op["start_ts"] + 100.0 * op["step"]} for op in mine]
        began = min(op["start_ts"] for op in moved) - 0.5 - 0.125 * n
        events = [gloo_event(op, began) for op in moved]
        if steps:
            events += [{"name": f"ProfilerStep#{step}", "ph": "X", "ts": (100.0 * step - began) * 1e6, "dur": 99e6, "tid": 1,
                        "pid": "CPU functions", "args": {}} for step in sorted({op["step"] for op in mine})]
        if clock:
            events.append({"name": f"clock#{int(1.79e18) + int(began * 1e9) + 250000000}", "ph": "X", "ts": 250000.0, "dur": 1,
                           "tid": 1, "pid": "CPU functions", "args": {}})
        # Ranges of torch inside a range of the loop do not count; a reduction inside a compute is not that of the gradients.
        events += [{**e, "name": "optimizer", "ts": e["ts"] - 1, "dur": e["dur"] + 2} for e in events
                   if e["name"].startswith("Optimizer") and not steps]
        events += [{**e, "name": "gloo:all_reduce", "ts": e["ts"] + 1, "dur": 1} for e in events if e["name"] == "forward-compute"]
        path = folder / f"rank{rank}.json"
        path.write_text(json.dumps(events))
        yield path


@pytest.fixture
def gloo_job(trace):  # noqa: F811
    path, truth = trace("slow-worker", 3, "dp=2", "pp=4", "mb=6", "steps=12", "tp=1")
    lines = path.read_text().splitlines()
    kept = one_after_the_other([op for op in map(json.loads, lines[1:]) if op["optype"] not in UNRECORDED])
    meta = json.loads(lines[0])
    for rank in meta["ranks"]:
        rank["node"] = f"n{rank['rank']:03d}"
    path.write_text("\n".join(json.dumps(line) for line in [meta] + kept) + "\n")
    return kept, path, truth


def one_after_the_other(ops):
    """The same job as a sequential loop of receive, compute and send: each call begins when the loop reaches it."""
    for mine in grouped(ops, "step", "rank").values():
        by = {(op["optype"], op["seq_id"]): op for op in mine}
        free = 0.0
        for compute in sorted((op for op in mine if op["optype"].endswith("-compute")), key=lambda op: op["start_ts"]):
            done = compute["start_ts"] + compute["duration"]
            for kind, begin in (("recv", free), ("send", done)):
                op = by.get((compute["optype"].replace("compute", kind), compute["seq_id"]))
                if op:
                    end = op["start_ts"] + op["duration"]
                    op["start_ts"], op["duration"] = round(begin, 9), round(max(end - begin, 1e-6), 9)
            free = done
    return ops


def test_gloo(gloo_job, convert, attribute, tmp_path):  # noqa: F811
    ops, path, truth = gloo_job
    converted, words = convert("pytorch", "--dp", 2, "--pp", 4, "--ranks-per-node", 1, *gloo_profiles(ops, tmp_path))
    forwards = sum(op["optype"] == "forward-compute" for op in ops)
    assert f"left out {forwards} all-reduces before the last backward" in words
    found = same(attribute, path, converted)
    assert found["primary"] == truth["label"] and found["class"] == ["worker"]
    of_type = collections.Counter(json.loads(line)["optype"] for line in converted.read_text().splitlines()[1:])
    assert of_type == collections.Counter(op["optype"] for op in ops)


CALLS = {"gloo:send": "c10d::send", "gloo:recv": "c10d::recv_", "gloo:all_reduce": "c10d::allreduce_", "gloo:all_gather": "c10d::allgather_"}


def test_gloo_begins_when_it_was_called(gloo_job, convert, tmp_path):
    """gloo:send begins when all data is written, a collective when a thread picks it up: the loop's calls have the true begin."""
    ops, _, _ = gloo_job
    files = list(gloo_profiles(ops, tmp_path))
    expected = [json.loads(line) for line in convert("pytorch", "--dp", 2, "--pp", 4, *files)[0].read_text().splitlines()[1:]]
    for path in files:
        events = json.loads(path.read_text())
        calls = [{**e, "name": CALLS[e["name"]], "tid": 1, "dur": e["dur"] * 0.9} for e in events if e["name"] in CALLS]
        late = [{**e, "ts": e["ts"] + e["dur"] * 0.9, "dur": e["dur"] * 0.1} if e["name"] in CALLS else e for e in events]
        path.write_text(json.dumps(late + calls))
    begins = [json.loads(line) for line in convert("pytorch", "--dp", 2, "--pp", 4, *files)[0].read_text().splitlines()[1:]]
    for ours, theirs in zip(expected, begins, strict=True):
        assert (theirs["start_ts"], theirs["duration"]) == pytest.approx((ours["start_ts"], ours["duration"]), abs=2e-9)
        assert [theirs[k] for k in ("step", "rank", "optype", "seq_id")] == [ours[k] for k in ("step", "rank", "optype", "seq_id")]
    # One call more than transfers: they cannot be matched, and gloo's times are used.
    events = json.loads(files[0].read_text())
    files[0].write_text(json.dumps(events + [next(e for e in events if e["name"] == "c10d::send")]))
    odd = [json.loads(line) for line in convert("pytorch", "--dp", 2, "--pp", 4, *files)[0].read_text().splitlines()[1:]]
    sends = [(a["duration"], b["duration"]) for a, b in zip(begins, odd, strict=True) if a["rank"] == 0 and a["optype"].endswith("-send")]
    assert sends and all(b == pytest.approx(a * 0.1, abs=2e-9) for a, b in sends)


def test_gloo_without_schedule_and_clock(gloo_job, convert, attribute, tmp_path):  # noqa: F811
    """Steps end with the optimizer, clocks are aligned at the end of the gradient reductions."""
    ops, path, _ = gloo_job
    converted, _ = convert("pytorch", "--dp", 2, "--pp", 4, "--ranks-per-node", 1, *gloo_profiles(ops, tmp_path, steps=False, clock=False))
    ours, theirs = (json.loads(attribute(p, "-o", "json")) for p in (path, converted))
    assert theirs["steps"] == 12 and theirs["ops_used"] == ours["ops_used"] and theirs["dropped_steps"] == []
    assert theirs["S"] == pytest.approx(ours["S"], rel=0.02) and theirs["primary"] == ours["primary"]
    assert [(s["dp"], s["stage"], s["counts"]) for s in theirs["suspects"]] == [
        (s["dp"], s["stage"], s["counts"]) for s in ours["suspects"]]


def test_gloo_clocks_that_nobody_can_place_are_told(gloo_job, convert, tmp_path):
    ops, _, _ = gloo_job
    files = list(gloo_profiles([op for op in ops if op["optype"] != "grads-reduce-scatter"], tmp_path, clock=False))
    _, words = convert("pytorch", "--dp", 2, "--pp", 4, *files, status=2)
    assert "rank 1: the origin of its times is unknown" in words and "clock#UNIX_NS" in words
    events = json.loads(files[0].read_text())
    files[0].write_text(json.dumps(events + [{"name": "clock#1790000000000000000", "ph": "X", "ts": 1, "dur": 1}]))
    _, words = convert("pytorch", "--dp", 2, "--pp", 4, *files, status=2)
    assert "rank 1: the origin of its times is unknown, unlike that of others" in words
    _, words = convert("pytorch", "--dp", 2, "--pp", 4, files[0], files[0], status=2)
    assert "rank 0 has two files" in words


@pytest.mark.parametrize("tool,content,says", [
    ("ndtimeline", b"\x9c\x0000\x05\x00\x00\x00hello\n", "which is not read: pickles can run code"),
    ("ndtimeline", b"{\"rank\": 1\n", "line 1: not JSON"),
    ("ndtimeline", b"[]\n", "line 1: expected an object"),
    ("ndtimeline", b"", "no known operation"),
    ("ndtimeline", b"{\"rank\":0,\"dp_rank\":0,\"stage\":0,\"tp_rank\":0,\"step\":1,\"metric\":\"gc\","
                   b"\"start_ts\":[1],\"duration\":[-1]}\n", "line 1: duration: -1 is negative"),
    ("ndtimeline", b"{\"rank\":0,\"dp_rank\":0,\"stage\":0,\"tp_rank\":0,\"step\":1,\"metric\":\"gc\","
                   b"\"start_ts\":[NaN],\"duration\":[1]}\n", "line 1: start_ts and duration: nan is not a number"),
    ("ndtimeline", b"{\"rank\":0,\"dp_rank\":-1}\n", "line 1: dp_rank: expected a whole number, not -1"),
    ("pytorch", b"{}", "no traceEvents"),
    ("pytorch", b"nothing", "not JSON"),
    ("pytorch", b"{\"traceEvents\": [], \"distributedInfo\": {\"rank\": 9}}", "rank 9 is not below dp * pp * tp * dsp = 1"),
    ("pytorch", b"{\"traceEvents\": [], \"distributedInfo\": {\"rank\": 0}}", "no ProfilerStep#N"),
    ("pytorch", b"\x1f\x8b\x08", "ended before"),
    ("pytorch", gzip.compress(b"{}" * 1000)[:20] + b"\xff" * 40, "assay-optrace: "),
    ("pytorch", b"[" * 3000, "not JSON"),
    ("ndtimeline", b"[" * 3000, "line 1: not JSON"),
    ("pytorch", b"{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [{\"ph\": \"X\", \"ts\": \"soon\", \"dur\": 1}]}",
     "traceEvents[0]: ts: expected a number, not \"soon\""),
    ("pytorch", b"{\"traceEvents\": [], \"distributedInfo\": [1]}", "distributedInfo: expected an object, not [1]"),
    ("ndtimeline", b"{\"rank\":0,\"dp_rank\":0,\"stage\":0,\"tp_rank\":0,\"step\":1,\"metric\":[\"gc\"]}\n", "line 1: metric: expected a text"),
])
def test_what_cannot_be_converted_is_told(convert, tmp_path, tool, content, says):
    path = tmp_path / "input"
    path.write_bytes(content)
    converted, words = convert(tool, path, status=2)
    assert converted.read_text() == "" and words.count("\n") == 1 and says in words


def test_a_missing_file_is_told(job, convert, tmp_path):
    meta, ops, _, _ = job
    files = list(profiles(meta, ops, tmp_path))
    _, words = convert("pytorch", "--dp", 2, "--pp", 4, "--tp", 2, *files[1:], status=2)
    assert "7 workers have operations, not dp * pp = 8" in words


ODD = (None, True, -1, 0, 7, 10**30, 1.5, 1e308, float("nan"), float("inf"), "", "soon", "\x1b]0;x\x07\n", "\ud800", [], [[]], ["x"], [None], {}, {"x": 1})


def mutations(value):
    """The document with one value, at any depth, odd or missing."""
    yield from ODD
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        for odd in mutations(value[key]):
            changed = copy.copy(value)
            changed[key] = odd
            yield changed
        changed = copy.copy(value)
        del changed[key]
        yield changed


def small(tool):
    """(arguments, lines or the document) of convertible input."""
    one = {"rank": 0, "dp_rank": 0, "stage": 0, "tp_rank": 0, "step": 1, "model_chunk": 0, "ip": "h", "start_ts": [1.5, 2], "duration": [0.25, 1]}
    if tool == "ndtimeline":
        return [{**one, "metric": "forward-send-backward-recv"}, {**one, "metric": "gc", "rank": 1, "stage": 1}]
    if tool == "gloo":
        bare = {"ph": "X", "tid": 1, "pid": "CPU functions", "args": {}}
        return [{**bare, "name": name, "ts": float(5 * i), "dur": 2.0} for i, name in enumerate((
            "clock#1790000000000000000", "forward-compute", "gloo:send", "gloo:recv", "backward-compute", "gloo:all_reduce",
            "gloo:all_gather", "gloo:broadcast", "optimizer"))]
    common = {"ph": "X", "ts": 5.0, "dur": 2.0, "pid": 0}
    group = {"Collective name": "c", "Process Group Ranks": "[0]"}
    return {"baseTimeNanoseconds": 1790000000000000000, "distributedInfo": {"backend": "nccl", "rank": 0}, "traceEvents": [
        {**common, "cat": "gpu_user_annotation", "name": "ProfilerStep#3", "ts": 0.0, "dur": 99.0},
        {**common, "cat": "gpu_user_annotation", "name": "forward-compute"},
        {**common, "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "args": {"Collective name": "nccl:send 0->0"}},
        {**common, "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "args": {"Collective name": "send", "Dst Rank": 0}},
        {**common, "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "args": {"Collective name": "recv", "Src Rank": 0}},
        {**common, "cat": "kernel", "name": "ncclDevKernel_AllGather(x)", "args": group, "ts": 20.0},
        {**common, "cat": "kernel", "name": "ncclDevKernel_AllReduce(x)", "args": {**group, "Process Group Ranks": [0]}, "ts": 30.0}]}


@pytest.mark.parametrize("tool", ["ndtimeline", "pytorch", "gloo"])
def test_no_odd_value_is_a_traceback(top, tmp_path, monkeypatch, tool):
    loader = importlib.machinery.SourceFileLoader("optrace", str(top / "attribution/assay-optrace"))
    optrace = importlib.util.module_from_spec(importlib.util.spec_from_loader("optrace", loader))
    loader.exec_module(optrace)
    source = tmp_path / "rank0.json"
    monkeypatch.setattr("sys.argv", ["assay-optrace", "pytorch" if tool == "gloo" else tool, str(source)])
    good, statuses = small(tool), collections.Counter()
    for document in [good, *mutations(good)]:
        if tool == "ndtimeline" and isinstance(document, list):
            source.write_text("".join(json.dumps(line) + "\n" for line in document))
        else:
            source.write_text(json.dumps(document))
        out, words = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(words):
            status = optrace.main()
            words.flush()
        said = words.buffer.getvalue().decode()
        assert status in (0, 2) and (status == 0 or said.count("\n") == 1), (document, said)
        assert "\x1b" not in said
        statuses[status] += 1
    assert statuses[0] > 50 and statuses[2] > 50, statuses


def test_the_events_alone_are_a_profile_too(convert, tmp_path):
    whole, alone = tmp_path / "rank0.whole.json", tmp_path / "rank0.json"
    document = {**small("pytorch"), "baseTimeNanoseconds": 0}
    whole.write_text(json.dumps(document))
    alone.write_text(json.dumps(document["traceEvents"]))
    expected = convert("pytorch", whole)[0].read_text()
    assert convert("pytorch", alone)[0].read_text() == expected


def kineto(rank, steps=12, base=1790000000 * 10**9, first=100, **more):
    """A rank's profile in Kineto's format, of a loop of two replicas."""
    events = []
    for step in range(steps):
        for name, at, dur in ((f"ProfilerStep#{first + step}", 0, 9e4), ("forward-compute", 10, 39990), ("backward-compute", 40010, 31990),
                              ("gloo:all_reduce", 72010, 1e3)):
            events.append({"ph": "X", "cat": "user_annotation", "name": name, "ts": step * 1e5 + at, "dur": dur})
    return {"baseTimeNanoseconds": base, "distributedInfo": {"rank": rank}, "traceEvents": events, **more}


@pytest.fixture
def part(top):
    """part(bytes, *words) -> (exit status, its description of the part, its lines, its error message)"""
    def make(body, *words, tool="pytorch", shape="0=dp2-pp1-tp1"):
        done = subprocess.run(["/usr/bin/python3", top / "attribution/assay-optrace", tool, "--part", shape, *words, "-"], input=body,
                              capture_output=True, timeout=60, check=False)
        head, _, packed = done.stdout.partition(b"\n")
        lines = gzip.decompress(packed).decode().splitlines() if packed else []
        return done.returncode, json.loads(head) if head else None, lines, done.stderr.decode()
    return make


def test_parts_of_two_ranks_are_one_trace_on_the_clock_of_their_hosts(part, attribute, tmp_path):  # noqa: F811
    made = [part(json.dumps(kineto(rank, base=(1790000000 + 7 * rank) * 10**9 + 123)).encode(), "--job", "a/b", shape=f"{rank}=dp2-pp1-tp1")
            for rank in (0, 1)]
    assert [(status, said["rank"], said["part"], said["of"], said["step"]) for status, said, *_ in made] == [(0, 0, 1, 2, 100), (0, 1, 2, 2, 100)]
    assert made[0][2][0] == made[1][2][0] and json.loads(made[0][2][0])["job"] == "a/b"
    assert json.loads(made[0][2][1])["start_ts"] == pytest.approx(1790000000.000010123, abs=3e-7)
    assert '"start_ts": 1790000000.000010123' in made[0][2][1]  # precise to the nanosecond
    assert [made[1][1][k] - made[0][1][k] for k in ("first", "last")] == pytest.approx([7, 7], abs=1e-6)
    path = tmp_path / "whole.jsonl"
    path.write_text("\n".join(line for _, _, lines, _ in made for line in lines) + "\n")
    assert json.loads(attribute(path, "-o", "json"))["steps"]
    again = part("\n".join(made[0][2]).encode(), "--job", "a/b", tool="optrace")
    assert again[1] == made[0][1] and len(again[2]) == len(made[0][2])
    for one, other in zip(*[map(json.loads, lines) for lines in (again[2], made[0][2])]):
        assert one == {**other, **({"start_ts": pytest.approx(other["start_ts"], abs=1e-6)} if "start_ts" in other else {})}


BOMB = gzip.compress(b'"' + b" " * (200 << 20))
LARGE = b'"' + b"x" * (65 << 20)


@pytest.mark.parametrize("body,status,says", [
    (BOMB, 3, "decompresses to more than 100 times its size"),
    (LARGE, 3, "more than 64 MiB"),
    (gzip.compress(LARGE, 0), 3, "more than 64 MiB"),
    (json.dumps(kineto(1)).encode(), 4, "its rank 1 does not run here"),
    (json.dumps({**kineto(0), "distributedInfo": {"rank": True}}).encode(), 4, "rank True"),
    (json.dumps(kineto(0, base=0)).encode(), 2, "record a range clock#UNIX_NS"),
    (b"", 2, "not JSON"),
    (gzip.compress(json.dumps(kineto(0)).encode())[:-9], 2, "ended before"),
], ids=("bomb", "large", "large, packed", "rank", "no rank", "no clock", "empty", "cut"))
def test_a_part_that_cannot_be_is_told_with_its_own_status(part, body, status, says):
    found, head, _, words = part(body)
    assert (found, head) == (status, None) and says in words and words.count("\n") == 1


def test_a_part_of_a_peer_is_not_wanted_and_a_name_tells_a_rank(part):
    assert part(json.dumps(kineto(1)).encode(), shape="1=dp1-pp1-tp2")[0] == 5
    nameless = {**kineto(0), "distributedInfo": {}}
    assert part(json.dumps(nameless).encode())[0] == 4
    assert part(json.dumps(nameless).encode(), "--name", "h_rank0.pt.trace.json")[1]["rank"] == 0
