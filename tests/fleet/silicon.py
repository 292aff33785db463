# SPDX-License-Identifier: Apache-2.0
"""Hosts of a held-out simulation: how they vary, drift, reboot, fail, and what they report.

Its model is independent, so that a judge tuned with assay-sim is not evaluated only by assay-sim: GPUs vary by a gamma
distribution (3.4 % standard deviation at spread 1, skewness 1.3 to the slow side; about one in a hundred is 10 % slow), racks
drift as an AR(1) process, runs vary by a Laplace distribution. The figures are within the ranges in docs/sim.md.

Faults are data: Fault("slow-gpu", onset=..., size=0.1, part=3). A fault shared by many hosts is one Cause.
"""
import dataclasses
import json
import math
import random

HOUR, DAY = 3600, 86400
GPUS = 8
RATES = {  # gemm.rate, memory.h2d_bw, memory.device_bw, loopback.write_bw, memory.read_bw
    "hgx-h100": (772e12, 51.7e9, 2.88e12, 49.3e9, 236e9),
    "hgx-h200": (748e12, 51.7e9, 3.98e12, 49.3e9, 236e9),
    "hgx-a100": (246e12, 25.4e9, 1.59e12, 24.6e9, 158e9),
}
GEMM = {"dtype": "bf16", "shape": "8192x8192x8192", "power_limit_w": 700}
OTHER = (512e12, 44e9, 2.2e12, 37e9, 201e9)
ENV = {"driver": "550.54.15", "kernel": "5.15.0-1066", "bios": "2.4.1", "rnic_firmware": "28.39.2048", "microcode": "0x2b0005c0"}
LOOPS = (("pix", "gpu"), ("node", "gpu"), ("sys", "gpu"), ("node", "numa"), ("sys", "numa"))  # groups that are compared


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of one host, from `onset` seconds on (0: from the start)."""
    kind: str
    onset: float = 0.0
    size: float = 0.10
    part: int = 0
    until: float = math.inf

    def now(self, at):
        return self.onset <= at < self.until


@dataclasses.dataclass(frozen=True)
class Cause:
    """A shared cause; `word` must be named in its notice."""
    kind: str
    hosts: tuple
    word: str
    onset: float
    until: float
    size: float


FAMILY = {"hot-rack": "gemm", "setting": "gemm", "bad-switch": "loopback"}  # the checks lowered by a cause


@dataclasses.dataclass
class Noise:
    spread: float = 1.0
    gpu: float = 0.034
    part: float = 0.008   # of links and memories
    host: float = 0.010
    boot: float = 0.004
    run: float = 0.009    # scale of a Laplace distribution is this over sqrt(2)
    rack: float = 0.008   # of the stationary AR(1) process
    top: float = 0.012    # from the bottom of a rack to its top, in the afternoon
    day: float = 0.010
    once: float = 0.008   # probability of a run that is 4 to 14 % low once
    busy: float = 0.02
    missing: float = 0.004
    reboot: float = 0.06  # per day
    late: float = 0.02    # probability that a report is hours late
    twice: float = 0.01
    other: float = 0.2    # fraction of hosts with another firmware


def laplace(chance, sd):
    u = chance.random() - 0.5
    return -sd / math.sqrt(2) * math.copysign(math.log(1 - 2 * abs(u) or 1e-12), u)


def silicon(chance, sd):
    """Mean 1; the slow side has the tail of a gamma distribution of shape 2.4."""
    shape = 2.4
    return max(1 - sd * (chance.gammavariate(shape, 1) - shape) / math.sqrt(shape), 0.5)


class Weather:
    """The variation common to a rack, per hour."""

    def __init__(self, seed, rack, noise, hours):
        chance, keep = random.Random(f"{seed}:rack:{rack}"), 0.85
        self.hours = [chance.gauss(0, noise.rack)]
        while len(self.hours) < hours + 2:
            self.hours.append(keep * self.hours[-1] + chance.gauss(0, noise.rack * math.sqrt(1 - keep * keep)))

    def at(self, when):
        return 1 + self.hours[min(int(when / HOUR), len(self.hours) - 1)]


class Host:
    def __init__(self, name, sku, rack, place, seed, noise, weather):
        self.name, self.sku, self.rack, self.place, self.noise, self.weather = name, sku, rack, place, noise, weather
        self.chance = random.Random(f"{seed}:{name}")
        self.seq = self.boots = 0
        self.faults, self.causes, self.env = [], [], dict(ENV)
        c, n = self.chance, noise
        self.whole = 1 + c.gauss(0, n.host)
        self.gpu = [silicon(c, n.gpu * n.spread) for _ in range(GPUS)]
        self.link = [1 + c.gauss(0, n.part) for _ in range(GPUS)]
        self.numa = [1 + c.gauss(0, n.part / 2) for _ in range(2)]
        self.skew = c.gauss(0, 2)
        if c.random() < n.other:
            self.env["rnic_firmware"] = "28.40.1000"
        if c.random() < n.other:
            self.env["kernel"] = "5.15.0-1071"
        self.boot()
        self.active_runs = []  # times
        self.low_runs = []     # times of runs that were low once

    def boot(self):
        self.boots += 1
        self.boot_id = f"{self.name}-{self.boots}"
        self.booted = [1 + self.chance.gauss(0, self.noise.boot) for _ in range(GPUS)]

    def has(self, kind, at):
        return next((f for f in self.faults if f.kind == kind and f.now(at)), None)

    @property
    def clean(self):
        return not self.faults and not self.causes

    def true_gpu(self, part):
        """The true speed of a GPU from the start."""
        born = math.prod(1 - f.size for f in self.faults if f.onset == 0 and f.kind == "slow-gpu" and f.part == part)
        return self.whole * self.gpu[part] * born

    # --- a run ---

    def left(self, what, part, at):
        """The factor that faults and causes leave of a value."""
        left = 1.0
        for f in self.faults:
            if not f.now(at):
                continue
            if f.kind == "slow-gpu" and what == "gemm" and f.part == part or f.kind == "slow-host" and what == "gemm":
                left *= 1 - f.size
            elif f.kind == "half-pcie" and what in ("h2d", "loop") and f.part == part:
                left *= 0.5
            elif f.kind == "lost-channel" and what == "numa" and f.part % 2 == part:
                left *= 0.875
            elif f.kind == "too-fast" and what == "gemm" and f.part == part:
                left *= 3
        for cause in self.causes:
            if cause.onset <= at < cause.until and what == {"gemm": "gemm", "loopback": "loop"}[FAMILY[cause.kind]]:
                left *= 1 - cause.size
        return left

    def shared(self, at):
        phase = math.cos(2 * math.pi * (at / DAY - 0.6))
        return self.weather.at(at) * (1 + self.noise.day * phase) * (1 - self.noise.top * (self.place - 0.5) * (0.5 - 0.5 * phase))

    def values(self, full):
        """(what, part, check, subject, unit, class, params, value) without faults and noise."""
        gemm, h2d, device, loop, numa = RATES.get(self.sku, OTHER)
        driver, firmware = {"driver": self.env["driver"]}, {"firmware": self.env["rnic_firmware"]}
        for i in range(GPUS):
            gpu = f"gpu:GPU-{self.name}-{i}"
            yield "gemm", i, "gemm.rate", gpu, "FLOP/s", "self", {**driver, **GEMM}, gemm * self.gpu[i] * self.booted[i]
            yield "h2d", i, "memory.h2d_bw", gpu, "B/s", "node", {**driver, "size": 512 << 20}, h2d * self.link[i]
            yield "device", i, "memory.device_bw", gpu, "B/s", "self", driver, device * (1 + (self.gpu[i] - 1) / 8)
            for locality, target in LOOPS if full else LOOPS[:1]:
                slower = {"pix": 1, "node": 0.96, "sys": 0.7}[locality] * (1 if target == "gpu" else 0.98)
                yield ("loop", i, "loopback.write_bw", f"mlx5_{i}:1>{target}:{locality}-{i}", "B/s", locality,
                       {**firmware, "target": target}, loop * slower * self.link[i])
        for i in range(2):
            yield "numa", i, "memory.read_bw", f"numa:{i}>numa:{i}", "B/s", "node", {}, numa * self.numa[i]

    def states(self, at):
        def state(check, subject, value, **more):
            return {"v": 1, "check": check, "subject": subject, "value": value, "unit": "1", "better": "none", "ok": True,
                    "state": "measured", **more}

        dead = self.has("dead-gpu", at)
        for name, count in (("gpus", GPUS - bool(dead)), ("nics", GPUS), ("ports_active", GPUS), ("numa_nodes", 2)):
            yield state("inventory." + name, "host", count, better="higher", ok=None)
        yield state("gpu.xid", "host", 0)
        yield state("rnic.flapping", "host", 0)
        if dead:
            yield state("gpu.xid", f"gpu:GPU-{self.name}-{dead.part}", 1, ok=False, severity="fatal", code="xid:79",
                        note="Xid 79: the GPU has fallen off the bus")
        for kind, check, subject, note in (("flaps", "rnic.flapping", "mlx5_{}:1", "3 link flaps in 10 min"),
                                           ("xids", "gpu.xid", "gpu:GPU-" + self.name + "-{}", "Xid 94: a contained ECC error")):
            f = self.has(kind, at)
            if f and random.Random(f"{self.name}:{kind}:{int(at / 900)}").random() < 0.3:
                yield state(check, subject.format(f.part), 1, ok=False, severity="warn", note=note)

    def measured(self, full, at):
        c, n, shared = self.chance, self.noise, self.shared(at)
        once = c.uniform(0.86, 0.96) if c.random() < n.once else 1.0
        where = c.choice([None, *range(GPUS)])
        if once < 1:
            self.low_runs.append(at)
        luck = {what: c.random() for what in ("gemm", "h2d", "device", "loop", "numa")}
        dead, wrong = self.has("dead-gpu", at), self.has("wrong-data", at)
        for what, part, check, subject, unit, locality, params, value in self.values(full):
            if luck[what] > 1 - n.missing or (dead and dead.part == part and what != "numa"):
                continue
            row = {"v": 1, "check": check, "subject": subject, "unit": unit, "better": "higher", "ok": None, "class": locality,
                   "params": params}
            value *= self.whole * (shared if what == "gemm" else 1 + (shared - 1) / 4) * (1 + laplace(c, n.run))
            value *= self.left(what, part, at) * (once if where in (None, part) else 1)
            busy = luck[what] < n.busy
            yield {**row, "value": None if busy else float(f"{value:.6g}"), "state": "busy" if busy else "measured"}
        if wrong:
            yield {"v": 1, "check": "gemm.correct", "subject": f"gpu:GPU-{self.name}-{wrong.part}", "value": 3, "unit": "1",
                   "better": "lower", "ok": False, "state": "measured", "severity": "fatal", "code": "wrong-data", "class": "self",
                   "note": "3 elements of a product are wrong, also with another buffer and algorithm"}

    def report(self, profile, at, order=None):
        """The report of a run at `at` (seconds of the simulation)."""
        active = profile != "passive"
        if active:
            self.active_runs.append(at)
            if self.chance.random() < self.noise.reboot / 5:
                self.boot()
        self.seq += 1
        env = dict(self.env)
        for cause in self.causes:
            if cause.kind == "setting" and cause.onset <= at < cause.until:
                env["bios"] = cause.word
        samples = list(self.states(at))
        if active:
            samples += self.measured(profile == "full", at)
        body = {"v": 1, "kind": "report", "node": self.name, "boot_id": self.boot_id, "seq": self.seq, "profile": profile,
                "agent": "0.1.0", "sku": self.sku, "env": env, "duration_s": 40.0 if active else 0.2, "samples": samples,
                "problems": []}
        if order:
            body["order"] = {"id": order["id"], "kind": order["kind"]}
        return body


# --- worlds ---

@dataclasses.dataclass
class World:
    name: str
    days: float
    hosts: list
    causes: list
    wrong_file: tuple = ()  # (onset, fixed)

    def host(self, name):
        return next(h for h in self.hosts if h.name == name)


def skus_of(name, n):
    """The model of each host: 125, 50, 20 and 5 of 200 hosts, or models of five hosts each."""
    if name == "fives":
        return [f"oem-{i // 5:02d}" for i in range(n)]
    ends = [("hgx-h100", n * 125 // 200), ("hgx-h200", n * 175 // 200), ("hgx-a100", n - 5)]
    return [next((sku for sku, end in ends if i < end), "oem-00") for i in range(n)]


ONSETS = ("slow-gpu", "slow-host", "dead-gpu", "half-pcie", "lost-channel", "wrong-data", "flaps")  # must be tested and cordoned
MIX = (("slow-gpu", 4), ("slow-host", 3), ("dead-gpu", 2), ("half-pcie", 2), ("lost-channel", 2), ("wrong-data", 1), ("flaps", 1),
       ("xids", 1), ("too-fast", 1))


def add_single_faults(world, chance, racks):
    """One fault per rack, so that the rack budget refuses none; and GPUs and memories that are slow from the start."""
    days, order = world.days, list(racks)
    chance.shuffle(order)
    for kind in [kind for kind, n in MIX for _ in range(n)][:len(order)]:
        host = chance.choice([h for h in world.hosts if h.rack == order[0] and not h.faults])
        order.pop(0)
        host.faults.append(Fault(kind, onset=chance.uniform(0.25, 0.8) * days * DAY, part=chance.randrange(GPUS)))
    large = [h for h in world.hosts if h.sku == "hgx-h100" and not h.faults]
    for host in chance.sample(large, min(5, len(large) // 4)):
        host.faults.append(Fault("slow-gpu", size=chance.uniform(0.10, 0.25), part=chance.randrange(GPUS)))
    for host in chance.sample([h for h in world.hosts if h.sku == "hgx-h200" and not h.faults], 1):
        host.faults.append(Fault("lost-channel", part=1))


def add_causes(world, racks):
    day, d = DAY, world.days / 10
    h100 = [r for r in racks if all(h.sku == "hgx-h100" for h in world.hosts if h.rack == r)]

    def rack(kind, i, size, since, until):
        return Cause(kind, tuple(h.name for h in world.hosts if h.rack == h100[i]), h100[i], since * d * day, until * d * day, size)

    h200 = [h.name for h in world.hosts if h.sku == "hgx-h200"]
    world.causes = [rack("hot-rack", 1, 0.09, 2, 5), rack("bad-switch", 3, 0.5, 3, 6),
                    Cause("setting", tuple(h200[1::4]), "2.4.1-quiet", 4 * d * day, math.inf, 0.10)]
    for cause in world.causes:
        for name in cause.hosts:
            world.host(name).causes.append(cause)


def make(name, seed, spread, n=200, days=10.0):
    noise = Noise(spread=spread)
    skus, size = skus_of(name, n), 10
    racks = [f"rack-{i:02d}" for i in range((n + size - 1) // size)]
    weather = [Weather(seed, rack, noise, int(days * 24)) for rack in racks]
    hosts = [Host(f"h{i:03d}", skus[i], racks[i // size], i % size / size, seed, noise, weather[i // size]) for i in range(n)]
    world = World(name, days, hosts, [])
    chance = random.Random(f"{seed}:{name}:faults")
    if name in ("faults", "sku-file"):
        add_single_faults(world, chance, racks)
    if name == "shared":
        add_causes(world, racks)
    if name == "sku-file":
        world.wrong_file = (0.2 * days * DAY, 0.6 * days * DAY)
    return world


WORLDS = ("clean", "faults", "shared", "sku-file", "fives")


def line_of(report, stamp):
    return json.dumps({**report, "time": stamp}, separators=(",", ":"))
