# SPDX-License-Identifier: Apache-2.0
"""assayctl job submit: requests, refusals before and after sending, and the wait for the result."""
import contextlib
import gzip
import json
import os
import pty
import subprocess
import time
import urllib.parse

import pytest

from stub_jobs import detail, job, serve, window
from stub_lists import stub  # noqa: F401

META = '{"type":"meta","format":"optrace/1","dp_size":4,"pp_size":2,"world_size":8}\n'
ANSWER = {"job": "research/llm-7", "id": "j12", "run": 1, "window": 8, "state": "queued", "parts": 1, "of": 1}


@pytest.fixture
def ctl(run, stub):
    return lambda *words, **more: run("assayctl", *words, "--controller", stub.url, **more)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text(META)
    return path


def query_of(path):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, keep_blank_values=True, strict_parsing=True))


def test_a_trace_is_sent_as_it_is(ctl, stub, tmp_path):
    stub.answers["/v1/traces"] = (202, ANSWER)
    bytes_of = {"plain": META.encode(), "gzip": gzip.compress(META.encode()), "zstd": b"\x28\xb5\x2f\xfd\x00\x00\n\x00", "csv": b"step,stage\n1,2\n"}
    for name, content in bytes_of.items():
        (tmp_path / name).write_bytes(content)
        done = ctl("job", "submit", tmp_path / name, "--job", "research/llm-7")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "research/llm-7 (j12), run 1: window 8 is queued; `assayctl job j12` shows the job\n"
        path, headers, body = stub.raw.pop()
        assert body == content and query_of(path) == {"job": "research/llm-7"}
        assert headers["Content-Type"] == "application/octet-stream" and headers["Content-Length"] == str(len(content))
        assert not [h for h in headers if h.startswith("Assay-")], "nobody said when its steps were: nothing is made up"
    with (tmp_path / "plain").open() as piped:
        done = ctl("job", "submit", "-", "--job", "research/llm-7", "-o", "json", stdin=piped)
    assert json.loads(done.stdout) == ANSWER and stub.raw.pop()[2] == META.encode()


def test_what_is_known_of_it_goes_with_it(ctl, stub, trace, tmp_path):
    stub.answers["/v1/traces"] = (202, {**ANSWER, "parts": 2, "of": 3})
    meta = tmp_path / "job.yaml"
    meta.write_text("trial_name: a & b #1\ndp_size: 4\n")
    done = ctl("job", "submit", trace, "--job", "r/a b?&", "--run", "3", "--part", "2/3", "--meta", meta, "--ages", "900.5,12")
    assert done.returncode == 0 and "window 8 is queued; 2 of 3 parts have arrived; " in done.stdout
    path, headers, _ = stub.raw.pop()
    assert query_of(path) == {"job": "r/a b?&", "run": "3", "part": "2", "of": "3", "meta": meta.read_text()}
    first, last = float(headers["Assay-First-Step-Age"]), float(headers["Assay-Last-Step-Age"])
    assert first >= 900.5 and last >= 12 and first - last == pytest.approx(888.5, abs=0.0015)  # both are rounded to a millisecond


def test_the_same_again_is_told(ctl, stub, trace):
    stub.answers["/v1/traces"] = (200, {**ANSWER, "state": "analysed"})
    assert "window 8 was sent before, and is analysed; " in ctl("job", "submit", trace, "--job", "x").stdout


@pytest.mark.parametrize("content, words", [
    (b"", "empty"),
    (b" \n\n", "not a trace: nothing but blanks"),
    (b"\x7fELF\x02\x01\x01\x00", "not a trace: neither text, gzip nor zstd"),
    (b"PAR1\x15\x04", "Parquet is not supported: write it as CSV (docs/optrace.md)"),
    (b'[\n{"ph": "X"}]', "a profile, not yet a trace: `assay-optrace pytorch` converts it (docs/optrace.md)"),
    (b'{\n  "schemaVersion": 1,\n', "a profile, not yet a trace"),
])
def test_what_is_no_trace_is_not_sent(ctl, stub, tmp_path, content, words):
    path = tmp_path / "t"
    path.write_bytes(content)
    done = ctl("job", "submit", path, "--job", "x")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(f"assayctl: {path}: {words}") and done.stderr.count("\n") == 1
    assert stub.raw == []


def test_a_file_that_is_too_large_or_not_there_is_not_sent(ctl, stub, tmp_path):
    huge = tmp_path / "huge"
    with open(huge, "wb") as f:
        f.write(b"step,")
        f.truncate((32 << 20) + 1)
    for path, words in ((huge, "larger than 32 MiB, the most that is sent at once: compress it (gzip, zstd), or split it by ranks and send each"),
                        (tmp_path / "nothing", "No such file"), (tmp_path, "Is a directory")):
        done = ctl("job", "submit", path, "--job", "x")
        assert (done.returncode, done.stdout) == (2, "") and str(path) in done.stderr and words in done.stderr and done.stderr.count("\n") == 1
    assert stub.raw == []


def test_the_largest_trace_is_sent_whole(ctl, stub, tmp_path):
    largest = tmp_path / "largest"
    largest.write_bytes(b"1,2\n" * (8 << 20))
    stub.answers["/v1/traces"] = (202, ANSWER)
    assert ctl("job", "submit", largest, "--job", "x").returncode == 0
    assert stub.raw[0][2] == largest.read_bytes() and len(stub.raw[0][2]) == 32 << 20


@pytest.mark.parametrize("text, words", [
    ("a: [", "line 2 column 1"), ("", "empty"), ("# " + "x" * 2100 + "\na: 1\n", "too long: 2108 bytes"),
    ("a: \"" + "%" * 1100 + "\"\n", "in a URL; at most 2048 and 3000"),
])
def test_a_bad_meta_file_is_one_line(ctl, stub, trace, tmp_path, text, words):
    meta = tmp_path / "m.yaml"
    meta.write_text(text)
    done = ctl("job", "submit", trace, "--job", "x", "--meta", meta)
    assert (done.returncode, done.stdout) == (2, "") and str(meta) in done.stderr and words in done.stderr and done.stderr.count("\n") == 1
    assert stub.raw == []


@pytest.mark.parametrize("words, message", [
    ("", "job submit requires --job NAME: name of the job"),
    ("--job x --part 0/2", "--part: '0/2' is not a part like 2/8"),
    ("--job x --part 3/2", "--part: '3/2' is not a part"),
    ("--job x --part 1", "--part: '1' is not a part"),
    ("--job x --part 1/99999", "of at most 16384"),
    ("--job x --part=-1/2", "--part: '-1/2' is not a part"),
    ("--job x --ages 12,900", "--ages: '12,900' is not a pair of ages like 930,12"),
    ("--job x --ages 12", "--ages: '12' is not a pair of ages"),
    ("--job x --ages nan,1", "is not a pair of ages"),
    ("--job x --ages 1e9,1", "is not a pair of ages"),
    ("--job x --ages 99999999,1", "at most 366 days"),
    ("--job x --run 0", "--run: '0' is not between 1 and"),
    ("--job x --wait=1ms", "--wait: '1ms' is not between 200ms and 1d"),
    ("--job x --watch", "job submit has no --watch"),
    ("--job=", "--job requires a NAME"),
])
def test_wrong_use_is_one_line(run, trace, words, message):
    done = run("assayctl", "job", "submit", trace, *words.split())
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("status, body, code, words", [
    (400, {"detail": "no job is named ''"}, 2, "assayctl: no job is named ''\n"),
    (422, {"detail": "line 3: no optype"}, 2, "assayctl: line 3: no optype\n"),
    (413, {"detail": "more than 8 bytes"}, 2, "the controller refuses a trace this large (76 bytes): compress it, or send it in parts"),
    (403, {"detail": "not of research/*"}, 2, "forbidden: not of research/*"),
    (202, {"job": "x"}, 3, "the answer names no window; is this a controller?"),
    (500, {"detail": "x"}, 3, "status 500"),
])
def test_a_refusal_is_one_sentence(ctl, stub, trace, status, body, code, words):
    stub.answers["/v1/traces"] = (status, body)
    done = ctl("job", "submit", trace, "--job", "x")
    assert (done.returncode, done.stdout) == (code, "") and words in done.stderr and done.stderr.count("\n") == 1


def test_a_busy_controller_is_asked_again_when_it_said(ctl, stub, trace):
    answers = iter([(429, {"detail": "one window a minute"}, "Retry-After: 1"), (503, {"detail": "starting"}), (202, ANSWER)])
    stub.answers["/v1/traces"] = lambda _: next(answers)
    start = time.monotonic()
    done = ctl("job", "submit", trace, "--job", "x", "--ages", "100,50")
    assert done.returncode == 0 and time.monotonic() - start >= 2
    assert len(stub.raw) == 3 and len({body for _, _, body in stub.raw}) == 1
    ages = [float(headers["Assay-First-Step-Age"]) for _, headers, _ in stub.raw]
    assert ages[1] >= ages[0] + 1 and ages[2] >= ages[1] + 1, "ages go on while it waits"


def test_more_patience_than_there_is_time_for_is_told_at_once(ctl, stub, trace):
    stub.answers["/v1/traces"] = (429, {"detail": "one window a minute"}, "Retry-After: 60")
    start = time.monotonic()
    done = ctl("job", "submit", trace, "--job", "x", "--timeout", "20s")
    assert time.monotonic() - start < 15
    assert (done.returncode, done.stdout) == (3, "")
    assert "the controller cannot answer now (one window a minute); try again in 60 s" in done.stderr
    assert len(stub.raw) == 1


def test_waiting_ends_with_the_screen_of_the_job(ctl, stub, trace):
    serve(stub, job(), j12=detail(latest=[window(8)]))
    stub.answers["/v1/traces"] = (202, ANSWER)
    states = iter(["queued", "queued", "analysed"])
    stub.answers["/v1/jobs/j12/windows"] = lambda _: (200, {"items": [window(8, state=next(states)), window(7)], "next": None})
    done = ctl("job", "submit", trace, "--job", "research/llm-7", "--wait")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ctl("job", "research/llm-7").stdout
    states = iter(["analysed"])
    assert json.loads(ctl("job", "submit", trace, "--job", "x", "--wait=1m", "-o", "json").stdout)["decision"]["action"] == "probe"


@pytest.mark.parametrize("state, words", [("rejected", "window 8 was rejected: step 3: clocks jump by 2 s"),
                                          ("failed", "window 8 could not be analysed: step 3: clocks jump by 2 s")])
def test_a_window_that_comes_to_nothing_says_why(ctl, stub, trace, state, words):
    stub.answers["/v1/traces"] = (202, ANSWER)
    stub.list("/v1/jobs/j12/windows", [window(8, state=state, reason="step 3: clocks jump by 2 s")])
    done = ctl("job", "submit", trace, "--job", "x", "--wait")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"assayctl: {words}\n")


def test_who_may_send_and_not_read_learns_that_it_was_taken(ctl, stub, trace):
    stub.answers["/v1/traces"] = (202, ANSWER)
    stub.answers["/v1/jobs/j12/windows"] = (403, {"detail": "role submit"})
    done = ctl("job", "submit", trace, "--job", "x", "--wait")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert done.stderr.startswith("assayctl: window 8 was taken: forbidden: role submit")


def test_a_controller_that_starts_anew_meanwhile_is_waited_for(ctl, stub, trace):
    serve(stub, job(), j12=detail(latest=[window(8)]))
    stub.answers["/v1/traces"] = (202, ANSWER)
    answers = iter([(503, {"detail": "starting"}), (200, {"items": [window(8)], "next": None})])
    stub.answers["/v1/jobs/j12/windows"] = lambda _: next(answers)
    assert ctl("job", "submit", trace, "--job", "x", "--wait").returncode == 0


@pytest.mark.parametrize("later", [[window(8, received="2026-11-26T12:03:00Z")], [window(7)]])
def test_a_window_of_another_controller_is_not_taken_for_it(ctl, stub, trace, later):
    """A controller that has taken over numbers its jobs and windows from the start."""
    serve(stub, job(), j12=detail(latest=[window(8)]))
    stub.answers["/v1/traces"] = (202, ANSWER)
    answers = iter([[window(8, state="queued")], later])
    stub.answers["/v1/jobs/j12/windows"] = lambda _: (200, {"items": next(answers), "next": None})
    done = ctl("job", "submit", trace, "--job", "x", "--wait")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "assayctl: window 8 was accepted by a controller that has since been replaced: send the trace again\n"


def test_a_window_that_is_not_analysed_in_time(ctl, stub, trace):
    stub.answers["/v1/traces"] = (202, ANSWER)
    for windows in ([window(8, state="queued")], []):
        stub.list("/v1/jobs/j12/windows", windows)
        done = ctl("job", "submit", trace, "--job", "x", "--wait=1s", "--timeout", "1s")
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == "assayctl: window 8 is not analysed yet; `assayctl job j12` will say more\n"


def test_what_takes_long_says_so_on_a_terminal_and_is_gone_then(build, environ, stub, trace):
    serve(stub, job(), j12=detail(latest=[window(8)]))
    stub.answers["/v1/traces"] = (202, ANSWER)
    start = time.monotonic()
    stub.answers["/v1/jobs/j12/windows"] = lambda _: (
        200, {"items": [window(8, state="queued" if time.monotonic() < start + 4 else "analysed")], "next": None})
    master, slave = pty.openpty()
    done = subprocess.run([build / "assayctl", "job", "submit", trace, "--job", "x", "--wait", "--controller", stub.url], stdout=subprocess.PIPE,
                          stderr=slave, env={**environ, "TERM": "xterm"}, timeout=60, check=True)
    os.close(slave)
    drawn = b""
    with contextlib.suppress(OSError):  # EIO: end of output
        while piece := os.read(master, 65536):
            drawn += piece
    drawn = drawn.decode()
    os.close(master)
    assert "\r\x1b[Kwaiting to be analysed, 2 s" in drawn and drawn.endswith("\r\x1b[K")
    assert b"suspect " in done.stdout and b"waiting" not in done.stdout


def test_a_trace_is_not_read_from_a_terminal(build, environ, stub):
    master, slave = pty.openpty()
    done = subprocess.run([build / "assayctl", "job", "submit", "-", "--job", "x", "--controller", stub.url], stdin=slave, capture_output=True,
                          text=True, env=environ, timeout=60, check=False)
    os.close(slave)
    os.close(master)
    assert done.returncode == 2 and "standard input is a terminal: name a file, or pipe a trace in" in done.stderr
