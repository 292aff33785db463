# SPDX-License-Identifier: Apache-2.0
"""The fleet in columns, and its changes: the API of the page's map."""
import concurrent.futures
import contextlib
import gzip
import hashlib
import json
import threading
import time

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

HOLDS_MAX = 100


def slow(value=40e9):
    return [sample(subject=f"cpu:{i}", value=value if i == 3 else 70e9 + i * 1e8) for i in range(8)]


def column(fleet, name):
    return dict(zip(fleet["nodes"]["names"], fleet["nodes"][name]))


def verdict_of(fleet, node):
    return ["pass", "inconclusive", "warn", "fail"][column(fleet, "verdict")[node]]


def changes(c, since, wait=30, **more):
    return c.get(f"/v1/changes?since={since}&wait={wait}", **more)


AT_ONCE = 32  # pending requests of one address, of 64 allowed


def settled(c):
    """The fleet once all earlier reports are visible."""
    fleet = c.get("/v1/fleet").json
    while True:
        answer = changes(c, fleet["version"], 2).json
        if answer["version"] == fleet["version"]:
            return c.get("/v1/fleet").json
        fleet = answer


def test_the_fleet_is_columns_of_all_hosts(controller):
    c = controller()
    assert c.get("/v1/fleet").json["nodes"]["names"] == []
    for i in range(5):
        c.post(report(f"gpu-{i}", samples=slow() if i == 3 else None))
    fleet = wait_for(lambda: (f := c.get("/v1/fleet").json)["counts"]["hosts"] == 5 and f)
    assert fleet["whole"] and not fleet["reset"]
    assert fleet["nodes"]["names"] == [f"gpu-{i}" for i in range(5)]
    assert {len(values) for values in fleet["nodes"].values()} == {5}
    assert [verdict_of(fleet, f"gpu-{i}") for i in range(5)] == ["pass", "pass", "pass", "fail", "pass"]
    assert fleet["counts"]["verdict"] == {"pass": 4, "inconclusive": 0, "warn": 0, "fail": 1}
    assert [w["node"] for w in fleet["worst"]] == ["gpu-3"] and "cpu:3" in fleet["worst"][0]["sentence"]
    assert fleet["skus"][column(fleet, "sku")["gpu-0"]] == "generic-cpu"
    assert fleet["breaker"] == c.get("/v1/breaker").json
    nodes = {n["node"]: n for n in c.get("/v1/nodes").json["items"]}
    for name, node in nodes.items():
        assert verdict_of(fleet, name) == node["verdict"]
        assert fleet["connections"][column(fleet, "connection")[name]] == node["connection"]


def test_a_report_wakes_who_holds_a_call_and_all_get_the_same(controller):
    c = controller()
    for i in range(20):
        c.post(report(f"gpu-{i:02}"))
    fleet = settled(c)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        held = [pool.submit(changes, c, fleet["version"]) for _ in range(3)]
        assert wait_for(lambda: c.metrics()["assay_http_held"] >= 3)
        began = time.monotonic()
        c.post(report("gpu-07", seq=2, samples=slow()))
        answers = [h.result() for h in held]
    assert time.monotonic() - began < 25  # before the wait would end
    assert len({a.body for a in answers}) == 1
    news = answers[0].json
    assert not news["whole"] and news["nodes"]["names"] == ["gpu-07"] and verdict_of(news, "gpu-07") == "fail"
    assert news["version"] != fleet["version"] and news["worst"][0]["node"] == "gpu-07"
    assert news["counts"]["hosts"] == 20 and "skus" not in news


def test_an_answer_comes_when_the_wait_is_over_and_says_as_of_when(controller):
    c = controller()
    c.post(report("gpu-1"))
    fleet = settled(c)
    answer = changes(c, fleet["version"], 1).json
    assert answer["nodes"]["names"] == [] and answer["version"] == fleet["version"]
    assert answer["as_of"] > fleet["as_of"]
    assert changes(c, fleet["version"], 0).json["nodes"]["names"] == []


def test_when_much_has_changed_all_is_told(controller):
    c = controller()
    c.post(report("gpu-0"))
    fleet = settled(c)
    for i in range(1, 4):
        c.post(report(f"gpu-{i}"))
    news = wait_for(lambda: (n := changes(c, fleet["version"], 5).json)["counts"]["hosts"] == 4 and n)
    assert news["whole"] and news["nodes"]["names"] == [f"gpu-{i}" for i in range(4)]


def test_another_start_of_the_controller_resets(controller):
    c = controller()
    c.post(report("gpu-1"))
    old = settled(c)
    c.stop()
    c = controller()
    answer = changes(c, old["version"]).json
    assert answer["reset"] and answer["controller"] != old["controller"] and "nodes" not in answer
    fleet = c.get("/v1/fleet").json
    assert fleet["nodes"]["names"] == ["gpu-1"] and not changes(c, fleet["version"], 0).json["reset"]


def test_incidents_and_actions_are_told_by_their_numbers(controller):
    c = controller()
    for i in range(20):
        c.post(report(f"gpu-{i:02}"))
    fleet = settled(c)
    for seq in range(2, 6):
        c.post(report("gpu-03", seq=seq, samples=slow()))
    numbers = {int(i["id"]) for i in c.get("/v1/incidents").json["items"]}
    assert numbers
    news = wait_for(lambda: (n := changes(c, fleet["version"], 5).json)["changed"]["incidents"] and n)
    assert set(news["changed"]["incidents"]) == numbers
    assert news["changed"]["campaigns"] == []
    assert column(news, "incidents")["gpu-03"] == len(numbers)
    assert c.call("POST", "/v1/nodes/gpu-03/silence", json.dumps({"reason": "a test", "for": "1h"})).status == 200
    news = wait_for(lambda: (n := changes(c, news["version"], 5).json)["changed"]["actions"] and n)
    assert news["changed"]["actions"] == [int(a["id"]) for a in c.get("/v1/actions").json["items"]]


@pytest.mark.parametrize("query", ["", "since=", "since=1", "since=x-1", "since=0123456789abcdef", "since=0123456789abcdef-", "since=0123456789abcdef-1x",
                                   "since=0123456789abcdef-99999999999999999999", "since=0123456789abcdef-1&wait=x", "since=0123456789abcdef-1&wait=61"])
def test_a_bad_question_is_refused_in_one_line(controller, query):
    answer = controller().get("/v1/changes?" + query)
    assert answer.status == 400
    assert answer.json["detail"].startswith("wait: expected" if "wait" in query else "since: expected")
    assert "\n" not in answer.json["detail"]


def test_who_may_look(controller, tmp_path):
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("v: 1\ntokens:\n" + "".join(
        f"- {{sha256: {hashlib.sha256(name.encode()).hexdigest()}, {'node: gpu-1' if name == 'one' else f'role: {name}'}}}\n"
        for name in ("one", "read", "operate", "admin")))
    c = controller("--tokens", tokens)
    for token, status in (("one", 403), ("read", 200), ("operate", 200), ("admin", 200), (None, 401)):
        assert c.get("/v1/fleet", token=token).status == status
        assert c.get("/v1/changes?since=0123456789abcdef-1", token=token).status == status


def test_large_answers_are_packed_for_who_takes_that(controller):
    c = controller()
    for i in range(40):
        c.post(report(f"gpu-{i:02}"))
    fleet = settled(c)
    for path in ("/v1/fleet", "/v1/nodes"):
        with contextlib.closing(c.connection()) as connection:
            connection.request("GET", path, headers={"Accept-Encoding": "br, gzip;q=0.5"})
            answer = connection.getresponse()
            assert answer.headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in answer.headers["Vary"]
            value = json.loads(gzip.decompress(answer.read()))
            connection.request("GET", path, headers={"Accept-Encoding": "gzip;q=0, identity"})
            answer = connection.getresponse()
            assert answer.headers["Content-Encoding"] is None
            plain = json.loads(answer.read())
        if path == "/v1/fleet":
            assert value["nodes"] == plain["nodes"] == fleet["nodes"]


def test_as_many_hold_a_call_as_may_and_the_next_is_refused(controller):
    c = controller()
    c.post(report("gpu-1"))
    version = settled(c)["version"]
    with contextlib.ExitStack() as stack:
        for i in range(HOLDS_MAX):
            connection = stack.enter_context(contextlib.closing(c.connection()))
            connection.request("GET", f"/v1/changes?since={version}&wait=60")
            if i % AT_ONCE == AT_ONCE - 1:  # the limit of pending requests per address
                assert wait_for(lambda: c.metrics()["assay_http_held"] > i)
        assert wait_for(lambda: c.metrics()["assay_http_held"] >= HOLDS_MAX)
        answer = changes(c, version)
        assert answer.status == 503 and str(HOLDS_MAX) in answer.json["detail"]
        assert c.get("/v1/fleet").status == 200
    assert wait_for(lambda: c.metrics()["assay_http_held"] == 0)
    assert changes(c, version, 1).status == 200


def test_a_clean_stop_does_not_wait_for_who_looks(controller):
    c = controller()
    version = settled(c)["version"]
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(changes(c, version, 60)))
    waiter.start()
    assert wait_for(lambda: c.metrics()["assay_http_held"] >= 1)
    assert c.stop()[0] == 0
    waiter.join()
    assert answers[0].status == 503


# --- one host ---


def paths(slow_value=None):
    """A matrix of four ports and four GPUs with paths; the last cell may be slow."""
    parts = [[{"id": f"mlx5_{r}:1", "kind": "rnic", "name": f"mlx5_{r} port 1", "rail": r, "pci": f"0000:{0x18 + r:02x}:00.0"},
              {"id": f"gpu:GPU-{g}", "kind": "gpu", "name": f"gpu {g}", "index": g, "pci": f"0000:{0x4b + g:02x}:00.0", "serial": f"165{g}"}]
             for r in range(4) for g in range(4)]
    return [sample("loopback.write_bw", f"mlx5_{i // 4}:1>gpu:GPU-{i % 4}", slow_value if slow_value and i == 15 else 50e9 + i * 1e7, "B/s",
                   to=f"gpu:0000:{0x4b + i % 4:02x}:00.0", **{"class": "pix", "parts": parts[i]}) for i in range(16)]


def test_paths_are_a_matrix_whose_cells_say_what_they_are_held_against(controller):
    c = controller()
    c.post(report("gpu-1", samples=paths(20e9)))
    answer = c.get("/v1/nodes/gpu-1/matrices").json
    matrix, = answer["matrices"]
    assert (matrix["check"], matrix["unit"], matrix["better"], matrix["slow"]) == ("loopback.write_bw", "B/s", "higher", 1)
    assert [row["name"] for row in matrix["rows"]] == [f"mlx5_{r} port 1" for r in range(4)]
    assert [(col["name"], col["index"], col["serial"]) for col in matrix["columns"]] == [(f"gpu {g}", g, f"165{g}") for g in range(4)]
    assert len(matrix["cells"]) == 16
    cell, = (cell for cell in matrix["cells"] if cell["verdict"] != "pass")
    assert (cell["row"], cell["column"], cell["subject"], cell["value"]) == (3, 3, "mlx5_3:1>gpu:GPU-3", 20e9)
    assert cell["verdict"] in ("warn", "fail") and 0.3 < cell["ratio"] < 0.5 and cell["sentence"]
    assert all(0.9 < other["ratio"] < 1.1 for other in matrix["cells"] if other is not cell)


def test_the_newest_report_of_a_profile_counts(controller):
    c = controller()
    c.post(report("gpu-1", samples=paths(20e9)))
    c.post(report("gpu-1", seq=2, samples=paths()))
    matrix, = c.get("/v1/nodes/gpu-1/matrices").json["matrices"]
    assert matrix["cells"][15]["value"] > 50e9 and matrix["cells"][15]["verdict"] == "pass"


def test_parts_have_their_link_and_their_worst(controller):
    digest = None
    c = controller()
    topology = {"v": 1, "kind": "topology", "nodes": [{"id": "numa:0", "type": "numa"}, {"id": "root:0000:45:01.0", "type": "root", "pci": "0000:45:01.0"},
                                                      {"id": "gpu:0000:4e:00.0", "type": "gpu", "pci": "0000:4e:00.0"}],
                "links": [{"id": "gpu:0000:4e:00.0^root:0000:45:01.0", "a": "gpu:0000:4e:00.0", "b": "root:0000:45:01.0", "gts": 32, "width": 8,
                           "max_gts": 32, "max_width": 16},
                          {"id": "root:0000:45:01.0^numa:0", "a": "root:0000:45:01.0", "b": "numa:0"}], "neighbors": []}
    refused = c.call("PUT", f"/v1/topologies/{'0' * 64}", json.dumps(topology)).json["detail"]
    digest = refused.partition("has the digest ")[2][:64]
    assert c.call("PUT", f"/v1/topologies/{digest}", json.dumps(topology)).status in (200, 201)
    c.post(report("gpu-1", samples=paths(20e9), topology=digest))
    answer = c.get("/v1/nodes/gpu-1/parts").json
    parts = {p["id"]: p for p in answer["parts"]}
    assert answer["topology"] == digest and len(parts) == 8
    gpu = parts["gpu:GPU-3"]
    assert (gpu["name"], gpu["serial"], gpu["numa"], gpu["link"]["width"], gpu["link"]["max_width"]) == ("gpu 3", "1653", 0, 8, 16)
    assert gpu["verdict"] in ("warn", "fail") and gpu["sentence"]
    assert parts["gpu:GPU-0"]["verdict"] == "pass" and parts["gpu:GPU-0"]["sentence"] is None and parts["gpu:GPU-0"]["link"] is None


def test_a_check_over_time(controller):
    c = controller()
    for seq in range(1, 9):
        c.post(report("gpu-1", seq=seq, samples=paths(20e9 if seq == 8 else None)))
    c.post(report("gpu-1", seq=9, profile="passive"))  # without it
    subject = "mlx5_3:1>gpu:GPU-3"
    one = c.get(f"/v1/nodes/gpu-1/series?check=loopback.write_bw&subject={subject}").json
    assert (one["reports"], one["unit"], one["better"], one["left_out"]) == (8, "B/s", "higher", 0)
    assert [p["value"] for p in one["points"]] == [50.15e9] * 7 + [20e9]
    assert one["points"][-1]["verdict"] in ("warn", "fail") and one["points"][-1]["expected"] > 45e9
    assert {p["verdict"] for p in one["points"][:-1]} == {"pass"}
    times = [p["time"] for p in one["points"]]
    assert times == sorted(times) and one["since"] < times[0] and times[-1] <= one["until"]
    every = c.get("/v1/nodes/gpu-1/series?check=loopback.write_bw").json["points"][-1]
    assert every["min"] == 20e9 and every["max"] == 50.14e9 and 50e9 < every["value"] < 50.2e9
    few = c.get("/v1/nodes/gpu-1/series?check=loopback.write_bw&since=1h&points=1").json
    assert len(few["points"]) == 1 and few["points"][0]["reports"] == 8 and few["points"][0]["min"] == 20e9
    assert c.get("/v1/nodes/gpu-1/series?check=gemm.none").json["points"] == []


@pytest.mark.parametrize("path, status, words", [
    ("/v1/nodes/nobody/matrices", 404, "unknown host 'nobody'"),
    ("/v1/nodes/nobody/parts", 404, "unknown host 'nobody'"),
    ("/v1/nodes/nobody/series?check=gemm.rate", 404, "unknown host 'nobody'"),
    ("/v1/nodes/gpu-1/series", 400, "check: expected"),
    ("/v1/nodes/gpu-1/series?check=", 400, "check: expected"),
    ("/v1/nodes/gpu-1/series?check=a&subject=", 400, "subject: expected"),
    (f"/v1/nodes/gpu-1/series?check={'a' * 256}", 400, "check: expected"),
    ("/v1/nodes/gpu-1/series?check=a&since=x", 400, "since: expected a duration"),
    ("/v1/nodes/gpu-1/series?check=a&since=0s", 400, "since: expected a duration"),
    ("/v1/nodes/gpu-1/series?check=a&points=0", 400, "points: expected 1 to 512"),
    ("/v1/nodes/gpu-1/series?check=a&points=513", 400, "points: expected 1 to 512")])
def test_a_bad_question_about_a_host_is_refused_in_one_line(controller, path, status, words):
    c = controller()
    c.post(report("gpu-1"))
    answer = c.get(path)
    assert answer.status == status and answer.json["detail"].startswith(words) and "\n" not in answer.json["detail"]
