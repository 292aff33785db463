#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The RDMA probes against perftest on Soft-RoCE in one guest, or in two: alternating pairs.

bench_guest.py BUILD [--part loopback|pair|all-reduce] [--pairs N] [--turns N] [--size B] [--qps N] [--depth N] [--link RATE|none]

The two measurements of a pair follow each other on the same devices of the same guest, with
the same size, queue pairs and depth; which comes first alternates. They take turns a few times in a
pair, whose values are the means: cores that others share are now fast and now slow for
seconds, and short turns meet the same of it. Guests are booted until there are enough pairs.

Bandwidth is held against the better of polling and -e of the same pair;
perftest refuses -e for writes. Both are averages over some seconds. The bound is the
one-sided 95 % lower bound of the median of the ratios, by order statistics: no
distribution is assumed. Of 11 pairs that is the third smallest.

Latencies are medians, of 1000 trips of perftest. Write latency is that of delivery, from
the call to the data being seen by another core: half of ib_write_lat's ping-pong
is the mean of two of those. Read latency is that of a completion, as ib_read_lat's.

The bus bandwidth of an all-reduce of two guests is held against one direction of perftest between them. Its ring sends both
ways at once, as cables and hardware can; the processors of two emulated machines cannot, so that without --link it is they
that are measured. With it (the default) what leaves each guest is shaped to a rate that both ways at once reach. Beside it stands
what one of both ways of perftest (-b) gets: that is as much as the machine can do at once, however few of its cycles we take.

A machine that does other things meanwhile makes ratios of anything: a guest whose two
processors do not run at the same moment has a ping-pong of milliseconds. Look at
the values before the verdict.
"""
import argparse
import collections
import json
import math
import statistics
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guest"))
import guest  # noqa: E402
import image  # noqa: E402

SCENARIOS = Path(__file__).resolve().parents[1] / "guest/scenarios"
MIB = 1 << 20  # what perftest calls MB
CONFIDENCE = 0.95
TARGETS = {
    "loopback": {"write_bw": 0.97, "read_bw": 0.97, "write_lat": 1.05, "read_lat": 1.05},
    "pair": {"write_bw": 0.97, "write_lat": 1.05},
    "all-reduce": {"busbw": 0.85},
}
MEDIANS = {"busbw": 0.9}  # that must be reached besides the bound
PROBES = {"loopback": "loopback", "pair": "rnic_pair", "all-reduce": "all_reduce"}
# Of a turn of perftest, and of the probe: some two seconds a bandwidth. Between two guests it is the link that takes the
# time, and one turn is enough.
COUNTS = {"all-reduce": 300}
COUNT, BUDGET, BUDGETS = 2000, "8s", {"all-reduce": "30s"}
TURNS, TURNS_OF = 4, {"all-reduce": 1}
BOTH = "both"  # how one of both ways at once was measured: no target, only told
BOOTS_MAX = 8  # of a part
PAIR_S = 120  # at most, on a loaded machine


def lower_bound(values):
    """The k-th smallest of n values lies below their median with a confidence of 1 - P(Bin(n, 1/2) < k)."""
    n, k, tail = len(values), 0, 0.0
    while tail + math.comb(n, k) / 2 ** n <= 1 - CONFIDENCE:
        tail += math.comb(n, k) / 2 ** n
        k += 1
    return sorted(values)[k - 1] if k else -math.inf


def read(output, pairs):
    """Add to {pair: {what: {how: [value of a turn in SI units]}}} what perftest measured, and the same of the probe under "assay"."""
    for line in output.splitlines():
        words = line.split(maxsplit=1)
        if len(words) < 2 or not words[0].isdigit():
            print(f"guest: {line}", file=sys.stderr)
        elif words[1].startswith("{"):
            sample = json.loads(words[1])
            what = sample["check"].split(".")[1]
            if what != "connect" and sample["state"] == "measured":
                pairs[int(words[0])][what]["assay"].append(sample["value"])
            elif what != "connect":
                print(f"pair {words[0]} {what}: {sample['state']}: {sample.get('note')}", file=sys.stderr)
        elif len(words[1].split()) == 3:
            what, how, value = words[1].split()
            pairs[int(words[0])][what][how].append(float(value) * (MIB if what.endswith("bw") else 1e-6))


def is_whole(pair, part, turns):
    """Both sides of every measure are there for every turn, and finite: else the pair is measured again."""
    return all("assay" in pair[what] and others(pair[what])
               and all(len(values) == turns and all(0 < v < math.inf for v in values) for values in pair[what].values())
               for what in TARGETS[part])


def means(pair):
    """{what: {how: the mean of the turns}}."""
    return {what: {how: statistics.fmean(values) for how, values in row.items()} for what, row in pair.items()}


def others(row):
    """What it is held against."""
    return {how: value for how, value in row.items() if how not in ("assay", BOTH)}


def boot(part, options, environ):
    """What the one that tells printed, and whether it came to its end."""
    timeout_s = options.seconds_max + PAIR_S
    if part != "all-reduce":
        return guest.run(SCENARIOS / "bench.sh", options.build, timeout_s, environ)
    return guest.run_many(SCENARIOS / "bench-two.sh", "ab", options.build, timeout_s, environ)[0]


def measure(part, options):
    """Whole pairs, `options.pairs` of them, or fewer when BOOTS_MAX guests had not the time."""
    found, number, turns = {}, 1, options.turns or TURNS_OF.get(part, TURNS)
    for _ in range(BOOTS_MAX):
        missing = options.pairs - len(found)
        if missing <= 0:
            break
        environ = {name.upper(): str(getattr(options, name)) for name in ("size", "qps", "depth", "link", "seconds_max")}
        environ |= {"COUNT": str(options.count or COUNTS.get(part, COUNT)), "BUDGET": options.budget or BUDGETS.get(part, BUDGET)}
        environ |= {"PART": part, "TURNS": str(turns), "FIRST": str(number), "LAST": str(number + missing - 1)}
        result = boot(part, options, environ)
        if result.status != 0:
            print(f"the guest ended with {result.status}: {result.output[-500:]}", file=sys.stderr)
        pairs = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
        read(result.output, pairs)
        found |= {n: means(pair) for n, pair in pairs.items() if is_whole(pair, part, turns)}
        number = max(pairs, default=number) + 1
    return found


def compare(part, what, rows, wanted):
    """Print the pairs of one measure; True when all are there and it is where it should be."""
    name, target, ratios = f"{PROBES[part]}.{what}", TARGETS[part][what], []
    for number, row in sorted(rows.items()):
        best = (max if what.endswith("bw") else min)(others(row).values())
        ratios.append(row["assay"] / best)
        print(f"{name} pair {number:2}: assay {row['assay']:.5g}  "
              + "  ".join(f"{how} {value:.5g}" for how, value in row.items() if how != "assay") + f"  ratio {ratios[-1]:.3f}", file=sys.stderr)
    both = [row["assay"] / row[BOTH] for row in rows.values() if row.get(BOTH, 0) > 0]
    if both:
        print(f"{name}: median of {len(both)} pairs against one of both ways at once {statistics.median(both):.3f} (min {min(both):.3f}, "
              f"max {max(both):.3f})")
    if len(ratios) < wanted:
        print(f"{name}: {len(ratios)} of {wanted} pairs were measured: too little time on this machine: COULD NOT TELL")
        return False
    median = statistics.median(ratios)
    if what.endswith("bw"):
        bound = lower_bound(ratios)
        good = bound >= target and median >= MEDIANS.get(what, target)
        words = f"lower 95 % bound {bound:.3f}, target >= {target}" + (f", median >= {MEDIANS[what]}" if what in MEDIANS else "")
    else:
        good = median <= target
        words = f"target <= {target}"
    print(f"{name}: median of {len(ratios)} pairs assay/perftest {median:.3f} (min {min(ratios):.3f}, max "
          f"{max(ratios):.3f}), {words}: {'ok' if good else 'MISSED'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--part", choices=sorted(TARGETS), action="append", help="default: all")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--turns", type=int, help="of each side in a pair")
    parser.add_argument("--size", type=int, default=65536)
    parser.add_argument("--qps", type=int, default=1)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--count", type=int, help="requests of one turn of perftest")
    parser.add_argument("--budget", help="of one turn of the probe")
    parser.add_argument("--link", default="32mbit", help="of two guests: the rate of what leaves each, as tc takes it, or none")
    parser.add_argument("--seconds-max", type=int, default=500, help="in a guest no pair begins later")
    options = parser.parse_args()
    good = []
    try:
        for part in options.part or sorted(TARGETS):
            pairs = measure(part, options)
            good += [compare(part, what, {n: pair[what] for n, pair in pairs.items()}, options.pairs) for what in TARGETS[part]]
    except image.Missing as why:
        print(f"skipped: {why}")
        return 0
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
