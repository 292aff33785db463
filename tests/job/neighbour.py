# SPDX-License-Identifier: Apache-2.0
"""Another user's load on a CPU, for as long as its parent lives: neighbour.py PROCESSOR SEED"""
import os
import random
import sys
import time

BURST_S, PAUSE_S = (0.005, 0.03), (0.02, 0.12)


def main(processor, seed):
    os.sched_setaffinity(0, {int(processor)})
    dice, parent = random.Random(f"{seed}/{processor}"), os.getppid()
    while os.getppid() == parent:
        until = time.monotonic() + dice.uniform(*BURST_S)
        while time.monotonic() < until:
            pass
        time.sleep(dice.uniform(*PAUSE_S))


if __name__ == "__main__":
    main(*sys.argv[1:])
