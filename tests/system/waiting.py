# SPDX-License-Identifier: Apache-2.0
"""Waiting for something to be so, with a deadline."""
import time

LOOK_S = 0.02


def wait_for(condition, seconds=20.0):
    """Poll until it is true; its last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(LOOK_S)
