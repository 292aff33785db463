# SPDX-License-Identifier: Apache-2.0
"""Retries, one at a time, the few tests that failed while many others competed for the cores.

This distinguishes a test that is too sensitive to load from one that fails. Both need fixing: a test that passes on retry counts as
passed, but is listed with its first output. No retry after a sanitizer report, a crash or a build failure, nor when more than MOST
tests failed, which is not a coincidence.
"""
import re

MOST = 4
NO_ACCIDENT = re.compile(r"\w+Sanitizer|runtime error: |crashed\?|[Ss]egmentation fault|core dumped")


def may_be_tried(total):
    failed = sum(case.failed for case, _ in total.cases)
    return 0 < total.failed == failed <= MOST and not any(NO_ACCIDENT.search(case.words) for case, _ in total.cases)


def second_try(total):
    """Retries failed tests if allowed; `total` has the sum afterwards, and its words what changed."""
    if not may_be_tried(total):
        return
    for case, run in total.cases:
        first = case.words.split("\n")[0]
        one = run()
        if one.failed or not one.passed:
            print("again, alone       failed: " + first, flush=True)
            continue
        total.failed -= case.failed
        total.passed += case.failed
        total.words[total.words.index(case.words)] = "passed at its second try, alone: " + case.words
        print("again, alone       passed, and is to be mended: " + first, flush=True)
