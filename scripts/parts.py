# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/test: builds several configurations, tests each build, and adds up the results.

scripts/test [--full] [--list] [PART...]
scripts/test quick [--since REV]

quick is for use between two edits: lint, a gcc build, its unit tests, and the system tests of the areas
(scripts/areas.py) that changed since the branch left its target branch, or since REV.

Every part prints its duration, CPU seconds and counts; the last line is the
sum, "N passed, N failed, N skipped". Tests that cannot run or crash count as failed;
each skip prints its reason. Builds are kept under build-test/ and compiled
through ccache (directory $ASSAY_CACHE/ccache), so a second run is quick.
"""
import argparse
import concurrent.futures
import contextlib
import filecmp
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import areas  # noqa: E402
from again import second_try  # noqa: E402
from running import CACHE, LAST, SOON, SPENT, TOP, Spent, beside, environment, run  # noqa: E402
from tally import COUNT, Tally, failed_tally, read_junit, read_unit_log, read_unit_logs, seconds_by_file, tail  # noqa: E402

WORK = os.path.join(TOP, "build-test")
JOBS = os.environ.get("ASSAY_JOBS") or str(len(os.sched_getaffinity(0)))
PYTHON = "/usr/bin/python3"  # the one with Debian's pytest
# pytest, which keeps what it compiles of the tests outside the tree, for its next runs: else they compile it for as long as many
# tests take. What it starts writes none, as environment() says.
PYTEST = [PYTHON, "-c", "import sys, pytest; sys.pycache_prefix, sys.dont_write_bytecode = sys.argv.pop(1), False; sys.exit(pytest.main())",
          os.path.join(WORK, "pycache")]
LIMIT_S = {"lint": 900, "fuzz": 120, "build": 2700, "unit": 900, "system": 3600, "apiserver": 2400, "distcheck": 3000, "real-time": 5400}
# The distribution of the short run's system tests over builds: marks of tests/system/fixtures_programs.py.
ON_PLAIN, ON_SANITIZED = "(once or plain)", "not once and not plain"
QUICK_XZ = "XZ_OPT=-1"  # a tarball that is thrown away: what is in it matters, and its last percents take three quarters of the time
NOT_HERE = 77
NO_TESTS = 5  # pytest's status if the marks leave none
AT_ONCE = 2  # parallel runs of system or kube tests of a build: they wait four fifths of their time
AT_ONCE_PLAIN = 4  # of the longest part
AT_ONCE_QUICK = 10  # where no other lane runs such tests
SHARES_EACH = 3  # shares per parallel run, because the duration of a share is only estimated from earlier runs
BUILDS = 2  # of one part in parallel: configure and the beginning of make use one core
INPUT_S = 60  # wall clock limit under any load: finds hangs; slowness is a matter of the benches
FUZZ_SHORT_S = 5
FUZZ_FULL_S = {"fuzz_trace": 3600}  # the first to read untrusted files
OPTIONAL = ("verbs", "hwloc", "systemd", "cblas")
# A tree that is built once needs no dependency tracking, which costs three processes per object.
BUILT_ONCE = ["--disable-dependency-tracking"] if os.environ.get("ASSAY_BUILD_ONCE") else []


# Arguments of `make check`: build all test programs, or only those that system tests run, the unit tests, or the fuzz targets.
ALL, RUN_BY_OTHERS = (), ("check_PROGRAMS=tests/attribution/generate",)
UNIT_TESTS, FUZZ_TARGETS = ("check_PROGRAMS=$(UNIT_TESTS)",), ("check_PROGRAMS=$(FUZZ_TARGETS)",)


def compiler(name):
    return ("ccache " if shutil.which("ccache") else "") + name


class Build:
    """A configuration; its directory is build-test/NAME. `tests`: which test programs the short run builds."""

    def __init__(self, name, cc="gcc", args=(), cflags="-g -O2", tests=ALL, behind=LAST):
        self.dir = os.path.join(WORK, name)
        self.args = [self.dir, "--enable-werror", "CC=" + compiler(cc), "CFLAGS=" + cflags, *BUILT_ONCE, *args]
        self.tests, self.behind = tests, behind
        self.lock = threading.Lock()

    def make(self, full):
        """Builds it. Returns a Tally with one entry."""
        with self.lock:
            return self.make_alone(full)

    def make_alone(self, full):
        os.makedirs(self.dir, exist_ok=True)
        log = os.path.join(self.dir, "build.log")
        env = environment(full=full)
        status = run([os.path.join(TOP, "scripts/build"), *self.args], log, LIMIT_S["build"], TOP, env, self.behind)
        if status == 0:  # also the test programs
            status = run(["make", "-j" + JOBS, "check", "TESTS=", *(ALL if full else self.tests)], log, LIMIT_S["build"], self.dir,
                         env, self.behind)
        return Tally(passed=1) if status == 0 else failed_tally("build in %s (status %d)" % (self.dir, status), log)


def unit(build, full):
    directories = [os.path.join(build.dir, "tests", name) for name in ("unit", "fuzz")]
    for directory in filter(os.path.isdir, directories):
        for name in os.listdir(directory):
            if name.endswith((".trs", ".log")):
                os.unlink(os.path.join(directory, name))
    log = os.path.join(build.dir, "check.log")
    some = [*build.tests, "TESTS=$(check_PROGRAMS)"] if build.tests and not full else []
    run(["make", "-j" + JOBS, "check", *some], log, LIMIT_S["unit"], build.dir, environment(build.dir, full))
    t = Tally()
    for directory in directories:
        t.add(read_unit_logs(directory))
    if t.passed + t.failed == 0:
        t.add(failed_tally("no unit test ran in %s" % build.dir, log))
    t.cases = [(case, lambda name=case.name: unit_again(build, full, name)) for case in t.cases]
    return t


def unit_again(build, full, name):
    """The Tally of one suite of a unit program, PROGRAM:SUITE, or of a program that has none."""
    path, _, suite = name.partition(":")
    log = path + ".again"
    env = dict(environment(build.dir, full), srcdir=TOP)  # as set by make check
    status = run([path, *filter(None, [suite])], log, LIMIT_S["unit"], build.dir, env)
    with open(log, errors="replace") as f:
        return read_unit_log(path, f.read(), status == 0)


def fuzz_seed(full):
    """The short run uses a fixed seed, so a tree gets the same result again. A long one explores."""
    return os.environ.get("FUZZ_SEED") or ("0" if full or os.environ.get("FUZZ_SECONDS") else "1")


def fuzz_one(build, target, seconds, seed):
    """Runs one target from its corpus, with this seed, 0: random; findings are kept outside the tree."""
    name = os.path.basename(target)[len("fuzz_"):]
    seeds, words = (os.path.join(TOP, "tests/fuzz", n) for n in ("corpus/" + name, name + ".dict"))
    found = os.path.join(CACHE, "fuzz", name + "-")
    grown = os.path.join(build.dir, "tests/fuzz/grown", name)
    shutil.rmtree(grown, ignore_errors=True)
    os.makedirs(grown)
    os.makedirs(os.path.dirname(found), exist_ok=True)
    program = os.path.join(build.dir, target)
    log = program + ".log"
    run([program, "-seed=" + seed, "-max_total_time=%d" % seconds, "-timeout=%d" % INPUT_S, "-rss_limit_mb=1024", "-max_len=8192",
         "-artifact_prefix=" + found, *(["-dict=" + words] if os.path.exists(words) else []), grown, seeds],
        log, seconds + LIMIT_S["fuzz"], TOP, environment(), behind=LAST)
    with open(log, errors="replace") as f:
        text = f.read()
    t = Tally(passed=1)
    done = re.search(r"^#(\d+)\s+DONE\s+cov: (\d+) ft: \d+ corp: (\d+)/", text, re.M)
    if done and "Test unit written" not in text:
        t.words.append("%s: %s inputs, %s edges, %s kept" % (name, *done.groups()))
        return t
    t = failed_tally("%s does not survive every input" % target, log)
    for path in re.findall(r"Test unit written to (\S+)", text):
        t.words.append("again: %s %s   (mend it, then add the input to tests/fuzz/corpus/%s)" % (program, path, name))
    return t


def fuzz(build, full):
    """Runs every target of the build for its seconds, or FUZZ_SECONDS; several per CPU, to be done soon."""
    def seconds(target):
        most = FUZZ_FULL_S.get(os.path.basename(target), 300) if full else FUZZ_SHORT_S
        return int(os.environ.get("FUZZ_SECONDS") or most)

    out = subprocess.run(["make", "-s", "--no-print-directory", "fuzz-targets"], cwd=build.dir, env=environment(),
                         capture_output=True, text=True, check=True)
    t, seed = Tally(), fuzz_seed(full)
    for one in beside(lambda target: fuzz_one(build, target, seconds(target), seed), out.stdout.split(), (2 if full else 4) * int(JOBS)):
        t.add(one)
    if t.passed + t.failed == 0:
        t.fail("no fuzz target in %s" % build.dir)
    return t


def pytest_some(build, full, mark, files, name, may_be_none=False):
    """Runs the tests of these files with this mark; output and results in NAME.log and NAME.xml of the build."""
    name = os.path.join(build.dir, name)
    junit, log = name + ".xml", name + ".log"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(junit)
    status = run([*PYTEST, "-q", "-p", "no:cacheprovider", "-m", mark, "--junitxml", junit, *files], log,
                 LIMIT_S["system"], TOP, environment(build.dir, full))
    if not os.path.exists(junit):
        return failed_tally("pytest ended with status %d" % status, log)
    t = read_junit(junit)
    t.cases = [(case, lambda test=case.name: pytest_some(build, full, "", [test], os.path.basename(name) + "-again")) for case in t.cases]
    if status == NO_TESTS and may_be_none:
        return t
    if status not in (0, 1) or (status == 1) != (t.failed > 0):
        t.add(failed_tally("pytest ended with status %d" % status, log))
    return t


def in_shares(build, full, runs, name, at_once):
    """Runs (files, mark) in parallel as NAME-0, NAME-1, ...; the mark may leave one of them without tests."""
    t = Tally()
    for one in beside(lambda i: pytest_some(build, full, runs[i][1], runs[i][0], "%s-%d" % (name, i), True), range(len(runs)), at_once):
        t.add(one)
    return t


def pytest(build, full, mark, where="tests/system", at_once=1, shares_each=SHARES_EACH):
    """Runs the tests there with this mark, or without it: "alone", "not alone", in parallel; a single run is in alphabetical order."""
    files = sorted(glob.glob(os.path.join(where, "test_*.py"), root_dir=TOP))
    name = "pytest-%s-%s" % (os.path.basename(where), re.sub("[^a-z]+", "-", mark).strip("-"))
    shares = [files] if at_once == 1 else shares_of(build, files, at_once * shares_each)
    t = in_shares(build, full, [(share, mark) for share in shares], name, at_once)
    if not t.passed + t.failed + t.skipped:
        t.fail("%s: no test is %s" % (where, mark))
    return t


def marked(mark, full):
    """Runs these tests; in the short run without `long` ones."""
    return mark if full else mark + " and not long"


def system(mark, at_once=AT_ONCE):
    """In the short run each system test runs with one build: those marked `once` or `plain` with the plain one, others with the sanitized one."""
    return lambda build, full: pytest(build, full, marked("not alone" if full else "not alone and " + mark, full), at_once=at_once)


def system_alone(build, full):
    return pytest(build, full, marked("alone", full))


def kube(build, full):
    """Runs the tests against a real API server, which is built first, once. Without one they are skipped with the reason."""
    log = os.path.join(build.dir, "apiserver.log")
    status = run([os.path.join(TOP, "tests/kube/build_apiserver")], log, LIMIT_S["apiserver"], TOP, environment())
    # One share each: every run starts API servers of its own, and there are other lanes to wait for.
    t = pytest(build, full, marked("not alone", full), "tests/kube", AT_ONCE, 1)
    if status not in (0, NOT_HERE):
        t.add(failed_tally("tests/kube/build_apiserver ended with status %d" % status, log))
    return t


def real_time(build, full):
    """Runs faults that take minutes, each five times, in real time; resumes an interrupted run if the programs are the same."""
    log = os.path.join(build.dir, "real-time.log")
    status = run([os.path.join(TOP, "tests/gpu/real_time"), build.dir], log, LIMIT_S["real-time"], TOP, environment())
    with open(log, errors="replace") as f:
        counts = COUNT.findall(f.read())
    if not counts or status not in (0, 1):
        return failed_tally("tests/gpu/real_time ended with status %d" % status, log)
    t = Tally(*(int(n) for n in counts[-1]))
    if t.failed:
        t.words.append("FAILED in real time:\n" + tail(log))
    return t


def packages(build, full):
    """Runs the tests of Debian packages in separate systems; without debootstrap they are skipped with the reason."""
    return pytest(build, full, "not alone", "tests/packages")


def shares_of(build, files, count):
    """Distributes files over shares, the longest first, by their seconds in this build, else by their size; longest share first."""
    took = seconds_by_file(build.dir)
    weight = {path: took.get(path) or os.path.getsize(os.path.join(TOP, path)) / 1000 for path in files}
    shares = [[] for _ in range(count)]

    def weigh(share):
        return sum(weight[path] for path in share)

    for path in sorted(files, key=lambda path: (-weight[path], path)):
        min(shares, key=weigh).append(path)
    return sorted((share for share in shares if share), key=weigh, reverse=True)


def shares_by_folder(build, files, count):
    """The same, but no share has files of two folders, because each has its own conftest.py."""
    folders = sorted({os.path.dirname(path) for path in files})
    return [share for folder in folders for share in shares_of(build, {path for path in files if os.path.dirname(path) == folder}, count)]


def has_apiserver():
    return bool(os.environ.get("KUBE_APISERVER") or glob.glob(os.path.join(CACHE, "kube", "kube-apiserver-*")))


def changed(choice):
    """Runs the chosen system tests; those against a real API server only if one is built, because that takes longer."""
    def part(build, full):
        files = {path for path in choice.files if path.startswith("tests/system/") or has_apiserver()}
        of_these = ((files & choice.direct, "not alone and not long"), (files - choice.direct, "not alone and not once and not long"))
        runs = [(share, mark) for some, mark in of_these for share in shares_by_folder(build, some, AT_ONCE_QUICK * SHARES_EACH)]
        t = in_shares(build, full, runs, "changed", AT_ONCE_QUICK)
        if files - choice.direct:
            t.words.append("left out: of files that are not of an area that changed what is marked `once` or `alone`")
        if files != choice.files:
            t.words.append("left out: tests/kube, as no API server is built: scripts/test kube")
        return t
    return part


def changed_alone(choice):
    """Runs those of them that need exclusive cores, except emulated machines, which take a minute each."""
    def part(build, full):
        files = sorted(path for path in choice.direct if path.startswith("tests/system/"))
        t = pytest_some(build, full, "alone and not guest and not long", files, "changed-alone", True) if files else Tally()
        if any("guest" in areas.text_of(TOP, path) for path in files):
            t.words.append("left out: what runs in a guest: scripts/test alone")
        return t
    return part


def quick(choice):
    """The parts of scripts/test quick."""
    return [row for row in PARTS if row[0] in ("lint", "unit")] + [
        ("changed", tested(GCC, changed(choice)), False), ("changed-alone", tested(GCC, changed_alone(choice)), False)]


def unit_in_full(build, full):
    """Runs the unit tests of a build whose twin has already run them."""
    return unit(build, full) if full else Tally()


def lint(deep):
    os.makedirs(WORK, exist_ok=True)
    log = os.path.join(WORK, "lint.log")
    status = run([os.path.join(TOP, "scripts/lint"), *(["--deep"] if deep else [])], log,
                 LIMIT_S["build" if deep else "lint"], TOP, environment(), behind=LAST)
    with open(log) as f:
        text = f.read()
    counts = COUNT.findall(text)
    if not counts or status not in (0, 1):
        return failed_tally("lint ended with status %d" % status, log)
    t = Tally(*(int(n) for n in counts[-1]))
    if t.failed:
        t.words.append("FAILED in lint:\n" + tail(log))
    return t


def dist_again(build, t):
    """Adds to a tally whether the tarball is reproducible, byte for byte, at another time in another environment."""
    log = os.path.join(build.dir, "dist-again.log")
    tarball = glob.glob(os.path.join(build.dir, "assay-*.tar.xz"))[0]
    first = os.path.join(build.dir, "dist-first")
    os.replace(tarball, first)
    status = run(["sh", "-c", "umask 077 && make dist " + QUICK_XZ], log, LIMIT_S["distcheck"], build.dir, environment(), behind=LAST)
    if status or not filecmp.cmp(first, tarball, shallow=False):
        t.add(failed_tally("make dist is not the same twice (status %d)" % status, log))
    else:
        t.passed += 1
    return t


def made(build, full, target, *words):
    """Builds it, and the targets of `make` in it."""
    t = build.make(full)
    if t.failed == 0:
        log = os.path.join(build.dir, target + ".log")
        status = run(["make", "-j" + JOBS, target, *words], log, LIMIT_S["distcheck"], build.dir, environment(), behind=LAST)
        t.add(failed_tally("make %s (status %d)" % (target, status), log) if status else Tally(passed=1))
    return t


def dist(build, full):
    """The tarball has all files tracked by git, checked by `make dist`, and is reproducible."""
    t = made(build, full, "dist", QUICK_XZ)
    return t if t.failed else dist_again(build, t)


def distcheck(build, full):
    """The tarball builds, passes its tests, installs and uninstalls."""
    flags = " ".join(["CC='%s'" % compiler("gcc"), *BUILT_ONCE])
    return made(build, full, "distcheck", "DISTCHECK_CONFIGURE_FLAGS=" + flags)


def tested(build, *what):
    """A part that builds and runs `what` on the result."""
    def part(full):
        t = build.make(full)
        for step in what if t.failed == 0 else ():
            t.add(step(build, full))
        return t
    return part


def only_builds(builds, builds_full):
    def part(full):
        t = Tally()
        for one in beside(lambda build: build.make(full), builds_full if full else builds, BUILDS):
            t.add(one)
        return t
    return part


SANITIZE = ["--enable-sanitizers"]
GCC = Build("gcc", behind=0)  # everything except lint waits for it
SANITIZED = Build("gcc-san", args=SANITIZE, cflags="-O1 -g", tests=RUN_BY_OTHERS, behind=SOON)
SANITIZED_CLANG = Build("clang-san", cc="clang", args=SANITIZE, cflags="-O1 -g", tests=UNIT_TESTS, behind=SOON)
# Of its own, as what guides the search makes everything else two and a half times as slow.
FUZZERS = Build("clang-fuzz", cc="clang", args=[*SANITIZE, "--enable-fuzzers"], cflags="-O1 -g", tests=FUZZ_TARGETS, behind=SOON)


def without(*names):
    return Build("-".join(("without", *names)), args=["--without-" + name for name in names])


SMALLEST = Build("smallest", args=["--without-" + name for name in (
    *OPTIONAL, "sqlite", "microhttpd", "curl", "gnutls", "zlib", "zstd", "cunit")])
# The short run disables all optional features in one build, which shows a failure, though not which feature causes it.
WITHOUT = [SMALLEST]
WITHOUT_FULL = [without(name) for name in OPTIONAL] + [
    Build("agent-only", args=["--without-sqlite", "--without-microhttpd"]), SMALLEST]

# name, what it runs, whether only --full runs it
PARTS = (
    ("lint", lambda full: lint(False), False),
    ("unit", tested(GCC, unit), False),
    ("system", tested(GCC, system(ON_PLAIN, AT_ONCE_PLAIN)), False),
    ("gcc-sanitizers", tested(SANITIZED, unit_in_full, system(ON_SANITIZED)), False),
    ("kube", tested(GCC, kube), False),
    ("kube-sanitizers", tested(SANITIZED, kube), True),
    ("clang", tested(Build("clang", cc="clang"), unit), True),
    ("clang-sanitizers", tested(SANITIZED_CLANG, unit), False),
    ("fuzz", tested(FUZZERS, fuzz), False),
    ("without", only_builds(WITHOUT, WITHOUT_FULL), False),
    ("dist", lambda full: dist(GCC, full), False),
    ("distcheck", lambda full: distcheck(GCC, full), True),
    ("alone", tested(GCC, system_alone), False),
    ("alone-sanitizers", tested(SANITIZED, system_alone), True),
    ("real-time", tested(GCC, real_time), True),
    ("lint-deep", lambda full: lint(True), True),
    ("packages", tested(GCC, packages), True),
)

# What the short run omits from its parts; also printed by --list.
LEFT_OUT = {
    "system": "one in three of the tests that are not marked `once`, which gcc-sanitizers has, and those marked `long`",
    "gcc-sanitizers": "the unit tests, which clang-sanitizers has, and what system has",
    "kube": "the tests marked `long`",
    "alone": "the tests marked `long`, as are those in emulated machines, but for one scenario",
    "clang-sanitizers": "three of four seeds of the unit tests that try many",
    "without": "what is optional one by one, which it leaves out at once",
    "dist": "a build of the unpacked tarball, which distcheck has",
}

# Lanes run in parallel, the parts of a lane one after the other; unlisted parts run at the end of the last lane.
# Most tests wait more than they compute, and configure uses one core. The longest are first.
LANES = (("system",), ("gcc-sanitizers",), ("changed",), ("clang-sanitizers", "fuzz"), ("without",), ("kube",), ("lint",), ("unit", "clang", "dist", "distcheck"))
# A probe that shares its cores finds them busy, and an emulated machine resends and times out, so these run afterwards,
# alone.
ALONE = ("alone", "alone-sanitizers", "changed-alone", "real-time")
BUILD_NOTHING = ("lint",)
SAYING = threading.Lock()


def with_progress(name, part, full, alone=True):
    """Runs a part; on a terminal the seconds count up meanwhile, if it runs `alone`."""
    start = time.monotonic()
    spent = Spent()
    SPENT.set(spent)
    done = threading.Event()

    def tick():
        while not done.wait(1):
            print("\r%-18s %6.0f s ..." % (name, time.monotonic() - start), end="", flush=True)

    ticker = threading.Thread(target=tick, daemon=True)
    if alone and sys.stdout.isatty():
        ticker.start()
    else:
        print("%-18s ..." % name, flush=True)
    try:
        tally = part(full)
    except Exception as e:  # a part that cannot run has failed
        tally = Tally()
        tally.fail("%s: %s: %s" % (name, type(e).__name__, e))
    done.set()
    if ticker.is_alive():
        ticker.join()
        print("\r", end="")
    with SAYING:
        print("%-18s %6.1f s  CPU %6.1f s   %s" % (name, time.monotonic() - start, spent.seconds, tally))
        for words in tally.words:
            print("  " + words.rstrip())
        sys.stdout.flush()
    return tally


def run_parts(chosen, full):
    """Runs the lanes in parallel, then the exclusive parts. Returns the sum."""
    alone = [p for p in chosen if p[0] in ALONE]
    first = [[p for p in chosen if p[0] in names] for names in LANES]
    first[-1] += [p for p in chosen if p[0] not in sum(LANES, ALONE)]
    lanes = [lane for lane in first if lane]
    total = Tally()
    with concurrent.futures.ThreadPoolExecutor(max(1, len(lanes)) + 1) as pool:
        # It also builds configure, which two builds must not do at the same time.
        first = pool.submit(GCC.make, full) if len(lanes) > 1 else None

        def run_lane(lane):
            tallies = []
            for name, part, _ in lane:
                if first and name not in BUILD_NOTHING:
                    first.result()
                tallies.append(with_progress(name, part, full, len(lanes) == 1))
            return tallies
        for tallies in pool.map(run_lane, lanes):
            for tally in tallies:
                total.add(tally)
    for name, part, _ in alone:
        total.add(with_progress(name, part, full))
    second_try(total)
    return total


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the long counts and the slow analysers too")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("--since", metavar="REV", help="quick: what changed since then")
    parser.add_argument("part", nargs="*")
    args = parser.parse_args()
    if args.list:
        for name, _, only_full in PARTS:
            left_out = "only with --full" if only_full else LEFT_OUT.get(name) and "without --full not: " + LEFT_OUT[name]
            print(name if not left_out else "%-18s %s" % (name, left_out))
        return 0
    if args.part == ["quick"]:
        try:
            choice = areas.Choice(TOP, args.since)
        except ValueError as e:
            parser.error(str(e))
        print(choice.why, flush=True)
        chosen = quick(choice)
    else:
        chosen = [row for row in PARTS if (row[0] in args.part if args.part else args.full or not row[2])]
        unknown = set(args.part) - {name for name, _, _ in PARTS}
        if unknown:
            parser.error("no such part: %s; --list prints them" % " ".join(sorted(unknown)))
        if args.since:
            parser.error("--since is of quick")
    start = time.monotonic()
    total = run_parts(chosen, args.full)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if args.part == ["quick"]:
        print("not run: %s" % " ".join(name for name, _, _ in PARTS if name not in [row[0] for row in chosen]))
    print("all parts          %6.1f s  CPU %6.1f s" % (time.monotonic() - start, used.ru_utime + used.ru_stime))
    for name in total.names_of_failed():
        print(name)
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
