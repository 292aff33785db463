# SPDX-License-Identifier: Apache-2.0
"""Reports of simulated HGX H100 hosts: 8 GPUs, 8 RNICs, 2 sockets, 4 PCIe switches.

A host is generated from a seed: its parts vary permanently (Spread), and each run a little more. Faults are data
(faults.py). The same seed gives the same reports, identical except for the time.

Sources of the figures: GEMM near the 794.5 TFLOP/s of ml-engineering's MAMF; HBM copy 2.90 TB/s, host to device
51.6 GB/s and back 52.1 GB/s from Azure's guide; peer to peer above AzNHC's threshold of 335 GB/s. A loopback cell
reaches the smallest capacity on its path: RNIC 400 Gb/s, PCIe 5.0 x16 430 Gb/s, the share of the socket link
300 Gb/s (a bottleneck model, with 0.5 % noise). Good GPUs of a cluster vary by 1 to 3 % (arXiv 2208.11035 saw 8 % on
power-limited ones); the default is 1 %.
"""
import dataclasses
import json
import math
import random
import time

GPUS = RNICS = 8
SWITCHES = 4
SWITCH_BUS = ("16", "46", "96", "c6")
ROOT_BUS = ("15", "45", "95", "c5")
GBIT = 1e9 / 8
GEMM, HBM, H2D, D2H, P2P = 775e12, 2.90e12, 51.6e9, 52.1e9, 392e9
MEMORY = {"read": (238e9, 121e9), "write": (196e9, 93e9), "copy": (206e9, 101e9), "triad": (214e9, 104e9)}
ENV = {"kernel": "5.15.0-1066-nvidia", "product": "HGX H100 8-GPU", "bios": "2.3.4", "cpu": "Intel Xeon Platinum 8480C",
       "microcode": "0x2b0005c0", "driver": "550.54.15", "rnic_firmware": "28.39.2048"}
WINDOWS = 8
PROFILES = ("passive", "quick", "full")


@dataclasses.dataclass(frozen=True)
class Spread:
    """Relative standard deviations; `dip` is the probability that a run has one value 5 to 15 % low."""
    gpu: float = 0.010     # between GPUs, permanent
    host: float = 0.005    # between hosts, permanent
    run: float = 0.004     # between runs
    cell: float = 0.005    # of a loopback cell, between runs
    window: float = 0.003  # within a run
    dip: float = 0.0


def rnic_id(i):
    return f"rnic:mlx5_{i}"


def gpu_pci(i):
    return f"gpu:0000:{SWITCH_BUS[i // 2][0]}{'ab'[i % 2]}:00.0"


def switch_of(i):
    return f"switch:0000:{SWITCH_BUS[i // 2]}:00.0"


def uplink(switch):
    """The link from PCIe switch 0 to 3 to its root port."""
    return f"switch:0000:{SWITCH_BUS[switch]}:00.0^root:0000:{ROOT_BUS[switch]}:01.0"


def trunk(i):
    """Links from the switch of RNIC or GPU i up to its socket."""
    s = i // 2
    return [uplink(s), f"root:0000:{ROOT_BUS[s]}:01.0^numa:{s // 2}"]


def path_to_gpu(rnic, gpu):
    first, last = f"{rnic_id(rnic)}^{switch_of(rnic)}", f"{gpu_pci(gpu)}^{switch_of(gpu)}"
    if rnic // 2 == gpu // 2:
        return [first, last], "pix"
    across = [] if rnic // 4 == gpu // 4 else ["numa:0^numa:1"]
    return [first, *trunk(rnic), *across, *reversed(trunk(gpu)), last], "sys" if across else "node"


def path_to_memory(rnic, numa):
    across = [] if rnic // 4 == numa else ["numa:0^numa:1"]
    return [f"{rnic_id(rnic)}^{switch_of(rnic)}", *trunk(rnic), *across, f"numa:{numa}^numa:{numa}"], \
        "sys" if across else "node"


def capacity_of(link):
    """Bytes per second of a good link, per direction."""
    if link.startswith("rnic:"):
        return 400 * GBIT
    if link == "numa:0^numa:1":
        return 300 * GBIT
    if link.startswith("numa:"):
        return 900 * GBIT
    return 430 * GBIT


CAPACITIES = {link: capacity_of(link) for i in range(GPUS) for links in
              (path_to_gpu(i, i)[0], trunk(i), path_to_memory(i, 0)[0], path_to_memory(i, 1)[0]) for link in links}
QUICK_CELLS = {(i, ("gpu", i)) for i in range(8)} | {(2 * s, ("numa", s // 2)) for s in range(4)} | {
    (0, ("numa", 1)), (4, ("numa", 0))}


@dataclasses.dataclass
class Row:
    """One sample without noise. `gpu`, `rnic`: the parts it is about."""
    fixed: dict
    value: float
    spread: str = ""  # "gpu", "cell", "memory": its variation; "": a state without variation
    gpu: int = -1
    rnic: int = -1
    links: tuple = ()
    least_profile: int = 0  # in PROFILES
    persistent: float = 1.0
    more: dict = dataclasses.field(default_factory=dict)

    @property
    def check(self):
        return self.fixed["check"]


def fixed(check, subject, unit="1", better="higher", **more):
    return {"v": 1, "check": check, "subject": subject, "unit": unit, "better": better, "ok": None, "state": "measured",
            **more}


class Host:
    """One host; `faults` are functions of faults.py."""

    def __init__(self, node, seed=1, sku="hgx-h100", spread=Spread(), faults=(), env=None, gemm_rate=GEMM):
        self.node, self.seed, self.sku, self.spread, self.faults = node, seed, sku, spread, list(faults)
        self.gemm_rate = gemm_rate
        self.env = {**ENV, **(env or {})}
        self.seq = 0
        self.wiring = None  # wiring.py
        chance = random.Random(f"{seed}:{node}")
        self.boot_id = self.uuid(chance)
        self.gpu_names = ["gpu:GPU-" + self.uuid(chance) for _ in range(GPUS)]
        self.capacity = dict(CAPACITIES)
        host = chance.gauss(1, spread.host)
        self.gpu_factor = [host * chance.gauss(1, spread.gpu) for _ in range(GPUS)]
        self.rnic_factor = [chance.gauss(1, 0.002) for _ in range(RNICS)]
        self.memory_factor = [chance.gauss(1, 0.01) for _ in range(2)]
        for fault in self.faults:
            fault.prepare(self)
        self.rows = [*self.inventory(), *self.states(), *self.gemm(), *self.memory(), *self.loopback(), *self.pairs()]

    @staticmethod
    def uuid(chance):
        digits = f"{chance.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    # --- its parts ---

    def inventory(self):
        counts = {"cpus": 224, "numa_nodes": 2, "dimm_bytes": 2 << 40, "gpus": GPUS, "nics": RNICS, "ports_active": RNICS}
        for name, count in counts.items():
            yield Row(fixed("inventory." + name, "host"), count)

    def states(self):
        """Counters and states; good ones are 0."""
        for name in ("cpu_offline", "cpu_throttle", "memory_ce", "memory_ue", "kernel_log", "pcie_aer"):
            yield Row(fixed("host." + name, "host", better="none", ok=True), 0)
        for i, name in enumerate(self.gpu_names):
            # As gpu-state reports a board without slots: the numbers are the driver's.
            part = {"parts": [{"id": name, "kind": "gpu", "index": i, "module": i, "pci": gpu_pci(i).removeprefix("gpu:"),
                               "serial": str(1650000000000 + int(name[-8:], 16))}]}
            for check in ("gpu.ecc_uncorrected", "gpu.xid", "gpu.remap_pending"):
                yield Row(fixed(check, name, better="none", ok=True), 0, gpu=i, more=part if check == "gpu.xid" else {})
        for i in range(RNICS):
            for check in ("rnic.link_downed", "rnic.symbol_error", "rnic.local_ack_timeout_err"):
                yield Row(fixed(check, f"mlx5_{i}:1", better="none", ok=True), 0, rnic=i)

    def gemm(self):
        params = {"engine": "cuda", "dtype": "bf16", "shape": "8192x8192x8192", "version": "cublas 12.4.5",
                  "algorithm": "66", "driver": self.env["driver"], "power_limit": 700}
        for i, name in enumerate(self.gpu_names):
            yield Row(fixed("gemm.rate", name, "FLOP/s", **{"class": "self"}, params=params), self.gemm_rate, "gpu", gpu=i,
                      least_profile=1, persistent=self.gpu_factor[i])
            yield Row(fixed("gemm.correct", name, better="lower", ok=True, **{"class": "self"}, params=params), 0, gpu=i,
                      least_profile=1)

    def memory(self):
        params = {"size": 1 << 30, "threads": 56, "pages": "2M", "stores": "nontemporal", "kernel": "avx512"}
        for a in range(2):
            for b in range(2):
                ends = {"from": f"numa:{a}", "to": f"numa:{b}", "class": "node" if a == b else "sys"}
                for name, rates in MEMORY.items():
                    yield Row(fixed(f"memory.{name}_bw", f"numa:{a}>numa:{b}", "B/s", params=params, **ends), rates[a != b],
                              "memory", least_profile=1, persistent=self.memory_factor[b])
                yield Row(fixed("memory.pattern", f"numa:{a}>numa:{b}", better="lower", ok=True, params=params, **ends), 0,
                          least_profile=1)
        params = {"size": 512 << 20, "driver": self.env["driver"]}
        for i, name in enumerate(self.gpu_names):
            for check, rate in (("h2d_bw", H2D), ("d2h_bw", D2H), ("device_bw", HBM), ("p2p_bw", P2P)):
                yield Row(fixed("memory." + check, name, "B/s", params=params, **{"class": "self"}), rate, "memory", gpu=i,
                          least_profile=2 if check == "p2p_bw" else 1)

    def loopback(self):
        params = {"size": 65536, "qps": 4, "depth": 128, "mtu": 4096, "firmware": self.env["rnic_firmware"]}
        ends = [("gpu", i) for i in range(GPUS)] + [("numa", m) for m in range(2)]
        for rnic in range(RNICS):
            for kind, other in ends:
                path, locality = path_to_gpu(rnic, other) if kind == "gpu" else path_to_memory(rnic, other)
                to = gpu_pci(other) if kind == "gpu" else f"numa:{other}"
                name = self.gpu_names[other] if kind == "gpu" else to
                # Memory and GPUs have different rates and are never compared.
                where = {"from": rnic_id(rnic), "to": to, "class": locality, "path": path,
                         "params": {**params, "target": kind}}
                quick = (rnic, (kind, other)) in QUICK_CELLS
                rate = min(self.capacity[link] for link in path)
                for check in ("write", "read"):
                    yield Row(fixed(f"loopback.{check}_bw", f"mlx5_{rnic}:1>{name}", "B/s", **where), rate, "cell",
                              gpu=other if kind == "gpu" else -1, rnic=rnic, links=tuple(path),
                              least_profile=1 if quick else 2, persistent=self.rnic_factor[rnic])

    def pairs(self):
        for a in range(RNICS):
            for b in range(RNICS):
                if a != b:
                    yield Row(fixed("rnic_pair.connect", f"mlx5_{a}:1>mlx5_{b}:1", better="none", ok=True), 1, rnic=a,
                              least_profile=1)

    # --- its measurements ---

    def deviation(self, row):
        s = self.spread
        return {"gpu": s.run, "cell": s.cell, "memory": s.run}[row.spread]

    def sample(self, row, chance):
        if not row.spread:
            return {**row.fixed, "value": row.value, **row.more}
        value = row.value * row.persistent * chance.gauss(1, self.deviation(row))
        w = [round(value * chance.gauss(1, self.spread.window)) for _ in range(WINDOWS)]
        low, *_, high = ordered = sorted(w)
        middle, mean = ordered[WINDOWS // 2], sum(w) / WINDOWS
        stddev = round(math.sqrt(sum((x - mean) ** 2 for x in w) / WINDOWS))
        return {**row.fixed, "value": middle, "n": WINDOWS, "min": low, "max": high, "stddev": stddev, "p50": middle, "w": w,
                "seconds": 1.5, **row.more}

    def report(self, profile="quick", at=None):
        """The next report. `at`: Unix time of the run."""
        self.seq += 1
        chance = random.Random(f"{self.seed}:{self.node}:{self.seq}")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() if at is None else at))
        report = {"v": 1, "kind": "report", "node": self.node, "boot_id": self.boot_id, "seq": self.seq, "time": stamp,
                  "profile": profile, "agent": "0.1.0", "sku": self.sku, "topology": self.wiring and self.wiring.digest,
                  "env": self.env,
                  "duration_s": (0.2, 38.5, 214.0)[PROFILES.index(profile)], "problems": []}
        rows = [row for row in self.rows if row.least_profile <= PROFILES.index(profile)]
        for fault in self.faults:
            rows = fault.change(self, rows, report)
        if chance.random() < self.spread.dip:
            i = chance.choice([i for i, row in enumerate(rows) if row.spread])
            rows[i] = dataclasses.replace(rows[i], value=rows[i].value * chance.uniform(0.85, 0.95))
        report["samples"] = [self.sample(row, chance) for row in rows]
        return report

    def body(self, profile="quick", at=None):
        return json.dumps(self.report(profile, at), separators=(",", ":")).encode()


def fleet(n, seed=1, faults=None, prefix="gpu-", **more):
    """Hosts gpu-00 ... of one SKU; `faults` is {name: [fault, ...]}. An unknown name is an error."""
    names = [f"{prefix}{i:02d}" for i in range(n)]
    faults = faults or {}
    unknown = set(faults) - set(names)
    if unknown:
        raise KeyError(f"no such host: {', '.join(sorted(unknown))}")
    return [Host(name, seed, faults=faults.get(name, ()), **more) for name in names]
