# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/kubernetes, built by `kubectl kustomize`."""
import os
import re
import shutil
import subprocess

import pytest
import yaml

KUSTOMIZE_S = 60


@pytest.fixture(scope="session")
def kubectl():
    path = shutil.which("kubectl")
    if not path:
        pytest.skip("kubectl is missing: Debian's kubernetes-client, or scripts/packages")
    return path


def build(kubectl, where):
    out = subprocess.run([kubectl, "kustomize", str(where)], capture_output=True, text=True, timeout=KUSTOMIZE_S)
    assert out.returncode == 0, out.stderr
    return [o for o in yaml.safe_load_all(out.stdout) if o]


@pytest.fixture(scope="session")
def kustomized(kubectl, top, tmp_path_factory):
    """kustomized("overlays/enforce"), kustomized("base", "components/drain"): the objects; each is built once."""
    done = {}

    def objects(*parts):
        if parts not in done:
            where = top / "deploy/kubernetes" / parts[0]
            if len(parts) > 1:
                here = tmp_path_factory.mktemp("kustomize")
                near = [os.path.relpath(top / "deploy/kubernetes" / part, here) for part in parts]
                (here / "kustomization.yaml").write_text(yaml.safe_dump({
                    "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": near[:1], "components": near[1:]}))
                where = here
            done[parts] = build(kubectl, where)
        return done[parts]

    return objects


def one(objects, kind, name=None):
    found = [o for o in objects if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    assert len(found) == 1, (kind, name, len(found))
    return found[0]


def pods(objects):
    """[(object, pod template's spec)] of all objects that create pods."""
    return [(o, o["spec"]["template"]["spec"]) for o in objects if o["kind"] in ("StatefulSet", "DaemonSet", "Deployment", "Job")]


def containers(spec):
    return spec.get("initContainers", []) + spec["containers"]


def rights(objects):
    """{(service account, namespace or "cluster", verb, "group/resource", name or None)} of all bindings."""
    roles = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o["rules"] for o in objects if o["kind"] in ("Role", "ClusterRole")}
    found = set()
    for o in objects:
        if o["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        where = o["metadata"].get("namespace")
        ref = o["roleRef"]
        for rule in roles[ref["kind"], where if ref["kind"] == "Role" else None, ref["name"]]:
            for subject in o["subjects"]:
                assert subject["kind"] == "ServiceAccount"
                who = "%s/%s" % (subject["namespace"], subject["name"])
                found |= {(who, where or "cluster", verb, f"{group}/{resource}", name) for verb in rule["verbs"] for group in rule["apiGroups"]
                          for resource in rule["resources"] for name in rule.get("resourceNames", [None])}
    return found


def unhashed(name):
    """A ConfigMap's name without kustomize's hash suffix."""
    return re.sub(r"^(assay-\w+-config)-[0-9a-z]{10}$", r"\1", name)
