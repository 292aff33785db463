# SPDX-License-Identifier: Apache-2.0
"""APIs that no API server here serves yet (policy/v1, flowcontrol v1, admission policies): the manifests use only fields of the published
types of Kubernetes, have the required ones, and the CEL expressions use only known names."""
import re

import pytest
from kustomized import build, kubectl, kustomized  # noqa: F401

pytestmark = pytest.mark.once

ALL = ("base", "components/cordon", "components/disruption-budget", "components/flow-schema", "components/admission-policy")
OPERATIONS = {"CREATE", "UPDATE", "DELETE", "CONNECT", "*"}
TEXT, NUMBER, FLAG = str, int, bool
# From k8s.io/api 1.30: a field and its type; "!" at the end of a name: required. A set: one of these; a list: of this type.
SELECTOR = {"matchLabels": {"*": TEXT}, "matchExpressions": [{"key!": TEXT, "operator!": {"In", "NotIn", "Exists", "DoesNotExist"}, "values": [TEXT]}]}
NAMED_RULE = {"apiGroups!": [TEXT], "apiVersions!": [TEXT], "operations!": [OPERATIONS], "resources!": [TEXT], "resourceNames": [TEXT],
              "scope": {"Cluster", "Namespaced", "*"}}
MATCH = {"resourceRules": [NAMED_RULE], "excludeResourceRules": [NAMED_RULE], "matchPolicy": {"Exact", "Equivalent"},
         "namespaceSelector": SELECTOR, "objectSelector": SELECTOR}
NAMED = {"name!": TEXT, "expression!": TEXT}
SPECS = {
    "PodDisruptionBudget": ("policy/v1", {"maxUnavailable": NUMBER, "minAvailable": NUMBER, "selector!": SELECTOR,
                                          "unhealthyPodEvictionPolicy": {"IfHealthyBudget", "AlwaysAllow"}}),
    "FlowSchema": ("flowcontrol.apiserver.k8s.io/v1", {
        "matchingPrecedence": NUMBER, "priorityLevelConfiguration!": {"name!": TEXT}, "distinguisherMethod": {"type!": {"ByUser", "ByNamespace"}},
        "rules": [{"subjects!": [{"kind!": {"ServiceAccount"}, "serviceAccount!": {"name!": TEXT, "namespace!": TEXT}}],
                   "resourceRules": [{"verbs!": [TEXT], "apiGroups!": [TEXT], "resources!": [TEXT], "clusterScope": FLAG, "namespaces": [TEXT]}]}]}),
    "ValidatingAdmissionPolicy": ("admissionregistration.k8s.io/v1", {
        "failurePolicy": {"Fail", "Ignore"}, "matchConstraints!": MATCH, "matchConditions": [NAMED], "variables": [NAMED],
        "validations!": [{"expression!": TEXT, "message": TEXT, "messageExpression": TEXT, "reason": TEXT}]}),
    "ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io/v1", {
        "policyName!": TEXT, "validationActions!": [{"Deny", "Warn", "Audit"}], "matchResources": MATCH}),
}
# Names that CEL and admission define; the k and t of all() and filter() come from the expression.
ROOTS = {"object", "oldObject", "request", "variables"}
FUNCTIONS = {"has", "all", "filter", "startsWith"}


def check(value, shape, where):
    """Asserts that every field belongs to the type, and no required one is missing."""
    if isinstance(shape, set):
        assert value in shape, (where, value)
    elif isinstance(shape, list):
        assert isinstance(value, list) and value, where
        for i, item in enumerate(value):
            check(item, shape[0], f"{where}[{i}]")
    elif isinstance(shape, dict):
        known = {name.rstrip("!"): kind for name, kind in shape.items()}
        assert {n.rstrip("!") for n in shape if n.endswith("!")} <= set(value), where
        for name, item in value.items():
            assert name in known or "*" in known, f"{where}.{name} is no field of it"
            check(item, known.get(name, known.get("*")), f"{where}.{name}")
    else:
        assert type(value) is shape, (where, value)


def bare(text):
    """An expression without its quoted strings."""
    assert text.count("'") % 2 == 0, text
    return re.sub(r"'[^']*'", "''", text)


def check_expression(text, variables, roots=ROOTS):
    """Asserts that its brackets match and its names are known in its context."""
    code = bare(text)
    depth = 0
    for c in code:
        depth += (c in "([{") - (c in ")]}")
        assert depth >= 0, text
    assert depth == 0 and not re.search(r"[^=!<>]=[^=]|\band\b|\bor\b|&&\s*\|\||\|\|\s*&&", code), text
    bound = set(re.findall(r"\b(?:all|filter)\((\w+),", code))
    assert set(re.findall(r"\bvariables\.(\w+)", code)) <= variables, text
    assert set(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\(", code)) | set(re.findall(r"\.([A-Za-z_]\w*)\(", code)) <= FUNCTIONS, text
    names = set(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\b(?!\()", code)) - {"in", "true", "false", "null"}
    assert names <= roots | bound, (text, names)


@pytest.fixture
def newer(kustomized):  # noqa: F811
    return [o for o in kustomized(*ALL) if o["kind"] in SPECS]


def test_each_has_the_fields_of_the_published_types(newer):
    assert {o["kind"] for o in newer} == set(SPECS)
    for o in newer:
        version, shape = SPECS[o["kind"]]
        assert o["apiVersion"] == version and set(o) == {"apiVersion", "kind", "metadata", "spec"}, o
        check(o["spec"], shape, f"{o['kind']} {o['metadata']['name']}")


def test_flow_schemas_are_ones_that_are_taken(newer):
    """From 1 to 10000, all of ours different, and before service-accounts (9000), which would match otherwise."""
    found = [o["spec"]["matchingPrecedence"] for o in newer if o["kind"] == "FlowSchema"]
    assert len(set(found)) == len(found) and all(0 < n < 9000 for n in found)
    for o in newer:
        for rule in o["spec"].get("rules", []) if o["kind"] == "FlowSchema" else []:
            for r in rule["resourceRules"]:  # a rule with neither matches nothing
                assert r.get("clusterScope") or r.get("namespaces"), r


def test_the_expressions_name_what_is_there(newer):
    policy = next(o for o in newer if o["kind"] == "ValidatingAdmissionPolicy")
    binding = next(o for o in newer if o["kind"] == "ValidatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    known = set()
    for v in policy["spec"]["variables"]:  # each may use those before it
        assert re.fullmatch(r"[A-Za-z_]\w*", v["name"]), v
        check_expression(v["expression"], known)
        known.add(v["name"])
    for c in policy["spec"]["matchConditions"]:  # where there are no variables yet
        check_expression(c["expression"], set(), ROOTS - {"variables"})
    used = set()
    for v in policy["spec"]["validations"]:
        check_expression(v["expression"], known)
        used |= set(re.findall(r"\bvariables\.(\w+)", v["expression"]))
        assert v["message"] and "\n" not in v["message"]
    assert used == known


@pytest.mark.parametrize("text", [
    "variables.labels.all(k, k in variables.nothing)", "object.metadata.name = 'x'", "labels.all(k, true)", "has(object.spec.taints",
    "variables.labels.exists_one(k, true)", "object.metadata.name == 'x", "true and false",
])
def test_a_wrong_expression_is_found(text):
    with pytest.raises(AssertionError):
        check_expression(text, {"labels"})
