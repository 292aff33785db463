# SPDX-License-Identifier: Apache-2.0
"""The page's sentences about a job's map, compared with the injected faults: generated traces of many shapes, through assay-attribute
and page/job_model.js; some through a real controller and a real Chromium."""
import json
import re
import subprocess
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest
from attribution_fixtures import generator  # noqa: F401
from browser import browser, modules  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from waiting import wait_for

pytestmark = pytest.mark.once

SEEDS, SEEDS_FULL = range(101, 104), range(101, 131)
SHAPES = ((), ("dp=4", "pp=2", "mb=8"), ("dp=8", "pp=4", "mb=16", "tp=8"), ("dp=2", "pp=8"), ("dp=8", "pp=4", "mb=12", "tp=2"), ("dp=16", "pp=8", "mb=16", "tp=8"))
OF_ONE_SHAPE = ("one-stage", "one-replica")
STEPS = {"transient": 24}  # half of its steps are slow, and each half must be long enough to show it
STEPS_ELSE, LACKING_MAX = 12, 0.02
ANALYSED_S = 120
SAID = """return x.map(a => { const state = a.suspects.some(s => s.counts) ? "suspected" : a.slowdown.value < 1.03 ? "healthy" : "slow";
    return {head: m.headline({job: "J", step_s: a.step_s, slowdown: a.slowdown.value, state}, a).words, words: m.patternWords(a), outlined: m.outlined(a).map(c => [c.d, c.p])}; });"""
# The words for each true label in the headline and below the map; causes other than hosts name no host.
NOBODY = {"none": ("keeps pace", "No cell stands out"), "stage": ("one stage", "stage {stage}"), "seqlen": ("sequences of very different lengths", "sequences of very different lengths"),
          "gc": ("garbage collection", "garbage collection"), "comm": ("Communication slows", "Communication as a whole"), "rejected": ("does not add up", "does not add up")}


def played(build, generator, where, injection, seed, shape):  # noqa: F811
    """One job: the injected fault, the places of its workers, and the result."""
    name = where / "-".join([injection, str(seed), *shape])
    with open(name, "wb") as out:
        subprocess.run([generator, injection, str(seed), f"truth={name}.truth", f"steps={STEPS.get(injection, STEPS_ELSE)}", *shape], stdout=out, check=True)
    found = subprocess.run([build / "assay-attribute", "--summary", name], capture_output=True, text=True, check=True)
    with open(name) as f:
        ranks = json.loads(f.readline())["ranks"]
    name.unlink()
    truth = json.loads((where / f"{name.name}.truth").read_text())
    return {"name": name.name, "truth": truth, "at": {(r["dp_rank"], r["stage"]): r["node"] for r in ranks}, "analysis": json.loads(found.stdout)}


def others_keep_pace(at, slow):
    """Does each stage with a slow worker also have a normal one? If not, a slow host looks like a stage with more work."""
    return all(any(p == q and (d, q) not in slow for d, q in at) for _, p in slow)


LACKING = "not all of them are named"


def wrong(job, said):
    """The error in the sentences, or None."""
    truth, at, both = job["truth"], job["at"], f"{said['head']} {said['words']}"
    named, slow = set(re.findall(r"n\d{3}", both)), {tuple(w) for w in truth["workers"]}
    guilty = {at[w] for w in slow}
    if truth["label"] in NOBODY:
        head, words = NOBODY[truth["label"]]
        if named:
            return "a host is named where none is at fault"
        return None if head in said["head"] and words.format(**truth) in said["words"] else "not that cause"
    if not others_keep_pace(at, slow):
        return "a host is named though nobody who does the same keeps pace" if named else None
    if not all(set(re.findall(r"n\d{3}", said[part])) == named for part in ("head", "words")) or not named <= guilty:
        return "not those hosts"
    blamed = re.split(r"(?<=\.) ", said["words"])[-1]
    places, outlined = {(int(d), int(p)) for d, p in re.findall(r"dp (\d+), stage (\d+)", blamed)} if named else set(), {tuple(c) for c in said["outlined"]}
    if named and (("transfers" in both) != (truth["label"] == "link") or not places <= slow or not outlined or not outlined <= slow):
        return "not that cause" if places <= slow else "not those workers"
    everyone = named == guilty and ("All of them" in blamed or {at[w] for w in places} == guilty and (len(slow) > 3 or places == slow))
    return None if everyone else LACKING


def verdicts(build, generator, modules, where, seeds):  # noqa: F811
    """[(job, sentences, error)] of all injections."""
    names = subprocess.run([generator, "list"], capture_output=True, text=True, check=True).stdout.split()
    wanted = [(name, seed, shape) for name in names for seed in seeds for shape in (SHAPES[:1] if name in OF_ONE_SHAPE else SHAPES)]
    with ThreadPoolExecutor() as pool:
        jobs = list(pool.map(lambda w: played(build, generator, where, *w), wanted))
    return [(job, said, wrong(job, said)) for job, said in zip(jobs, modules("job_model.js", SAID, [job["analysis"] for job in jobs]), strict=True)]


def test_the_sentence_names_what_was_put_in_and_nobody_else(build, generator, modules, tmp_path, full):  # noqa: F811
    """If the analysis is unsure, the page names no host: in few jobs, and never is another host named."""
    found = verdicts(build, generator, modules, tmp_path, SEEDS_FULL if full else SEEDS)
    bad = [(job["name"], why, said["head"], said["words"], job["truth"]["workers"]) for job, said, why in found if why and why != LACKING]
    lacking = [(job, said) for job, said, why in found if why == LACKING]
    print(f"{len(found) - len(bad) - len(lacking)} right of {len(found)}, {len(lacking)} lacking, {len(bad)} wrong")
    assert bad == [], f"{len(bad)} of {len(found)}"
    assert len(lacking) <= LACKING_MAX * len(found), [(job["name"], said) for job, said in lacking]
    for job, said in lacking:
        counted = [s for s in job["analysis"]["suspects"] if s["counts"]]
        assert len(counted) < len(job["truth"]["workers"]), (job["name"], said)


@pytest.fixture
def c(controller, tmp_path, top):  # noqa: F811
    config = tmp_path / "page.yaml"
    config.write_text("v: 1\npage: true\n")
    return controller("--config", config, env={"ASSAY_PAGE_DIR": str(top / "page")})


def wanted(job):
    """The text that must be on the page, at the latest when hosts and cells are shown."""
    return {"two-slow": r"are (n\d{3} \(dp \d+, stage \d+\)( and )?){2}; the others lie where", "flapping-link": r"It is the transfers between n\d{3} and n\d{3} \(",
            "sick-node": r"All of them are on n\d{3}\.", "last-stage": r"The job slows itself: one stage has more to do"}[job]


@pytest.mark.parametrize("injection", ["two-slow", "flapping-link", "sick-node", "last-stage"])
def test_a_browser_shows_it_of_a_real_controller(c, browser, build, generator, tmp_path, full, injection):  # noqa: F811
    if injection != "two-slow" and not full:
        pytest.skip("with --full")
    trace, truth = tmp_path / "trace", tmp_path / "truth"
    with open(trace, "wb") as out:
        subprocess.run([generator, injection, "207", "dp=8", "pp=4", "mb=16", "tp=2", "steps=12", "epoch=1790000000", f"truth={truth}"], stdout=out, check=True)
    sent = c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": injection}), trace.read_bytes())
    assert sent.status == 202, sent.body
    path = f"/v1/jobs/{sent.json['id']}"
    assert wait_for(lambda: c.get(path).json["windows"]["analysed"], ANALYSED_S), c.log()
    browser.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/job/{sent.json['id']}")
    browser.one(".pattern")
    ranks, truth = json.loads(trace.open().readline())["ranks"], json.loads(truth.read_text())
    at = {(r["dp_rank"], r["stage"]): r["node"] for r in ranks}
    said = {"head": browser.text("main h1"), "words": browser.text(".pattern"), "outlined": truth["workers"]}
    assert re.search(wanted(injection), said["words"]), said
    assert wrong({"truth": truth, "at": at}, said) is None, said
    assert [line for line in browser.log() if "Content Security" in line] == []
