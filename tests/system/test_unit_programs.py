# SPDX-License-Identifier: Apache-2.0
"""The main() of the unit tests (tests/unit/run.c): a suite that dies or leaves state does not affect others."""
import subprocess

import pytest

pytestmark = pytest.mark.once

SUITES = {
    "dies": "static void it_dies(void) { raise(SIGSEGV); }\nstatic const struct test tests[] = { TEST(it_dies) };",
    "fails": "static void it_counts(void) { CHECK_EQ(++count, 2); }\nstatic void it_waits(void) { test_skip(\"no device\"); }\n"
             "static const struct test tests[] = { TEST(it_counts), TEST(it_waits) };",
    "fine": "static void it_is_first(void) { CHECK_EQ(++count, 1); }\nstatic const struct test tests[] = { TEST(it_is_first) };",
    "leaks": "static void at_end(void) { _exit(23); }\nstatic void it_leaks(void) { CHECK(atexit(at_end) == 0); }\n"
             "static const struct test tests[] = { TEST(it_leaks) };",
}
COUNT = "int count;\n"  # global: each suite sees its initial value


@pytest.fixture
def program(build, top, tmp_path):
    """program(WORD...) -> the result of a program with these suites."""
    if not (build / "libtest.a").exists():
        pytest.skip("make check has not made libtest.a")
    (tmp_path / "count.c").write_text(COUNT)
    for name, text in SUITES.items():
        (tmp_path / f"test_{name}.c").write_text(
            f'#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include "tests/unit/test.h"\nextern {COUNT}{text}\nTEST_SUITE(tests);\n')
    sources = [tmp_path / "count.c", *(tmp_path / f"test_{name}.c" for name in SUITES)]
    subprocess.run(["cc", "-D_GNU_SOURCE", "-include", build / "config.h", "-I", top, "-o", tmp_path / "area", *sources,
                    build / "libtest.a", build / "libassay.a", "-ljansson", "-lcunit", "-lm", "-pthread"], check=True)
    return lambda *words: subprocess.run([tmp_path / "area", *words], capture_output=True, text=True, timeout=60, check=False)


def closing(done):
    return [line for line in done.stdout.splitlines() if " passed, " in line]


def test_each_suite_ends_by_itself_and_is_counted_by_its_name(program):
    done = program()
    assert closing(done) == [
        "dies: 0 passed, 1 failed, 0 skipped, crashed: ended by signal 11 (Segmentation fault)",
        "fails: 0 passed, 1 failed, 1 skipped",
        "fine: 1 passed, 0 failed, 0 skipped",
        "leaks: 1 passed, 1 failed, 0 skipped, crashed: ended with status 23",
        "2 passed, 3 failed, 1 skipped",
    ]
    assert done.returncode == 1


@pytest.mark.parametrize("words,last,status", [
    (["fine"], "1 passed, 0 failed, 0 skipped", 0),
    (["test_fine"], "1 passed, 0 failed, 0 skipped", 0),
    (["fine", "fails"], "1 passed, 1 failed, 1 skipped", 1),
])
def test_suites_are_run_alone(program, words, last, status):
    done = program(*words)
    assert (closing(done)[-1], done.returncode, len(closing(done))) == (last, status, len(words) + 1)


def test_its_tests_are_listed_and_what_is_no_suite_is_named(program):
    assert program("--list").stdout == "dies it_dies\nfails it_counts\nfails it_waits\nfine it_is_first\nleaks it_leaks\n"
    done = program("fine", "missing")
    assert (done.returncode, done.stdout) == (2, "") and "no such suite: missing" in done.stderr
