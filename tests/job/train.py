#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of the job of tests/job/run: a stage of a small network, trained over gloo, profiled window by window.

Ranks are numbered as in Megatron: replicas adjacent, then stages. With one micro-batch one stage computes while the other waits,
so the stages of a replica share a CPU without contention. Writes FOLDER/window-W/rankR.json.

With --endless it is not profiled and runs until it is killed: FOLDER/stepR has its last step, and when that ended.
"""
import argparse
import datetime
import itertools
import os
import pathlib
import sys
import threading
import time

# Width of a layer, rows of a micro-batch, layers of a stage.
MODELS = {"mlp": (256, 1024, 4), "wide": (512, 512, 2), "deep": (192, 768, 9), "attention": (128, 1024, 3)}
HEADS, SEQUENCE = 4, 64  # of attention
# For transfers between stages: gloo:send begins when all is written, and the socket accepts this little at once.
NARROW = 8
WARM_STEPS = 6
REST_S = 0.1  # pause after each step, which is not in the trace
DEADLINE = datetime.timedelta(seconds=120)  # of one transfer: a dead rank ends the others


def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rank", "dp", "pp", "steps", "windows", "seed", "processor"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--uneven", action="store_true", help="the last stage has twice the layers: the job's own doing")
    parser.add_argument("--endless", action="store_true")
    parser.add_argument("--loader", type=pathlib.Path, help="a pipe, of which each step wants a byte: its batch")
    parser.add_argument("folder", type=pathlib.Path)
    return parser.parse_args()


def layer(model, width):
    """The modules of a layer."""
    if model != "attention":
        return torch.nn.Linear(width, width), torch.nn.ReLU()
    one = torch.nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0, batch_first=True)
    return torch.nn.Unflatten(0, (-1, SEQUENCE)), one, torch.nn.Flatten(0, 1)


class Stage:
    """The part of the network that this rank trains, and its neighbours."""

    def __init__(self, options):
        self.options = options
        self.d, self.p = options.rank % options.dp, options.rank // options.dp
        self.first, self.last = self.p == 0, self.p == options.pp - 1
        torch.manual_seed(1000 * options.seed + self.p)  # replicas start with the same weights
        width, self.length, layers = MODELS[options.model]
        layers *= 2 if self.last and options.uneven else 1
        inner = [m for _ in range(layers) for m in layer(options.model, width)]
        self.module = torch.nn.Sequential(torch.nn.Linear(NARROW, width), *inner, torch.nn.Linear(width, NARROW))
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.01)
        torch.manual_seed(1000 * options.seed + 100 + options.rank)
        self.data, self.wanted = torch.randn(self.length, NARROW), torch.randn(self.length, NARROW)
        groups = [dist.new_group([p * options.dp + d for d in range(options.dp)]) for p in range(options.pp)]
        self.replicas = groups[self.p]

    def forward(self):
        x = self.data
        if not self.first:
            x = torch.empty(self.length, NARROW)
            dist.recv(x, self.options.rank - self.options.dp)
            x.requires_grad_()
        with record_function("forward-compute"):
            y = self.module(x)
            if self.last:
                y = torch.nn.functional.mse_loss(y, self.wanted)
        if not self.last:
            dist.send(y.detach(), self.options.rank + self.options.dp)
        return x, y

    def backward(self, x, y):
        gradient = None
        if not self.last:
            gradient = torch.empty(self.length, NARROW)
            dist.recv(gradient, self.options.rank + self.options.dp)
        with record_function("backward-compute"):
            y.backward(gradient)
            whole = torch.cat([p.grad.reshape(-1) for p in self.module.parameters()])
        if not self.first:
            dist.send(x.grad, self.options.rank - self.options.dp)
        return whole

    def update(self, whole):
        with record_function("optimizer"):
            parameters = list(self.module.parameters())
            for p, part in zip(parameters, whole.split([p.numel() for p in parameters])):
                p.grad.copy_(part.view_as(p)).div_(self.options.dp)
            self.optimizer.step()
            self.optimizer.zero_grad()

    def step(self, number):
        with record_function(f"ProfilerStep#{number}"):
            whole = self.backward(*self.forward())
            if self.options.dp > 1:
                dist.all_reduce(whole, group=self.replicas)
            self.update(whole)
        # Others compute on these CPUs too: a process that needs less than its share gets it without delay.
        time.sleep(REST_S)
        dist.barrier()  # as when gradients are clipped by their norm: all begin a step together


def go_on(options):
    """A rank that lost a peer waits, as with NCCL, which does not notice; there the launcher kills it."""
    stage = Stage(options)
    loader = open(options.loader, "rb", buffering=0) if options.loader else None
    last = options.folder / f"step{options.rank}"
    try:
        for number in itertools.count(1):
            if loader:
                loader.read(1)
            stage.step(number)
            new = last.with_suffix(".new")
            new.write_text(f"{number} {time.time()}")
            new.rename(last)
    except RuntimeError as lost:
        print(lost, flush=True)
        threading.Event().wait()


def train(options):
    dist.init_process_group("gloo", init_method=f"file://{options.folder.resolve()}/store", rank=options.rank,
                            world_size=options.dp * options.pp, timeout=DEADLINE)
    if options.endless:
        return go_on(options)
    stage, number = Stage(options), 0
    for _ in range(WARM_STEPS):
        stage.step(number)
        number += 1
    for window in range(options.windows):
        begin = time.time()
        with torch.autograd.profiler.profile(use_kineto=False) as profile:
            with record_function(f"clock#{time.time_ns()}"):
                pass
            for _ in range(options.steps):
                stage.step(number)
                number += 1
        (options.folder / f"window-{window}" / f"times{options.rank}").write_text(f"{begin} {time.time()}")
        profile.export_chrome_trace(str(options.folder / f"window-{window}" / f"rank{options.rank}.json"))
        dist.barrier()
    (options.folder / f"trained{options.rank}").touch()
    sys.stdin.read()  # keeps its ranks in place while their windows are sent


if __name__ == "__main__":
    chosen = parsed()
    os.sched_setaffinity(0, {chosen.processor})  # before torch counts the CPUs
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="eth0")
    import torch
    import torch.distributed as dist
    from torch.profiler import record_function
    torch.set_num_threads(1)
    train(chosen)
