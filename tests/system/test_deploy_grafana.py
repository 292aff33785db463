# SPDX-License-Identifier: Apache-2.0
"""deploy/grafana: dashboards follow Grafana's JSON model; Prometheus can parse every query, and the controller has the metrics."""
import json
import re

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from promtool import named, promtool, series_names  # noqa: F401

NAMES = ("fleet", "controller", "jobs")
PANELS = {"row", "stat", "timeseries", "bargauge", "table"}
# Of Grafana's list of units (packages/grafana-data, valueFormats).
UNITS = {"short", "none", "s", "bytes", "percentunit", "reqps"}
COLORS = {"green", "orange", "red", "blue"}
WIDTH = 24
# Grafana's variables, with a possible value.
VARIABLES = {"$job": "assay", "$check": "gemm.rate", "$__rate_interval": "5m"}
# Labels of the target, and Prometheus's renaming of our labels that collide with them (honor_labels: false).
TARGET = {"job", "instance", "exported_job", "exported_namespace"}


@pytest.fixture(scope="module", params=NAMES)
def board(request, top):
    text = (top / "deploy/grafana" / f"{request.param}.json").read_text(encoding="utf-8")

    def once(pairs):
        assert len({k for k, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def queries(board):
    """(where, expression) of all panels, annotations and variables."""
    for p in board["panels"]:
        for t in p.get("targets", []):
            yield f"{p['title']} {t['refId']}", t["expr"]
    for a in board["annotations"]["list"]:
        yield a["name"], a["expr"]
    for v in board["templating"]["list"]:
        if v["type"] == "query":
            inside = re.fullmatch(r"label_values\((.+), (\w+)\)", v["definition"])
            assert inside and v["query"]["query"] == v["definition"], v["name"]
            yield v["name"], inside.group(1)


def filled(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression


@pytest.fixture
def told(controller):
    """The metrics of a controller after good and bad reports."""
    c = controller()
    c.post(report("gpu-1"))
    c.post(report("gpu-2", samples=[sample(check="host.kernel_log", subject="pci:0000:1b:00.0", value=1, unit="1", better="none", ok=False,
                                           severity="fatal", code="xid:79")]))
    return c.get("/metrics").body.decode()


def labels_told(text):
    """{series: names of its labels} of the existing series."""
    found = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", text, re.M):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=\"", labels))
    return found


def test_it_is_a_dashboard(board):
    assert board["schemaVersion"] == 39 and board["title"].startswith("Assay: ") and board["description"]
    assert board["uid"] == board["title"].lower().replace(": ", "-") and board["tags"] == ["assay"]
    assert {"annotations", "editable", "graphTooltip", "links", "panels", "refresh", "templating", "time", "timepicker", "version"} <= set(board)
    assert "id" not in board and "__inputs" not in board  # belong to an installation, and to an export
    link, = board["links"]
    assert link["type"] == "dashboards" and link["tags"] == ["assay"] and link["keepTime"] and link["includeVars"]


def test_its_source_is_a_variable(board):
    variables = {v["name"]: v for v in board["templating"]["list"]}
    assert board["templating"]["list"][0] == variables["datasource"] and variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus" and set(variables) <= {"datasource", "job", "check", "runbook"}

    def sources(value):
        if isinstance(value, dict):
            for k, v in value.items():
                yield from [v] if k == "datasource" else sources(v)
        elif isinstance(value, list):
            for v in value:
                yield from sources(v)

    found = list(sources(board))
    assert len(found) > 10 and all(f == {"type": "prometheus", "uid": "${datasource}"} for f in found)


def test_panels_have_ids_and_places_of_their_own(board):
    panels = board["panels"]
    assert panels[0]["type"] == "row" and len({p["id"] for p in panels}) == len(panels) and len({p["title"] for p in panels}) == len(panels)
    taken = set()
    for p in panels:
        g = p["gridPos"]
        assert p["type"] in PANELS and p["title"], p["id"]
        assert 0 <= g["x"] and g["x"] + g["w"] <= WIDTH and g["h"] > 0
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert not cells & taken, p["title"]
        taken |= cells
    assert [p["gridPos"]["y"] for p in panels] == sorted(p["gridPos"]["y"] for p in panels)


def test_panels_say_what_they_are_of(board):
    for p in board["panels"]:
        if p["type"] == "row":
            assert p["panels"] == [] and p["collapsed"] is False
            continue
        defaults = p["fieldConfig"]["defaults"]
        assert defaults["unit"] in UNITS, p["title"]
        first, *more = defaults["thresholds"]["steps"]
        values = [s["value"] for s in more]
        assert first["value"] is None and values == sorted(set(values)) and {s["color"] for s in [first, *more]} <= COLORS, p["title"]
        refs = [t["refId"] for t in p["targets"]]
        assert refs and len(set(refs)) == len(refs)
        for t in p["targets"]:
            assert t["legendFormat"] and (p["type"] == "table") == (t.get("format") == "table"), p["title"]
            assert bool(t.get("instant")) == (p["type"] != "timeseries"), p["title"]


def test_links_lead_to_sections_of_the_runbook(board, top):
    headings = {h.lower() for h in re.findall(r"^### (\w+)$", (top / "docs/acting-runbook.md").read_text(), re.M)}
    links = [link for p in board["panels"] for link in p.get("links", [])]
    assert links and all(re.fullmatch(r"\$\{runbook\}#(\w+)", link["url"]) and link["url"].rpartition("#")[2] in headings for link in links)


def test_promtool_parses_every_query(board, promtool, tmp_path):
    asked = list(queries(board))
    assert len(asked) > 15
    rules = [{"record": f"query:{i}", "expr": filled(expression)} for i, (_, expression) in enumerate(asked)]
    path = tmp_path / "rules.yaml"
    path.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    status, words = promtool("check", "rules", path)
    assert status == 0, words
    rules[0]["expr"] += " )"
    path.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    assert promtool("check", "rules", path)[0] != 0


def test_every_query_names_metrics_and_labels_that_are_there(board, told, top):
    page = (top / "docs/metrics.md").read_text()
    hosts = {n for n in named(page.partition("## On the hosts")[2]) if "traces" not in n}
    known, labels = series_names(told), labels_told(told)
    for where, expression in queries(board):
        names = named(expression) | set(re.findall(r"\bup\b", expression))
        assert names and names <= known | hosts | {"up"}, where
        for name, matchers in re.findall(r"\b(\w+)\{([^}]*)\}", filled(expression)):
            used = set(re.findall(r"(\w+)\s*(?:=|!=|=~|!~)\s*\"", matchers))
            if name in labels:  # a series of it is there
                assert used <= labels[name] | TARGET, (where, name)
            assert "job" in used, where  # selects our metrics where others are scraped too
        grouped = {g for by in re.findall(r"\bby \(([^)]*)\)", expression) for g in re.split(r", *", by)}
        assert grouped <= set().union(*(labels.get(n, set()) for n in names)) | TARGET | {"outcome", "class", "result", "state"}, where


def test_the_first_question_is_whether_protection_is_on(top):
    board = json.loads((top / "deploy/grafana/fleet.json").read_text())
    rows = [p["title"] for p in board["panels"] if p["type"] == "row"]
    assert [r.split()[0] for r in rows] == ["Is", "Who", "Why:", "Do"]
    first = [t["expr"] for p in board["panels"][1:9] for t in p["targets"]]
    assert {"assay_breaker_open", "assay_stopped", "assay_cluster_stale", "assay_fenced", "assay_nodes_let_in"} <= named(" ".join(first))


def test_no_dashboard_asks_for_a_host(board):
    assert not re.search(r"assay_node_|\bby \([^)]*\bnode\b|node=", json.dumps([e for _, e in queries(board)]))
