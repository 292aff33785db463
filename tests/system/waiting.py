# SPDX-License-Identifier: Apache-2.0
"""Waiting for something to be so, with a deadline."""
import time

LOOK_S = 0.02
PATIENCE_S = 60.0  # for what happens at once on an idle machine: a test that fails waits so long, no other does


def wait_for(condition, seconds=PATIENCE_S):
    """Poll until it is true; its last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(LOOK_S)
