#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The RDMA probes against perftest on Soft-RoCE in one guest, or in two: alternating pairs.

bench_guest.py BUILD [--part loopback|pair|all-reduce] [--pairs N] [--turns N] [--size B] [--qps N] [--depth N] [--link RATE|none]

The two measurements of a pair run one after the other on the same devices of the same guest,
with the same size, queue pairs and depth; their order alternates. They take several turns per
pair, and its values are the means: shared cores are fast or slow for seconds, and short turns
are affected equally. Guests are booted until there are enough pairs.

Bandwidth is compared with the better of polling and -e of the same pair; perftest does not
support -e for writes. Both are averages over some seconds. The bound is the one-sided 95 %
lower bound of the median of the ratios, by order statistics, without assuming a distribution.
With 11 pairs that is the third smallest.

Latencies are medians; perftest makes 1000 trips. Write latency is that of delivery, from the
call until another core sees the data: half of ib_write_lat's ping-pong is the mean of two of
those. Read latency is that of a completion, like ib_read_lat's.

The bus bandwidth of an all-reduce of two guests is compared with one direction of perftest between them. Its ring sends in both
directions at once, as cables and hardware can, but the CPUs of two emulated machines cannot, so without --link their CPUs are
measured. With --link (the default) the output of each guest is shaped to a rate that both directions can reach. For comparison,
one direction of a bidirectional perftest (-b) is shown: the most that the machine can do at once.

A busy machine makes all ratios meaningless: a guest whose two CPUs do not run at the same time
has a ping-pong of milliseconds. Look at the values before the verdict.
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
MIB = 1 << 20  # perftest's MB
CONFIDENCE = 0.95
TARGETS = {
    "loopback": {"write_bw": 0.97, "read_bw": 0.97, "write_lat": 1.05, "read_lat": 1.05},
    "pair": {"write_bw": 0.97, "write_lat": 1.05},
    "all-reduce": {"busbw": 0.85},
}
MEDIANS = {"busbw": 0.9}  # required in addition to the bound
PROBES = {"loopback": "loopback", "pair": "rnic_pair", "all-reduce": "all_reduce"}
# For a turn of perftest, and of the probe: about two seconds per bandwidth. Between two guests the link takes the time, and one
# turn is enough.
COUNTS = {"all-reduce": 300}
COUNT, BUDGET, BUDGETS = 2000, "8s", {"all-reduce": "30s"}
TURNS, TURNS_OF = 4, {"all-reduce": 1}
BOTH = "both"  # the bidirectional measurement: no target, only reported
BOOTS_MAX = 8  # per part
PAIR_S = 120  # at most, on a loaded machine


def lower_bound(values):
    """The k-th smallest of n values is below their median with confidence 1 - P(Bin(n, 1/2) < k)."""
    n, k, tail = len(values), 0, 0.0
    while tail + math.comb(n, k) / 2 ** n <= 1 - CONFIDENCE:
        tail += math.comb(n, k) / 2 ** n
        k += 1
    return sorted(values)[k - 1] if k else -math.inf


def read(output, pairs):
    """Adds perftest's results to {pair: {what: {how: [value of a turn in SI units]}}}, and the probe's under "assay"."""
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
    """Are both sides of every measure present for every turn, and finite? Otherwise the pair is repeated."""
    return all("assay" in pair[what] and others(pair[what])
               and all(len(values) == turns and all(0 < v < math.inf for v in values) for values in pair[what].values())
               for what in TARGETS[part])


def means(pair):
    """{what: {how: mean of the turns}}."""
    return {what: {how: statistics.fmean(values) for how, values in row.items()} for what, row in pair.items()}


def others(row):
    """The values to compare with."""
    return {how: value for how, value in row.items() if how not in ("assay", BOTH)}


def boot(part, options, environ):
    """The output of the reporting guest, and whether it finished."""
    timeout_s = options.seconds_max + PAIR_S
    if part != "all-reduce":
        return guest.run(SCENARIOS / "bench.sh", options.build, timeout_s, environ)
    return guest.run_many(SCENARIOS / "bench-two.sh", "ab", options.build, timeout_s, environ)[0]


def measure(part, options):
    """Measures `options.pairs` complete pairs, or fewer if BOOTS_MAX guests are not enough."""
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
    """Prints the pairs of one measure. Returns True if all are there and the target is met."""
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
