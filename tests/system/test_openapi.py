# SPDX-License-Identifier: Apache-2.0
"""docs/openapi.yaml describes the real API: its routes, its references, its schemas.

Every response in tests that use fixtures_controller is validated against it (openapi.py).
"""
import re

import openapi
import pytest

from fixtures_controller import Answer, controller, report  # noqa: F401

QUERIES = ("", "?limit=1", "?limit=0", "?limit=-1", "?cursor=zzz", "?cursor=1&limit=1000", "?cursor=-1")
HELD_QUERIES = ("?wait=0", "?wait=x", "?wait=-1", "?wait=99999999999999999999")
METHODS = {"get", "post", "put", "delete", "patch"}


@pytest.fixture(scope="module")
def document():
    if openapi.jsonschema is None:
        pytest.skip(f"python3-jsonschema and python3-yaml are needed: {openapi.MISSING}")
    return openapi.document()


def operations(document):
    """The operations; parameters of a path apply to each of its methods."""
    for path, methods in document["paths"].items():
        shared = methods.get("parameters", [])
        for method, what in methods.items():
            if method != "parameters":
                yield method, path, {**what, "parameters": shared + what.get("parameters", [])}


def walk(value):
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def test_the_document_and_the_table_of_routes_are_the_same(document, top):
    table = re.findall(r'\{ "([A-Z]+)",\s*"(/[^"]*)",\s*ROLE_', "".join(p.read_text() for p in sorted((top / "controller/routes").glob("routes*.c"))))
    described = {(method.upper(), re.sub(r"\{\w+\}", "{}", path)) for method, path, _ in operations(document)}
    assert len(table) == len(set(table)) > 10
    assert described == set(table)


def test_every_operation_says_what_it_is_and_what_it_answers(document):
    assert document["openapi"].startswith("3.1") and document["info"]["version"]
    for method, path, what in operations(document):
        assert method in METHODS and what["summary"] and what["responses"], path
        named = {openapi.resolve(p)["name"] for p in what.get("parameters", ()) if openapi.resolve(p)["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), path
        for status, response in what["responses"].items():
            assert re.fullmatch(r"default|[2-5]\d\d", status) and openapi.resolve(response)["description"], path
        assert "default" in what["responses"] or not path.startswith("/v1/"), path


def test_every_reference_leads_somewhere_and_every_part_is_used(document):
    used = {v["$ref"] for v in walk(document) if isinstance(v, dict) and "$ref" in v}
    for ref in used:
        assert openapi.resolve({"$ref": ref}), ref
    parts = {f"#/components/{kind}/{name}" for kind in ("parameters", "responses", "schemas") for name in document["components"][kind]}
    assert parts == used


def test_every_schema_is_one(document):
    schemas = [v["schema"] for v in walk(document) if isinstance(v, dict) and "schema" in v]
    schemas += document["components"]["schemas"].values()
    assert len(schemas) > 20
    for schema in schemas:
        openapi.jsonschema.Draft202012Validator.check_schema({**schema, "components": document["components"]})


@pytest.mark.parametrize("where,room,array", [
    ("schemas.level", "lib/judge", "verdict_level_names"),
    ("schemas.item.properties.source", "lib/judge", "verdict_source_names"),
    ("schemas.node.properties.connection", "controller/fleet", "live_state_names"),
    ("schemas.incident.properties.action", "lib/policy", "policy_action_names"),
    ("schemas.action.properties.action", "controller/store", "action_kind_names"),
    ("schemas.action.properties.state", "controller/store", "action_state_names"),
    ("schemas.life.properties.state", "lib/policy", "life_state_names"),
    ("schemas.mode", "lib/policy", "policy_mode_names"),
    ("schemas.campaign.properties.state", "controller/campaign", "campaign_state_names"),
    ("schemas.campaign.properties.kind", "controller/campaign", "campaign_kind_names"),
    ("schemas.campaign_order.properties.plan", "controller/campaign", "campaign_plan_names"),
    ("schemas.investigation_state", "controller/job", "investigation_state_names"),
    ("schemas.order.properties.kind", "agents/assayd", "order_kind_names"),
    ("schemas.baseline.properties.better", "lib/report", "sample_better_names"),
    ("schemas.sample.properties.state", "lib/report", "sample_state_names"),
    ("schemas.sample.properties.better", "lib/report", "sample_better_names"),
    ("schemas.sample.properties.severity", "lib/report", "severity_names"),
    ("schemas.topology.properties.nodes.items.properties.type", "lib/topology", "topo_type_names"),
    ("schemas.topology.properties.neighbors.items.properties.source", "lib/topology", "source_names"),
])
def test_a_list_of_words_has_all_that_the_program_says(document, top, where, room, array):
    at = document["components"]
    for key in where.split("."):
        at = at[key]
    defined = [found[1] for source in (top / room).rglob("*.c") for found in [re.search(rf"\b{array}\[\] = \{{(.*?)NULL", source.read_text(), re.S)] if found]
    assert len(defined) == 1, f"{array} is defined {len(defined)} times below {room}"
    assert sorted(at["enum"]) == sorted(re.findall(r'"([^"]+)"', defined[0]))


def test_what_the_controller_finds_itself_is_described(document, top):
    """Checks that are not from a probe."""
    own = {check for p in (top / "controller").rglob("*.c") for check in re.findall(r'"(host\.\w+)"', p.read_text())}
    assert own >= {"host.identity", "host.replaced", "host.clock"}
    words = " ".join(document["components"]["schemas"][kind]["properties"]["check"]["description"] for kind in ("item", "incident"))
    assert not [check for check in own if check + ":" not in words and check + "." not in words]


@pytest.mark.parametrize("method,path,status,kind,body", [
    ("GET", "/v1/nodes", 200, "application/json", b'{"items": []}'),                  # no `next`
    ("GET", "/v1/nodes", 200, "text/plain", b"ok"),
    ("GET", "/v1/nodes/gpu-1", 200, "application/json", b'{"node": "gpu-1"}'),
    ("GET", "/v1/nodes", 404, "application/problem+json", b'{"title": "x"}'),
    ("GET", "/v1/nodes", 302, "text/html", b""),
    ("GET", "/v1/nowhere", 200, "application/json", b"{}"),
    ("POST", "/v1/reports", 202, "application/json", b'{"accepted": 2}'),
])
def test_an_answer_that_is_not_described_is_seen(document, method, path, status, kind, body):
    headers = {"Content-Type": kind, "Retry-After": None}
    with pytest.raises((AssertionError, openapi.jsonschema.ValidationError)):
        openapi.check(method, path, Answer(status, headers, body))


def test_each_route_answers_as_described_to_all_kinds_of_askers(document, controller):
    c = controller()
    c.post(report("gpu-1"))
    seen = set()
    for method, path, _ in operations(document):
        if method != "get":
            continue
        for segment in ("gpu-1", "nobody", "%2e%2e", "1", "x" * 300):
            for query in QUERIES if "orders" not in path else HELD_QUERIES:
                where = re.sub(r"\{\w+\}", segment, path) + query
                seen.add((path, c.get(where).status))
    assert {status for _, status in seen} >= {200, 204, 400, 404}
    assert not any(status >= 500 for _, status in seen)
