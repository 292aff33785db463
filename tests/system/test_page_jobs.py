# SPDX-License-Identifier: Apache-2.0
"""The views of jobs in a real Chromium, with a real controller that has analysed the published traces: each cell is their S_w."""
import json
import os
import urllib.parse
from pathlib import Path

import pytest
from browser import axe, browser  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from waiting import wait_for

pytestmark = pytest.mark.once

TOP = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("ASSAY_TRACES", TOP.parent / "shared/traces"))
END_S = 120
PATTERNS = {
    "AR": ("One cell stands out of 16 (dp 0, stage 0), at 1.97", "The worker at dp 0, stage 0 slows AR, on a host that is not known"),
    "SE": ("The slowdown is diffuse: 64 of 64 cells", "SE slows itself: its micro-batches have sequences of very different lengths"),
    "ST": ("One row stands out: stage 3, in all of its 2 columns, at up to 1.18", "ST slows itself: one stage has more to do"),
}


@pytest.fixture
def c(controller, tmp_path, top):
    config = tmp_path / "page.yaml"
    config.write_text("v: 1\npage: true\n")
    return controller("--config", config, env={"ASSAY_PAGE_DIR": str(top / "page")})


def analysed(c, name):
    """Waits until the published trace of that name is analysed. Returns the job's id."""
    path = TRACES / f"trace-{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"no {path}: set ASSAY_TRACES to the published traces")
    query = urllib.parse.urlencode({"job": name, "meta": (TRACES / f"meta-{name}.yaml").read_text()})
    sent = c.call("POST", "/v1/traces?" + query, path.read_bytes())
    assert sent.status == 202, sent.body
    job = f"/v1/jobs/{sent.json['id']}"
    assert wait_for(lambda: c.get(job).json["windows"]["analysed"], END_S), c.log()
    return sent.json["id"]


def cells_of(b):
    """{(dp, stage): text} of all pages of the table form."""
    found = {}
    while True:
        rows = b.script("return [...[...document.querySelectorAll('main table')].find(t => t.caption.textContent.startsWith('Workers')).tBodies[0].rows]"
                        ".map(r => [...r.cells].map(c => c.textContent))")
        found.update({(int(r[0]), int(r[1])): float(r[2]) for r in rows})
        after = [x for x in b.all("nav.pager button") if x.text == "After" and x.is_enabled()]
        if not after:
            return found
        after[0].click()


def check(c, b, name):
    job = analysed(c, name)
    b.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/job/{job}?form=table")
    b.one("main caption")
    published = json.loads((TRACES / f"ref-{name}.json").read_text())["S_w"]
    shown = cells_of(b)
    assert shown == {(d, p): round(s, 3) for d, row in enumerate(published) for p, s in enumerate(row)}
    kept = c.get(f"/v1/jobs/{job}/windows/{c.get(f'/v1/jobs/{job}').json['latest'][0]['id']}").json
    assert kept["heat"]["values"] == published
    pattern, sentence = PATTERNS[name]
    assert pattern in b.text(".pattern") and sentence in b.text("main h1")
    assert "n000" not in b.text("main")
    return job


def test_a_cell_is_the_slowdown_of_the_published_answer_and_the_pattern_is_said(c, browser, axe):
    job = check(c, browser, "AR")
    browser.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/job/{job}")
    cell = browser.one('[role="gridcell"][tabindex="0"]')
    assert cell.get_attribute("aria-label") == "dp 0, stage 0, ranks 0 to 3: slowdown 1.973"
    browser.script("arguments[0].focus()", cell)
    browser.press("\ue015")  # down
    assert browser.script("return document.activeElement.getAttribute('aria-label')").startswith("dp 0, stage 1, ranks 16 to 19")
    browser.press("\ue007")  # open
    assert "sends activations to" in browser.one(".worker").text
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        assert browser.axe(axe) == []
    assert [line for line in browser.log() if "Content Security" in line] == []


@pytest.mark.parametrize("name", ["SE", "ST"])
def test_what_is_the_jobs_own_names_no_host(c, browser, full, name):
    if not full:
        pytest.skip("with --full")
    check(c, browser, name)


def test_the_list_says_what_wants_somebody_first(c, browser, axe, full):
    if not full:
        pytest.skip("with --full")
    analysed(c, "ST")
    browser.open("about:blank").open(f"http://127.0.0.1:{c.port}/page/#/jobs")
    assert "ST" in browser.one("main td a").text
    assert browser.axe(axe) == []
