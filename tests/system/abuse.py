# SPDX-License-Identifier: Apache-2.0
"""Malicious and malformed requests to a controller, as bytes, with the expected statuses: a table for test_controller_abuse.py."""
import gzip
import json

from fixtures_controller import report

CLOSED = 0  # the connection is closed without a response

GOOD = json.dumps(report("gpu-1", 1)).encode()


def request(method="POST", path="/v1/reports", body=b"", length=None, headers=(), version="HTTP/1.1"):
    """A request with a token of gpu-1; `length` replaces the Content-Length, "" omits it."""
    lines = [f"{method} {path} {version}", "Host: x", "Authorization: Bearer one", *headers]
    if length != "" and (body or length is not None):
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def post(body, **more):
    return request(body=body, **more)


def zipped(body):
    return request(body=body, headers=["Content-Encoding: gzip"])


def chunked(body, end=b"0\r\n\r\n"):
    return request(length="", headers=["Transfer-Encoding: chunked"]) + body + end


def chunks(n, size=65536):
    return (b"%x\r\n" % size + b" " * size + b"\r\n") * n


def get(path):
    return request("GET", path, headers=["Connection: close"])


# name, bytes, the allowed statuses
TABLE = [
    # content
    ("empty body", post(b"", length=0), {400}),
    ("no JSON", post(b"hello"), {400}),
    ("half of it", post(GOOD[:-7]), {400}),
    ("deep arrays", post(b"[" * 100000), {400}),
    ("deep objects", post(b'{"a":' * 100000), {400}),
    ("deep inside a report", post(GOOD[:-1] + b',"x":' + b"[" * 1000 + b"]" * 1000 + b"}"), {400}),
    ("not UTF-8", post(b'{"node":"\xff\xfe"}'), {400}),
    ("a NUL", post(b"\0" * 1000), {400}),
    ("a NUL in a name", post(GOOD.replace(b"gpu-1", b"gpu-1\\u0000x")), {400, 422}),
    ("a huge number", post(GOOD.replace(b'"seq": 1', b'"seq": 1' + b"0" * 400)), {400, 422}),
    ("a negative number", post(GOOD.replace(b'"seq": 1', b'"seq": -1')), {422}),
    ("a name as path", post(GOOD.replace(b"gpu-1", b"../../x")), {422}),
    ("a key twice", post(b'{"v":1,' + GOOD[1:]), {400}),
    ("too many samples", post(GOOD.replace(b'"samples": [', b'"samples": [' + b"{}," * 5000)), {400, 422}),
    # codings
    ("gzip bomb", zipped(gzip.compress(b" " * (64 << 20))), {413}),
    ("gzip of gzip", zipped(gzip.compress(gzip.compress(GOOD))), {400}),
    ("broken gzip", zipped(gzip.compress(GOOD)[:-9]), {400}),
    ("no gzip", zipped(GOOD), {400}),
    ("unknown coding", request(body=GOOD, headers=["Content-Encoding: br"]), {415}),
    # lengths
    ("huge length", post(b"", length=99999999999), {413}),
    ("length without end", post(b"", length="9" * 400), {400, 413}),
    ("negative length", post(b"", length=-5), {400, 413}),
    ("length that is none", post(b"", length="ten"), {400, 413}),
    ("two lengths", request(body=GOOD, headers=["Content-Length: 3"]), {400}),
    ("a length of two", request(body=GOOD, length=f"{len(GOOD)}, {len(GOOD)}"), {400}),
    ("too large", post(b" " * (2 * 1024 * 1024 + 1)), {413}),
    ("continue, but too large", request(length=99999999, headers=["Expect: 100-continue"]), {413}),
    ("too many chunks", chunked(chunks(40)), {413}),
    ("chunks without end", chunked(chunks(200), b""), {CLOSED}),  # it answers only after the whole body
    ("a chunk of nonsense", chunked(b"zz\r\n"), {400, CLOSED}),
    ("a huge chunk", chunked(b"ffffffffffffffffff\r\n"), {400, 413, CLOSED}),
    # heads
    ("garbage", b"\x16\x03\x01\xff\xfe\0\0 garbage\r\n\r\n", {400, CLOSED}),
    ("no version", b"GET /healthz\r\n\r\n", {400, 505, CLOSED}),
    ("HTTP of the future", request("GET", "/healthz", version="HTTP/7.3"), {400, 505}),
    ("no host", b"GET /healthz HTTP/1.1\r\n\r\n", {400}),
    ("a header without a colon", request("GET", "/healthz", headers=["X"]), {400}),
    ("unknown method", request("BREW", "/healthz"), {405, 501}),
    ("a long path", request("GET", "/" + "x" * 20000), {414, 431}),
    ("a long header", request("GET", "/healthz", headers=["X: " + "x" * 20000]), {431}),
    ("many headers", request("GET", "/healthz", headers=[f"X-{i}: x" for i in range(2000)]), {431}),
    ("a long token", request("GET", "/v1/nodes", headers=["Authorization: Bearer " + "x" * 20000]), {431}),
    # paths
    ("out of the tree", get("/../../../../etc/passwd"), {404}),
    ("out of the tree, hidden", get("/v1/%2e%2e/%2e%2e/etc/passwd"), {404}),
    ("a hidden NUL", get("/healthz%00"), {404}),
    ("a NUL behind the host", get("/v1/nodes/gpu-1%00/orders?wait=0"), {404}),
    ("a bare NUL", request("GET", "/healthz\0/x"), {200}),  # for the library it ends the path
    ("half an escape", get("/healthz%"), {404}),
    ("no escape", get("/healthz%zz"), {404}),
    ("long UTF-8 of a slash", get("/v1%c0%afnodes"), {404}),
    ("a slash too many", get("//healthz"), {404}),
    ("lines in the path", get("/x%0d%0aX-Evil:%201"), {404}),
    # whose
    ("another host's report", post(GOOD.replace(b"gpu-1", b"gpu-2")), {403}),
    ("another host's orders", get("/v1/nodes/gpu-2/orders?wait=0"), {403}),
    ("a wait for ever", get("/v1/nodes/gpu-1/orders?wait=99999999999999999999"), {400}),
    ("a path that is not there", get("/v1/nothing"), {404}),
    ("a method that is not there", request("DELETE", "/v1/reports"), {405}),
]


def framed(version, *headers):
    """A request whose length is given in two ways, with a request of another host after the shorter one."""
    hidden = json.dumps(report("gpu-2", 77)).encode()
    inner = (f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer two\r\nContent-Length: {len(hidden)}\r\n\r\n".encode()
             + hidden)
    length = len(b"0\r\n\r\n" + inner)
    head = "\r\n".join([f"POST /v1/reports {version}", "Host: x", "Authorization: Bearer one",
                        *(h.replace("LENGTH", str(length)) for h in headers)])
    return head.encode("latin-1") + b"\r\n\r\n0\r\n\r\n" + inner


def sized(*headers):
    """The same with two lengths: by one the body is empty, by the other it is all that follows."""
    return framed("HTTP/1.1", *headers).replace(b"\r\n\r\n0\r\n\r\n", b"\r\n\r\n")


# name, bytes: request smuggling, if two servers in a row interpret them differently
FRAMES = [
    ("a length and chunks", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding: chunked")),
    ("chunks and a length", framed("HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: LENGTH")),
    ("a length and chunks in HTTP/1.0", framed("HTTP/1.0", "Connection: keep-alive", "Content-Length: LENGTH", "Transfer-Encoding: chunked")),
    ("chunks in HTTP/1.0", framed("HTTP/1.0", "Connection: keep-alive", "Transfer-Encoding: chunked")),
    ("chunks behind a tab", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding:\tchunked")),
    ("a blank behind the name", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding : chunked")),
    ("a tab behind the name", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding\t: chunked")),
    ("a length behind a blank", sized("Content-Length: 0", "Content-Length : LENGTH")),
    ("chunks in capitals", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding: CHUNKED")),
    ("another coding first", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding: gzip, chunked")),
    ("identity", framed("HTTP/1.1", "Content-Length: LENGTH", "Transfer-Encoding: identity")),
    ("a coding nobody knows", framed("HTTP/1.1", "Transfer-Encoding: xchunked", "Content-Length: LENGTH")),
    ("chunks with quotes", framed("HTTP/1.1", "Transfer-Encoding: \"chunked\"", "Content-Length: LENGTH")),
    ("chunks twice", framed("HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked")),
    ("chunks, then identity", framed("HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding: identity")),
    ("chunks in a second line", framed("HTTP/1.1", "Content-Length: LENGTH", "X: y\r\n Transfer-Encoding: chunked", "Transfer-Encoding: chunked")),
    ("a second one that goes on in a second line", framed("HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding:\r\n identity")),
    ("a return in a value", framed("HTTP/1.1", "X: y\rTransfer-Encoding: chunked", "Content-Length: 0")),
    ("no length, then one", sized("Content-Length: 0", "Content-Length: LENGTH")),
    ("one length, then none", sized("Content-Length: LENGTH", "Content-Length: 0")),
    ("the same length twice", sized("Content-Length: 0", "Content-Length: 0")),
    ("two lengths in one", sized("Content-Length: 0, LENGTH")),
    ("a length with a sign", sized("Content-Length: +0")),
    ("a length in hexadecimal", sized("Content-Length: 0x0")),
]
