# SPDX-License-Identifier: Apache-2.0
"""docs/openapi.yaml, and validation of responses against it."""
import functools
import json
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
VALID = set()  # answers that were, each as a place of the document and the hash of a body


@functools.lru_cache(None)
def loaded():
    # libyaml's, where it is: every run of pytest reads the page, and Python's own reader takes a second and a half to do so.
    return yaml.load(PATH.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def document():
    """Loaded once: tests with several threads compare parts of it by identity."""
    with LOADING:
        return loaded()


def resolve(value):
    """Resolves a {"$ref": "#/a/b"}; returns other values unchanged."""
    while isinstance(value, dict) and "$ref" in value:
        target = document()
        for key in value["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        value = target
    return value


@functools.lru_cache(None)
def paths():
    """(what matches a path, its description) of each."""
    return [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.sub(r"\\{file\\}$", ".+", re.escape(template)))), methods)  # a file's path has slashes
            for template, methods in document()["paths"].items()]


def operation(method, path):
    """The description of a call, or None."""
    bare = path.partition("?")[0]
    for of, methods in paths():
        if of.fullmatch(bare):
            return methods.get(method.lower())
    return None


@functools.lru_cache(None)
def validator(where):
    """A validator of the schema at (template, status, kind)."""
    schema = document()
    for key in where:
        schema = resolve(schema[key])
    return jsonschema.Draft202012Validator({**schema, "components": document()["components"]})


def validate(where, body):
    """Of who asks until something has happened the answers are mostly the same: each is looked at once."""
    key = where, hash(body)
    if key not in VALID:
        validator(where).validate(json.loads(body))
        VALID.add(key)


def problem(answer):
    kind = answer.headers["Content-Type"]
    assert kind == "application/problem+json", f"{answer.status} came as {kind}"
    validate(("components", "schemas", "problem"), answer.body)
    assert answer.json["status"] == answer.status
    assert (answer.headers["Retry-After"] is not None) == (answer.status in (429, 503))


def check(method, path, answer):
    """Fails if the document does not allow this response to this call."""
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
            validate(("paths", template, method.lower(), "responses", key, "content", kind, "schema"), answer.body)
