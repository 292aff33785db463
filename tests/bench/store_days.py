#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Generates a store as after days of reports, written row by row by the rule of controller/store/retention.h.

store_days.py FILE [--nodes N] [--days D] [--all]     --all: nothing is thinned

Every host reports each 15 minutes. One host in a hundred is always slow in one check: its reports warn, have an item each,
and opened an incident. tests/system/test_controller_store.py checks that the controller's own thinning of the same store
with --all leaves the same rows.
"""
import argparse
import gzip
import json
import random
import sqlite3
import struct
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
S = 1_000_000
EVERY, HOUR, DAY = 900 * S, 3600 * S, 86400 * S
# controller/store/retention.c: maximum ages at which all, one per hour, one per day are kept
PASS, BAD = (1 * DAY, 7 * DAY, 30 * DAY), (3 * DAY, 14 * DAY, 90 * DAY)
WHOLE, LEAN, GONE = range(3)
CHECKS = [(f"gemm.rate{i}", "FLOP/s") for i in range(8)] + [(f"memory.bw{i}", "B/s") for i in range(8)]
PARAMS = {"dtype": "bf16", "driver": "550.54.15", "m": 8192, "n": 8192, "k": 8192}
POOL = 64  # different bodies


def judge(age, seen, bad, first):
    """What thinning leaves of a report of a host that reports each 15 minutes without a gap; `first`: its first report."""
    everything, hourly, daily = BAD if bad else PASS
    if age < everything or (age < daily and (first or seen % DAY < EVERY)):
        return WHOLE
    return LEAN if age < hourly and (first or seen % HOUR < EVERY) else GONE


class Fleet:
    """`nodes` hosts over `days` before `now` (microseconds); every `sick`th is always slow."""

    def __init__(self, nodes, days, now=None, sick=100, everything=False):
        self.nodes, self.days, self.now = nodes, days, now or time.time_ns() // 1000
        self.sick, self.everything = sick, everything

    def is_bad(self, number):
        return number % self.sick == self.sick - 1

    def reports(self):
        """(host, seq, seen, what is left) of each report in order of arrival; hosts are spread over the 15 minutes."""
        steps = int(self.days * DAY // EVERY)
        for step in range(steps):
            begin = self.now - (steps - step) * EVERY + 100 * S
            young = self.now - begin < BAD[0] + EVERY
            if step > 0 and not young and not self.everything and EVERY <= begin % HOUR <= HOUR - EVERY:
                continue  # none of them is the first of an hour
            for number in range(self.nodes):
                seen = begin + number * (700 * S) // self.nodes
                left = WHOLE if self.everything else judge(self.now - seen, seen, self.is_bad(number), step == 0)
                if left != GONE:
                    yield number, step + 1, seen, left


def bodies():
    """Reports of 40 samples with 8 sub-windows, in the agent's format."""
    chance = random.Random(1)
    made = []
    for _ in range(POOL):
        samples = []
        for i in range(40):
            check, unit = CHECKS[i % len(CHECKS)]
            value = chance.gauss(70e9, 5e8)
            samples.append({"v": 1, "check": check, "subject": f"gpu:GPU-5d9f0a1c-{i % 8}", "value": value, "unit": unit,
                            "better": "higher", "ok": None, "state": "measured", "class": "self", "params": PARAMS,
                            "n": 64, "min": value * 0.99, "max": value * 1.01, "stddev": 3e8, "p50": value,
                            "p99": value * 1.01, "w": [value * chance.gauss(1, 0.005) for _ in range(8)],
                            "start": 1795224600.125, "seconds": 4.0})
        text = {"v": 1, "kind": "report", "node": "gpu-00000", "boot_id": "b0", "seq": 1, "time": "2026-11-20T10:00:00Z",
                "profile": "quick", "agent": "0.1.0", "sku": "hgx-h100", "env": {"kernel": "6.1.0"}, "duration_s": 40.5,
                "samples": samples, "problems": []}
        made.append(gzip.compress(json.dumps(text, separators=(",", ":")).encode(), 6, mtime=0))
    return made


def name(number):
    return f"gpu-{number:05}"


def baseline_rows(nodes, now):
    """One row per check with each host's value, as in baseline_store.h."""
    chance = random.Random(2)
    params = json.dumps(PARAMS, sort_keys=True, separators=(",", ":"))
    for check, unit in CHECKS:
        hosts = b"".join(name(i).encode() + b"\0" + struct.pack("<dd", chance.gauss(70e9, 5e8), 2e8) for i in range(nodes))
        yield f"hgx-h100\n{check}\nself\n{unit}\n0\n{params}", now, b"\1" + hosts


def fill(db, fleet, pool):
    now = fleet.now
    sentence = "pass: 40 checks, nothing below its floor"
    slow = "gpu:GPU-5d9f0a1c-3 runs at 60.1 of 70.2 GFLOP/s (86 %) in gemm.rate3: below the median of the fleet"
    last, insert = {}, []

    def flush():
        db.executemany("INSERT INTO reports VALUES (?,?,?,?,?,'2026-11-20T10:00:00Z','quick',?,?,1,?)", [r for r, _ in insert])
        db.executemany("INSERT INTO items VALUES (?,0,?,'gemm.rate3','gpu:GPU-5d9f0a1c-3',2,60.1e9,'FLOP/s',70.2e9,66e9,0,"
                       "9999,0,?,NULL,NULL)", [(r[0], r[3], slow) for r, bad in insert if bad])
        insert.clear()

    for i, (number, seq, seen, left) in enumerate(fleet.reports(), 1):
        bad, node = fleet.is_bad(number), number + 1
        insert.append(((i, node, seq, node, seen, 2 if bad else 0, slow if bad else sentence,
                        pool[i % len(pool)] if left == WHOLE else None), bad))
        last[number] = (i, seq, seen)
        if len(insert) == 10000:
            flush()
    flush()
    env = json.dumps({"kernel": "6.1.0", "driver": "550.54.15", "bios": "2.1"})
    measured = "".join(f"{CHECKS[i % 16][0]}\tgpu:GPU-5d9f0a1c-{i % 8}\t{CHECKS[i % 16][1]}\n" for i in range(40))
    first = now - fleet.days * DAY
    for number, (report, seq, seen) in last.items():
        level = 2 if fleet.is_bad(number) else 0
        db.execute("INSERT INTO nodes VALUES (?,?,?,?,'2026-11-20T10:00:00Z',?,?,'quick','0.1.0','hgx-h100',NULL,?,?,?)",
                   (number + 1, name(number), number + 1, seq, first, seen, env, level, slow if level else sentence))
        db.execute("INSERT INTO boots VALUES (?,?,'b0',?)", (number + 1, number + 1, first))
        db.execute("INSERT INTO runs VALUES (?,'quick',?,'2026-11-20T10:00:00Z',?,?,NULL)", (number + 1, report, level, measured))
        if level:
            db.execute("INSERT INTO windows (node, check_name, subject, bits, seen, k, n, since_us, last_us)"
                           " VALUES (?,'gemm.rate3','gpu:GPU-5d9f0a1c-3',7,3,1,1,?,?)", (name(number), first, seen))
            db.execute("INSERT INTO incidents VALUES (NULL,?,'gemm.rate3','gpu:GPU-5d9f0a1c-3',2,0,NULL,'observe',?,?,?,NULL,?,NULL)",
                       (name(number), slow, first, seen, first))
    db.executemany("INSERT INTO baselines (key, saved_us, hosts) VALUES (?,?,?)", baseline_rows(fleet.nodes, now))


def build(path, fleet, pool):
    """Writes the store, with bodies from `pool`."""
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000", "locking_mode = EXCLUSIVE"):
        db.execute(f"PRAGMA {pragma}")
    steps = sorted(TREE.glob("controller/store/sql/schema-*.sql"), key=lambda p: int(p.stem.split("-")[1]))
    for step in steps:
        db.executescript(step.read_text())
    db.execute(f"PRAGMA user_version = {len(steps)}")
    db.execute("BEGIN")
    fill(db, fleet, pool)
    db.execute("COMMIT")
    db.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    build(options.file, Fleet(options.nodes, options.days, everything=options.all), bodies())


if __name__ == "__main__":
    main()
