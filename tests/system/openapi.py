# SPDX-License-Identifier: Apache-2.0
"""docs/openapi.yaml, and whether an answer is one that it describes."""
import functools
import re
import threading
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError as e:  # test_openapi.py skips and says so
    jsonschema, MISSING = None, str(e)

PATH = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


LOADING = threading.Lock()


@functools.lru_cache(None)
def loaded():
    return yaml.safe_load(PATH.read_text())


def document():
    """One for all: tests that call from many threads compare parts of it by identity."""
    with LOADING:
        return loaded()


def resolve(value):
    """What a {"$ref": "#/a/b"} stands for, or the value itself."""
    while isinstance(value, dict) and "$ref" in value:
        target = document()
        for key in value["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        value = target
    return value


def operation(method, path):
    """The description of a call, or None."""
    bare = path.partition("?")[0]
    for template, methods in document()["paths"].items():
        of = re.sub(r"\\{\w+\\}", "[^/]+", re.sub(r"\\{file\\}$", ".+", re.escape(template)))  # a file's path has slashes
        if re.fullmatch(of, bare):
            return methods.get(method.lower())
    return None


@functools.lru_cache(None)
def validator(where):
    """Of the schema at a place of the document, as (template, status, kind) keys."""
    schema = document()
    for key in where:
        schema = resolve(schema[key])
    return jsonschema.Draft202012Validator({**schema, "components": document()["components"]})


def problem(answer):
    kind = answer.headers["Content-Type"]
    assert kind == "application/problem+json", f"{answer.status} came as {kind}"
    validator(("components", "schemas", "problem")).validate(answer.json)
    assert answer.json["status"] == answer.status
    assert (answer.headers["Retry-After"] is not None) == (answer.status in (429, 503))


def check(method, path, answer):
    """Fails when the document does not allow such an answer to such a call."""
    if jsonschema is None or method == "HEAD":
        return
    described = operation(method, path)
    if described is None:
        assert answer.status in (401, 403, 404, 405), f"{method} {path} is answered with {answer.status}, and not in {PATH}"
        problem(answer)
        return
    responses = described["responses"]
    key = str(answer.status) if str(answer.status) in responses else "default"
    assert key in responses, f"{method} {path}: {answer.status} is not in {PATH}"
    response = resolve(responses[key])
    if key == "default":
        assert answer.status >= 400, f"{method} {path}: {answer.status} is not in {PATH}"
        problem(answer)
    elif "content" not in response:
        assert answer.body == b""
    else:
        kind = answer.headers["Content-Type"].partition(";")[0]
        assert kind in response["content"], f"{method} {path}: {kind} is not in {PATH}"
        if kind == "application/json":
            template = next(t for t, methods in document()["paths"].items() if methods.get(method.lower()) is described)
            validator(("paths", template, method.lower(), "responses", key, "content", kind, "schema")).validate(answer.json)
