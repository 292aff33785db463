# SPDX-License-Identifier: Apache-2.0
"""The topology of the simulated hosts of hosts.py: topology/1 in the format of `assay topology -o json`, with its digest.

Hosts of the same kind share a topology, so a fleet of any size sends it once.
"""
import dataclasses
import hashlib
import json

from hosts import CAPACITIES, GPUS, RNICS, ROOT_BUS, SWITCH_BUS, SWITCHES, gpu_pci, rnic_id

GTS, LANES = 32.0, 16  # PCIe 5.0 x16
TYPES = ("numa", "gpu", "rnic", "switch", "root")  # in the order of lib/topology/topology.h, which the digest uses


@dataclasses.dataclass(frozen=True)
class Wiring:
    digest: str
    body: bytes


def node(kind, pci=None, name=None, ident=None):
    return {"id": ident or f"{kind}:{pci}", "type": kind, "name": name, "pci": pci}


def nodes():
    yield from (node("numa", ident=f"numa:{i}") for i in range(2))
    yield from (node("gpu", gpu_pci(i).removeprefix("gpu:")) for i in range(GPUS))
    yield from (node("rnic", f"0000:{SWITCH_BUS[i // 2][0]}{'89'[i % 2]}:00.0", f"mlx5_{i}", rnic_id(i)) for i in range(RNICS))
    yield from (node("switch", f"0000:{SWITCH_BUS[i]}:00.0") for i in range(SWITCHES))
    yield from (node("root", f"0000:{ROOT_BUS[i]}:01.0") for i in range(SWITCHES))


def link(ident, lanes):
    below, above = ident.split("^")
    pcie = not above.startswith("numa:")
    speed, width = (GTS, LANES) if pcie else (0.0, 0)
    return {"id": ident, "a": below, "b": above, "gts": speed, "width": lanes.get(ident, width), "max_gts": speed, "max_width": width}


def number(value):
    return f"{value:.9g}"


def digest_of(nodes_, links):
    """As in lib/topology/topology.c: SHA-256 over strings, each ending in NUL. A GPU lowers its link speed when idle."""
    texts = ["topology/1", number(len(nodes_))]
    for n in nodes_:
        texts += [n["id"], n["type"], n["name"] or "", n["pci"] or ""]
    texts.append(number(len(links)))
    for x in links:
        texts += [x["id"], x["a"], x["b"], number(0 if x["a"].startswith("gpu:") else x["gts"]), number(x["width"]), number(x["max_gts"]), number(x["max_width"])]
    return hashlib.sha256("".join(text + "\0" for text in texts).encode()).hexdigest()


def hgx(lanes=None):
    """The topology of a simulated HGX H100; `lanes` is {link: remaining lanes}."""
    parts = sorted(nodes(), key=lambda n: (TYPES.index(n["type"]), n["pci"] or "", n["id"]))
    links = [link(ident, lanes or {}) for ident in sorted(CAPACITIES)]
    digest = digest_of(parts, links)
    value = {"v": 1, "kind": "topology", "digest": digest, "virtual": False, "nodes": parts, "links": links, "neighbors": []}
    return Wiring(digest, json.dumps(value, separators=(",", ":")).encode())


def wire(fleet):
    """Gives each host its topology; a link slowed by a fault has lost lanes accordingly."""
    known = {}
    for host in fleet:
        lost = tuple((f.link, max(1, round(LANES * f.left))) for f in host.faults if hasattr(f, "link"))
        if lost not in known:
            known[lost] = hgx(dict(lost))
        host.wiring = known[lost]
    return fleet
