# SPDX-License-Identifier: Apache-2.0
"""assay localise on hosts of other shapes than the one it was made for: slow links are named, good ones are not."""
import json
import random

import pytest
from localise_hosts import HOSTS, Fabric, lines

NOISE = 0.02
CLEAN = 20
# NICs of two speeds in equivalent positions cannot be told from a slow NIC without a good host to compare with.
ALIKE = [shape for shape in HOSTS if shape != "two generations"]


@pytest.fixture
def localise(run, tmp_path):
    def call(samples, reference=None):
        (tmp_path / "samples").write_text(lines(samples))
        words = []
        if reference is not None:
            (tmp_path / "good").write_text(lines(reference))
            words = ["--reference", tmp_path / "good"]
        done = run("assay", "localise", tmp_path / "samples", "-o", "json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["links"]

    return call


def told(link):
    """The named link, and those that cannot be told apart from it."""
    return {link["link"], *link["ambiguous_with"]}


def accused(links, *sick):
    """Named links that include none of the faulty ones."""
    return [link["link"] for link in links if not any(told(link) & alike for alike in sick)]


def faults(host, part, seed, full):
    """Some links whose slowdown to this fraction is visible in the cells."""
    shown = [link for link in host.links() if host.shows(link, part)]
    return random.Random(seed).sample(shown, min(12 if full else 6, len(shown)))


@pytest.mark.once
@pytest.mark.parametrize("shape, reference", [(shape, True) for shape in HOSTS] + [(shape, False) for shape in ALIKE])
@pytest.mark.parametrize("noise", [NOISE, 0.05])
def test_a_good_host_has_no_slow_link(localise, shape, reference, noise, full):
    host, chance = HOSTS[shape](), random.Random(f"{shape} {noise}")
    runs = CLEAN * 3 if full else CLEAN
    named = [localise(host.measure(chance, noise), host.measure(chance, noise) if reference else None) for _ in range(runs)]
    # Two values with 5 % noise each add up to 7 %: one in a few hundred such matrices looks like a slow link.
    assert len([links for links in named if links]) <= (runs // 50 if noise > NOISE else 0), named


@pytest.mark.once
@pytest.mark.parametrize("part", [0.6, 0.25])
@pytest.mark.parametrize("shape", HOSTS)
def test_a_slow_link_is_named_whatever_the_shape(localise, shape, part, full):
    host, chance = HOSTS[shape](), random.Random(f"{shape} {part}")
    for link in faults(host, part, shape, full):
        found = localise(host.measure(chance, NOISE, {link: part}), host.measure(chance, NOISE))
        assert len(found) == 1 and told(found[0]) & host.alike(link), (link, found)


@pytest.mark.once
@pytest.mark.parametrize("shape", ALIKE)
def test_without_a_good_host_no_innocent_is_named(localise, shape, full):
    host, chance = HOSTS[shape](), random.Random(shape)
    wrong = [(link, part) for part in (0.8, 0.5) for link in faults(host, part, shape, full)
             if accused(localise(host.measure(chance, NOISE, {link: part})), host.alike(link))]
    # In 8 cells without a comparison, two low ones sometimes look like two links: 1 of 720 such matrices.
    assert len(wrong) <= (1 if len(host.cells()) < 10 else 0), wrong


@pytest.mark.once
@pytest.mark.parametrize("dirt", [{"missing": 0.2}, {"unsure": 0.2}, {"twice": 0.3}, {"missing": 0.1, "unsure": 0.1, "twice": 0.2}], ids=str)
@pytest.mark.parametrize("shape", HOSTS)
def test_cells_that_are_not_there_blame_nobody(localise, shape, dirt, full):
    host, chance = HOSTS[shape](), random.Random(f"{shape} {dirt}")
    for link in faults(host, 0.5, shape, full):
        good = host.measure(chance, NOISE, **dirt)
        assert not accused(localise(host.measure(chance, NOISE, {link: 0.5}, **dirt), good), host.alike(link)), link


@pytest.mark.once
def test_a_fabric_of_a_hundred_ports_is_explained(localise):
    """9,120 pairs."""
    host = Fabric(leaves=16, nodes=6, spines=4)
    link, = localise(host.measure(random.Random(1), NOISE, {"leaf:3^spine:1": 0.5}))
    assert link["link"] == "leaf:3^spine:1" and link["ratio"] == pytest.approx(0.5, abs=0.03) and not link["against"]
