#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a window of a simulated training job as optrace/1.

job_trace.py --job NAME --dp D --pp P [--tp T] [--steps N] [--first STEP] [--seed S] [--first-host N] [--slow HOST[/PERCENT]] [--sequences]
             [--slow-link HOST,HOST[/TIMES]]

Its hosts vary like good silicon: their speeds have a standard deviation of 3.4 %, the same in every window of a seed; from step
to step a host varies by 1 %, and single operations by 2 %.
A worker is one host, gpu-NN from --first-host on, in rank order: replicas adjacent, then stages.
--slow makes one host slower (by 10 %), --slow-link the transfers between two hosts of a replica (200 times as long), --sequences
gives the micro-batches sequences of very different lengths, a slowdown by the job itself. The schedule is 1F1B; a transfer begins
when both ends are ready.
"""
import argparse
import json
import random
import sys

FORWARD, BACKWARD = "forward", "backward"
FORWARD_S, BACKWARD_S = 0.35, 0.70  # per micro-batch
TRANSFER_S, REDUCE_S, GATHER_S, OPTIMIZER_S = 0.004, 0.08, 0.05, 0.06
SPREAD = 0.034
JITTER = 0.02  # of one operation
STEP_JITTER = 0.01  # of a host from step to step
MICROBATCHES = 8
SPREAD_OF_SEQUENCES = 0.45  # of the logarithm of their lengths


class Job:
    """The constant data of all steps: the speeds of the workers."""

    def __init__(self, options):
        self.dp, self.pp, self.tp = options.dp, options.pp, options.tp
        speeds = random.Random(options.seed)
        self.pace = {}
        for place in range(self.dp * self.pp):
            slow = options.slow is not None and options.slow[0] == self.name_of(options, place)
            self.pace[place % self.dp, place // self.dp] = (1 / (1 - options.slow[1] / 100) if slow else 1) / speeds.gauss(1, SPREAD)
        self.sequences = options.sequences
        ends, self.slower = options.slow_link or ((), 1)
        self.slow_link = {(place % self.dp, place // self.dp) for place in range(self.dp * self.pp) if self.name_of(options, place) in ends}

    @staticmethod
    def name_of(options, place):
        return f"gpu-{options.first_host + place:02d}"

    def schedule(self, stage):
        """(kind, micro-batch) in the order of a stage's computes."""
        warm = min(self.pp - 1 - stage, MICROBATCHES)
        slots = [(FORWARD, i) for i in range(warm)]
        for i in range(MICROBATCHES):
            slots += [(FORWARD, warm + i)] * (warm + i < MICROBATCHES) + [(BACKWARD, i)]
        return slots


class Replica:
    """One pipeline in one step: {(stage, operation, micro-batch): (start, end)}, in seconds since the start of the step."""

    def __init__(self, job, d, draw):
        lengths = [draw.lognormvariate(0, SPREAD_OF_SEQUENCES) if job.sequences else 1 for _ in range(MICROBATCHES)]
        self.job, self.d, self.draw, self.lengths = job, d, draw, lengths
        self.pace = {p: job.pace[d, p] * draw.gauss(1, STEP_JITTER) for p in range(job.pp)}
        self.at = {}
        self.todo = {p: job.schedule(p) for p in range(job.pp)}
        self.free = {p: GATHER_S for p in range(job.pp)}  # when the previous compute has ended
        self.sent = {}  # (stage, kind): when its last send has ended
        while any(self.todo.values()):
            for p in range(job.pp):
                while self.todo[p] and self.compute(p):
                    pass

    def seconds(self, p, kind, i):
        base = FORWARD_S if kind == FORWARD else BACKWARD_S
        return base * self.lengths[i] * self.pace[p] * self.draw.gauss(1, JITTER)

    def compute(self, p):
        """Adds the next compute of stage p, with the transfer into it. Returns False if its input is not ready yet."""
        kind, i = self.todo[p][0]
        peer = p - 1 if kind == FORWARD else p + 1
        start = self.free[p]
        if 0 <= peer < self.job.pp:
            if (peer, kind + "-compute", i) not in self.at:
                return False
            start = self.transfer(peer, p, kind, i)
        end = start + self.seconds(p, kind, i)
        self.at[p, kind + "-compute", i] = (start, end)
        self.free[p] = end
        self.todo[p].pop(0)
        return True

    def transfer(self, peer, p, kind, i):
        send = max(self.at[peer, kind + "-compute", i][1], self.sent.get((peer, kind), 0))
        receive = self.free[p]
        slower = self.job.slower if {(self.d, peer), (self.d, p)} <= self.job.slow_link else 1
        end = max(send, receive) + TRANSFER_S * slower
        self.sent[peer, kind] = end
        self.at[peer, kind + "-send", i], self.at[p, kind + "-recv", i] = (send, end), (receive, end)
        return end


def play(job, draw):
    """Simulates one step: {(replica, stage, operation, micro-batch or None): (start, end)}, and its duration."""
    at, last = {}, 0
    replicas = [Replica(job, d, draw) for d in range(job.dp)]
    for replica in replicas:
        at.update({(replica.d, *key): when for key, when in replica.at.items()})
    for p in range(job.pp):
        ready = max(r.free[p] for r in replicas)
        for r in replicas:
            at[r.d, p, "params-all-gather", None] = (0, GATHER_S)
            at[r.d, p, "grads-reduce-scatter", None] = (r.free[p], ready + REDUCE_S)
            at[r.d, p, "optimizer", None] = (ready + REDUCE_S, ready + REDUCE_S + OPTIMIZER_S)
        last = max(last, ready + REDUCE_S + OPTIMIZER_S)
    return at, last


def write(options, out):
    job = Job(options)
    ranks = [{"rank": place * job.tp, "dp_rank": place % job.dp, "stage": place // job.dp, "node": Job.name_of(options, place)}
             for place in range(job.dp * job.pp)]
    rank_of = {(r["dp_rank"], r["stage"]): r["rank"] for r in ranks}
    out.write(json.dumps({"type": "meta", "format": "optrace/1", "job": options.job, "dp_size": job.dp, "pp_size": job.pp, "tp_size": job.tp,
                          "world_size": job.dp * job.pp * job.tp, "microbatches": MICROBATCHES, "time_unit": "s", "ranks": ranks}) + "\n")
    draw, begin = random.Random(f"{options.seed}/{options.first}"), 0.0
    for step in range(options.first, options.first + options.steps):
        at, seconds = play(job, draw)
        count = {}
        for (d, p, name, i), (start, end) in sorted(at.items(), key=lambda item: (item[1], item[0][:3])):
            seq = count[d, p, name] = count.get((d, p, name), -1) + 1
            row = {"step": step, "dp_rank": d, "stage": p, "rank": rank_of[d, p], "optype": name, "seq_id": seq,
                   "start_ts": round(begin + start, 6), "duration": round(end - start, 6)}
            if i is not None and name.endswith("-compute"):
                row |= {"mb_id": i, "mc": 0, "gmc": p}
            elif i is None and name != "optimizer":
                row["mc"] = 0
            out.write(json.dumps(row) + "\n")
        begin += seconds


def slow(text):
    host, _, percent = text.partition("/")
    return host, float(percent or 10)


def slow_link(text):
    hosts, _, times = text.partition("/")
    return tuple(hosts.split(",")), float(times or 200)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", required=True)
    parser.add_argument("--dp", type=int, required=True)
    parser.add_argument("--pp", type=int, required=True)
    parser.add_argument("--tp", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-host", type=int, default=0)
    parser.add_argument("--slow", type=slow)
    parser.add_argument("--slow-link", type=slow_link)
    parser.add_argument("--sequences", action="store_true")
    write(parser.parse_args(), sys.stdout)


if __name__ == "__main__":
    main()
