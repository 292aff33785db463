# SPDX-License-Identifier: Apache-2.0
"""A hung job on the page: page/hang_model.js in Node.js, the view in a real Chromium with fake responses, and once with a real controller."""
import json
import os
import pickle
from pathlib import Path

import pytest
from browser import PHONE, axe, browser, modules  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from page_fake import Fake, Fleet, stamp
from test_job_hangs import CULPRIT, HOSTS, JOB, STOPPED, WORLD, all_say, document, hang, of, place, ranks_of, say, told
from test_page_views import CELL, HOSTILE, focused
from waiting import wait_for

pytestmark = pytest.mark.once

TRACES = Path(os.environ.get("ASSAY_TRACES", Path(__file__).resolve().parents[2].parent / "shared/traces"))
SENTENCE = "rank 6 (gpu-2, gpu 2) has stopped: its process is stopped by a signal"


def row(rank, **more):
    """One of 16 ranks, four per host, which all wait for rank 6."""
    return {"rank": rank, "node": f"gpu-{1 + rank // 4}", "gpu": f"gpu {rank % 4}", "sources": ["flight-recorder", "process"], "process": "futex", "for_s": 300, "where": None,
            "group": "0", "group_desc": "default_pg", "op": "all_reduce", "seq": 411, "waits": True, "waits_for": [6], "waits_for_more": 0, **more}


def verdict(**more):
    return {"v": 1, "kind": "hang", "ranks": [6], "suspects": [13], "class": "host-stalled", "evidence": ["rank 6: stopped by a signal for 300 s"], "missing": ["rank 13: no record"],
            "tell": ["stacks of rank 6"], "act": "owner", "nodes": ["gpu-2"], "suspect_nodes": ["gpu-4"], **more}


def answer(rows=None, state="hung", said=None, sentence=SENTENCE, **more):
    said = verdict() if said is None else said
    rows = rows if rows is not None else [
        row(r, **({"process": "stopped", "waits": False, "waits_for": [], "where": "next (loader.py:31)"} if r == 6 else
                  {"sources": [], "process": "unknown", "for_s": None, "waits": False, "waits_for": [], "op": None, "seq": None} if r == 13 else
                  {"process": "running", "waits": False, "waits_for": []} if r == 2 else {})) for r in range(16)]
    return {"job": "research/llm-7", "id": "j1", "run": 1, "state": "hung", "verdict": said, "world": len(rows), "groups": [{"name": "0", "desc": "default_pg", "size": 16}], "ranks": rows, "next": None,
            "hang": {"state": state, "run": 1, "since": stamp(), "judged": stamp(), "until": stamp() if state == "over" else None, "sentence": sentence,
                     "act": "Nobody is to be evicted: look at the stacks, then the owner restarts", "verdict": said, "logs": [], "asked": 4, "answered": 3}, **more}


# --- words and places ---

@pytest.fixture
def model(modules):  # noqa: F811
    return lambda body, argument=None: modules("hang_model.js", body, argument)


def test_each_rank_does_one_thing(model):
    said = model("return m.rowsOf(x).map(r => r.state)", answer())
    assert said == ["stopped" if r == 6 else "suspect" if r == 13 else "running" if r == 2 else "waiting" for r in range(16)]
    others = [row(0, process="zombie"), row(1, sources=[]), {"rank": 2}, {"rank": "x"}, None, row(3, waits_for=None)]
    assert model("return m.rowsOf({verdict: null, ranks: x}).map(r => r.state)", others) == ["halted", "silent", "silent", "waiting"]
    assert model("return [m.rowsOf(null), m.tally(m.rowsOf({}))]") == [[], []]


@pytest.mark.parametrize("ranks,words", [([], ""), ([3], "3"), ([3, 4], "3, 4"), ([5, 3, 4], "3 to 5"), ([0, 1, 2, 5, 7, 8, 9], "0 to 2, 5, 7 to 9"), (list(range(0, 40, 2)), "0, 2, 4, 6, 8, 10, 12, 14 and others")])
def test_ranks_are_told_in_spans(model, ranks, words):
    assert model("return m.spans(x)", ranks) == words


def test_who_waits_alike_is_told_together(model):
    (wait,) = model("return m.waits(m.rowsOf(x))", answer())
    assert wait["ranks"] == [r for r in range(16) if r not in (2, 6, 13)] and wait["behind"] == [6] and wait["what"] == "all_reduce 411 of default_pg"
    assert len(model("return m.arrows(m.rowsOf(x))", answer())) == 13
    many = [row(r, waits_for=[0], **({"waits": False} if r == 0 else {})) for r in range(1024)]
    assert model("return m.arrows(m.rowsOf(x))", answer(many)) == [[1, 0]]  # they wait for the same: one represents them
    # All wait for the eight ranks of one host, seven of which wait for the eighth: an arrow to one of the seven, and one to that.
    near = {r: row(r, group="9", seq=9021, waits_for=[29]) for r in range(24, 32)} | {29: row(29, waits=False, waits_for=[])}
    assert model("return m.arrows(m.rowsOf(x))", answer([near.get(r) or row(r, waits_for=list(near)) for r in range(64)])) == [[0, 24], [0, 29], [24, 29]]
    two = model("return m.waits(m.rowsOf({ranks: x})).map(w => [w.ranks, m.behindWords(w)])", [row(0), row(1, waits_for=[], op="all_gather"), row(2, waits_for_more=3)])
    assert two == [[[0], "for rank 6"], [[1], "and nobody is known to be behind"], [[2], "for rank 6 and 3 more"]]


def test_each_rank_has_one_place(model):
    for world, each in ((16, 4), (1, 1), (1024, 8), (16384, 8), (100, 100), (77, 3)):
        rows = [row(r, node=f"h{r // each}", waits_for=[]) for r in range(world)]
        found = model("const rows = m.rowsOf(x), map = m.layout(rows), seen = []; for (let r = 0; r < map.rows; r++) for (let c = 0; c < map.columns; c++) map.at(r, c) && seen.push(map.at(r, c).rank);"
                      "return {seen, size: [map.rows, map.columns], same: rows.every(r => map.at(...map.find(r.rank)) === r)}", answer(rows))
        assert sorted(found["seen"]) == list(range(world)) and found["same"], (world, each)
        assert found["size"][1] <= 64 and found["size"][0] <= max(48, world / 48), found["size"]
    assert model("const map = m.layout(m.rowsOf({ranks: x})); return [map.head(0), map.head(1)]", [row(0, node=None), row(1)]) == ["gpu-1", "host not known"]


def test_what_is_spoken_of_a_rank(model):
    said = model("return m.rowsOf(x).map(m.cellName)", answer())
    assert said[0] == "rank 0, gpu-1, gpu 0: waiting in all_reduce 411 of default_pg for rank 6"
    assert said[6] == "rank 6, gpu-2, gpu 2: stopped; stopped for 5 min, at next (loader.py:31)"
    assert said[13] == "rank 13, gpu-4, gpu 1: may have stopped"
    assert model("return m.cellName(m.rowsOf({ranks: x})[0])", [{"rank": 9}]) == "rank 9, its host is not known: no record"


def analysis(dp=2, pp=2, tp=4, **more):
    """Ranks in Megatron's order: tensor, then data, then pipeline parallel."""
    return {"heat": {"row": "dp", "column": "stage", "values": [[1.0] * pp for _ in range(dp)]},
            "detail": {"beside": tp, "ranks": [p * dp * tp + d * tp for d in range(dp) for p in range(pp)], **more}}


def test_a_rank_has_one_place_in_the_job(model):
    for dp, pp, tp in ((2, 2, 4), (1, 4, 2), (8, 1, 8), (3, 5, 7)):
        found = model("const s = m.shapeOf(x.a, x.n), all = []; for (let d = 0; d < s.dp; d++) for (let p = 0; p < s.pp; p++) for (let t = 0; t < s.tp; t++)"
                      "{ const r = s.rank(d, p, t), at = s.find(r); all.push(r); if (at.d !== d || at.p !== p || at.t !== t) throw r; } return all;", {"a": analysis(dp, pp, tp), "n": dp * pp * tp})
        assert sorted(found) == list(range(dp * pp * tp))


@pytest.mark.parametrize("given,world", [(None, 16), ({}, 16), (analysis(tp=1), 4), (analysis(), 32), (analysis(ranks=[0, 0, 4, 8]), 16), (analysis(ranks=[0, 8, 4, 99]), 16),
                                         (analysis(ranks=[0, 8, 4, "x"]), 16), (analysis(beside=2.5), 10), (analysis(dp=129, pp=1, tp=2), 258)])
def test_a_shape_that_is_not_whole_is_none(model, given, world):
    assert model("return m.shapeOf(x.a, x.n)", {"a": given, "n": world}) is None


# --- the view ---

@pytest.fixture
def fake():
    it = Fake(Fleet(8))
    it.routes["/v1/jobs/j1/ranks"] = (200, answer())
    yield it
    it.close()


@pytest.fixture
def page(fake, browser):  # noqa: F811
    def open_(where="#/job/j1/hang"):
        browser.open("about:blank").open(fake.address + where)
        browser.one("main h1")
        return browser
    yield open_
    browser.open("about:blank")


def test_one_sentence_names_who_has_stopped(page):
    b = page()
    b.until(lambda: b.text("h1") == SENTENCE.replace("rank", "Rank") + ".", "the sentence")
    assert "look at the stacks" in b.text(".lead .prose") and "all_reduce 411 of default_pg" in b.text(".facts") and "host-stalled" in b.text(".facts")
    assert [k.text for k in b.all(".key li")] == ["stopped 1", "may have stopped 1", "running 1", "waiting 13"]
    assert len(b.all(".arrows > path")) == 13
    assert "Ranks 0, 1, 3 to 5, 7 to 12, 14, 15 wait in all_reduce 411 of default_pg for rank 6 (gpu-2, gpu 2)" in b.text(".lines")
    assert "4 hosts were asked to look, and 3 have answered." in b.text("main")


def test_ranks_are_walked_through_by_keys_and_opened(page):
    b = page()
    b.script("arguments[0].focus()", b.one(CELL))
    assert focused(b).startswith("rank 6, gpu-2, gpu 2: stopped")
    b.press("\ue015")
    b.until(lambda: focused(b).startswith("rank 10, gpu-3"), "the one below")
    b.press("\ue013", "\ue007")
    b.until(lambda: "Rank 6: stopped" in b.text(".worker"), "what is known of it")
    assert "next (loader.py:31)" in b.text(".worker") and "0, 1, 3 to 5" in b.text(".worker")
    assert b.one('.worker a[href="#/host/gpu-2"]')


def test_the_table_has_who_wants_somebody_first(page):
    b = page("#/job/j1/hang?form=table")
    b.one("main tbody tr")
    rows = [r.text for r in b.all("main tbody tr")]
    assert rows[0].startswith("6 stopped gpu-2 gpu 2") and rows[1].startswith("13 may have stopped gpu-4") and rows[2].startswith("2 running") and rows[3].startswith("0 waiting")
    assert len(rows) == 16 + 4  # and a row per host for its answer


def test_planes_of_the_job_are_linked(page, fake, axe):  # noqa: F811
    fake.routes["/v1/jobs/j1"] = (200, {"id": "j1", "job": "research/llm-7", "latest": [{"id": 8, "state": "failed"}, {"id": 7, "state": "analysed"}]})
    fake.routes["/v1/jobs/j1/windows/7"] = (200, analysis())
    b = page()
    b.one(".slices")
    labels = lambda: [g.get_attribute("aria-label") for g in b.all(".slices [role=grid]")]  # noqa: E731
    assert labels() == ["DP x PP at TP 2; chosen: DP 1, PP 0", "TP x PP at DP 1; chosen: TP 2, PP 0", "DP x TP at PP 0; chosen: DP 1, TP 2"]  # rank 6, who has stopped
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        assert b.axe(axe) == []
    b.script("arguments[0].focus()", b.all(".slices figure")[1].find_element("css selector", CELL))
    assert focused(b).startswith("rank 6, gpu-2")
    b.press("\ue015", "\ue014", "\ue007")  # down, right, open: PP 1, TP 3 of DP 1
    b.until(lambda: labels() == ["DP x PP at TP 3; chosen: DP 1, PP 1", "TP x PP at DP 1; chosen: TP 3, PP 1", "DP x TP at PP 1; chosen: DP 1, TP 3"], "the others to follow")
    assert focused(b).startswith("rank 15, gpu-4") and "Rank 15" in b.text(".worker") and "DP 1, PP 1, TP 3" in b.text(".worker")
    fake.routes["/v1/jobs/j1/windows/7"] = (200, analysis(tp=1))
    b = page()
    b.until(lambda: len(b.all(".arrows > path")) == 13, "the map")
    assert b.all(".slices") == []


def test_a_job_is_found_by_its_name_too_and_what_is_new_is_shown(page, fake):
    fake.routes["/v1/jobs"] = (200, {"items": [{"id": "j1", "job": "research/llm-7"}], "next": None})
    b = page("#/job/research%2Fllm-7/hang")
    b.until(lambda: b.text("h1") == SENTENCE.replace("rank", "Rank") + ".", "the sentence")
    fake.routes["/v1/jobs/j1/ranks"] = (200, answer([], state="over"))
    b.until(lambda: "stood still until" in b.text("h1") and b.all("canvas") == [], "that it goes on, and its ranks are gone")
    assert SENTENCE in b.text(".lead .prose")
    fake.routes["/v1/jobs"] = (200, {"items": [], "next": None})
    page("#/job/nobody/hang")
    b.until(lambda: "There is no job nobody." in b.text(), "that there is none")


def test_who_is_named_stands_without_ranks_too(page, fake):
    fake.routes["/v1/jobs/j1/ranks"] = (200, answer([]))
    b = page()
    b.until(lambda: "6 stopped gpu-2" in b.text("main tbody").replace("\t", " "), "who is named")
    fake.routes["/v1/jobs/j1/ranks"] = (200, {**answer([]), "hang": None, "verdict": None})
    page()
    b.until(lambda: b.text("h1") == "No part of research/llm-7 is known to stand still.", "that it moves")


def test_many_ranks_are_asked_for_page_by_page(page, fake):
    rows = [row(r, node=f"host-{r // 8:03}", gpu=f"gpu {r % 8}") for r in range(1200)]
    parts = iter([{**answer(rows[:1]), "world": 1200, "next": "1"}, {**answer(rows[:1000]), "next": "1000"}, answer(rows[1000:])])
    last = answer(rows[:1])
    fake.routes["/v1/jobs/j1/ranks"] = lambda method, body: (200, next(parts, last))
    b = page()
    b.until(lambda: b.one("[role=grid]").get_attribute("aria-label").startswith("What 1,200 ranks do"), "all of them")
    assert [p for _, p in fake.asked if "cursor=" in p] == ["/v1/jobs/j1/ranks?limit=1000&cursor=1000"]


@pytest.mark.some(1)
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_and_nothing_is_cut_off_on_a_phone(page, axe, scheme):  # noqa: F811
    found = {}
    for where in ("#/job/j1/hang", "#/job/j1/hang?form=table"):
        b = page(where)
        b.scheme(scheme)
        b.until(lambda: "all_reduce" in b.text("main"), "its ranks")
        if "table" not in where:
            b.script("arguments[0].focus()", b.one(CELL))
            b.press("\ue007")
            b.one(".worker")
        found[where] = b.axe(axe)
    assert found == dict.fromkeys(found, [])
    b.size(*PHONE)
    assert b.script("return document.documentElement.scrollWidth <= innerWidth")
    b.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hostile_text_is_shown_as_it_is(page, fake):
    said = verdict(evidence=HOSTILE, missing=HOSTILE, tell=HOSTILE)
    rows = [row(i, node=s, gpu=s, where=s, op=s, group_desc=s, process="sleeping") for i, s in enumerate(HOSTILE)] + [row(6, waits=False, waits_for=[])]
    fake.routes["/v1/jobs/j1/ranks"] = (200, {**answer(rows, said=said, sentence=HOSTILE[3]), "job": HOSTILE[0]})
    b = page()
    b.until(lambda: HOSTILE[0] in b.text(".lines"), "markup as text")
    assert HOSTILE[3] in b.text("h1") and HOSTILE[0] in b.text(".crumb") and "(cut)" in b.text("main")
    assert b.all("main img") == [] and b.all("main script") == []
    page("#/job/j1/hang?form=table")
    b.until(lambda: HOSTILE[3] in b.text("main tbody"), "markup in the table")
    assert [line for line in b.log() if "Content" in line or "Trusted" in line] == []


# --- with a real controller ---

def test_a_real_diagnosis_is_shown(controller, browser, axe, tmp_path, top):  # noqa: F811
    config = tmp_path / "page.yaml"
    config.write_text("v: 1\npage: true\n")
    c = controller("--config", config, env={"ASSAY_PAGE_DIR": str(top / "page")})
    place(c)
    all_say(c, STOPPED)
    assert wait_for(lambda: (hang(c) or {}).get("state") == "hung") and told(c)
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) == WORLD)
    browser.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/jobs")
    browser.one('main td a[href$="/hang"]').click()
    browser.one("main canvas")
    shown, whole = hang(c), ranks_of(c)
    assert shown["sentence"].rstrip(".").lower() in browser.text("h1").lower() and f"ank {CULPRIT} (gpu-2" in browser.text("h1")
    waiting = [r["rank"] for r in whole["ranks"] if r["waits"]]
    assert len(waiting) == WORLD - 1 and len(browser.all(".arrows > path")) == WORLD - 1
    assert [k.text for k in browser.all(".key li")] == ["stopped 1", f"waiting {WORLD - 1}"]
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        assert browser.axe(axe) == []
    browser.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/job/{json.dumps(JOB)[1:-1].replace('/', '%2F')}/hang?form=table")
    browser.one("main tbody tr")
    assert browser.all("main tbody tr")[0].text.startswith(f"{CULPRIT} stopped {HOSTS[1]} ")
    assert [line for line in browser.log() if "Content Security" in line] == []


class Plain(pickle.Unpickler):
    """Plain data without code, like dumps."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


def said_by(number, path):
    """(groups, rank) of assay-hang/1 from a flight recorder's dump; `pg_id` is local to the process."""
    with open(path, "rb") as f:
        dump = Plain(f).load()
    named = dict(zip(sorted(dump["pg_status"], key=int), sorted(dump["pg_config"], key=int), strict=True))  # both in order of creation
    assert all(named[str(e["pg_id"])] == e["process_group"][0] for e in dump["entries"])
    names = [n for n in dump["pg_config"] if n in named.values()]
    groups = [{"name": n, "desc": dump["pg_config"][n]["desc"], "ranks": json.loads(dump["pg_config"][n]["ranks"]), "p2p": False} for n in names]
    positions = [{"group": names.index(named[i]), "place": groups[names.index(named[i])]["ranks"].index(number), "enqueued": s["last_enqueued_collective"], "completed": s["last_completed_collective"]}
                 for i, s in dump["pg_status"].items() if named.get(i) in names]
    ops = [{"group": names.index(e["process_group"][0]), "seq": e["collective_seq_id"], "op": e["profiling_name"].removeprefix("nccl:"), "peer": None, "state": "enqueued", "for_s": 600}
           for e in dump["entries"] if not e["retired"] and not e["is_p2p"] and e["state"] != "completed" and e["process_group"][0] in names]
    return groups, {"rank": number, "sources": ["flight-recorder"], "gpu": f"gpu {number % 4}", "process": {"state": "futex", "for_s": 600}, "positions": positions, "ops": ops}


@pytest.mark.parametrize("case,kind", [("lock_gil_1st", "host-stalled"), ("gpu_error_2nd", "own-gpu-stopped")])
def test_a_published_hang_names_who_was_stopped(controller, browser, tmp_path, top, case, kind):  # noqa: F811
    dumps = TRACES / "flight-recorder" / case
    if not dumps.exists():
        pytest.skip(f"no {dumps}: set ASSAY_TRACES to the published traces")
    config = tmp_path / "page.yaml"
    config.write_text("v: 1\npage: true\n")
    c = controller("--config", config, env={"ASSAY_PAGE_DIR": str(top / "page")})
    place(c)
    for node in HOSTS:
        groups, members = [], []
        for number in of(node):
            its, one = said_by(number, dumps / f"_dump_{number}")
            for part in (*one["positions"], *one["ops"]):
                part["group"] += len(groups)
            groups += [{**g, "size": len(g["ranks"])} for g in its]
            members.append(one)
        assert say(c, node, {**document(node, members), "groups": groups}).status == 204
    assert wait_for(lambda: (hang(c) or {}).get("state") == "hung" and (hang(c)["verdict"] or {}).get("ranks") == [9, 14]), hang(c)
    assert wait_for(lambda: len(ranks_of(c)["ranks"]) == WORLD)
    browser.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/job/j1/hang?form=table")
    browser.one("main tbody tr")
    assert kind in browser.text(".facts")
    assert [r.text.split()[:3] for r in browser.all("main tbody tr")[:2]] == [["9", "stopped", "gpu-3"], ["14", "stopped", "gpu-4"]]
    assert "9 (gpu-3" in browser.text("h1") and "14 (gpu-4" in browser.text("h1")
