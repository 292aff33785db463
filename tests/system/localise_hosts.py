# SPDX-License-Identifier: Apache-2.0
"""Hosts of many shapes as trees of links, and the samples from measuring all their paths."""
import json
import zlib

GBIT = 0.125e9  # bytes per second
X16 = {4: 215 * GBIT, 5: 430 * GBIT}  # payload of 16 lanes, by generation
STATES = ["busy", "foreign-traffic", "timeout", "set-up", "aborted"]


class Host:
    """A tree of devices. Capacities are per link, "lower^upper"."""

    check = "loopback.write_bw"

    def __init__(self):
        self.above, self.capacity, self.nics, self.ends = {}, {}, [], []
        self.peer_to_peer = 1.0  # fraction of PCIe bandwidth between GPUs and NICs of two sockets on a good host

    def hang(self, name, above, capacity):
        self.above[name] = above
        self.capacity[f"{name}^{above}"] = capacity
        return name

    def nic(self, name, above, capacity):
        self.nics.append(self.hang(f"rnic:{name}", above, capacity))

    def gpu(self, bus, above, capacity):
        self.ends.append(self.hang(f"gpu:{slot(bus)}", above, capacity))

    def sockets(self, n, memory, between=0):
        for i in range(n):
            self.ends.append(f"numa:{i}")
            self.capacity[f"numa:{i}^numa:{i}"] = memory
            self.capacity.update({f"numa:{j}^numa:{i}": between for j in range(i)})

    def root(self, bus, socket, capacity):
        return self.hang(f"root:{slot(bus)}", f"numa:{socket}", capacity)

    def switch(self, bus, above, capacity):
        return self.hang(f"switch:{slot(bus)}", above, capacity)

    def chain(self, node):
        up = [node]
        while up[-1] in self.above:
            up.append(self.above[up[-1]])
        return up

    def path(self, nic, end):
        up, down = self.chain(nic), self.chain(end)
        shared = next((node for node in up if node in down), None)
        if shared:
            up, down = up[:up.index(shared) + 1], down[:down.index(shared) + 1]
        links = [f"{a}^{b}" for a, b in zip(up, up[1:])]
        if not shared:
            links.append("^".join(sorted((up[-1], down[-1]))))
        links += [f"{a}^{b}" for a, b in zip(down, down[1:])][::-1]
        return links + ([f"{end}^{end}"] if end.startswith("numa:") else [])

    def locality(self, nic, end):
        up, down = self.chain(nic), self.chain(end)
        shared = next((node for node in up if node in down), None)
        if not shared or end.startswith("numa:"):
            return "node" if shared else "sys"
        if shared.startswith("switch:"):
            return "pix" if up[1] == down[1] else "pxb"
        return "phb" if shared.startswith("root:") else "node"

    def cells(self):
        return [(nic, end) for nic in self.nics for end in self.ends]

    def name(self, nic, end):
        """GPUs by UUID, as in probes: different on each host."""
        last = f"gpu:GPU-{zlib.crc32(end.encode()):08x}" if end.startswith("gpu:") else end
        return f"{nic.removeprefix('rnic:')}:1>{last}"

    def links(self):
        return sorted({link for cell in self.cells() for link in self.path(*cell)})

    def value(self, cell, slow):
        path = self.path(*cell)
        reached = min(self.capacity[link] * slow.get(link, 1) for link in path)
        if self.peer_to_peer < 1 and cell[1].startswith("gpu:") and self.locality(*cell) == "sys":
            reached = min(reached, self.peer_to_peer * min(self.capacity[link] for link in path))
        return reached

    def sample(self, cell, value):
        nic, end = cell
        return {"v": 1, "check": self.check, "subject": self.name(nic, end), "value": value, "unit": "B/s", "better": "higher",
                "ok": None, "state": "measured", "from": nic, "to": end, "class": self.locality(nic, end),
                "path": self.path(nic, end), "params": {"size": 65536, "qps": 4}}

    def measure(self, chance, noise, slow=None, missing=0, unsure=0, twice=0):
        """All cells, each value times 1 + noise; `slow`: {link: remaining fraction}; the rest: how often a cell misbehaves."""
        found = []
        for cell in self.cells():
            for _ in range(1 + (chance.random() < twice)):
                s = self.sample(cell, self.value(cell, slow or {}) * chance.gauss(1, noise))
                if chance.random() < unsure:
                    s["value"], s["state"] = None, chance.choice(STATES)
                if chance.random() >= missing:
                    found.append(s)
        return found

    def alike(self, link):
        """Links crossed by exactly the same cells, which cannot be told apart."""
        through = {other: {cell for cell in self.cells() if other in self.path(*cell)} for other in self.links()}
        return {other for other, cells in through.items() if cells == through[link]}

    def shows(self, link, part):
        """Cells that lose a tenth or more."""
        return sum(self.value(cell, {link: part}) <= 0.9 * self.value(cell, {}) for cell in self.cells())


class Fabric(Host):
    """One port per node below leaves and spines; each pair uses the spine that a switch would choose."""

    check = "rnic_pair.write_bw"

    def __init__(self, leaves, nodes, spines):
        super().__init__()
        self.leaf = {f"rnic:n{i}/mlx5_0": i // nodes for i in range(leaves * nodes)}
        self.nics, self.spines = list(self.leaf), spines
        self.capacity = {f"{nic}^leaf:{leaf}": 400 * GBIT for nic, leaf in self.leaf.items()}
        self.capacity |= {f"leaf:{i}^spine:{j}": 400 * GBIT for i in range(leaves) for j in range(spines)}

    def cells(self):
        return [(a, b) for a in self.nics for b in self.nics if a != b]

    def name(self, nic, end):
        return f"{nic.removeprefix('rnic:')}:1>{end.removeprefix('rnic:')}:1"

    def path(self, nic, end):
        a, b = self.leaf[nic], self.leaf[end]
        spine = zlib.crc32(f"{nic} {end}".encode()) % self.spines
        middle = [f"leaf:{a}^spine:{spine}", f"leaf:{b}^spine:{spine}"] if a != b else []
        return [f"{nic}^leaf:{a}", *middle, f"{end}^leaf:{b}"]

    def locality(self, nic, end):
        return None

    def sample(self, cell, value):
        return {k: v for k, v in super().sample(cell, value).items() if k != "class"}


def slot(bus):
    return f"0000:{bus:02x}:00.0"


def tree(sockets, switches, nics, gpus, generation, rate, memory=900 * GBIT, between=300 * GBIT):
    """The given number of switches per socket, each below a root port with the given numbers of NICs and GPUs."""
    host, n = Host(), 0
    host.sockets(sockets, memory, between)
    for i in range(sockets * switches):
        root = host.root(0x10 * i + 1, i // switches, X16[generation])
        switch = host.switch(0x10 * i + 2, root, X16[generation])
        for _ in range(nics):
            host.nic(f"mlx5_{n}", switch, rate)
            n += 1
        for j in range(gpus):
            host.gpu(0x10 * i + 4 + j, switch, X16[generation])
    return host


def storage():
    """8 of 400 Gb/s below switches, and 2 of 200 Gb/s for storage at root ports."""
    host = tree(2, 2, 2, 2, 5, 400 * GBIT, memory=1800 * GBIT)
    host.peer_to_peer = 0.85
    for i in range(2):
        host.nic(f"storage{i}", host.root(0xa0 + i, i, X16[4]), 200 * GBIT)
    return host


def two_levels():
    """16 GPUs, 8 NICs below two levels of switches, and 2 slower ones at root ports."""
    host = Host()
    host.sockets(2, 1600 * GBIT, 300 * GBIT)
    for i in range(8):
        if i % 2 == 0:
            top = host.switch(0x20 * i + 2, host.root(0x20 * i + 1, i // 4, X16[5]), X16[5])
        switch = host.switch(0x20 * i + 4, top, X16[5])
        host.nic(f"mlx5_{i}", switch, 400 * GBIT)
        host.gpu(0x20 * i + 8, switch, X16[5])
        host.gpu(0x20 * i + 9, switch, X16[5])
    for i in range(2):
        host.nic(f"mlx5_{8 + i}", host.root(0x30 + i, i, X16[4]), 200 * GBIT)
    return host


def flat():
    """A guest: all devices on one root complex."""
    host = Host()
    host.sockets(1, 1600 * GBIT)
    host.hang("root:pci0000:00", "numa:0", 3000 * GBIT)
    for i in range(8):
        host.nic(f"mlx5_{i}", "root:pci0000:00", 200 * GBIT)
        host.gpu(i + 1, "root:pci0000:00", X16[4])
    return host


def two_generations():
    """One socket of generation 4, one of generation 5."""
    host = tree(2, 2, 2, 2, 4, 200 * GBIT, between=150 * GBIT)
    for link in [link for link in host.capacity if "numa:" not in link]:
        if "numa:1" in host.chain(link.partition("^")[0]):
            host.capacity[link] *= 2
    return host


HOSTS = {
    "2 NICs, 2 GPUs": lambda: tree(2, 1, 1, 1, 4, 200 * GBIT, between=150 * GBIT),
    "4 NICs, 4 GPUs, one socket": lambda: tree(1, 2, 2, 2, 5, 400 * GBIT),
    "8 GPUs, 4 NICs": lambda: tree(2, 2, 1, 2, 4, 200 * GBIT, between=150 * GBIT),
    "8 NICs, 8 GPUs": lambda: tree(2, 2, 2, 2, 5, 400 * GBIT),
    "storage beside": storage,
    "two levels of switches": two_levels,
    "a flat guest": flat,
    "two generations": two_generations,
    "a fabric": lambda: Fabric(4, 6, 2),
}


def lines(samples):
    return "".join(json.dumps(s) + "\n" for s in samples)
