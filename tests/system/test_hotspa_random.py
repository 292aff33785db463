# SPDX-License-Identifier: Apache-2.0
"""The predictions for HotSPa's groups hold for random jobs, with noise, on GPUs that vary.

The job is profiled as it runs: assay-attribute gets only a trace of some steps and a description. The judge simulates the graph of
test_remedy_random.py with the true speed of each GPU: GPUs vary by 3.4 %, one host in thirty is slow, operations vary by another 3.4 %
with a tail, one step in ten has a cause that half of the hosts share. A tensor-parallel group is as fast as its slowest GPU. The times of
a plan in the description are those of the median host, by its slowest GPU.

The number of a job is its seed: ASSAY_HOTSPA_JOBS=20000-20999 runs those.
"""
import json
import math
import os
import random
import statistics

import pytest
from test_attribute_hotspa import packs_of
from test_remedy_random import RIGHT, SPREAD, STEPS, played

FIRST = 10000  # first job for judging: those below 6000 were used in development
FULL = 1000
SHORT = 30
GPUS = 8  # per host
TINY = 1e-6  # seconds of a transfer
FORWARD = 1 / 3


class World:
    """A job, its plans, and the true speeds of its GPUs."""

    def __init__(self, number):
        rng = self.rng = random.Random(f"hotspa {number}")
        self.pp, self.dp = rng.choice(((1, 4), (2, 2), (2, 4), (4, 2), (4, 4), (4, 8), (8, 4)))
        self.world = self.pp * self.dp * GPUS
        self.layers = 32
        hosts = [rng.uniform(1.1, 1.5) if rng.random() < 1 / 30 else 1 for _ in range(self.world // GPUS)]
        self.y = [hosts[i // GPUS] * math.exp(rng.gauss(0, SPREAD)) for i in range(self.world)]
        # The cost of a token and of its square for the whole model, and the overhead of tensor parallelism per doubling.
        self.token, self.square, self.split = rng.uniform(2e-4, 4e-4), rng.uniform(4e-9, 1.6e-8), rng.uniform(0.05, 0.2)
        longest = rng.choice((16384, 32768))
        shapes = [(tp, pp) for tp in (1, 2, 4, 8) for pp in (1, 2, 4, 8) if tp * pp < GPUS * self.pp and self.world % (tp * pp) == 0]
        others = rng.sample(shapes, min(len(shapes), rng.randint(1, 3)))
        self.plans = [self.plan(tp, pp, longest * tp * pp // (GPUS * self.pp)) for tp, pp in [(GPUS, self.pp), *others]]
        self.plans = [self.plans[0]] + [p for p in self.plans[1:] if p["tokens"] >= 1024]
        self.lengths = self.histogram(longest)
        self.fixed = rng.uniform(0.005, 0.05) * self.token * sum(n * count for n, count in self.lengths.items()) / self.world

    def plan(self, tp, pp, tokens):
        """The plan's pipelines as lists of stages, each as slow as its slowest GPU."""
        dp = self.world // (tp * pp)
        hosts = [max(self.y[i:i + GPUS]) for i in range(0, self.world, GPUS)]
        slow = [[max(self.y[self.first(tp, pp, dp, d, p) + t] for t in range(tp)) for p in range(pp)] for d in range(dp)]
        return {"tp": tp, "pp": pp, "dp": dp, "tokens": tokens, "slow": slow, "middle": statistics.median(hosts)}

    def first(self, tp, pp, dp, d, p):
        """The first GPU of a stage: ranks are numbered along a pipeline now, and across replicas in a plan."""
        return (d * pp + p if (tp, pp) == (GPUS, self.pp) else p * dp + d) * tp

    def histogram(self, longest):
        """As many sequences as give each pipeline the same number of current packs."""
        lengths = sorted(self.rng.sample([n for n in (1024, 2048, 4096, 8192, 16384) if n < longest], self.rng.randint(1, 3)) + [longest])
        m = self.rng.choice((6, 8, 12, 16))
        want = m * self.dp
        sequences = [longest] * self.rng.randint(1, want // 3)
        while len(packs_of(sequences, longest)) <= want:
            n = self.rng.choice(lengths[:-1])
            sequences += [n] * (longest // n)
        packs = packs_of(sequences, longest)[:want]
        self.packs = packs
        counts = {}
        for n in sum(packs, []):
            counts[n] = counts.get(n, 0) + 1
        return counts

    def seconds(self, plan, bound, squares):
        """Seconds of a pack on a stage of good GPUs, forward and backward."""
        return (self.token * bound + self.square * squares) / (plan["tp"] * plan["pp"]) * (1 + self.split * math.log2(plan["tp"]))

    def noise(self, rng):
        """The noise of one operation."""
        return max(0.5, rng.gauss(1, SPREAD)) * (1 + rng.expovariate(4) if rng.random() < 0.01 else 1)

    def shared(self, rng):
        """For one step: how much a shared cause slows each host."""
        hosts, slower = self.world // GPUS, rng.uniform(1, 1.1)
        ill = set(rng.sample(range(hosts), (hosts + 1) // 2)) if rng.random() < 0.1 else set()
        return [slower if host in ill else 1 for host in range(hosts)]

    def operations(self, plan, d, packs, rng, common):
        """Seconds of each operation, in the form for played()."""
        out = []
        for p in range(plan["pp"]):
            first = self.first(plan["tp"], plan["pp"], plan["dp"], d, p)
            slow = plan["slow"][d][p] * max(common[(first + t) // GPUS] for t in range(plan["tp"]))
            out += [part * seconds * slow * self.noise(rng) for seconds in packs for part in (FORWARD, 1 - FORWARD)]
        return out

    def now(self, rng):
        """A current step: packs are dealt in order. Returns the lines of the trace, and its seconds."""
        plan, bound = self.plans[0], self.plans[0]["tokens"]
        packs = [self.seconds(plan, bound, sum(n * n for n in pack)) for pack in self.packs]
        rng.shuffle(packs)
        common, ops = self.shared(rng), []
        m = len(packs) // self.dp
        for d in range(self.dp):
            ops.append(self.operations(plan, d, packs[d * m:(d + 1) * m], rng, common))
        ends = [played(self.pp, m, each) for each in ops]
        return ops, ends, max(max(each) for each in ends) + self.fixed

    def promised(self, one, rng):
        """The duration of a step with the groups of an answer."""
        common, took = self.shared(rng), self.fixed
        for group in one["groups"]:
            plan = next(p for p in self.plans if all(p[key] == group["plan"][key] for key in ("tp", "pp", "dp")))
            mine = [n for n, count in self.lengths.items() if group["shortest"] <= n <= group["longest"] for _ in range(count)]
            packs = packs_of(mine, group["pack_tokens"])
            assert len(packs) == group["packs"] and group["pack_tokens"] <= plan["tokens"]
            packs = sorted((self.seconds(plan, group["pack_tokens"], sum(n * n for n in pack)) for pack in packs), reverse=True)
            took += max(max(played(plan["pp"], len(own), self.operations(plan, d, own, rng, common)))
                        for d in range(plan["dp"]) for own in [packs[d::plan["dp"]]] if own)
        return took + one["switches_s"] * self.noise(rng)

    def mean_slower(self, one):
        """How much slower steps of an answer are than current ones, as the mean of many, because five may be luck."""
        many = range(10 * STEPS)
        return sum(self.promised(one, self.rng) for _ in many) / sum(self.now(self.rng)[2] for _ in many) - 1

    def description(self):
        rows = "".join(f"    - {{tokens: {n}, count: {count}}}\n" for n, count in self.lengths.items())
        plans = ""
        for plan in self.plans:
            times = ", ".join(f"{{tokens: {n}, ms: {1e3 * plan['middle'] * self.seconds(plan, n, n * n):.6g}}}"
                              for n in (plan["tokens"] // 8, plan["tokens"]))
            plans += f"    - {{tp: {plan['tp']}, pp: {plan['pp']}, dp: {plan['dp']}, times: [{times}]}}\n"
        return (f"layers: [{{count: {self.layers}, memory_gib: 1}}]\nstages: {[self.layers // self.pp] * self.pp}\nmemory_gib: 64\n"
                f"link_gbps: 3200\nhotspa:\n  lengths:\n{rows}  plans:\n{plans}  weights_gib: 2\n  inside_gbps: 3600\n")


def lines_of(world, step, ops, ends, at):
    """A step in the trace: transfers last as long as their wait, and all ranks leave a collective together."""
    pp, m = world.pp, len(ops[0]) // (2 * world.pp)
    over = max(max(each) for each in ends) + world.fixed
    for d in range(world.dp):
        for p in range(pp):
            def line(optype, seq, start, end, **more):
                return json.dumps({"step": step, "dp_rank": d, "stage": p, "optype": optype, "seq_id": seq, **more,
                                   "start_ts": round(at + start, 9), "duration": round(max(end - start, TINY), 9)})
            own = sorted((ends[d][n], n) for n in range(2 * p * m, 2 * (p + 1) * m))
            before, free = {}, 0.0
            for end, n in own:
                before[n], free = free, end
            yield line("params-all-gather", 0, -2 * TINY, -TINY, mc=0)
            for backward, word in ((0, "forward"), (1, "backward")):
                there, back = (p + 1, p - 1) if backward == 0 else (p - 1, p + 1)
                got = 0.0
                for i in range(m):
                    n = 2 * (p * m + i) + backward
                    start = ends[d][n] - ops[d][n]
                    yield line(word + "-compute", i, start, ends[d][n], mb_id=i, mc=0, gmc=p)
                    if 0 <= back < pp:  # it waits from the previous compute on
                        sent = ends[d][2 * (back * m + i) + backward]
                        posted = max(got, before[n])
                        got = max(sent, posted)
                        yield line(word + "-recv", i, posted, got)
                    if 0 <= there < pp:
                        to = 2 * (there * m + i) + backward
                        begun = sorted((e, k) for e, k in ((ends[d][k], k) for k in range(2 * there * m, 2 * (there + 1) * m)) if e <= ends[d][to] - ops[d][to])
                        yield line(word + "-send", i, ends[d][n], max(ends[d][n], begun[-1][0] if begun else 0))
            yield line("grads-reduce-scatter", 0, own[-1][0], over, mc=0)


def ask(run, tmp_path, world):
    meta = {"type": "meta", "format": "optrace/1", "job": "random", "dp_size": world.dp, "pp_size": world.pp, "tp_size": GPUS, "vpp_size": 1,
            "dsp_size": 1, "world_size": world.world, "microbatches": len(world.packs) // world.dp, "time_unit": "s",
            "ranks": [{"rank": GPUS * (d * world.pp + p), "dp_rank": d, "stage": p, "node": f"n{d * world.pp + p}"}
                      for d in range(world.dp) for p in range(world.pp)]}
    at, lines, steps = 0.0, [json.dumps(meta)], []
    for step in range(STEPS):
        ops, ends, took = world.now(world.rng)
        lines += lines_of(world, step, ops, ends, at)
        at += took + 1
        steps.append(took)
    world.step_s = sum(steps) / STEPS
    trace, description = tmp_path / "trace.jsonl", tmp_path / "F.yaml"
    trace.write_text("\n".join(lines) + "\n")
    description.write_text(world.description())
    result = run("assay-attribute", trace, "--remedies", description)
    if result.returncode == 2:  # a host is so slow that the description does not match this job
        assert "keep a stage of the first plan busy for" in result.stderr
        return None
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


class Tally:
    def __init__(self):
        self.jobs, self.errors, self.advised, self.slower, self.why = 0, [], [], [], {}

    def play(self, run, tmp_path, number):
        world = World(number)
        self.jobs += 1
        if len(world.plans) < 2:
            return
        doc = ask(run, tmp_path, world)
        if doc is None:
            return
        one = next((one for one in doc["remedies"]["list"] if one["kind"] == "hotspa"), None)
        assert doc["remedies"]["now_s"] == pytest.approx(world.step_s, rel=0.01)
        if one is None:
            return
        took = sum(world.promised(one, world.rng) for _ in range(STEPS)) / STEPS
        self.errors.append(one["after_s"] / took - 1)
        self.advised.append(one["advised"])
        if took > world.step_s and one["gain_s"] > RIGHT * world.step_s:
            self.slower.append((number, world.mean_slower(one)))

    def right(self, errors):
        return sum(abs(e) <= RIGHT for e in errors) / max(1, len(errors))

    def __str__(self):
        ordered = sorted(self.errors)
        advised = [e for e, a in zip(self.errors, self.advised) if a]
        return (f"{self.jobs} jobs, {len(ordered)} promises, {100 * self.right(ordered):.1f} % within {100 * RIGHT:.0f} % (of the {len(advised)} that "
                f"are advised {100 * self.right(advised):.1f} %); error median {100 * ordered[len(ordered) // 2]:+.2f} %, p5 "
                f"{100 * ordered[len(ordered) // 20]:+.2f} %, p95 {100 * ordered[len(ordered) * 19 // 20]:+.2f} %; worth more than "
                f"that and slower in five steps, then in the mean: {', '.join(f'{n} {100 * s:+.2f} %' for n, s in self.slower) or 'none'}")


def hold(run, tmp_path, numbers):
    tally = Tally()
    for number in numbers:
        tally.play(run, tmp_path, number)
        if tally.jobs % 100 == 0:
            print(tally, flush=True)
    print(tally)
    assert len(tally.errors) > len(numbers) / 3
    assert tally.right(tally.errors) >= 0.9
    # Five steps of two pipelines do not always reveal the slow host: up to one in a hundred may be wrong.
    assert sum(slower > 0 for _, slower in tally.slower) <= 0.01 * len(tally.errors)


def test_what_groups_promise_comes_true(run, tmp_path):
    hold(run, tmp_path, range(FIRST, FIRST + SHORT))


@pytest.mark.long
def test_what_groups_promise_comes_true_in_a_thousand_jobs(run, tmp_path):
    first, last = map(int, os.environ.get("ASSAY_HOTSPA_JOBS", f"{FIRST}-{FIRST + FULL - 1}").split("-"))
    hold(run, tmp_path, range(first, last + 1))
