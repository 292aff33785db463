# SPDX-License-Identifier: Apache-2.0
"""Counts passed, failed and skipped tests from the output of test programs. A crash is a failure."""
import collections
import contextlib
import glob
import os
import re
import typing
import xml.etree.ElementTree

COUNT = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
SUITE = re.compile(r"^(\w+): (\d+) passed, (\d+) failed, (\d+) skipped(?:, crashed: (.*))?$", re.M)  # tests/unit/run.c
MESSAGE = 1000
TAIL = 40
NAMES = 60


class Case(typing.NamedTuple):
    """A failed test that can be run alone."""
    name: str  # a test of pytest, PROGRAM:SUITE of a unit program, or a program without suites
    failed: int  # its count in Tally.failed
    words: str  # its text in Tally.words


class Tally:
    """Counts, and the messages about failures."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.words = []
        self.cases = []  # failed tests that ran to their end: Case, or what the caller makes of it

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.words += other.words
        self.cases += other.cases

    def fail(self, sentence):
        self.failed += 1
        self.words.append("FAILED " + sentence)

    def names_of_failed(self):
        """A line for each failure, at most NAMES of them, so that the end of the output has their names."""
        names = [words.split("\n")[0][:MESSAGE // 5] for words in self.words if words.startswith("FAILED ")]
        return names[:NAMES] + (["and %d more" % (len(names) - NAMES)] if len(names) > NAMES else [])

    def __str__(self):
        return "%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped)


def end_of(text):
    """The errors in the output, then its end."""
    lines = text.splitlines(True)
    errors = [line for line in lines[:-TAIL] if re.search(r": (fatal )?error: |ERROR: \w+Sanitizer", line)]
    return "".join("    " + line for line in errors[:TAIL] + lines[-TAIL:])


def tail(path):
    """The same for a log file."""
    with contextlib.suppress(OSError), open(path, errors="replace") as f:
        return end_of(f.read())
    return ""


def failed_tally(sentence, log):
    t = Tally()
    t.fail(sentence + ":\n" + tail(log))
    return t


def read_suite(name, path, counts, text, crashed):
    """The Tally of a suite of a unit program, or of a program without suites; `path` identifies it for a retry."""
    t = Tally(*(int(n) for n in counts))
    t.words += ["skipped %s: %s" % (name, why) for why in re.findall(r"^SKIP (.*)$", text, re.M)]
    bad = re.findall(r"^  Test: (\w+) \.\.\.FAILED$", text, re.M)
    if crashed:
        t.words.append("FAILED in %s: %s (crashed?): %s\n%s" % (name, crashed, " ".join(bad), end_of(text)))
    elif t.failed:
        t.words.append("FAILED in %s: %s\n%s" % (name, " ".join(bad), end_of(text)))
    if t.failed:
        t.cases.append(Case(path, t.failed, t.words[-1]))
    return t


def read_unit_log(path, text, passed):
    """Reads the output of a unit program: a closing line per suite, then the sum; `passed`: its exit status was 0."""
    name, start, t = os.path.basename(path), 0, Tally()
    for end in SUITE.finditer(text):
        suite, *counts, crashed = end.groups()
        t.add(read_suite("%s %s" % (name, suite), path + ":" + suite, counts, text[start:end.end()], crashed))
        start = end.end()
    sums = COUNT.findall(text[start:])
    if sums and not start:
        t = read_suite(name, path, sums[-1], text, None)
    if not sums or passed == bool(int(sums[-1][1])) or str(t) != "%s passed, %s failed, %s skipped" % sums[-1]:
        t.fail("%s did not end as its closing line says (crashed?):\n%s" % (name, end_of(text)))
    return t


def read_unit_logs(directory, only="*"):
    """Reads the closing lines of the unit programs; one without (a crash) is a failure."""
    t = Tally()
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), only + ".trs"))):
        with open(path[:-4] + ".log", errors="replace") as log, open(path) as trs:
            result = re.search(r":test-result: (\w+)", trs.read())
            t.add(read_unit_log(path[:-4], log.read(), result is not None and result.group(1) in ("PASS", "SKIP")))
    return t


def read_junit(path):
    t = Tally()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = "%s::%s" % (case.get("classname"), case.get("name"))
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if bad is not None:
            # Errors come first, for readers that show only the beginning.
            t.fail("%s: %s\n%s" % (name, (bad.get("message") or "")[:MESSAGE], (bad.text or "")[-3000:]))
            t.cases.append(Case("%s.py::%s" % (case.get("classname").replace(".", "/"), case.get("name")), 1, t.words[-1]))
        elif skip is not None:
            t.skipped += 1
            t.words.append("skipped %s: %s" % (name, skip.get("message")))
        else:
            t.passed += 1
    return t


def seconds_by_file(directory):
    """{test file: maximum total seconds of its cases over the runs with junit files in this directory}."""
    most = collections.defaultdict(float)
    for path in glob.glob(os.path.join(directory, "*.xml")):
        took = collections.defaultdict(float)
        with contextlib.suppress(OSError, xml.etree.ElementTree.ParseError):
            for case in xml.etree.ElementTree.parse(path).iter("testcase"):
                took[case.get("classname", "").replace(".", "/") + ".py"] += float(case.get("time", 0))
        for name, seconds in took.items():
            most[name] = max(most[name], seconds)
    return most
