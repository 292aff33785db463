# SPDX-License-Identifier: Apache-2.0
"""assay-attribute with bad input: one message with the line, exit status 2, and no output."""
import gzip
import json
import resource
import shutil
import subprocess

import pytest
from attribution_fixtures import generator, trace  # noqa: F401

MEBIBYTE = 1 << 20


@pytest.fixture
def refused(run):
    """refused(path, "says") -> the sentence."""

    def check(path, *says, **more):
        result = run("assay-attribute", path, **more)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.count("\n") == 1 and result.stderr.startswith(f"{path}: ")
        for part in says:
            assert part in result.stderr
        return result.stderr

    return check


@pytest.fixture
def lines(trace):  # noqa: F811
    """The lines of a small valid trace: 3 steps of 2 x 2 workers."""
    path, _ = trace("none", 1, "dp=2", "pp=2", "mb=2", "steps=3")
    return path, path.read_text().splitlines()


def put(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


CHANGES = {
    "an operation that nobody knows": ({"optype": "forward-nothing"}, "unknown operation 'forward-nothing'"),
    "two operations in one": ({"optype": "forward-send-backward-recv"}, "is two operations"),
    "a negative duration": ({"duration": -0.001}, "duration: -0.001 is outside 0 to"),
    "a time that is no number": ({"start_ts": float("nan")}, "start_ts: 'NaN' is not a number"),
    "a time without end": ({"duration": float("inf")}, "duration: 'Infinity' is not a number"),
    "a replica outside the shape": ({"dp_rank": 2}, "dp_rank: 2 is outside 0 to 1"),
    "a stage outside the shape": ({"stage": -1}, "stage: -1 is outside 0 to 1"),
    "a rank outside the shape": ({"rank": 4000}, "rank: 4000 is outside"),
    "the rank of another worker": ({"rank": 1}, "rank: 1 for dp_rank"),
    "a chunk outside the shape": ({"mc": 3}, "mc: 3 is outside"),
    "a step that is no number": ({"step": "7"}, "step: '\"7\"' is not a number"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_line_that_is_wrong_is_named(lines, refused, what):
    path, text = lines
    change, says = CHANGES[what]
    text[20] = json.dumps({**json.loads(text[20]), **change})
    refused(put(path, text), f"{path}: line 21: ", says)


def test_a_key_that_is_there_twice(lines, refused):
    path, text = lines
    text[20] = text[20].replace('"stage"', '"step"')
    refused(put(path, text), "line 21: step appears twice")


def test_an_operation_that_is_there_twice(lines, refused):
    path, text = lines
    refused(put(path, text + [text[9]]), "line 10", f"line {len(text) + 1}")


def test_a_world_that_does_not_add_up(lines, refused):
    path, text = lines
    meta = json.loads(text[0])
    meta["world_size"] += 1
    refused(put(path, [json.dumps(meta)] + text[1:]), "line 1: world_size: 9 is not")


def test_two_steps_are_too_few(lines, refused):
    path, text = lines
    last = json.loads(text[-1])["step"]
    refused(put(path, [t for t in text if json.loads(t).get("step") != last]), "at least 3")


def test_operations_that_wait_for_each_other(lines, refused):
    """On the first stage all backwards come before all forwards, so they depend on each other."""
    path, text = lines
    ops = [json.loads(t) for t in text[1:]]
    for op in ops:
        if op["stage"] == 0 and op["optype"] == "forward-compute":
            op["start_ts"] += 1000
        if op["stage"] == 0 and op["optype"] in ("forward-send", "forward-recv"):
            op["start_ts"] += 1000
    refused(put(path, [text[0]] + [json.dumps(op) for op in ops]), "waits for itself", "form a cycle")


@pytest.mark.parametrize("content,says", [
    (b"", "empty: this is not a trace"),
    (b"\n", "line 1: empty"),
    (b"hello\n", "line 1: neither the meta line of optrace/1 nor the names of CSV columns"),
    (b"{}\n", "line 1: "),
    (b"[1, 2]\n", "line 1: "),
    (b"\x00\x01\x02\n", "line 1: "),
    (b"{\"traceEvents\": []}\n", "line 1: "),
    (b"\x1f\x8b", "too early"),
    (b"\x28\xb5\x2f\xfd", "too early"),
    (b"\x1f\x8bnothing like gzip at all", "broken gzip"),
    (b"\x28\xb5\x2f\xfdnothing like zstd at all", "zstd"),
])
def test_files_that_are_no_traces(tmp_path, refused, content, says):
    path = tmp_path / "job.trace"
    path.write_bytes(content)
    refused(path, f"{path}: ", says)


def test_a_file_that_is_not_there(tmp_path, refused):
    refused(tmp_path / "nothing", "nothing: No such file or directory")
    refused(tmp_path, "directory")


def zstd(text, *words):
    if not shutil.which("zstd"):
        pytest.skip("no zstd to pack with")
    return subprocess.run(["zstd", "-q", "-c", *words], input=text, capture_output=True, check=True).stdout


@pytest.mark.parametrize("pack", (gzip.compress, zstd), ids=("gzip", "zstd"))
def test_packed_traces(lines, run, refused, tmp_path, pack):
    path, text = lines
    plain = run("assay-attribute", path).stdout
    whole = path.read_bytes()
    packed = tmp_path / "trace.packed"
    packed.write_bytes(pack(whole))
    assert run("assay-attribute", packed).stdout == plain
    with packed.open("rb") as stdin:
        assert run("assay-attribute", "-", stdin=stdin).stdout == plain
    # A file compressed in two pieces is one file.
    packed.write_bytes(pack(whole[:1000]) + pack(whole[1000:]))
    assert run("assay-attribute", packed).stdout == plain
    full = pack(whole)
    for length in (len(full) - 1, len(full) // 2, 30):
        packed.write_bytes(full[:length])
        refused(packed, f"{packed}: line ", "ends too early")
    packed.write_bytes(full + b"and more")
    refused(packed, f"{packed}: line ", "broken ")
    damaged = bytearray(full)
    damaged[len(full) // 2] ^= 0x55
    packed.write_bytes(damaged)
    refused(packed, f"{packed}: line ")


BOMBS = {
    "the first line again": ("META", 4096, "it decompresses to more than 100 times its size"),
    "blank lines": ("\n", MEBIBYTE, "more than 4 MiB of blank lines"),
    "lines of blanks": (" " * 63 + "\n", MEBIBYTE // 64, "more than 4 MiB of blank lines"),
    "blanks": (" ", MEBIBYTE, "line 2: longer than 65536 bytes"),
}


@pytest.mark.alone
@pytest.mark.parametrize("what", BOMBS)
@pytest.mark.parametrize("pack", ["gzip", "zstd"])
def test_four_gigabytes_of_nothing_cost_no_two_seconds(lines, refused, tmp_path, what, pack):
    """Compressed in pieces: gzip members and zstd frames may be concatenated."""
    _, text = lines
    piece, times, says = BOMBS[what]
    head = (text[0] + "\n").encode()
    body = head * times if piece == "META" else piece.encode() * times
    packed = {"gzip": lambda b: gzip.compress(b, 9), "zstd": zstd}[pack]
    bomb = tmp_path / "bomb"
    bomb.write_bytes(packed(head) + packed(body) * ((4 << 30) // len(body)))
    refused(bomb, says, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 2)))


@pytest.mark.parametrize("head,says", [
    ("", "line 1: longer than 33554432 bytes"),
    ("META", "line 2: longer than 65536 bytes"),
])
def test_a_line_of_a_gigabyte_is_not_held(lines, build, environ, head, says):
    """Through a pipe; the program exits long before the line ends."""
    _, text = lines
    first = (text[0] + "\n" if head else "") + '{"x":"'
    command = ["assay-attribute", "-"]
    with subprocess.Popen([build / command[0], command[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environ) as process:
        sent = 0
        try:
            process.stdin.write(first.encode())
            for _ in range(1024):
                sent += process.stdin.write(b"x" * MEBIBYTE)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")
    assert err.decode() == f"standard input: {says}\n"
    assert sent < 256 * MEBIBYTE
