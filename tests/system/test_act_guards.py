# SPDX-License-Identifier: Apache-2.0
"""People's requests over HTTP: duplicates are executed once, concurrent changes are detected, and budgets can be bypassed from the page."""
import contextlib
import json
import sqlite3
import threading

from fixtures_controller import controller  # noqa: F401
from test_assayctl_act import acting, out_of, policy  # noqa: F401
from test_page_http import OURS, by, folder, login, paged  # noqa: F401

ONE = {"reason": "fan 3", "key": "3d9f4c1e-0a"}


def cordon(a, node="gpu-03", token="token-operate", **body):
    return a.post(f"nodes/{node}/cordon", {**ONE, **body}, token=token)


def cordons(a, node="gpu-03"):
    return a.actions(node=node, action="cordon")


def test_what_is_sent_twice_is_done_once(acting):  # noqa: F811
    a = acting()
    first = cordon(a)
    assert first.status == 200
    again = cordon(a)
    assert again.status == 200 and again.json["action"] == first.json["action"] and again.json["node"] == "gpu-03"
    assert len(cordons(a)) == 1
    other = cordon(a, key="another")
    assert other.status == 200 and "already" in other.json["sentence"] and other.json["action"] is None


def test_a_double_click_is_one_action(acting):  # noqa: F811
    a = acting()
    answers = []
    clicks = [threading.Thread(target=lambda: answers.append(cordon(a))) for _ in range(4)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert [x.status for x in answers] == [200] * 4 and len({x.json["action"] for x in answers}) == 1
    a.settled()
    assert len(cordons(a)) == 1 and out_of(a) == ["gpu-03"]


def test_a_refusal_that_is_sent_twice_is_refused_once(acting):  # noqa: F811
    a = acting(policy("total: {percent: 25, nodes: 0}, domain: {label: none, max: 100}, rate: {cordons: 100, per: 10m}"))
    assert [cordon(a, node).status for node in ("gpu-01", "gpu-02")] == [200, 200]
    a.settled()
    answers = [cordon(a), cordon(a)]
    assert [x.status for x in answers] == [409] * 2 and [x.json["rule"] for x in answers] == ["budget.total"] * 2
    assert len(cordons(a)) == 1 and cordons(a)[0]["state"] == "refused"


def test_the_key_of_another_request_is_refused(acting):  # noqa: F811
    a = acting()
    assert cordon(a).status == 200
    for path, token, body in (("nodes/gpu-03/uncordon", "token-operate", ONE), ("nodes/gpu-03/cordon", "token-admin", ONE)):
        refused = a.post(path, body, token=token)
        assert refused.status == 409 and refused.json["rule"] == "key", refused.body
    assert cordon(a, "gpu-04").status == 200  # for another host it is another request
    assert out_of(a) == ["gpu-03", "gpu-04"]


def test_a_key_outlives_a_restart_and_stands_in_the_row(acting):  # noqa: F811
    a = acting()
    first = cordon(a)
    a.settled()
    a.c.kill()
    a.again()
    assert a.ready() and cordon(a).json["action"] == first.json["action"] and len(cordons(a)) == 1
    assert a.c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(a.c.db)) as db:
        assert db.execute("SELECT request_key FROM actions WHERE kind = 0").fetchall() == [(ONE["key"],)]


def test_what_another_has_changed_is_not_acted_on(acting):  # noqa: F811
    a = acting()
    since = lambda: a.life("gpu-03")["since"] or ""  # noqa: E731
    seen = since()
    assert cordon(a, key="a", if_since=seen, dry_run=True).status == 200
    assert a.post("nodes/gpu-03/cordon", {"reason": "a colleague was first"}).status == 200
    a.settled()
    for path, more in (("uncordon", {}), ("silence", {"for": "1h"}), ("override", {"until": "1h"}), ("repair-done", {}), ("cordon", {}), ("cordon", {"dry_run": True})):
        refused = a.post(f"nodes/gpu-03/{path}", {"reason": "as I saw it", "if_since": seen, **more})
        assert refused.status == 409 and refused.json["rule"] == "changed", (path, refused.body)
        assert "cordoned since 2" in refused.json["detail"] and "by operator ann" in refused.json["detail"]
    assert out_of(a) == ["gpu-03"]
    assert a.post("nodes/gpu-03/uncordon", {"reason": "seen", "if_since": since()}).status == 200
    a.settled()
    assert out_of(a) == []


def test_a_click_that_comes_again_after_its_own_change_is_the_same_click(acting):  # noqa: F811
    a = acting()
    seen = a.life("gpu-03")["since"] or ""
    first = cordon(a, if_since=seen)
    a.settled()
    assert first.status == 200 and cordon(a, if_since=seen).json["action"] == first.json["action"]


def test_what_is_no_stamp_or_key_is_refused(acting):  # noqa: F811
    a = acting()
    for body, words in (({"key": ""}, "key: expected"), ({"key": "x" * 65}, "key: expected"), ({"key": "a b"}, "key: expected"), ({"key": 7}, "key: expected"),
                        ({"if_since": "yesterday"}, "if_since: 'yesterday' is not a time"), ({"if_since": 5}, "if_since: expected")):
        refused = cordon(a, **body)
        assert refused.status == 422 and words in refused.json["detail"], refused.body
    reset = a.post("breaker/reset", {"reason": "x", "if_since": ""}, token="token-admin")
    assert reset.status == 422 and "if_since: does not apply here" in reset.json["detail"]
    assert cordons(a) == []


def test_glass_is_broken_by_an_admins_token_alone(paged):  # noqa: F811
    c = paged("{role: admin}")
    cookie = login(c, "admin")

    def glass(**how):
        return c.call("POST", "/v1/nodes/gpu-1/cordon", json.dumps({"reason": "fire", "break_glass": True, "key": "g1", "if_since": ""}).encode(), **how)

    assert glass(headers=by(cookie, **OURS)).status == 403
    assert glass(headers=by(cookie, **OURS), token="operate").status == 403
    assert glass(headers=by(cookie, **OURS), token="read").status == 403
    assert glass(headers=by(cookie, **OURS), token="nobody's").status == 401
    assert c.get("/v1/actions", token="admin").json["items"] == []
    done = [glass(headers=by(cookie, **OURS), token="admin") for _ in range(2)]
    assert [d.status for d in done] == [200, 200], done[0].body
    (only,) = c.get("/v1/actions", token="admin").json["items"]
    assert only["break_glass"] and only["by"] == "operator adm" and only["id"] == done[1].json["action"]
