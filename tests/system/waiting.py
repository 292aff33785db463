# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition, with a deadline."""
import time

LOOK_S = 0.02
PATIENCE_S = 60.0  # for events that are immediate on an idle machine; only a failing test waits this long


def wait_for(condition, seconds=PATIENCE_S):
    """Poll until it is true; returns the last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(LOOK_S)
