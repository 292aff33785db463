# SPDX-License-Identifier: Apache-2.0
"""The security of the web page over HTTP: its files, its guards, its sessions. docs/page.md has the list."""
import base64
import contextlib
import gzip
import hashlib
import http.cookies
import json
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import time

import pytest

from fixtures_controller import Answer, controller, report  # noqa: F401
from test_controller_access import certificates, client  # noqa: F401
from waiting import wait_for

MAP = '{"imports": {"x": "./@VERSION@/vendor/x.mjs"}}'
INDEX = f'<!doctype html>\n<script type="importmap">{MAP}</script>\n<script type="module" src="@VERSION@/app.js"></script>\n'
SECRETS = {"read": "role: read, name: rea", "operate": "role: operate, name: ope", "admin": "role: admin, name: adm", "one": "node: gpu-1",
           "submit": 'role: submit, jobs: "*"'}
HOUR_US = 3600 * 10**6
OURS = {"Sec-Fetch-Site": "same-origin", "Assay-Request": "1"}
ROUTES = [("GET", "/"), ("GET", "/page"), ("GET", "/page/"), ("GET", "/page/0123456789abcdef/app.js"), ("POST", "/v1/session"),
          ("DELETE", "/v1/session"), ("GET", "/v1/self"), ("GET", "/v1/sessions"), ("POST", "/v1/sessions/1/end")]


def write_tokens(path, **by_secret):
    path.write_text("v: 1\ntokens:\n" + "".join(f"- {{sha256: {hashlib.sha256(secret.encode()).hexdigest()}, {what}}}\n"
                                                for secret, what in by_secret.items()))


@pytest.fixture
def folder(tmp_path):
    """A page of a few files, next to private files."""
    top = tmp_path / "page"
    (top / "vendor").mkdir(parents=True)
    (top / "index.html").write_text(INDEX)
    (top / "app.js").write_text("import 'x';\n" + "// a long line that packs well\n" * 100)
    (top / "style.css").write_text("h1 { color: red }\n")
    (top / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (top / "vendor" / "x.mjs").write_text("export default 1;\n")
    (top / "vendor" / "LICENSE").write_text("MIT\n")
    (top / ".hidden.js").write_text("secret")
    (tmp_path / "secret.js").write_text("secret")
    return top


@pytest.fixture
def paged(controller, folder, tmp_path):
    """paged(page) starts a controller with tokens and this `page` in controller.yaml, on the same store each time."""
    def start(page="{role: operate}", tokens=SECRETS, more="", args=(), tls=None):
        config, path = tmp_path / "controller.yaml", tmp_path / "tokens.yaml"
        config.write_text(f"v: 1\npage: {page}\n" + (f"tokens: {path}\n" if tokens else "") + more)
        if tokens:
            write_tokens(path, **tokens)
        c = controller("--config", config, *args, tls=tls, env={"ASSAY_PAGE_DIR": str(folder)})
        c.tokens, c.config = path, config
        assert c.post(report("gpu-1"), token="one" if tokens else None).status in (200, 202)
        assert wait_for(lambda: cordon(c, None, {}, token="admin" if tokens else None).status == 200)  # not before it knows its nodes
        return c
    return start


@pytest.fixture
def secure(paged, certificates):
    """The same behind TLS."""
    def start(*args, **more):
        more["args"] = ("--tls-cert", certificates / "server.pem", "--tls-key", certificates / "server.key")
        return paged(*args, tls=str(certificates / "ca.pem"), **more)
    return start


def version_of(c):
    return re.search(r"([0-9a-f]{16})/app.js", c.get("/page/").body.decode()).group(1)


def cookie_of(answer):
    (name, morsel), = http.cookies.SimpleCookie(answer.headers["Set-Cookie"]).items()
    return f"{name}={morsel.value}", morsel


def login(c, token="operate"):
    answer = c.call("POST", "/v1/session", b"", token=token)
    assert answer.status == 200, answer.body
    return cookie_of(answer)[0]


def by(cookie, **more):
    return {"Cookie": cookie, **more}


def cordon(c, cookie, headers=OURS, body=None, token=None):
    return c.call("POST", "/v1/nodes/gpu-1/cordon", json.dumps({"reason": "a test", "dry_run": True, **(body or {})}).encode(),
                  headers={"Cookie": cookie, **headers} if cookie else headers, token=token)


def role(c, cookie):
    answer = c.get("/v1/self", headers=by(cookie))
    return answer.json["role"] if answer.status == 200 else answer.status


def reload(c, good=True):
    key = "assay_reloads_total" if good else "assay_reload_failures_total"
    before = c.metrics()[key]
    c.process.send_signal(signal.SIGHUP)
    assert wait_for(lambda: c.metrics()[key] == before + 1)


def raw(c, request, timeout=30):
    """The response to raw bytes that no client would send."""
    with socket.create_connection((c.host, c.port), timeout=timeout) as s:
        s.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
    return int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/") else 0


# ---- files ----

def test_the_page_is_served_with_its_guards(paged):
    c = paged()
    answer = c.get("/page/")
    html, version = answer.body.decode(), version_of(c)
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert html == INDEX.replace("@VERSION@", version)
    inside = re.search('<script type="importmap">(.*?)</script>', html).group(1)
    mark = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert answer.headers["Content-Security-Policy"] == (
        f"default-src 'none'; script-src 'self' 'sha256-{mark}'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
    paths = ["/page/", f"/page/{version}/app.js", f"/page/{version}/none.js", "/"]
    for answer in map(c.get, paths):
        assert {k: answer.headers[k] for k in ("X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy",
                                               "Cross-Origin-Resource-Policy", "X-Frame-Options")} == {
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY"}
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert [(c.get(p).status, c.get(p).headers["Location"]) for p in ("/", "/page")] == [(307, "page/")] * 2
    assert c.call("HEAD", "/page/").status == 200 and c.call("POST", "/page/").status == 405


def test_modules_never_change_and_the_index_is_asked_for_again(paged, folder):
    c = paged()
    version = version_of(c)
    types = {"app.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml",
             "vendor/x.mjs": "text/javascript; charset=utf-8"}
    for name, kind in types.items():
        answer = c.get(f"/page/{version}/{name}")
        assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.body == (folder / name).read_bytes()
    first = c.get("/page/")
    tag = first.headers["ETag"]
    assert first.headers["Cache-Control"] == "no-cache"
    again = [c.get("/page/", headers={"If-None-Match": m}) for m in (tag, f'"other", {tag}', "*", '"other"', tag.removeprefix("W/"))]
    assert [a.status for a in again] == [304, 304, 304, 200, 304] and again[0].body == b""
    (folder / "style.css").write_text("h1 { color: blue }\n")
    assert version_of(c) == version  # not before SIGHUP
    reload(c)
    assert version_of(c) != version and c.get("/page/", headers={"If-None-Match": tag}).status == 200
    assert c.get(f"/page/{version}/style.css").status == 404
    (folder / "index.html").unlink()
    reload(c, good=False)
    assert c.get(f"/page/{version_of(c)}/style.css").body == b"h1 { color: blue }\n"


def test_files_travel_packed_for_who_takes_it(paged, folder):
    c = paged()
    path = f"/page/{version_of(c)}/app.js"
    plain = (folder / "app.js").read_bytes()
    for accepted, packed in (("gzip", True), ("br, gzip;q=0.5", True), ("GZIP", True), ("gzip;q=0", False), ("br", False), (None, False),
                             ("gzipped", True)):
        answer = c.get(path, headers={"Accept-Encoding": accepted} if accepted else {"Accept-Encoding": "identity"})
        assert answer.headers["Vary"] == "Accept-Encoding"
        if answer.headers["Content-Encoding"] == "gzip":
            assert packed and len(answer.body) < len(plain) / 4 and gzip.decompress(answer.body) == plain
        else:
            assert answer.body == plain
            assert not packed or b"zlib" not in c.get("/metrics").body


NO_FILES = ["../secret.js", "..%2fsecret.js", "%2e%2e/secret.js", "vendor/../app.js", "./app.js", "/app.js", "vendor//x.mjs",
         "vendor/LICENSE", ".hidden.js", "app.js%00", "app.js/", "APP.JS", "vendor", "", "..\\secret.js",
         "/etc/passwd", "app.js;x", "vendor/%2e%2e/%2e%2e/secret.js"]


def test_what_is_not_a_file_of_the_page_is_not_there(paged):
    c = paged()
    version = version_of(c)
    for path in [f"/page/{version}/{name}" for name in NO_FILES] + [f"/page/{name}" for name in NO_FILES if name]:
        assert raw(c, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()) == 404, path


def test_a_folder_that_is_no_page_is_refused_in_one_line(paged, folder, build, environ, tmp_path):
    def refusal():
        config = tmp_path / "c.yaml"
        config.write_text("v: 1\npage: true\n")
        ran = subprocess.run([build / "assay-controller", "--config", config, "--check"], env={**environ, "ASSAY_PAGE_DIR": str(folder)},
                             capture_output=True, text=True)
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1
        return ran.stderr

    (folder / "index.html").write_text("<script>alert(1)</script>")
    assert "importmap" in refusal()
    (folder / "index.html").unlink()
    assert "has no index.html" in refusal()
    for i in range(257):
        (folder / f"{i}.js").write_text("")
    assert "more than 256 files" in refusal()
    folder.rename(tmp_path / "elsewhere")
    assert "ASSAY_PAGE_DIR" in refusal()


def test_without_page_no_route_answers(paged, folder):
    c = paged("false")
    for method, path in ROUTES:
        for token in (None, "admin"):
            answer, unknown = c.call(method, path, b"", token=token), c.call(method, "/no/such", b"", token=token)
            assert (answer.status, answer.body) == (404, unknown.body), path
    c.config.write_text(c.config.read_text().replace("page: false", "page: true"))
    reload(c)
    assert c.get("/page/").status == 200
    cookie = login(c)
    c.config.write_text(c.config.read_text().replace("page: true", "page: false"))
    reload(c)
    assert c.get("/page/").status == 404 and c.get("/v1/nodes", headers=by(cookie)).status == 401


def test_a_reload_opens_no_page_on_what_runs_without_tls(controller, tmp_path, folder, certificates):
    config, path = tmp_path / "controller.yaml", tmp_path / "tokens.yaml"
    config.write_text("v: 1\ninsecure: true\nlisten: 0.0.0.0:0\n")
    c = controller("--config", config, "--listen", "0.0.0.0:0", env={"ASSAY_PAGE_DIR": str(folder)})
    write_tokens(path, **SECRETS)
    config.write_text(f"v: 1\npage: true\ntokens: {path}\ntls-cert: {certificates}/server.pem\ntls-key: {certificates}/server.key\n")
    reload(c)
    assert re.search("need a restart: .*page", c.log()) and c.get("/page/").status == 404


@pytest.mark.parametrize("page,more,place", [
    ("yes", "", "page: expected true, false or {role: ...}"),
    ("{role: node}", "", "page.role: expected read, operate or admin"),
    ("{rolle: read}", "", "page.rolle"),
    ("true", "listen: 0.0.0.0:0\ninsecure: true\n", "page: the tokens that people type"),
])
def test_a_bad_key_is_one_line(build, environ, tmp_path, page, more, place):
    config = tmp_path / "c.yaml"
    config.write_text(f"v: 1\npage: {page}\n{more}")
    ran = subprocess.run([build / "assay-controller", "--config", config, "--check"], env=environ, capture_output=True, text=True)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1 and place in ran.stderr, ran.stderr


def test_over_tls_without_tokens_there_is_no_page_for_others(build, environ, tmp_path, certificates):
    config = tmp_path / "c.yaml"
    config.write_text(f"v: 1\npage: true\nlisten: 0.0.0.0:0\ninsecure: true\ntls-cert: {certificates}/server.pem\ntls-key: {certificates}/server.key\n")
    ran = subprocess.run([build / "assay-controller", "--config", config, "--check"], env=environ, capture_output=True, text=True)
    assert ran.returncode == 2 and "page: users log in with a token: set tokens" in ran.stderr


# ---- sessions ----

def test_the_cookie_is_bound_to_the_host_and_hidden_from_scripts(secure):
    c = secure()
    answer = c.call("POST", "/v1/session", b"", token="operate")
    cookie, morsel = cookie_of(answer)
    assert cookie.startswith("__Host-assay=") and len(morsel.value) == 43
    assert (morsel["httponly"], morsel["secure"], morsel["samesite"], morsel["path"], morsel["domain"]) == (True, True, "Strict", "/", "")
    assert answer.json["role"] == "operate" and answer.json["name"] == "ope" and answer.headers["Cache-Control"] == "no-store"
    assert role(c, cookie) == "operate"
    assert role(c, cookie.removeprefix("__Host-")) == 401  # any page of this host name could have set that
    host = f"{c.host}:{c.port}"
    assert cordon(c, cookie, {"Origin": f"https://{host}", "Assay-Request": "1"}).status == 200
    assert cordon(c, cookie, {"Origin": f"http://{host}", "Assay-Request": "1"}).status == 403


def test_a_session_is_opened_by_a_token_of_people_alone(paged):
    c = paged()
    cookie = login(c)
    assert cookie.startswith("assay=")
    refused = [c.call("POST", "/v1/session", b"", token=t).status for t in (None, "wrong", "one", "submit", "", "operate ope")]
    assert refused == [401, 401, 403, 403, 401, 401]
    answer = c.call("POST", "/v1/session", b"", headers=by(cookie, **OURS))
    assert answer.status == 403 and "not with another session" in answer.json["detail"] and answer.headers["Set-Cookie"] is None
    assert c.call("DELETE", "/v1/session", token="operate").status == 409


def test_forged_cookies_open_nothing(paged, tmp_path):
    c = paged()
    name, _, value = login(c).partition("=")
    forged = ["", "x", "A" * 43, value[:-1], value + "A", value.swapcase(), hashlib.sha256(value.encode()).hexdigest(), "' OR 1=1 --", value + "%00",
              "operate", hashlib.sha256(b"operate").hexdigest()]
    assert [role(c, f"{name}={f}") for f in forged] == [401] * len(forged)
    answer = c.get("/v1/nodes", headers=by(f"{name}={forged[2]}"))
    assert "Max-Age=0" in answer.headers["Set-Cookie"] and "log in again" in answer.json["detail"]
    assert role(c, f"other={value}") == 401 and role(c, f"x=1; {name}={value}; y=2") == "operate"
    assert c.stop()[0] == 0
    kept = (tmp_path / "assay.db").read_bytes()
    assert value.encode() not in kept and b"operate ope" not in kept  # the store contains no usable cookie
    assert value not in c.log()


def test_a_session_outlives_the_controller_and_ends_for_good(paged):
    c = paged()
    kept, ended = login(c), login(c)
    c.kill()
    c = paged()
    assert role(c, kept) == "operate" == role(c, ended)
    assert c.call("DELETE", "/v1/session", headers=by(ended, **OURS)).status == 200
    assert (role(c, kept), role(c, ended)) == ("operate", 401)
    c.kill()
    c = paged()
    assert (role(c, kept), role(c, ended)) == ("operate", 401)


@pytest.mark.parametrize("column,ago,words", [("until_us", 0, "12 hours"), ("used_us", HOUR_US, "for an hour")])
def test_an_expired_cookie_is_refused(paged, tmp_path, column, ago, words):
    c = paged()
    old = login(c)
    assert c.stop()[0] == 0
    with sqlite3.connect(tmp_path / "assay.db") as db:
        db.execute(f"UPDATE sessions SET {column} = ?", (int(time.time() * 1e6) - ago,))
    db.close()
    c = paged()
    answer = c.get("/v1/self", headers=by(old))
    assert answer.status == 401 and words in answer.json["detail"]
    assert cordon(c, old).status == 401
    assert [s["state"] for s in c.get("/v1/sessions", token="admin").json["items"]] == ["over" if column == "until_us" else "idle"]
    login(c)
    assert len(c.get("/v1/sessions", token="admin").json["items"]) == 1  # ended ones made room


def test_use_is_noted_so_that_a_session_in_use_does_not_end(paged, tmp_path):
    c = paged()
    cookie = login(c)
    assert c.stop()[0] == 0
    with sqlite3.connect(tmp_path / "assay.db") as db:
        db.execute("UPDATE sessions SET used_us = used_us - ?", (HOUR_US // 2,))
    db.close()
    c = paged()
    before = c.get("/v1/sessions", token="admin").json["items"][0]["used"]
    assert role(c, cookie) == "operate"
    assert c.get("/v1/sessions", token="admin").json["items"][0]["used"] > before


def test_a_copy_of_the_store_brings_no_session_back(paged, run):
    c = paged()
    cookie = login(c)
    assert c.call("POST", "/v1/backup", b"{}", token="admin").status == 202
    assert wait_for(lambda: c.get("/v1/backup", token="admin").json["state"] == "done")
    file = c.get("/v1/backup", token="admin").json["file"]
    assert c.call("DELETE", "/v1/session", headers=by(cookie, **OURS)).status == 200
    assert c.stop()[0] == 0
    assert run("assay-controller", "--restore", file, "--db", c.db).returncode == 0
    c = paged()
    assert role(c, cookie) == 401


def test_a_stolen_cookie_is_never_above_its_role(paged):
    c = paged("{role: operate}")
    stolen = {t: login(c, t) for t in ("read", "operate", "admin")}
    assert {t: role(c, s) for t, s in stolen.items()} == {"read": "read", "operate": "operate", "admin": "operate"}
    assert {t: cordon(c, s).status for t, s in stolen.items()} == {"read": 403, "operate": 200, "admin": 200}
    assert c.call("POST", "/v1/join-tokens", b"{}", headers=by(stolen["admin"], **OURS)).status == 403
    assert c.post(report("gpu-1"), headers=by(stolen["admin"], **OURS)).status == 403  # nor a host's
    assert cordon(c, stolen["admin"], body={"break_glass": True}).status == 403
    answer = c.call("POST", "/v1/sessions/1/end", b"{}", headers=by(stolen["admin"], **OURS))
    assert answer.status == 403
    c.config.write_text(c.config.read_text().replace("role: operate", "role: read"))
    reload(c)
    assert {t: role(c, s) for t, s in stolen.items()} == {t: "read" for t in stolen}
    assert cordon(c, stolen["operate"]).status == 403


def test_break_glass_wants_the_token_again(paged):
    c = paged("{role: admin}")
    cookie = login(c, "admin")
    assert role(c, cookie) == "admin"
    refused = cordon(c, cookie, body={"break_glass": True})
    assert refused.status == 403 and "requires the token again" in refused.json["detail"]
    assert cordon(c, cookie, body={"break_glass": True}, token="admin").status == 200
    assert cordon(c, cookie, body={"break_glass": True}, token="operate").status == 403


def test_a_token_that_is_revoked_ends_its_sessions(paged):
    c = paged()
    cookie, other = login(c), login(c, "admin")
    write_tokens(c.tokens, **{**SECRETS, "operate": "role: read"})
    reload(c)
    assert role(c, cookie) == "read" and cordon(c, cookie).status == 403
    write_tokens(c.tokens, **{t: what for t, what in SECRETS.items() if t != "operate"})
    reload(c)
    answer = c.get("/v1/self", headers=by(cookie))
    assert answer.status == 401 and "was revoked" in answer.json["detail"]
    assert [s["state"] for s in c.get("/v1/sessions", token="admin").json["items"]] == ["open", "token revoked"]
    assert role(c, other) == "operate"


def test_an_admin_sees_sessions_and_ends_one(paged, build, environ, tmp_path):
    c = paged()
    cookie = login(c)
    (tmp_path / "admin").write_text("admin")

    def assayctl(*args):
        return subprocess.run([build / "assayctl", *args, "--controller", f"http://{c.host}:{c.port}", "--token-file", tmp_path / "admin"],
                              env=environ, capture_output=True, text=True, timeout=60)

    listed = assayctl("session", "list")
    assert listed.returncode == 0 and "ope" in listed.stdout and "open" in listed.stdout, listed.stderr
    assert cookie.partition("=")[2] not in c.get("/v1/sessions", token="admin").body.decode()
    assert c.call("POST", "/v1/sessions/1/end", b"{}", token="operate").status == 403
    assert assayctl("session", "end", "1").returncode == 0
    assert role(c, cookie) == 401
    again = assayctl("session", "end", "1")
    assert again.returncode != 0 and "no session 1" in again.stderr


def test_one_token_cannot_fill_the_sessions(paged):
    c = paged()
    first, other = login(c), login(c, "admin")
    cookies = [login(c) for _ in range(33)]
    assert len(c.get("/v1/sessions?limit=1000", token="admin").json["items"]) == 33
    assert (role(c, first), role(c, cookies[-1]), role(c, other)) == (401, "operate", "operate")


# ---- pages of others ----

FROM_PAGES = [
    (OURS, 200),
    ({"Assay-Request": "1", "Origin": "SELF"}, 200),
    ({"Assay-Request": "1"}, 403),                                                       # no origin given
    ({"Sec-Fetch-Site": "same-origin"}, 403),                                            # our own origin, but an injected form
    ({"Sec-Fetch-Site": "same-origin", "Assay-Request": "2"}, 403),
    ({"Sec-Fetch-Site": "none", "Assay-Request": "1"}, 403),
    ({"Sec-Fetch-Site": "cross-site", "Assay-Request": "1"}, 403),
    ({"Sec-Fetch-Site": "same-site", "Assay-Request": "1"}, 403),                        # another port of this host
    ({"Sec-Fetch-Site": "cross-site", "Assay-Request": "1", "Origin": "SELF"}, 403),
    ({"Sec-Fetch-Site": "same-origin", "Assay-Request": "1", "Origin": "https://evil.example"}, 403),
    ({"Assay-Request": "1", "Origin": "null"}, 403),
    ({"Assay-Request": "1", "Origin": "http://127.0.0.1:1"}, 403),
    ({"Assay-Request": "1", "Origin": "SELF.evil.example"}, 403),
    ({"Assay-Request": "1", "Origin": "http://evil.example?http://SELFHOST"}, 403),
    ({"Assay-Request": "1", "Origin": "https://evil.example", "X-Forwarded-Host": "evil.example"}, 403),
]


def test_a_change_by_cookie_comes_from_our_page(paged):
    c = paged()
    host = f"{c.host}:{c.port}"
    for headers, status in FROM_PAGES:
        cookie = login(c)
        sent = {k: v.replace("SELFHOST", host).replace("SELF", "http://" + host) for k, v in headers.items()}
        assert cordon(c, cookie, sent).status == status, headers
        assert cordon(c, None, sent, token="operate").status == 200  # a token, which browsers do not add on their own
        assert c.call("DELETE", "/v1/session", headers={"Cookie": cookie, **sent}).status == status, headers
        assert role(c, cookie) == (401 if status == 200 else "operate")


def test_pages_of_others_cannot_read_by_cookie(paged):
    c = paged()
    cookie = login(c)
    sites = {"same-origin": 200, "none": 200, "cross-site": 403, "same-site": 403}
    assert {s: c.get("/v1/nodes", headers=by(cookie, **{"Sec-Fetch-Site": s})).status for s in sites} == sites
    assert c.get("/v1/nodes", headers=by(cookie, Origin="https://evil.example")).status == 403
    answer = c.call("OPTIONS", "/v1/nodes", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"})
    assert answer.status == 405 and not [k for k in answer.headers if k.lower().startswith("access-control")]


PROXIES = ["X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Groups", "X-Auth-Request-User", "X-Auth-Request-Groups", "X-Remote-User", "Remote-User",
           "X-Forwarded-Access-Token", "X-Forwarded-For", "X-Real-IP", "X-SSL-Client-CN", "X-Original-URL", "X-HTTP-Method-Override"]


def test_what_a_proxy_would_say_of_people_counts_for_nothing(paged):
    c = paged()
    cookie = login(c, "read")
    for name in PROXIES:
        for value in ("adm", "admin", "/v1/session", "127.0.0.1", "POST"):
            assert c.get("/v1/nodes", headers={name: value}).status == 401, name
            assert c.get("/v1/self", headers=by(cookie, **{name: value})).json["role"] == "read", name
            assert cordon(c, cookie, {**OURS, name: value}).status == 403, name


def test_a_smuggled_request_reaches_nobody(paged):
    """Two lengths, or a length and chunks, are refused before the cookie is checked, and the connection is closed."""
    c = paged()
    cookie = login(c)
    inner = f"POST /v1/nodes/gpu-1/cordon HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nAssay-Request: 1\r\nContent-Length: 0\r\n\r\n"
    for framing in ("Content-Length: 0\r\nContent-Length: 200\r\n", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                    "Transfer-Encoding: xchunked\r\n", "Content-Length: +0\r\n", "Transfer-Encoding : chunked\r\n"):
        assert raw(c, f"POST /v1/session HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n{framing}\r\n0\r\n\r\n{inner}".encode()) in (0, 400), framing
    assert not [a for a in c.get("/v1/actions", token="admin").json["items"]]


# ---- without tokens ----

def test_where_nobody_needs_a_token_the_page_has_its_role_all_the_same(paged):
    c = paged("true", tokens=None)
    own = {"Sec-Fetch-Site": "same-origin"}
    assert c.get("/v1/self", headers=own).json == {**c.get("/v1/self", headers=own).json, "role": "read", "open": True, "until": None}
    assert c.call("POST", "/v1/session", b"", token="x").status == 409
    assert cordon(c, None, OURS).status == 403  # page: {role: read}
    c.config.write_text(c.config.read_text().replace("page: true", "page: {role: operate}"))
    reload(c)
    assert cordon(c, None, OURS).status == 200
    assert cordon(c, None, own).status == 403
    assert cordon(c, None, {"Sec-Fetch-Site": "cross-site", "Assay-Request": "1"}).status == 403
    assert cordon(c, None, {"Origin": "http://evil.example", "Assay-Request": "1"}).status == 403
    assert cordon(c, None, {"Host": "evil.example", **OURS}).status == 403
    assert cordon(c, None, {}).status == 200  # assayctl


# ---- an authenticating proxy ----

PROXY = "{role: operate, proxy: {certificate: controller, user: X-User, groups: X-Groups, roles: {sre: operate, look: read, root: admin}}}"


@pytest.fixture
def proxied(paged, certificates):
    """With TLS, and the certificate CN=controller for the proxy; ask(certificate, headers...) sends a request over such a connection."""
    c = paged(PROXY, more=f"client-ca: {certificates}/ca.pem\n", tls=str(certificates / "ca.pem"),
              args=("--tls-cert", certificates / "server.pem", "--tls-key", certificates / "server.key"))

    def ask(who, *lines, method="GET", path="/v1/self", body=None):
        with contextlib.closing(c.connection(context=client(certificates, who) if who else None)) as connection:
            connection.putrequest(method, path)
            for name, value in lines:
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body or b"")))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    c.ask = ask
    return c


def test_the_proxy_says_who_asks_and_the_groups_what_they_may(proxied):
    def self_of(groups, *more):
        answer = proxied.ask("server", ("X-User", "ann@example.com"), ("X-Groups", groups), *more)
        return (answer.json["role"], answer.json["name"]) if answer.status == 200 else answer.status

    assert [self_of(g) for g in ("look", "dev, sre", "root", "sre,look", "dev", "", "SRE", "sr", "sre2")] == [
        ("read", "ann@example.com"), ("operate", "ann@example.com"), ("operate", "ann@example.com"), ("operate", "ann@example.com"), 403, 403, 403, 403, 403]
    assert proxied.ask("server", ("X-User", "ann")).status == 403  # in no group
    order = json.dumps({"reason": "a test", "dry_run": True}).encode()
    lines = [("X-User", "ann"), ("X-Groups", "root")]

    def order_by(*more, body=order):
        return proxied.ask("server", *lines, *more, method="POST", path="/v1/nodes/gpu-1/cordon", body=body).status

    assert order_by(*OURS.items()) == 200
    assert order_by() == 403 and order_by(("Sec-Fetch-Site", "cross-site"), ("Assay-Request", "1")) == 403
    assert order_by(*OURS.items(), body=json.dumps({"reason": "x", "break_glass": True}).encode()) == 403
    assert proxied.ask("server", *lines, *OURS.items(), method="DELETE", path="/v1/session").status == 409


def test_what_a_proxy_says_counts_from_its_certificate_alone(proxied):
    lines = [("X-User", "ann"), ("X-Groups", "sre")]
    for who in ("one", None):  # a host's certificate, none
        for said in (lines, lines[:1], lines[1:], [("x-user", "ann"), ("x-groups", "sre")]):
            answer = proxied.ask(who, *said)
            assert answer.status == 400 and "accepted only from the page's proxy" in answer.json["detail"]
    token = ("Authorization", "Bearer admin")
    assert proxied.ask(None, token, *lines).status == 400  # an own token does not help
    assert proxied.ask(None, token).json["role"] == "admin" and proxied.ask("server", token, *lines).json["role"] == "admin"
    doubled = [lines + lines[:1], lines + lines[1:], lines + [("x-user", "bob")], lines[1:], [("X-User", "")] + lines[1:],
               [("X-User", "a b"), lines[1]], [("X-User", "ann,bob"), lines[1]], [("X-User", "a" * 65), lines[1]]]
    assert [proxied.ask("server", *said).status for said in doubled] == [400] * len(doubled)
    assert proxied.ask("server").status == 401 == proxied.ask("server", ("X_User", "ann"), ("X_Groups", "sre")).status
    try:
        assert proxied.ask("stranger", *lines).status == 400
    except (ssl.SSLError, ConnectionError):
        pass  # not even accepted


def test_beside_a_proxy_no_certificate_is_a_hosts(proxied, certificates):
    assert proxied.post(report("gpu-1", seq=2), context=client(certificates, "one")).status == 401
    assert proxied.post(report("gpu-1", seq=2), token="one").status == 202


@pytest.mark.parametrize("proxy,place", [
    ("{certificate: x, user: X-User, groups: X-Groups, roles: {sre: operate}}", "page.proxy: needs client-ca"),
    ("{certificate: x, user: X-User, groups: X-Groups}", "page.proxy.roles"),
    ("{certificate: x, user: X-User, groups: X-Groups, roles: {}}", "page.proxy.roles: expected 1 to 64 groups"),
    ("{certificate: x, user: X-User, groups: X-Groups, roles: {sre: node}}", "page.proxy.roles.sre: expected read"),
    ("{certificate: x, user: X-User, groups: x-user, roles: {sre: read}}", "expected two lines"),
    ("{certificate: x, user: Cookie, groups: X-Groups, roles: {sre: read}}", "page.proxy.user: Cookie is already used for something else"),
    ("{certificate: x, user: X_User, groups: X-Groups, roles: {sre: read}}", "page.proxy.user: expected the name"),
    ("{certificate: '', user: X-User, groups: X-Groups, roles: {sre: read}}", "page.proxy.certificate"),
])
def test_a_proxy_that_is_not_told_well_is_one_line(build, environ, tmp_path, proxy, place):
    config = tmp_path / "c.yaml"
    config.write_text(f"v: 1\npage: {{proxy: {proxy}}}\n")
    ran = subprocess.run([build / "assay-controller", "--config", config, "--check"], env=environ, capture_output=True, text=True)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1 and place in ran.stderr, ran.stderr
