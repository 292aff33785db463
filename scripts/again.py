# SPDX-License-Identifier: Apache-2.0
"""A second try, with nothing beside it, of the few tests that failed while dozens of others wanted the cores.

It tells a test that cannot have what it waits for on a busy machine from one that fails. Both are to be mended: what passes the
second time is counted as passed and named, with what it said the first time. There is none for what a sanitizer reported, what
crashed and what could not be built, nor when more than MOST failed: that is no accident.
"""
import re

MOST = 4
NO_ACCIDENT = re.compile(r"\w+Sanitizer|runtime error: |crashed\?|[Ss]egmentation fault|core dumped")


def may_be_tried(total):
    failed = sum(case.failed for case, _ in total.cases)
    return 0 < total.failed == failed <= MOST and not any(NO_ACCIDENT.search(case.words) for case, _ in total.cases)


def second_try(total):
    """Try again what failed, if it may be: `total` is the sum afterwards, its words say what changed."""
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
