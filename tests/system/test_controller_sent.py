# SPDX-License-Identifier: Apache-2.0
"""Other uploads of hosts: many reports at once, and topologies."""
import gzip
import json

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from test_controller_access import guarded, tokens  # noqa: F401
from test_controller_views import answers_as_documented  # noqa: F401


@pytest.fixture
def send(answers_as_documented):
    """send(c, [value or bytes, ...]) sends each on a line of its own. Returns the response, validated against the document."""

    def post(c, lines, zipped=False, **more):
        body = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
        headers = {**more.pop("headers", {}), **({"Content-Encoding": "gzip"} if zipped else {})}
        answer = c.call("POST", "/v1/reports/batch", gzip.compress(body) if zipped else body, headers=headers, **more)
        answers_as_documented("/v1/reports/batch", answer, "post")
        return answer

    return post


def statuses(answer):
    return [r["status"] for r in answer.json["results"]]


def test_many_reports_of_one_call_are_kept_in_their_order(controller, send):
    c = controller()
    answer = send(c, [report(seq=seq) for seq in range(1, 41)], zipped=True)
    assert answer.status == 202 and answer.json["accepted"] == 40 and statuses(answer) == [202] * 40
    c.kill()
    c = controller()
    answer = send(c, [report(seq=seq) for seq in range(39, 42)])
    assert (answer.json["accepted"], answer.json["duplicate"], statuses(answer)) == (1, 2, [200, 200, 202])
    assert [v["seq"] for v in c.get("/v1/nodes/gpu-1/verdicts").json["items"]] == list(range(41, 0, -1))
    assert c.metrics()["assay_reports_total"] == 1 and c.metrics()["assay_reports_duplicate_total"] == 2


def test_a_bad_line_does_not_stop_the_others(controller, send):
    c = controller()
    answer = send(c, [report(seq=1), b'{"v":1', report(seq=2, kind="x"), b"", report(seq=3)])
    assert statuses(answer) == [202, 400, 422, 400, 202]
    assert "kind" in answer.json["results"][2]["detail"]
    assert c.metrics()["assay_reports_malformed_total"] == 3
    assert c.get("/v1/nodes/gpu-1").json["seq"] == 3


def test_only_the_first_lines_count_and_the_answer_says_how_many(controller, send):
    c = controller()
    answer = send(c, [report(seq=seq, samples=[]) for seq in range(1, 100)])
    assert 1 <= len(statuses(answer)) < 99 and answer.json["accepted"] == len(statuses(answer))
    assert c.get("/v1/nodes/gpu-1").json["seq"] == len(statuses(answer))


def test_a_call_without_lines_is_refused_as_a_whole(controller, send):
    c = controller()
    assert send(c, []).status == 400
    assert send(c, [b"x" * 3_000_000]).status == 413
    broken = c.call("POST", "/v1/reports/batch", b"no gzip", headers={"Content-Encoding": "gzip"})
    assert broken.status == 400 and "reports: " in broken.json["detail"]
    assert statuses(send(c, [b"{}"])) == [422]


def test_a_bomb_of_lines_is_not_unpacked(controller, send):
    c = controller()
    assert send(c, [b"x" * 100_000_000], zipped=True).status == 413


def test_what_is_to_be_tried_again_ends_the_call(guarded, send, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\nreport-rate: 1\nreport-burst: 3\n")
    c = guarded("--config", path)
    answer = send(c, [report(seq=seq) for seq in range(1, 7)], token="one")
    assert statuses(answer) == [202] * 3
    # One more for each second between the calls.
    answer = next(a for a in (send(c, [report(seq=seq)], token="one") for seq in range(4, 60)) if a.status == 429)
    assert int(answer.headers["Retry-After"]) > 0


def test_a_line_of_another_host_is_refused_after_those_before_it(guarded, send):
    c = guarded()
    answer = send(c, [report("gpu-1"), report("gpu-2"), report("gpu-1", seq=2)], token="one")
    assert statuses(answer) == [202]
    answer = send(c, [report("gpu-2"), report("gpu-1", seq=2)], token="one")
    assert answer.status == 403 and "gpu-2" in answer.json["detail"]
    assert c.get("/v1/nodes/gpu-2", token="read").status == 404
    assert send(c, [report("gpu-2")], token="read").status == 403
    assert send(c, [report("gpu-2"), report("gpu-3")], token="admin").json["accepted"] == 2


def test_each_line_has_its_age(controller, send):
    c = controller()
    for node, ages in (("gpu-1", "5,172800.5"), ("gpu-2", "172800.5,5"), ("gpu-3", "5,unknown")):
        assert send(c, [report(node, seq=1), report(node, seq=2)], headers={"Assay-Age": ages}).json["accepted"] == 2
    nodes = {n["node"]: n for n in c.get("/v1/nodes").json["items"]}
    assert nodes["gpu-1"]["age_s"] >= 172800 and nodes["gpu-1"]["stale"]
    assert 5 <= nodes["gpu-2"]["age_s"] < 600 and not nodes["gpu-2"]["stale"]
    assert nodes["gpu-3"]["stale"]


# --- topologies -----------------------------------------------------------------------


@pytest.fixture
def topology(run):
    """topology(gts) is that of a small host whose link runs at this speed, in the format of `assay topology`."""

    def make(path, gts=32.0):
        value = {"v": 1, "kind": "topology", "nodes": [{"id": "numa:0", "type": "numa"}, {"id": "root:0000:15:01.0", "type": "root"},
                                                         {"id": "rnic:mlx5_0", "type": "rnic", "name": "mlx5_0", "pci": "0000:1a:00.0"}],
                 "links": [{"id": "root:0000:15:01.0^numa:0", "a": "root:0000:15:01.0", "b": "numa:0"},
                           {"id": "rnic:mlx5_0^root:0000:15:01.0", "a": "rnic:mlx5_0", "b": "root:0000:15:01.0", "gts": gts, "width": 16,
                            "max_gts": 32.0, "max_width": 16}]}
        path.write_text(json.dumps(value))
        out = run("assay", "topology", "-o", "json", "--from", path)
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)

    return make


@pytest.fixture
def put(answers_as_documented):
    def call(c, value, digest=None, zipped=False, **more):
        path = f"/v1/topologies/{digest or value['digest']}"
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = {"Content-Encoding": "gzip"} if zipped else {}
        answer = c.call("PUT", path, gzip.compress(body) if zipped else body, headers=headers, **more)
        answers_as_documented(path, answer, "put")
        return answer

    return call


def test_a_topology_is_stored_once_and_survives_kill_9(controller, put, topology, answers_as_documented, tmp_path):
    c = controller()
    value = topology(tmp_path / "t.json")
    path = f"/v1/topologies/{value['digest']}"
    assert answers_as_documented(path, c.get(path))["status"] == 404
    assert put(c, value).status == 201
    c.kill()
    c = controller()
    assert put(c, value, zipped=True).status == 200
    assert answers_as_documented(path, c.get(path)) == value


def test_a_report_whose_topology_is_not_known_asks_for_it(controller, put, send, topology, answers_as_documented, tmp_path):
    c = controller()
    one, two = topology(tmp_path / "t.json"), topology(tmp_path / "t.json", 16.0)
    assert one["digest"] != two["digest"]
    first = c.post(report(seq=1, topology=one["digest"]))
    assert answers_as_documented("/v1/reports", first, "post") == {"accepted": 1, "want_topologies": [one["digest"]]}
    assert c.post(report(seq=1, topology=one["digest"])).json == {"duplicate": 1, "want_topologies": [one["digest"]]}
    both = send(c, [report(seq=2, topology=one["digest"]), report(seq=3, topology=two["digest"]), report(seq=4, topology=two["digest"])])
    assert both.json["want_topologies"] == [one["digest"], two["digest"]]
    put(c, one)
    assert c.post(report(seq=5, topology=one["digest"])).json == {"accepted": 1}
    assert c.post(report(seq=6, topology="no digest")).json == {"accepted": 1}


def test_a_body_of_another_digest_is_refused(controller, put, topology, tmp_path):
    c = controller()
    value, other = topology(tmp_path / "t.json"), topology(tmp_path / "t.json", 16.0)
    cases = [(put(c, value, other["digest"]), "the content has the digest " + value["digest"]),
             (put(c, {**value, "digest": other["digest"]}, value["digest"]), "topology: digest: the content has the digest"),
             (put(c, {**value, "links": other["links"]}, value["digest"]), "digest"),
             (put(c, {**value, "kind": "report"}), "kind"), (put(c, {**value, "nodes": []}), "no node")]
    for answer, words in cases:
        assert answer.status == 422 and words in answer.json["detail"], answer.body
    assert put(c, b"{", value["digest"]).status == 400
    assert put(c, b"x" * 2_000_000, value["digest"]).status == 413
    assert c.get(f"/v1/topologies/{value['digest']}").status == 404


def test_who_may_send_and_read_topologies(guarded, put, topology, tmp_path):
    c = guarded()
    value = topology(tmp_path / "t.json")
    path = f"/v1/topologies/{value['digest']}"
    assert put(c, value).status == 401
    assert [put(c, value, token=t).status for t in ("read", "operate", "one", "admin")] == [403, 403, 201, 200]
    assert [c.get(path, token=t).status for t in ("one", "read", "operate", "admin")] == [403, 200, 200, 200]


def test_the_number_of_topologies_is_bounded_and_those_in_use_stay(controller, put, topology, tmp_path):
    config = tmp_path / "controller.yaml"
    config.write_text("v: 1\nnodes-max: 1\n")
    c = controller("--config", config)
    made = [topology(tmp_path / "t.json", gts) for gts in (32.0, 16.0, 8.0, 5.0)]
    c.post(report(topology=made[0]["digest"]))
    assert [put(c, t).status for t in made] == [201] * 4
    kept = [c.get(f"/v1/topologies/{t['digest']}").status for t in made]
    assert kept[0] == 200 and kept[3] == 200 and kept.count(200) == 2
