# SPDX-License-Identifier: Apache-2.0
"""The topology tree on a host's page: from assay topology of an hwloc file, with fake responses, in a real Chromium."""
import json

import pytest
from browser import axe, browser, modules  # noqa: F401
from test_page_views import HOSTILE, fake, host, page, why  # noqa: F401

pytestmark = pytest.mark.once

UPLINK = "switch:0000:46:00.0^root:0000:45:01.0"
DIGEST = "ab" * 32


@pytest.fixture
def topology(top, run):
    done = run("assay", "topology", "-o", "json", env={"ASSAY_TOPOLOGY": str(top / "tests/fixtures/hgx-8gpu-8nic.xml")})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def wired(host, topology):  # noqa: F811
    """The host of test_page_views with that topology: a slow uplink, and a NIC with half of its lanes."""
    item = {"check": "loopback.link", "subject": UPLINK, "verdict": "fail", "value": 26.9e9, "unit": "B/s", "expected": 50.1e9, "floor": None, "sentence": "slow", "reports": [],
            "windows": {"bad": 3, "of": 3, "k": 2, "n": 3, "since": None, "clears": ""}}
    next(link for link in topology["links"] if link["a"] == "rnic:mlx5_5")["width"] = 8
    topology["neighbors"] = [{"rnic": "rnic:mlx5_0", "switch": "leaf-7", "port": "swp3", "source": "lldp"}]
    parts = [{"id": f"gpu:{i}", "kind": "gpu", "index": i, "pci": n["pci"]} for i, n in enumerate(n for n in topology["nodes"] if n["type"] == "gpu")]
    host.routes["/v1/nodes/gpu-11/why"] = (200, why(topology=DIGEST, items=[item], parts=parts))
    host.routes[f"/v1/topologies/{DIGEST}"] = (200, topology)
    return host


def lines(b):
    """The lines of the tree with their depth."""
    return b.script("""return [...document.querySelectorAll('.tree li')].map(li => {
        let deep = 0;
        for (let up = li.parentElement.closest('li'); up; up = up.parentElement.closest('li'))
            deep++;
        return [deep, ...[...li.querySelectorAll(':scope > span')].map(s => s.textContent.trim())];
    })""")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_below_which_and_what_is_wrong_with_its_link(page, wired, axe, scheme):  # noqa: F811
    b = page("#/host/gpu-11")
    b.scheme(scheme)
    b.until(lambda: len(lines(b)) == 26, "the wiring")
    said = lines(b)
    assert [row[1] for row in said if row[0] == 0] == ["NUMA 0", "NUMA 1"]
    at = next(i for i, row in enumerate(said) if row[1] == "switch 46:00.0")
    assert said[at - 1:at + 5] == [[1, "root port 45:01.0", ""], [2, "switch 46:00.0", "26.9 of 50.1 GB/s; x16, 32 GT/s"], [3, "GPU 2", "x16, 32 GT/s"], [3, "GPU 3", "x16, 32 GT/s"],
                                   [3, "mlx5_2", "x16, 32 GT/s"], [3, "mlx5_3", "x16, 32 GT/s"]]
    assert [3, "mlx5_0", "x16, 32 GT/s; leaf-7 port swp3"] in said and [3, "mlx5_5", "x8 of x16, 32 GT/s"] in said
    marked = b.script("return [...document.querySelectorAll('.tree .t-fail')].map(s => s.textContent.trim())")
    assert marked == ["26.9 of 50.1 GB/s; x16, 32 GT/s", "x8 of x16, 32 GT/s"]
    assert b.axe(axe) == []


def test_a_host_that_has_told_of_no_wiring_shows_none(page, host):  # noqa: F811
    b = page("#/host/gpu-11")
    b.until(lambda: "Life" in b.text(), "the host")
    assert "Wiring" not in b.text()


@pytest.mark.parametrize("said", HOSTILE)
def test_hostile_names_are_shown_as_they_are(page, wired, topology, said):  # noqa: F811
    root = {"id": said, "type": "root", "name": None, "pci": None}
    topology["nodes"].append(root)
    topology["neighbors"][0]["switch"] = said
    b = page("#/host/gpu-11")
    b.until(lambda: len(lines(b)) == 27, "the wiring")
    assert b.script("return document.querySelectorAll('.tree script, .tree img').length") == 0
    assert not [line for line in b.log() if "Content Security Policy" in line]


def test_wires_that_go_round_are_no_tree(modules):  # noqa: F811
    """For any input of a host the traversal ends, and each node appears once."""
    nodes = [{"id": i, "type": "switch"} for i in "abc"] + [{"id": "d", "type": "numa"}, {"id": "e", "type": "gpu"}]
    links = [{"id": f"{a}^{b}", "a": a, "b": b} for a, b in (("a", "b"), ("b", "c"), ("c", "a"), ("e", "d"), ("e", "a"), ("d", "d"), ("x", "a"))]
    assert modules("wiring.js", """
        const w = m.wiring(x), seen = [];
        const walk = (n, deep) => { seen.push(n.id); if (deep < 12) w.below(n.id).forEach(k => walk(k, deep + 1)); };
        w.tops.forEach(n => walk(n, 0));
        return seen""", {"nodes": nodes, "links": links}) == ["d", "e"]
