# SPDX-License-Identifier: Apache-2.0
"""assay-attribute -o table, heatmap and timeline: the output for people matches the result."""
import collections
import json
import xml.etree.ElementTree

import pytest
from attribution_fixtures import attribute, generator, trace  # noqa: F401

SVG = "{http://www.w3.org/2000/svg}"
OPERATOR, OWNER = "Who should act: the operator of the cluster.", "Who should act: the owner of the job."


def paragraph(table):
    return " ".join(table.rstrip("\n").split("\n\n")[-1].split())


@pytest.mark.parametrize("injection,actor,says", [
    ("none", "Nobody needs to act.", "Nothing slows this job noticeably"),
    ("slow-worker", OPERATOR, "One worker is slow at computing: "),
    ("two-slow", OPERATOR, "These workers are slow at computing: "),
    ("sick-node", OPERATOR, "computes slowly: all slow workers are on it"),
    ("flapping-link", OPERATOR, "Transfers are slow, computing is not: those of "),
    ("last-stage", OWNER, "The last stage (3) has more to do than the others."),
    ("sequences", OWNER, "their forward and backward times rise and fall together"),
    ("pauses", OWNER, "pauses of the Python garbage collector"),
    ("slow-collectives", OPERATOR, "most of all grads-reduce-scatter"),
    ("loading", OWNER, "The trace does not add up"),
    ("missing", OPERATOR, "2 of 12 steps were left out"),
])
def test_the_last_paragraph_says_what_and_who(trace, attribute, injection, actor, says):  # noqa: F811
    path, truth = trace(injection)
    text = paragraph(attribute(path, "-o", "table"))
    assert says in text and text.endswith(actor)
    if "node" in truth:
        assert truth["node"] in text
    if len(truth["workers"]) == 1:
        assert "dp %d stage %d (" % tuple(truth["workers"][0]) in text


def test_the_table_has_the_numbers_of_the_document(trace, attribute):  # noqa: F811
    path, _ = trace("slow-worker")
    doc = json.loads(attribute(path, "-o", "json"))
    table = attribute(path, "-o", "table")
    row = next(line.split() for line in table.splitlines() if line.startswith("all "))
    assert row[1] == "%.3f" % doc["S"] and row[2] == "%.1f" % (100 * doc["W"])
    worst = doc["X"][0]
    row = next(line.split() for line in table.splitlines() if line.startswith("dp "))
    assert row[:5] == ["dp", str(worst["dp"]), "stage", str(worst["pp"]), str(worst["rank"])]


def cells(drawing):
    return [e for e in drawing.iter(SVG + "rect") if e.find(SVG + "title") is not None]


def test_the_heat_map_has_a_cell_for_each_worker(trace, attribute):  # noqa: F811
    path, truth = trace("sick-node", 2)
    doc = json.loads(attribute(path, "-o", "json"))
    drawing = xml.etree.ElementTree.fromstring(attribute(path, "-o", "heatmap"))
    found = {}
    for cell in cells(drawing):
        words = cell.find(SVG + "title").text.replace(",", "").replace(":", "").split()
        found[int(words[1]), int(words[3])] = (float(words[7]), cell.get("fill"))
    assert len(found) == doc["dp"] * doc["pp"]
    for (d, p), (value, _) in found.items():
        assert value == pytest.approx(doc["S_w"][d][p], abs=6e-4)
    slow = {tuple(w) for w in truth["workers"]}
    darkness = {w: sum(int(fill[i:i + 2], 16) for i in (1, 3, 5)) for w, (_, fill) in found.items()}
    assert max(darkness[w] for w in slow) < min(darkness[w] for w in darkness if w not in slow)
    framed = [e for e in drawing.iter(SVG + "rect") if e.get("class") == "g"]
    assert len(framed) == len(slow)
    labels = [e.text for e in drawing.iter(SVG + "text")]
    for step, value in doc["step_S"].items():
        assert "%s: %.3f" % (step, value) in labels


def texts(drawing):
    return " ".join("".join(e.itertext()) for e in drawing.iter(SVG + "text"))


def test_the_heat_map_says_who_and_holds_its_values(trace, attribute):  # noqa: F811
    path, truth = trace("slow-worker", 3)
    doc = json.loads(attribute(path, "-o", "json"))
    worst = max(max(row) for row in doc["S_w"])
    drawing = xml.etree.ElementTree.fromstring(attribute(path, "-o", "heatmap"))
    words = texts(drawing)
    assert truth["node"] + " (dp %d stage %d, ranks" % tuple(truth["workers"][0]) in words
    assert OPERATOR in words and "blue frame" in words and "Slowest: %s (dp" % truth["node"] in words
    scale = [float(e.text) for e in drawing.iter(SVG + "text") if e.get("y") == "48.00"]
    assert worst > 1.5 and max(scale) >= worst and min(scale) <= min(min(row) for row in doc["S_w"])


def test_a_heat_map_without_a_culprit_frames_nobody(trace, attribute):  # noqa: F811
    path, _ = trace("last-stage", 2)
    drawing = xml.etree.ElementTree.fromstring(attribute(path, "-o", "heatmap"))
    assert not [e for e in drawing.iter(SVG + "rect") if e.get("class") == "g"]
    assert "No host is to blame" in texts(drawing) and OWNER in texts(drawing) and "blue frame" not in texts(drawing)


def test_too_few_steps_blame_nobody(trace, attribute):  # noqa: F811
    path, _ = trace("slow-worker", 1, "steps=8")
    text, doc = attribute(path, "-o", "table"), json.loads(attribute(path, "-o", "json"))
    assert "too few steps to blame anybody: 8 were recorded, about 10 are needed." in paragraph(text)
    assert "out of service" not in text and paragraph(text).endswith("Nobody needs to act.")
    assert doc["confidence"]["enough"] is False and doc["confidence"]["steps_needed"] == 10
    assert doc["confidence"]["S"]["value"] == doc["S"] and doc["confidence"]["S"]["low"] is None
    assert [s["counts"] for s in doc["suspects"]] == [False]


def test_more_than_the_whole_loss_is_explained(trace, attribute):  # noqa: F811
    path, _ = trace("last-stage", 1)
    text = attribute(path, "-o", "table")
    doc = json.loads(attribute(path, "-o", "json"))
    assert round(100 * doc["M_s"]) > 100 and "%d %%" % round(100 * doc["M_s"]) in text
    assert "More than 100 %: the loss is measured against the mean of all operations" in " ".join(text.split())
    path, _ = trace("none", 1)
    assert "More than 100 %" not in attribute(path, "-o", "table")


def test_the_table_shows_intervals(trace, attribute):  # noqa: F811
    path, _ = trace("slow-worker", 1)
    doc, table = json.loads(attribute(path, "-o", "json")), attribute(path, "-o", "table")
    low, high = doc["confidence"]["S"]["low"], doc["confidence"]["S"]["high"]
    assert low < doc["S"] < high
    row = next(line for line in table.splitlines() if line.startswith("all "))
    assert row.endswith("[%.3f, %.3f]" % (low, high))
    gain = doc["suspects"][0]["gain"]
    row = next(line for line in table.splitlines() if line.startswith(doc["suspects"][0]["hosts"][0]))
    assert "%.1f %%" % (100 * gain["value"]) in row and row.split()[-1] == "yes"
    assert "[%.1f, %.1f]" % (100 * gain["low"], 100 * gain["high"]) in row


def test_a_large_heat_map_stays_small(trace, attribute):  # noqa: F811
    path, truth = trace("slow-worker", 3, "dp=600", "pp=2", "mb=2", "steps=10")
    text = attribute(path, "-o", "heatmap")
    drawing = xml.etree.ElementTree.fromstring(text)
    assert len(text) < 400000 and not cells(drawing)
    node = json.loads(path.read_text().split("\n", 1)[0])["ranks"]
    blamed = [r for r in node if r["node"] == truth["node"]]
    assert len([e for e in drawing.iter(SVG + "rect") if e.get("class") == "g"]) == len(blamed) == 4


def spans(doc):
    names = {e["pid"]: e["args"]["name"] for e in doc["traceEvents"] if e["name"] == "process_name"}
    by = collections.defaultdict(list)
    for event in doc["traceEvents"]:
        if event["ph"] == "X":
            by[names[event["pid"]].split(" ", 2)[2]].append(event)
    return by


@pytest.mark.parametrize("injection", ("slow-worker", "slow-worker-vpp", "one-stage"))
def test_the_timeline_is_what_was_and_what_should_be(trace, attribute, injection):  # noqa: F811
    path, _ = trace(injection, 4, "dp=2", "steps=3")
    found = json.loads(attribute(path, "-o", "json", "--align", "none"))
    by = spans(json.loads(attribute(path, "-o", "timeline", "--align", "none")))
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert set(by) == {"as recorded", "ideal"}
    for kind, events in by.items():
        assert len([e for e in events if not e["name"].startswith("wait ")]) == len(lines)
        steps = collections.defaultdict(list)
        for e in events:
            steps[e["args"]["step"]].append(e)
        for step, of_step in steps.items():
            seconds = (max(e["ts"] + e["dur"] for e in of_step) - min(e["ts"] for e in of_step)) / 1e6
            want = found["step_act"][str(step)] if kind == "as recorded" else found["T_ideal"]
            assert seconds == pytest.approx(want, rel=1e-6)
    recorded = sum(line["duration"] for line in lines)
    assert sum(e["dur"] for e in by["as recorded"]) / 1e6 == pytest.approx(recorded, rel=1e-6)


def test_what_is_on_one_line_of_the_timeline_does_not_overlap(trace, attribute):  # noqa: F811
    path, _ = trace("slow-worker", 5, "dp=2", "pp=4", "steps=3")
    for events in spans(json.loads(attribute(path, "-o", "timeline"))).values():
        lines = collections.defaultdict(list)
        for e in events:
            lines[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        assert len(lines) > 8
        for intervals in lines.values():
            intervals.sort()
            for (_, end), (start, _) in zip(intervals, intervals[1:]):
                assert start >= end - 0.01  # printed with three decimals of a microsecond


def test_windows_are_one_drawing(trace, run):  # noqa: F811
    path, _ = trace("slow-worker", 1, "steps=40")
    words = (path, "--max-ops", "12000")
    result = {form: run("assay-attribute", *words, "-o", form) for form in ("table", "heatmap", "timeline")}
    for form in result.values():
        assert form.returncode == 0 and "cut into windows" in form.stderr
    assert result["table"].stdout.count("Window ") >= 2
    drawing = xml.etree.ElementTree.fromstring(result["heatmap"].stdout)
    assert len([e for e in drawing.iter(SVG + "text") if e.text == "Step by step"]) >= 2
    assert len(spans(json.loads(result["timeline"].stdout))) == 2


def test_a_name_cannot_break_out_of_a_drawing(trace, attribute, tmp_path):  # noqa: F811
    path, _ = trace("none", 1, "dp=2", "pp=2", "steps=3")
    lines = path.read_text().split("\n", 1)
    meta = json.loads(lines[0])
    meta["job"] = 'a<script>&"\x1b[31m\u202e'
    path.write_text(json.dumps(meta) + "\n" + lines[1])
    drawing = xml.etree.ElementTree.fromstring(attribute(path, "-o", "heatmap"))
    assert any((e.text or "").startswith('a<script>&"?') for e in drawing.iter(SVG + "text"))
    assert json.loads(attribute(path, "-o", "timeline"))["otherData"]["job"].startswith('a<script>&"?')
    assert "\x1b" not in attribute(path, "-o", "table")


def test_a_job_on_one_node_has_no_node_to_tell_from_others(trace, attribute, tmp_path):  # noqa: F811
    path, _ = trace("last-stage", 1)
    lines = path.read_text().splitlines()
    meta = json.loads(lines[0])
    for rank in meta["ranks"]:
        rank["node"] = "n000"
    one = tmp_path / "one.jsonl"
    one.write_text("\n".join([json.dumps(meta), *lines[1:]]) + "\n")
    assert "\nnode n0" not in attribute(one, "-o", "table") and "\nnode " in attribute(path, "-o", "table")
