# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes: the rights and settings in the manifests are no more than documented."""
import base64
import re
import shutil
import subprocess

import pytest
import yaml
from kustomized import build, containers, kubectl, kustomized, one, pods, rights, unhashed  # noqa: F401

pytestmark = pytest.mark.once

OVERLAYS = ("overlays/dry-run", "overlays/enforce", "overlays/drain", "overlays/site")
COMPONENTS = ("cordon", "privileged-agent", "disruption-budget", "flow-schema", "admission-policy", "prometheus")
BUILDS = [("base",), *((o,) for o in OVERLAYS), *(("base", "components/" + c) for c in COMPONENTS),
          ("base", "components/cordon", "components/drain")]
# The versions that an API server 1.20 serves.
OF_1_20 = {"v1": {"Namespace", "ServiceAccount", "ConfigMap", "Service"}, "apps/v1": {"StatefulSet", "DaemonSet"},
           "rbac.authorization.k8s.io/v1": {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
           "networking.k8s.io/v1": {"NetworkPolicy"}, "scheduling.k8s.io/v1": {"PriorityClass"}}
NEWER = {"policy/v1": {"PodDisruptionBudget"}, "flowcontrol.apiserver.k8s.io/v1": {"FlowSchema"},
         "admissionregistration.k8s.io/v1": {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
         "monitoring.coreos.com/v1": {"ServiceMonitor", "PrometheusRule"}}
OBSERVE = {("cluster", verb, "/nodes", None) for verb in ("get", "list", "watch")} | \
    {("cluster", verb, "/pods", None) for verb in ("get", "list")} | \
    {("cluster", "create", "authentication.k8s.io/tokenreviews", None), ("assay", "create", "coordination.k8s.io/leases", None)} | \
    {("assay", verb, "coordination.k8s.io/leases", name) for verb in ("get", "update") for name in ("assay-controller", "assay-budget")}
CORDON = OBSERVE | {("cluster", "patch", "/nodes", None), ("cluster", "patch", "/nodes/status", None),
                    ("cluster", "create", "/events", None), ("cluster", "patch", "/events", None)}
DRAIN = CORDON | {("cluster", "create", "/pods/eviction", None)}
RIGHTS = (("base", "observe", OBSERVE), ("overlays/site", "observe", OBSERVE), ("overlays/dry-run", "cordon", CORDON),
          ("overlays/enforce", "cordon", CORDON), ("overlays/drain", "drain", DRAIN))


def name_of(parts):
    return " + ".join(parts)


@pytest.fixture(scope="session")
def version(top):
    return re.search(r"AC_INIT\(\[assay\], \[([^]]+)\]\)", (top / "configure.ac").read_text()).group(1)


def test_every_file_belongs_to_an_install_or_is_an_example(top):
    where = top / "deploy/kubernetes"
    named = set()
    for path in where.glob("*/**/kustomization.yaml"):
        value = yaml.safe_load(path.read_text())
        files = value.get("resources", []) + [f for g in value.get("configMapGenerator", []) for f in g["files"]]
        named |= {(path.parent / f).resolve() for f in files} | {path.resolve()}
    loose = {p for p in where.rglob("*.yaml") if p.resolve() not in named and p.parent.name != "examples"}
    assert not loose and len(named) > 20
    assert {p.name for p in (where / "components").iterdir()} == {*COMPONENTS, "drain"}
    assert {"overlays/" + p.name for p in (where / "overlays").iterdir()} == set(OVERLAYS)


@pytest.mark.parametrize("parts", BUILDS, ids=name_of)
def test_each_build_has_only_known_kinds_and_nothing_secret(kustomized, parts):
    known = {**OF_1_20, **({} if parts == ("base",) else NEWER)}
    for o in kustomized(*parts):
        assert o["kind"] in known.get(o["apiVersion"], ()), (o["apiVersion"], o["kind"])
        assert o["kind"] != "Secret"
        assert o["metadata"]["labels"]["app.kubernetes.io/part-of"] == "assay", o["metadata"]
        assert o["metadata"].get("namespace") in (None, "assay", "assay-agents", "default"), o["metadata"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_1_20_does_not_serve_is_in_no_base(kustomized, overlay):
    newer = {o["kind"] for o in kustomized(overlay)} & set().union(*NEWER.values())
    assert newer == (set() if overlay == "overlays/site" else set().union(*NEWER.values()) - NEWER["monitoring.coreos.com/v1"])


# --- pods ----------------------------------------------------------------------------


@pytest.mark.parametrize("parts", BUILDS, ids=name_of)
def test_containers_are_bounded_and_of_this_version(kustomized, version, parts):
    seen = 0
    for _, spec in pods(kustomized(*parts)):
        for c in containers(spec):
            seen += 1
            assert c["image"].endswith(":" + version)
            assert set(c["resources"]["requests"]) == {"cpu", "memory"}
            # A CPU limit would make a good host look slow, and the judge late.
            assert set(c["resources"]["limits"]) == {"memory"}
            assert c["securityContext"]["readOnlyRootFilesystem"] is True
    assert seen == 2


@pytest.mark.parametrize("parts", BUILDS, ids=name_of)
def test_the_controller_is_restricted(kustomized, parts):
    o = one(kustomized(*parts), "StatefulSet")
    spec = o["spec"]["template"]["spec"]
    c = spec["containers"][0]
    assert o["spec"]["replicas"] == 1 and o["metadata"]["namespace"] == "assay"
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert c["securityContext"]["allowPrivilegeEscalation"] is False and c["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not any(spec.get(k) for k in ("hostNetwork", "hostPID", "hostIPC"))
    assert {k for v in spec["volumes"] for k in v if k != "name"} == {"projected", "emptyDir"}
    assert spec["priorityClassName"] == "system-cluster-critical"
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz"), ("startupProbe", "/healthz")):
        assert c[probe]["httpGet"] == {"path": path, "port": "https", "scheme": "HTTPS"}
    avoided = {e["key"] for t in spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
               for e in t["matchExpressions"] if e["operator"] == "NotIn"}
    assert avoided == {"nvidia.com/gpu.present", "assay.dev/agent"}


@pytest.mark.parametrize("parts", BUILDS, ids=name_of)
def test_the_agent_has_no_api_token_and_few_of_the_hosts_files(kustomized, parts):
    objects = kustomized(*parts)
    o = one(objects, "DaemonSet")
    spec = o["spec"]["template"]["spec"]
    c = spec["containers"][0]
    assert o["metadata"]["namespace"] == "assay-agents"
    assert spec["automountServiceAccountToken"] is False and one(objects, "ServiceAccount", "assay-agent")["automountServiceAccountToken"] is False
    tokens = [s["serviceAccountToken"] for v in spec["volumes"] for s in v.get("projected", {}).get("sources", []) if "serviceAccountToken" in s]
    assert [t["audience"] for t in tokens] == ["assay"]
    mounts = {m["name"]: m for m in c["volumeMounts"]}
    on_host = {v["hostPath"]["path"]: mounts[v["name"]].get("readOnly", False) for v in spec["volumes"] if "hostPath" in v}
    assert on_host == {"/var/lib/assay": False, "/run/assay": False, "/dev/kmsg": True, "/dev/infiniband": True}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert not any("nvidia.com" in k for r in c["resources"].values() for k in r)
    env = {e["name"]: e.get("value") for e in c["env"]}
    assert env["NVIDIA_VISIBLE_DEVICES"] == "all" and set(env["NVIDIA_DRIVER_CAPABILITIES"].split(",")) == {"compute", "utility"}, \
        "without them the runtime hides the GPUs"
    privileged = c["securityContext"]["privileged"]
    assert privileged is ("components/privileged-agent" in parts or parts == ("overlays/site",))
    if not privileged:
        assert c["securityContext"]["capabilities"] == {
            "drop": ["ALL"], "add": ["IPC_LOCK", "SYSLOG", "DAC_READ_SEARCH", "SYS_PTRACE", "SYS_NICE"]}
        assert c["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_an_agent_never_pushes_out_a_job(kustomized):
    objects = kustomized("base")
    name = one(objects, "DaemonSet")["spec"]["template"]["spec"]["priorityClassName"]
    assert one(objects, "PriorityClass", name)["preemptionPolicy"] == "Never"


@pytest.mark.parametrize("parts", BUILDS, ids=name_of)
def test_what_pods_refer_to_is_there_or_made_by_hand(kustomized, parts):
    objects = kustomized(*parts)
    there = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects}
    by_hand = {("Secret", "assay", "assay-controller-tls"), ("ConfigMap", "assay-agents", "assay-ca"), ("ConfigMap", "assay-agents", "assay-stop")}
    for o, spec in pods(objects):
        where = o["metadata"]["namespace"]
        assert ("Namespace", None, where) in there and ("ServiceAccount", where, spec["serviceAccountName"]) in there
        for source in (s for v in spec["volumes"] for s in v.get("projected", {}).get("sources", [])):
            for kind, key in (("ConfigMap", "configMap"), ("Secret", "secret")):
                if key in source:
                    assert (kind, where, source[key]["name"]) in there | by_hand, source
    wanted = one(objects, "StatefulSet")["spec"]["template"]["metadata"]["labels"].items()
    for o in objects:
        if o["kind"] in ("Service", "NetworkPolicy", "PodDisruptionBudget"):
            selector = o["spec"].get("selector", o["spec"].get("podSelector"))
            assert selector.get("matchLabels", selector).items() <= wanted


# --- rights --------------------------------------------------------------------------


@pytest.mark.parametrize("overlay,account,expected", RIGHTS, ids=[r[0] for r in RIGHTS])
def test_an_account_may_do_exactly_what_its_requests_need(kustomized, overlay, account, expected):
    objects = kustomized(overlay)
    assert one(objects, "StatefulSet")["spec"]["template"]["spec"]["serviceAccountName"] == "assay-" + account
    assert rights(objects) == {(f"assay/assay-{account}", *row) for row in expected}


@pytest.mark.parametrize("parts", BUILDS, ids=name_of)
def test_no_rule_has_a_wildcard_a_secret_or_a_deletion(kustomized, parts):
    rules = [r for o in kustomized(*parts) if o["kind"] in ("Role", "ClusterRole") for r in o["rules"]]
    assert rules
    for rule in rules:
        words = [w for values in rule.values() for w in values]
        assert "*" not in words and "secrets" not in words
        assert not {"delete", "deletecollection", "impersonate", "escalate", "bind"} & set(rule["verbs"])


def test_the_document_has_the_same_rights(top):
    rows = re.findall(r"^\| (observe|cordon|drain) \| (\w+) \| ([\w, ]+) `([\w/]+)`([^|]*)\|", (top / "docs/kubernetes.md").read_text(), re.M)
    groups = {"tokenreviews": "authentication.k8s.io", "leases": "coordination.k8s.io"}
    told = {"observe": set(), "cordon": set(), "drain": set()}
    for account, where, verbs, resource, names in rows:
        told[account] |= {(where, verb.strip(), f"{groups.get(resource, '')}/{resource}", name) for verb in verbs.split(",")
                          for name in [n.strip() for n in names.split(",") if n.strip()] or [None]}
    assert told == {"observe": OBSERVE, "cordon": CORDON - OBSERVE, "drain": DRAIN - CORDON}


def test_names_are_those_of_the_program(top, kustomized):
    prefix = re.search(r'#define CLUSTER_PREFIX "([^"]+)"', (top / "controller/cluster/cluster_names.h").read_text()).group(1)
    for parts in BUILDS:
        text = yaml.safe_dump_all(kustomized(*parts))
        assert set(re.findall(r"[a-z0-9.-]*assay\.[a-z.]*dev/", text)) == {prefix + "/"}


@pytest.fixture
def certificate(top, tmp_path):
    """The output of make-certificate; its files are in tmp_path."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing")
    out = subprocess.run([top / "deploy/kubernetes/make-certificate", "--days", "2"], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    secret, ca = yaml.safe_load_all(out.stdout)
    for key, text in secret["data"].items():
        (tmp_path / key).write_bytes(base64.b64decode(text))
    (tmp_path / "ca.pem").write_text(ca["data"]["ca.pem"])
    return secret, ca


# --- modes and files --------------------------------------------------------------------


@pytest.mark.parametrize("overlay,mode", [("base", None), ("overlays/site", None), ("overlays/dry-run", "dry-run"),
                                          ("overlays/enforce", "enforce"), ("overlays/drain", "enforce")])
def test_only_an_overlay_leaves_the_mode_observe(kustomized, overlay, mode):
    objects = kustomized(overlay)
    args = one(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["--config=/etc/assay/controller.yaml", "--cluster=kubernetes"] + ([f"--mode={mode}"] if mode else [])
    files = next(o["data"] for o in objects if unhashed(o["metadata"]["name"]) == "assay-controller-config")
    settings = yaml.safe_load(files["controller.yaml"])
    agent = one(objects, "DaemonSet")
    account = agent["spec"]["template"]["spec"]["serviceAccountName"]
    assert settings["mode"] == "observe"
    assert settings["kubernetes"]["agents"] == [f"{agent['metadata']['namespace']}:{account}"]


def test_the_policy_is_the_default_one_but_for_the_mode(top, run):
    path = top / "deploy/kubernetes/base/files/policy.yaml"
    ours, usual = (yaml.safe_load(p.read_text()) for p in (path, top / "policies/default.yaml"))
    assert (ours.pop("mode"), usual.pop("mode")) == ("enforce", "observe") and ours == usual
    out = run("assayctl", "policy", "check", path)
    assert out.returncode == 0, out.stderr


def mounted(top, tmp_path, name):
    """The file as mounted in the pod, with a test directory instead of /etc/assay."""
    text = (top / "deploy/kubernetes/base/files" / name).read_text()
    path = tmp_path / name
    path.write_text(text.replace("/etc/assay", str(tmp_path)))
    return path


def test_the_controller_has_no_complaint_about_its_files(top, build, tmp_path, run, certificate):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    if "HAVE_GNUTLS 1" not in (build / "config.h").read_text():
        pytest.skip("assay-controller has no TLS in this build")
    for name in ("policy.yaml", "tokens.yaml"):
        mounted(top, tmp_path, name)
    path = mounted(top, tmp_path, "controller.yaml")
    out = run("assay-controller", "--check", "--config", path, "--db", tmp_path / "db")
    assert out.returncode == 0, out.stderr
    path.write_text(path.read_text().replace("tls-key", "tls-kei"))
    assert run("assay-controller", "--check", "--config", path).returncode == 2


def test_an_agent_has_no_complaint_about_its_file(top, build, tmp_path, run, kustomized):
    if not (build / "assayd").exists():
        pytest.skip("assayd is not built")
    env = {e["name"]: e["value"] for e in one(kustomized("base"), "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["env"] if "value" in e}
    path = mounted(top, tmp_path, "assayd.yaml")
    for name in ("token", "ca.pem"):
        (tmp_path / name).write_text("x\n")
    out = run("assayd", "--check", "--config", path, env={**env, "ASSAY_NODE": "gpu-1"})
    assert out.returncode == 0, out.stderr
    service = one(kustomized("base"), "Service")
    assert env["ASSAY_CONTROLLER"] == "https://%s.%s.svc:%d" % (
        service["metadata"]["name"], service["metadata"]["namespace"], service["spec"]["ports"][0]["port"])
    out = run("assayd", "--check", "--config", path, env={"ASSAY_NODE": "gpu-1"})
    assert out.returncode == 2 and "controller: missing" in out.stderr


# --- what pods and people run ----------------------------------------------------------------


def test_the_init_container_answers_by_its_exit_status(top, run, tmp_path):
    job = yaml.safe_load((top / "deploy/kubernetes/examples/init-container.yaml").read_text())
    spec = job["spec"]["template"]["spec"]
    first = spec["initContainers"][0]
    program, *args = first["command"]
    env = {"ASSAY_NODE": "gpu-1"}
    assert run(program, *args, env=env).returncode == 0
    refused = run(program, *args, "--fail-closed", env=env)
    assert refused.returncode == 1 and "refused" in refused.stdout
    assert run(program, *args, "--fail-close-d", env=env).returncode == 2
    rule = job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]
    assert rule == {"containerName": first["name"], "operator": "In", "values": [1]}
    mounts = {m["mountPath"]: m.get("readOnly", False) for m in first["volumeMounts"]}
    assert mounts == {"/var/lib/assay": True, "/run/assay": False}


def test_the_document_names_files_that_are_there(top):
    text = (top / "docs/kubernetes.md").read_text()
    paths = set(re.findall(r"\b(?:deploy|tests|docs|policies)/[\w./-]*\w", text))
    assert len(paths) > 8
    assert not {p for p in paths if not (top / p).exists()}


def test_make_certificate_makes_what_the_pods_mount(top, tmp_path, certificate):
    secret, ca = certificate
    assert (secret["kind"], secret["metadata"]["namespace"], secret["metadata"]["name"]) == ("Secret", "assay", "assay-controller-tls")
    assert (ca["kind"], ca["metadata"]["namespace"], ca["metadata"]["name"]) == ("ConfigMap", "assay-agents", "assay-ca")
    assert (tmp_path / "ca.pem").read_bytes() == (tmp_path / "ca.crt").read_bytes()

    def verifies(host):
        return subprocess.run(["openssl", "verify", "-purpose", "sslserver", "-verify_hostname", host, "-CAfile", tmp_path / "ca.pem",
                               tmp_path / "tls.crt"], capture_output=True).returncode == 0
    assert verifies("assay-controller.assay.svc") and verifies("localhost") and not verifies("assay-other.assay.svc")
    assert subprocess.run([top / "deploy/kubernetes/make-certificate", "--days", "x"], capture_output=True).returncode == 2
