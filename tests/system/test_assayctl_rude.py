# SPDX-License-Identifier: Apache-2.0
"""assayctl and answers that no real controller gives: hostile text, malformed, slow, endless; TLS and tokens."""
import json
import socket
import ssl
import subprocess
import unicodedata

import pytest

from fixtures_controller import controller, report  # noqa: F401
from stub_lists import node, stub  # noqa: F401

# What a hostile host may try: colours, titles, bells, line breaks, C1, text direction, characters without a glyph.
HOSTILE = ["\x1b[31mred", "\x1b]0;title\x07", "a\nVERDICT pass", "a\r\x1b[2K", "\x9b31mc1", "\u202egnp.exe", "\u2066a\u2069", "a\u200bb",
           "\ufeffx", "\U000e0041tag", "\u00ad", "\x7f\x08\x08", "\u2028x", "wide \u4f60\u597d", "e\u0301", "\U0001f600"]


@pytest.fixture
def ctl(run, stub):
    return lambda *words, **more: run("assayctl", *words, "--controller", stub.url, **more)


def is_safe(text):
    return all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn") for c in text)


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def hostile_host(text):
    item = {"check": text, "subject": text, "verdict": "fail", "value": 1e9, "unit": text, "expected": 2e9, "floor": 1.9e9,
            "source": text, "n": 3, "sentence": text, "windows": {"bad": 2, "of": 3, "k": 2, "n": 3, "since": text, "clears": text},
            "reports": [{"boot_id": text, "seq": 1, "time": text, "seen": text, "profile": text, "verdict": text, "value": 1.0}]}
    incident = {"id": text, "state": "open", "node": text, "check": text, "subject": text, "verdict": text, "rule": text, "action": text,
                "sentence": text, "opened": text, "last": text, "closed": None}
    return node(text, text, text, sku=text, profile=text, agent=text, boot_id=text, env={text: text, "kernel": text}, connection=text,
                seen=text, time=text), item, incident


def test_nothing_a_host_says_drives_a_terminal(ctl, stub):
    made = [hostile_host(text) for text in HOSTILE]
    host, _, _ = hostile_host(" ".join(HOSTILE))
    items = [{**item, "verdict": level} for _, item, _ in made for level in (item["verdict"], "inconclusive")]
    incidents = [incident for _, _, incident in made]
    drift = [{"sku": t, "key": t, "majority": t, "hosts": 3, "agree": 2, "nodes": [{"node": t, "value": t}]} for t in HOSTILE]
    stub.list("/v1/nodes", [h for h, _, _ in made] + [node("gpu-1")])
    stub.list("/v1/incidents", incidents)
    stub.list("/v1/drift", [*drift, {**drift[0], "sku": host["sku"], "nodes": [{"node": host["node"], "value": host["sku"]}]}])
    stub.list("/v1/baselines", [{"sku": t, "check": t, "class": t, "unit": t, "better": t, "params": {t: t}, "hosts": 3, "median": 1.0,
                                 "mad": 0.1} for t in HOSTILE])
    stub.answers["/v1/nodes/gpu-1/why"] = (200, {**host, "items": items, "measured": 99, "incidents": incidents})
    stub.answers["/v1/nodes/gpu-1"] = (200, host)
    stub.list("/v1/nodes/gpu-1/verdicts", [h for h, _, _ in made])
    stub.list("/v1/nodes/gpu-1/samples", [{"check": t, "subject": t, "w": [1, 2]} for t in HOSTILE])
    for words in (["nodes"], ["incidents"], ["drift"], ["baselines"], ["why", "gpu-1"], ["node", "gpu-1"]):
        for output in ("table", "json", "kv"):
            done = ctl(*words, "-o", output)
            assert (done.returncode, done.stderr) == (0, ""), words
            assert is_safe(done.stdout), (words, output)
            assert "red" in done.stdout and "\u4f60" in done.stdout, "what is harmless is there"
    again = json.loads(ctl("nodes", "-o", "json").stdout)["items"]
    assert sorted(n["node"] for n in again) == sorted([*HOSTILE, "gpu-1"]), "for programs it is the same text, escaped"


def test_columns_are_aligned_with_wide_and_combining_characters(ctl, stub):
    stub.nodes(*[node(f"{name}x", sentence="pass: here") for name in ("a", "\u4f60\u597d", "e\u0301e\u0301", "\U0001f600", "\x1b[1m", "\uac00")])
    head, *rows = ctl("nodes").stdout.splitlines()
    at = head.index("WHAT")
    assert [columns(row.partition("here")[0]) for row in rows if "here" in row] == [at] * 6


def test_a_forged_problem_is_one_line(ctl, stub):
    stub.answers["/v1/nodes"] = (500, {"detail": "x\nassayctl: all is well\x1b[31m\u202e" + "y" * 5000})
    done = ctl("nodes")
    assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1 and len(done.stderr) < 600
    assert is_safe(done.stderr)


@pytest.mark.parametrize("answer, status, words", [
    ((200, b""), 3, "is this a controller?"),
    ((200, b"<html>"), 3, "is this a controller?"),
    ((200, []), 3, "the answer is not an object; is this a controller?"),
    ((200, {}), 3, "the answer is not a list; is this a controller?"),
    ((200, {"items": {}}), 3, "the answer is not a list"),
    ((200, {"items": [1]}), 3, "item 0 of the list is not an object"),
    ((200, {"items": [], "next": "x"}), 3, "the list has no last page"),
    ((200, b'{"items": [], "items": []}'), 3, "duplicate"),
    ((200, b"[" * 100000), 3, "is this a controller?"),
    ((200, b'{"items": [{"node": "a\xff"}], "next": null}'), 3, "is this a controller?"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", 3, "; is it http or https, and the right port?"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", 3, "closed"),
    (b"", 3, "closed"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100000, 3, ""),
    ((302, {}, "Location: http://127.0.0.1:1/"), 3, "status 302"),
    ((404, {"detail": "no such thing"}), 1, "no such thing"),
    ((401, {"detail": "no token"}), 2, "unauthorized: no token; --token-file or ASSAY_TOKEN_FILE names a token"),
    ((403, {"detail": "role"}), 2, "forbidden: role"),
    ((429, {"detail": "slow down"}, "Retry-After: 7"), 3, "the controller cannot answer now (slow down); try again in 7 s"),
    ((503, b"busy"), 3, "the controller cannot answer now (no details given); try again in 1 s"),
])
def test_a_rude_answer_is_one_line_that_says_what_to_do(ctl, stub, answer, status, words):
    stub.answers["/v1/nodes"] = answer
    done = ctl("nodes")
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert words in done.stderr and done.stderr.count("\n") == 1 and done.stderr.startswith("assayctl: ")


@pytest.mark.parametrize("item", [
    {}, {"node": None}, {"node": 7, "verdict": [], "age_s": "x", "stale": 1, "connection": {}}, {"node": "", "verdict": ""},
    {"node": "a", "age_s": -1e308}, {"node": "a", "age_s": 1e308},
])
def test_members_of_another_type_are_shown_as_nothing(ctl, stub, item):
    stub.list("/v1/nodes", [item])
    assert ctl("nodes").returncode == 0
    stub.answers["/v1/nodes/a/why"] = (200, {**item, "items": [item, {"windows": item, "reports": [item], "sample": item}], "incidents": item})
    stub.answers["/v1/nodes/a"] = (200, item)
    stub.list("/v1/nodes/a/verdicts", [item])
    stub.list("/v1/nodes/a/samples", [item])
    stub.list("/v1/drift", [item])
    stub.list("/v1/incidents", [item])
    stub.list("/v1/baselines", [item])
    for words in (["why", "a"], ["node", "a"], ["drift"], ["incidents"], ["baselines"]):
        done = ctl(*words)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_a_controller_that_never_answers_is_given_up_at_the_deadline(ctl, stub):
    stub.answers["/v1/nodes"] = None
    done = ctl("nodes", "--timeout", "500ms")
    assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1
    assert "timed out" in done.stderr and "--timeout" in done.stderr


def test_the_deadline_is_for_all_pages_together(ctl, stub):
    pages = iter(range(10**6))
    stub.answers["/v1/nodes"] = lambda query: stub.ended.wait(0.05) or (200, {"items": [node()], "next": str(next(pages))})
    done = ctl("nodes", "--timeout", "1s")
    assert (done.returncode, done.stdout) == (3, "") and "timed out" in done.stderr


def test_pages_are_followed_with_their_cursor(ctl, stub):
    names = [f"gpu-{i:02d}" for i in range(7)]

    def page(query):
        at = int(query.get("cursor", "0"))
        return 200, {"items": [node(n) for n in names[at:at + 3]], "next": str(at + 3) if at + 3 < len(names) else None}

    stub.answers["/v1/nodes"] = page
    assert [n["node"] for n in json.loads(ctl("nodes", "-o", "json").stdout)["items"]] == names
    assert stub.asked == ["/v1/nodes?limit=1000", "/v1/nodes?limit=1000&cursor=3", "/v1/nodes?limit=1000&cursor=6"]


def test_a_cursor_is_passed_on_as_it_is(ctl, stub):
    got = []
    stub.answers["/v1/nodes"] = lambda query: got.append(query.get("cursor")) or (
        200, {"items": [node()], "next": None if len(got) > 1 else "a b&limit=1#\u00e9"})
    assert ctl("nodes").returncode == 0
    assert got == [None, "a b&limit=1#\u00e9"]


def test_nobody_there(run):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{s.getsockname()[1]}"
        done = run("assayctl", "nodes", "--controller", url)
    assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1
    assert "Connection refused; is it running? set --controller or ASSAY_CONTROLLER" in done.stderr


def test_tokens_and_their_files(ctl, stub, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    assert ctl("nodes", "--token-file", token).returncode == 0
    assert stub.headers["Authorization"] == "Bearer s3cret"
    assert ctl("nodes", env={"ASSAY_TOKEN_FILE": str(token)}).returncode == 0
    assert stub.headers["Authorization"] == "Bearer s3cret"
    for text in ("", "two words\n", "a\nb\n"):
        token.write_text(text)
        done = ctl("nodes", "--token-file", token)
        assert done.returncode == 2 and str(token) in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture
def certificate(tmp_path):
    """A self-signed (certificate, key) for 127.0.0.1."""
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(pem)],
                       check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return pem, key


def test_a_controller_that_is_not_trusted_learns_no_token(stub, run, certificate, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    stub.server.socket = context.wrap_socket(stub.server.socket, server_side=True)
    url = stub.url.replace("http:", "https:")
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    done = run("assayctl", "nodes", "--controller", url, "--token-file", token)
    assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1
    assert "the certificate of the server is not trusted" in done.stderr and "--cacert" in done.stderr
    assert stub.asked == []
    assert run("assayctl", "nodes", "--controller", url, "--token-file", token, "--cacert", certificate[0]).returncode == 0
    assert stub.headers["Authorization"] == "Bearer s3cret"
    done = run("assayctl", "nodes", "--controller", url, "--cacert", tmp_path / "none.pem")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [["--cacert"], ["--cert", "--key"]])
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1"])
def test_a_file_that_cannot_be_read_is_bad_input_whoever_answers(run, tmp_path, options, url):
    for path, words in ((tmp_path / "none.pem", "No such file or directory"), (tmp_path, "Is a directory")):
        done = run("assayctl", "nodes", "--controller", url, *[word for option in options for word in (option, path)])
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
        assert f"{path}: {words}" in done.stderr


@pytest.mark.parametrize("url,warned", [
    ("http://192.0.2.1:1", True), ("http://localhost@192.0.2.1:1", True), ("http://127.0.0.1@192.0.2.1:1", True),
    ("http://[2001:db8::1]:1", True), ("http://127.evil.example.invalid:1", True), ("https://192.0.2.1:1", False),
    ("http://127.0.0.1:1", False), ("http://localhost:1", False), ("http://[::1]:1", False),
])
def test_a_token_that_others_can_read_is_warned_of_once(run, tmp_path, url, warned):
    token = tmp_path / "token"
    token.write_text("secret\n")
    for words in (["--token-file", token], []):
        done = run("assayctl", "nodes", "--controller", url, "--timeout", "200ms", *words)
        assert done.returncode != 0 and "secret" not in done.stderr
        assert done.stderr.count("unencrypted") == (warned and words != []), done.stderr
