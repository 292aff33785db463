# SPDX-License-Identifier: Apache-2.0
"""assay-plan eval against brute force: tries all solutions, in independent code.

Up to 6 hosts, 8 layers, 16 micro-batches. All small instances with ASSAY_FULL=1, else a seeded sample.
"""
import itertools
import math
import os
import random

import pytest
from test_remedy_random import ask

FULL = os.environ.get("ASSAY_FULL") == "1"
SAME = 1e-9


def sample(instances, n):
    instances = list(instances)
    return instances if FULL or len(instances) <= n else random.Random(17).sample(instances, n)


def compositions(total, parts, least=1):
    """All lists of `parts` integers of at least `least` with this sum, in order."""
    if parts == 1:
        if total >= least:
            yield (total,)
        return
    for first in range(least, total - least * (parts - 1) + 1):
        for rest in compositions(total - first, parts - 1, least):
            yield (first, *rest)



# --- layers on stages of different speeds ---------------------------------------------------


def test_layers_are_dealt_as_well_as_any_way(run, tmp_path):
    instances = sample([(y, n, cap) for stages in range(1, 7) for y in itertools.product((1, 1.5, 3), repeat=stages)
                        for n in range(1, 9) for cap in (2, 8)], 1500)
    answers = ask(run, tmp_path, [{"op": "assign_layers", "y": y, "L": n, "cap": cap} for y, n, cap in instances])
    for (y, n, cap), answer in zip(instances, answers):
        ways = [way for way in compositions(n, len(y), 0) if max(way) <= cap]
        if not ways:
            assert answer["feasible"] is False
            continue
        best = min(max(a * b for a, b in zip(way, y)) for way in ways)
        assert tuple(answer["l"]) in ways
        assert answer["o"] == pytest.approx(best, rel=SAME) == max(a * b for a, b in zip(answer["l"], y))


# --- the batch -------------------------------------------------------------------------------


def spread(counts, times):
    each = [n * t for n, t in zip(counts, times)]
    return sum((x - sum(each) / len(each)) ** 2 for x in each)


def test_the_batch_is_dealt_as_well_as_any_way(run, tmp_path):
    instances = sample([(t, n) for pipelines in range(1, 7) for t in itertools.combinations_with_replacement((1, 1.25, 1.7, 2.6), pipelines)
                        for n in range(pipelines, 17)], 150)
    answers = ask(run, tmp_path, [{"op": "distribute", "T": t, "B": n} for t, n in instances])
    for (t, n), answer in zip(instances, answers):
        ways = list(compositions(n, len(t)))
        best = min(max(a * b for a, b in zip(way, t)) for way in ways)
        assert tuple(answer["minmax"]) in ways
        assert answer["time"] == pytest.approx(best, rel=SAME)
        values = [spread(way, t) for way in ways]
        least = min(values)
        first = ways[next(i for i, value in enumerate(values) if value <= least + 1e-12 * n * n)]
        assert tuple(answer["variance"]) == first, (t, n)


# --- templates -------------------------------------------------------------------------------


def template(t, n):
    k = max(i for i, x in enumerate(t) if x == max(t))
    return sum(t) + (n - len(t) + k - 1) * t[k] + sum(t[k:])


def test_layers_are_cut_as_well_as_any_way(run, tmp_path):
    instances = sample([(layers, stages) for n in range(1, 9) for layers in itertools.product((1, 2, 5), repeat=n)
                        for stages in range(1, min(n, 6) + 1)], 1200)
    answers = ask(run, tmp_path, [{"op": "best_split", "layers": layers, "S": stages} for layers, stages in instances])
    for (layers, stages), answer in zip(instances, answers):
        best = None
        for way in compositions(len(layers), stages):
            ends = list(itertools.accumulate(way))
            t = template([sum(layers[end - n:end]) for n, end in zip(way, ends)], 4 * stages)
            best = min(best or (math.inf, ()), (t, way))
        assert (answer["T"], tuple(answer["split"])) == best, (layers, stages)


def one_f_one_b(forward, backward, n):
    """The end of the last compute: the order of each stage, then the earliest fixed point."""
    stages = len(forward)
    done = {}
    orders = []
    for p in range(stages):
        warm = min(stages - 1 - p, n)
        order = [("f", i) for i in range(warm)]
        for i in range(n - warm):
            order += [("f", warm + i), ("b", i)]
        orders.append(order + [("b", i) for i in range(n - warm, n)])

    def end(kind, p, i):
        """The end of this compute: recursion over its inputs and the stage's previous computes."""
        if (kind, p, i) not in done:
            at = orders[p].index((kind, i))
            start = end(orders[p][at - 1][0], p, orders[p][at - 1][1]) if at else 0
            if kind == "f" and p:
                start = max(start, end("f", p - 1, i))
            if kind == "b":
                start = max(start, end("b", p + 1, i) if p < stages - 1 else end("f", p, i))
            done[kind, p, i] = start + (forward if kind == "f" else backward)[p]
        return done[kind, p, i]

    return max(end("b", p, n - 1) for p in range(stages))


def test_a_schedule_takes_what_another_simulator_says(run, tmp_path):
    rng = random.Random(4)
    instances = []
    for _ in range(600 if FULL else 100):
        stages = rng.randint(1, 6)
        instances.append(([rng.uniform(0.5, 2) for _ in range(stages)], [rng.uniform(1, 4) for _ in range(stages)], rng.randint(1, 16)))
    answers = ask(run, tmp_path, [{"op": "pipe_1f1b", "F": f, "B": b, "m": m} for f, b, m in instances])
    for (f, b, m), answer in zip(instances, answers):
        assert answer["time"] == pytest.approx(one_f_one_b(f, b, m), rel=SAME)


# --- pipelines of several sizes ---------------------------------------------------------------


def test_instantiations_are_all_there_are(run, tmp_path):
    instances = [(sizes, n, f) for count in range(1, 5) for sizes in itertools.combinations(range(1, 7), count)
                 for n in range(1, 15) for f in range(3)]
    answers = ask(run, tmp_path, [{"op": "instantiate", "sizes": sizes, "N": n, "f": f} for sizes, n, f in instances])
    for (sizes, n, f), answer in zip(instances, answers):
        ways = {way for k in range(1, n + 1) for way in itertools.combinations_with_replacement(sizes, k) if sum(way) == n} \
            if n <= 8 else None
        if ways is None:
            # Too many to enumerate: the coefficient of x^n in the product of 1 / (1 - x^size).
            series = [1] + [0] * n
            for size in sizes:
                for i in range(size, n + 1):
                    series[i] += series[i - size]
            assert answer["all"] == series[n]
        else:
            assert answer["all"] == len(ways)
            assert {tuple(way) for way in answer["options"]} == {way for way in ways if len(way) > f}
        assert answer["count"] == len(answer["options"])


def test_the_choice_is_as_fast_as_any(run, tmp_path):
    instances = [(n, f, n0, batch) for n in range(2, 9) for f in (0, 1, 2) for n0 in (1, 2) if n >= (f + 1) * n0 for batch in (8, 13)]

    def times(n, f, n0):
        return [12 / size + 0.5 for size in range(n0, n - f * n0 + 1)]

    answers = ask(run, tmp_path, [{"op": "instantiate", "N": n, "f": f, "n0": n0, "B": batch, "T": times(n, f, n0)}
                                  for n, f, n0, batch in instances])
    for (n, f, n0, batch), answer in zip(instances, answers):
        t = dict(zip(range(n0, n - f * n0 + 1), times(n, f, n0)))
        best = min(min(max(a * t[size] for a, size in zip(way, option)) for way in compositions(batch, len(option)))
                   for option in answer["options"] if len(option) <= batch)
        assert answer["time"] == pytest.approx(best, rel=SAME)
        assert sum(answer["minmax"]) == batch


STARTS = ([[0, 1, 2], [3, 4, 5]], [[0], [1, 2, 3, 4, 5]], [[0, 1], [2, 3], [4, 5]], [[0], [1], [2], [3], [4], [5]], [[5, 3, 1], [0, 2, 4]])


def test_no_host_is_lost_or_doubled_by_a_reconfiguration(run, tmp_path):
    instances = [(start, lost, n0) for start in STARTS for n in range(7) for lost in itertools.combinations(range(6), n)
                 for n0 in (1, 2, 3) if n0 <= max(map(len, start))]
    answers = ask(run, tmp_path, [{"op": "reconfigure", "pipelines": start, "lost": lost, "n0": n0} for start, lost, n0 in instances])
    for (start, lost, n0), answer in zip(instances, answers):
        left = sorted(set(range(6)) - set(lost))
        if len(left) < n0:
            assert answer["feasible"] is False
            continue
        now = answer["pipelines"]
        assert sorted(host for pipeline in now for host in pipeline) == left
        assert min(map(len, now)) >= n0
        assert now == sorted(now, key=lambda pipeline: (len(pipeline), pipeline[0]))
        whole = [sorted(set(pipeline) - set(lost)) for pipeline in start]
        assert len(now) <= len([pipeline for pipeline in whole if pipeline])
        if all(len(pipeline) >= n0 or not pipeline for pipeline in whole):
            assert sorted(now) == sorted(pipeline for pipeline in whole if pipeline)


# --- groups by length -------------------------------------------------------------------------


def test_orders_of_plans_cost_as_little_as_any(run, tmp_path):
    rng = random.Random(9)
    instances = []
    for _ in range(300 if FULL else 60):
        n = rng.randint(1, 6)
        instances.append(([[0 if a == b else rng.randint(0, 9) for b in range(n)] for a in range(n)], rng.randrange(n)))
    answers = ask(run, tmp_path, [{"op": "hotspa_order", "cost": cost, "first": first} for cost, first in instances])
    for (cost, first), answer in zip(instances, answers):
        ways = [(first, *way, first) for way in itertools.permutations([i for i in range(len(cost)) if i != first])]
        best = min((sum(cost[a][b] for a, b in zip(way, way[1:])), way) for way in ways)
        assert (answer["total"], tuple(answer["order"])) == best


def test_packs_hold_every_sequence_once(run, tmp_path):
    rng = random.Random(3)
    bounds = [64, 16, 4, 0]
    instances = [[rng.randint(1, 64) for _ in range(rng.randint(1, 40))] for _ in range(200)]
    answers = ask(run, tmp_path, [{"op": "hotspa_group", "lens": lens, "bounds": bounds} for lens in instances])
    for lens, answer in zip(instances, answers):
        for g, (group, packs) in enumerate(zip(answer["groups"], answer["packed"])):
            assert group == sorted((n for n in lens if bounds[g + 1] < n <= bounds[g]), reverse=True)
            left = list(group)
            for pack in packs:  # check again, by removing from the rest
                wanted = []
                for n in list(left):
                    if sum(wanted) + n <= bounds[g]:
                        wanted.append(n)
                        left.remove(n)
                assert pack == wanted
            assert left == []


def test_rows_come_from_who_has_them(run, tmp_path):
    rng = random.Random(5)
    plans = [{"dp": dp, "tp": tp} for dp, tp in ((1, 8), (2, 4), (4, 2), (8, 1))]
    instances = [(a, b, 8 * rng.randint(1, 4)) for a in plans for b in plans]
    answers = ask(run, tmp_path, [{"op": "hotspa_switch", "source": a, "target": b, "rows": rows, "nodes": [[0, 1, 2, 3], [4, 5, 6, 7]]}
                                  for a, b, rows in instances])
    for (a, b, rows), answer in zip(instances, answers):
        def owned(plan, device):
            each = rows // plan["tp"]
            return set(range(device % plan["tp"] * each, (device % plan["tp"] + 1) * each))
        got = {device: set() for device in range(8)}
        sent = {"intra": [0] * 8, "inter": [0] * 8}
        for move in sorted(answer["moves"] + answer["local"], key=lambda move: (move["rows"], move["to"])):
            slice_ = set(range(move["rows"][0], move["rows"][1] + 1))
            assert slice_ <= owned(a, move["from"]) and not slice_ & got[move["to"]]
            got[move["to"]] |= slice_
            owners = [device for device in range(8) if slice_ <= owned(a, device)]
            near = [device for device in owners if device // 4 == move["to"] // 4]
            link = "local" if move["to"] in owners else "intra" if near else "inter"
            assert move["link"] == link
            if link != "local":
                assert move["from"] == min(near or owners, key=lambda device: (sent[link][device], device))
                sent[link][move["from"]] += len(slice_)
        assert got == {device: owned(b, device) for device in range(8)}
        assert (answer["V_intra"], answer["V_inter"]) == (sent["intra"], sent["inter"])
