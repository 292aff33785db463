# SPDX-License-Identifier: Apache-2.0
"""The controller's read API: hosts, why, incidents, drift, and connected agents."""
import concurrent.futures
import contextlib
import re
import time

import pytest

import openapi
from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for


def slow(value=40e9):
    return [sample(subject=f"cpu:{i}", value=value if i == 3 else 70e9 + i * 1e8) for i in range(8)]


@pytest.fixture(scope="session")
def answers_as_documented():
    """check(path, status, value): asserts that the response conforms to docs/openapi.yaml."""
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    pytest.importorskip("yaml", reason="python3-yaml is not installed")
    document = openapi.document()

    def check(path, answer, method="get"):
        bare = path.partition("?")[0]
        for template, methods in document["paths"].items():
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), bare):
                break
        else:
            pytest.fail(f"{bare} is not in docs/openapi.yaml")
        responses = methods[method]["responses"]
        response = responses.get(str(answer.status)) or responses["default"]
        if "$ref" in response:
            response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        (kind, content), = response["content"].items()
        assert answer.headers["Content-Type"] == kind
        schema = {**content["schema"], "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json)
        return answer.json

    return check


@pytest.fixture
def ask(answers_as_documented):
    """ask(c, path) gets it and validates it against the document."""
    return lambda c, path, **more: answers_as_documented(path, c.get(path, **more))


def test_hosts_are_listed_page_by_page(controller, ask):
    c = controller()
    assert ask(c, "/v1/nodes") == {"items": [], "next": None}
    for i in range(5):
        c.post(report(f"gpu-{i}", samples=slow() if i == 3 else None))
    seen, path = [], "/v1/nodes?limit=2"
    while path:
        page = ask(c, path)
        assert len(page["items"]) <= 2
        seen += page["items"]
        path = page["next"] and f"/v1/nodes?limit=2&cursor={page['next']}"
    assert [n["node"] for n in seen] == [f"gpu-{i}" for i in range(5)]
    assert [n["verdict"] for n in seen] == ["pass", "pass", "pass", "fail", "pass"]
    assert "cpu:3" in seen[3]["sentence"]
    assert not any(n["stale"] for n in seen) and all(n["age_s"] < 60 for n in seen)


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=x", "limit=1001", "limit=", "limit=%2B1", "limit=%201"])
def test_a_bad_limit_is_refused(controller, ask, query):
    c = controller()
    assert c.get("/v1/nodes?" + query).status == 400
    assert "limit" in ask(c, "/v1/nodes?" + query)["detail"]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1x", "+1", "0x10", "99999999999999999999", "%20%201", "1%0a"])
def test_a_cursor_that_no_page_gave_is_refused(controller, ask, cursor):
    c = controller()
    c.post(report())
    for path in ("nodes/gpu-1/verdicts", "nodes/gpu-1/samples", "incidents", "baselines", "drift"):
        assert c.get(f"/v1/{path}?cursor={cursor}").status == 400, path
        assert ask(c, f"/v1/{path}?cursor={cursor}")["detail"].startswith("cursor: ")
        assert c.get(f"/v1/{path}?cursor=1").status == 200


@pytest.mark.parametrize("cursor", ["", "-x", "a/b", "a%20b", "%ff"])
def test_a_list_of_hosts_goes_on_after_a_host_only(controller, ask, cursor):
    c = controller()
    assert c.get("/v1/nodes?cursor=" + cursor).status == 400
    assert ask(c, "/v1/nodes?cursor=" + cursor)["detail"].startswith("cursor: ")
    assert c.get("/v1/nodes?cursor=gpu-1").status == 200


@pytest.mark.parametrize("path", ["", "/why", "/samples", "/verdicts"])
def test_an_unknown_host_is_404(controller, ask, path):
    c = controller()
    assert c.get("/v1/nodes/nobody" + path).status == 404
    assert "nobody" in ask(c, "/v1/nodes/nobody" + path)["detail"]


def test_one_host(controller, ask):
    c = controller()
    c.post(report("gpu-1", seq=4, env={"kernel": "6.1.0", "bios": "2.3"}))
    node = ask(c, "/v1/nodes/gpu-1")
    assert (node["verdict"], node["seq"], node["boot_id"], node["connection"]) == ("pass", 4, "b0", "none")
    assert node["in_cluster"] is True  # a reporting host is a node of the embedded cluster
    assert node["env"] == {"kernel": "6.1.0", "bios": "2.3"}


def test_why_says_what_was_seen_against_what_how_often_and_what_would_clear_it(controller, ask):
    c = controller()
    c.post(report("gpu-1", seq=1, samples=slow()))
    c.post(report("gpu-1", seq=2, samples=slow()))
    why = ask(c, "/v1/nodes/gpu-1/why")
    assert why["verdict"] == "fail"
    item, = why["items"]
    assert (item["check"], item["subject"], item["value"]) == ("gemm.rate", "cpu:3", 40e9)
    assert item["expected"] > item["floor"] > item["value"]
    assert (item["windows"]["bad"], item["windows"]["of"]) == (2, 2)
    assert item["windows"]["clears"] == "clears after 3 more good runs in a row"
    assert [(r["boot_id"], r["seq"], r["verdict"], r["value"]) for r in item["reports"]] == [
        ("b0", 2, "fail", 40e9), ("b0", 1, "fail", 40e9)], "the reports that say so, newest first"
    incident, = why["incidents"]
    assert incident["state"] == "open" and "bad in 2 of the last 2 runs" in incident["sentence"]


def test_why_names_the_last_reports_that_were_bad_and_no_others(controller, ask):
    c = controller()
    for seq in range(1, 10):
        c.post(report("gpu-1", seq=seq, samples=None if seq == 8 else slow()))
    c.post(report("gpu-2", samples=slow()))
    item, = ask(c, "/v1/nodes/gpu-1/why")["items"]
    assert [r["seq"] for r in item["reports"]] == [9, 7, 6, 5, 4]


def test_an_incident_opens_and_closes(controller, ask):
    c = controller()
    c.post(report("gpu-1", seq=1, samples=slow()))
    assert ask(c, "/v1/incidents")["items"] == []
    c.post(report("gpu-1", seq=2, samples=slow()))
    incident, = ask(c, "/v1/incidents?state=open")["items"]
    assert (incident["node"], incident["subject"], incident["rule"]) == ("gpu-1", "cpu:3", "slow-compute")
    assert incident["closed"] is None
    assert sum(v for k, v in c.metrics().items() if k.startswith("assay_incidents_open")) == 1
    for seq in (3, 4, 5):
        c.post(report("gpu-1", seq=seq))
    assert ask(c, "/v1/incidents?state=open")["items"] == []
    closed = ask(c, f"/v1/incidents/{incident['id']}")
    assert closed["state"] == "closed" and closed["closed"]
    assert c.get("/v1/incidents/99").status == 404
    assert c.get("/v1/incidents?state=x").status == 400


def test_a_late_report_makes_no_incident(controller, ask):
    c = controller()
    c.post(report("gpu-1", seq=9))
    for seq in range(1, 6):
        c.post(report("gpu-1", seq=seq, samples=slow()))
    assert ask(c, "/v1/incidents")["items"] == []


def test_samples_of_the_last_runs(controller, ask):
    c = controller()
    c.post(report("gpu-1", seq=1))
    c.post(report("gpu-1", seq=2), zipped=True)
    c.post(report("gpu-1", seq=3, profile="passive", samples=[sample("host.load", "host", 1.0, "1")]))
    first = ask(c, "/v1/nodes/gpu-1/samples?limit=5")
    rest = ask(c, f"/v1/nodes/gpu-1/samples?limit=5&cursor={first['next']}")
    samples = first["items"] + rest["items"]
    assert rest["next"] is None
    assert sorted(s["subject"] for s in samples) == sorted(["host"] + [f"cpu:{i}" for i in range(8)])
    assert {s["profile"] for s in samples} == {"quick", "passive"}


def test_verdicts_newest_first(controller, ask):
    c = controller()
    for seq in (1, 2, 3):
        c.post(report("gpu-1", seq=seq, samples=slow() if seq == 2 else None))
    page = ask(c, "/v1/nodes/gpu-1/verdicts?limit=2")
    assert [(v["seq"], v["verdict"]) for v in page["items"]] == [(3, "pass"), (2, "fail")]
    page = ask(c, f"/v1/nodes/gpu-1/verdicts?limit=2&cursor={page['next']}")
    assert [v["seq"] for v in page["items"]] == [1] and page["next"] is None


def test_drift_names_who_differs_from_most(controller, ask):
    c = controller()
    for i in range(4):
        c.post(report(f"gpu-{i}", env={"kernel": "6.1.0" if i else "5.15.0", "bios": "2.3"}))
    item, = ask(c, "/v1/drift")["items"]
    assert (item["sku"], item["key"], item["majority"], item["hosts"], item["agree"]) == ("generic-cpu", "kernel", "6.1.0", 4, 3)
    assert item["nodes"] == [{"node": "gpu-0", "value": "5.15.0"}]


def test_orders_are_held_and_end_with_204(controller):
    c = controller()
    begin = time.monotonic()
    answer = c.get("/v1/nodes/gpu-1/orders?wait=1")
    assert answer.status == 204 and answer.body == b""
    assert time.monotonic() - begin >= 0.9
    assert c.get("/v1/nodes/gpu-1/orders?wait=0").status == 204
    assert c.get("/v1/nodes/gpu-1/orders?wait=x").status == 400
    assert c.get("/v1/nodes/gpu-1/orders?wait=301").status == 400


def test_an_agent_is_there_while_it_holds_its_call_and_suspect_when_it_closes(controller):
    c = controller()
    c.post(report("gpu-1"))

    def state():
        return c.get("/v1/nodes/gpu-1").json["connection"]

    assert c.get("/v1/nodes/gpu-1/orders?wait=0").json[0]["kind"] == "opinion"
    assert state() == "none"
    with contextlib.closing(c.connect()) as s:
        s.sendall(b"GET /v1/nodes/gpu-1/orders?wait=60 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wait_for(lambda: state() == "connected")
        assert c.metrics()["assay_http_held"] == 1
    assert wait_for(lambda: state() == "suspect")
    assert wait_for(lambda: c.metrics()["assay_http_held"] == 0)
    assert wait_for(lambda: "agent gone node=gpu-1" in c.log()) and c.log().count("agent gone") == 1
    assert c.get("/v1/nodes/gpu-1").json["verdict"] == "pass", "suspect is no verdict"


def test_held_calls_do_not_keep_it_from_stopping(controller):
    c = controller()
    with contextlib.closing(c.connect()) as s:
        s.sendall(b"GET /v1/nodes/gpu-1/orders?wait=60 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wait_for(lambda: c.metrics()["assay_http_held"] == 1)
        status, _, _ = c.stop()
    assert status == 0


def test_reports_are_answered_as_documented(controller, answers_as_documented):
    c = controller()
    for body, status in ((report(), 202), (report(), 200), (b"{", 400), (b"{}", 422)):
        answer = c.post(body)
        assert answer.status == status
        answers_as_documented("/v1/reports", answer, "post")


def test_a_host_that_is_slow_as_a_whole_is_seen_by_the_fleet(controller, ask):
    c = controller()
    for i in range(8):
        c.post(report(f"gpu-{i}"))
    baseline, = ask(c, "/v1/baselines")["items"]
    assert (baseline["check"], baseline["hosts"]) == ("gemm.rate", 8)
    c.post(report("gpu-9", samples=[sample(subject=f"cpu:{i}", value=50e9 + i * 1e8) for i in range(8)]))
    why = ask(c, "/v1/nodes/gpu-9/why")
    assert why["verdict"] == "fail"
    assert {i["source"] for i in why["items"]} == {"fleet"}
    assert ask(c, "/v1/baselines")["items"][0]["hosts"] == 8, "a sick host is no measure for others"


@pytest.mark.long
def test_drift_compares_all_hosts_however_many_and_is_told_to_several_at_once(controller):
    """More hosts than are read in one slice; those that differ are in different slices."""
    odd = {"gpu-007": "6.0", "gpu-150": "5.9", "gpu-229": "6.0"}
    c = controller()
    names = [f"gpu-{i:03}" for i in range(230)]
    for name in names:
        assert c.post(report(name, env={"kernel": odd.get(name, "6.1"), "machine": name}, samples=[])).status == 202
    item = {"sku": report()["sku"], "key": "kernel", "majority": "6.1", "hosts": 230, "agree": 227,
            "nodes": [{"node": "gpu-150", "value": "5.9"}, {"node": "gpu-007", "value": "6.0"}, {"node": "gpu-229", "value": "6.0"}]}
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for answer in pool.map(lambda _: c.get("/v1/drift"), range(3)):
            assert (answer.status, answer.json) == (200, {"items": [item], "next": None})
    assert c.get("/v1/drift?limit=0").status == 400
