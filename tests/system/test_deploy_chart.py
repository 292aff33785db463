# SPDX-License-Identifier: Apache-2.0
"""The Helm chart matches the manifests; the images have what the programs need; uninstalling removes all marks."""
import copy
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from kustomized import build as kustomize, kubectl, kustomized, unhashed  # noqa: F401

pytestmark = pytest.mark.once

GO_S = 120

# --- the chart ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def render(top, tmp_path_factory):
    """render(rights="cordon"): the objects of the chart with these values."""
    go = shutil.which("go")
    if not go:
        pytest.skip("go is missing: its templates are those of Helm")
    here = tmp_path_factory.mktemp("chart")
    env = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": str(here / "go"),
           "GOCACHE": os.path.join(os.environ.get("ASSAY_CACHE", os.path.expanduser("~/.cache/assay")), "go-build")}
    program = here / "chart_render"
    out = subprocess.run([go, "build", "-o", program, top / "tests/system/chart_render.go"], capture_output=True, text=True, env=env, timeout=GO_S)
    assert out.returncode == 0, out.stderr
    chart = top / "deploy/helm/assay"

    def make(**values):
        merged = yaml.safe_load((chart / "values.yaml").read_text())
        for key, value in values.items():
            merged[key] = {**merged[key], **value} if isinstance(value, dict) else value
        (here / "values.json").write_text(json.dumps(merged))
        done = subprocess.run([program, chart, here / "values.json"], capture_output=True, text=True, timeout=GO_S)
        assert done.returncode == 0, done.stderr
        return [o for o in yaml.safe_load_all(done.stdout) if o]

    return make


def compared(objects):
    """Objects by kind and name, without what kustomize or Helm add to restart pods when a file changes."""
    found = {}
    for o in copy.deepcopy(objects):
        o["metadata"]["name"] = unhashed(o["metadata"]["name"])
        template = o.get("spec", {}).get("template")
        if template:
            (template["metadata"].get("annotations") or {}).pop("checksum/config", None)
            if not template["metadata"].get("annotations"):
                template["metadata"].pop("annotations", None)
            for volume in template["spec"]["volumes"]:
                for source in volume.get("projected", {}).get("sources", []):
                    if "configMap" in source:
                        source["configMap"]["name"] = unhashed(source["configMap"]["name"])
        found[o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]] = o
    assert len(found) == len(objects)
    return found


NEWER = {"admissionPolicy": True, "flowSchema": True, "disruptionBudget": True}
SAME = ((("base",), {}), (("overlays/dry-run",), {"rights": "cordon", "mode": "dry-run", **NEWER}),
        (("overlays/enforce",), {"rights": "cordon", "mode": "enforce", **NEWER}),
        (("overlays/drain",), {"rights": "drain", "mode": "enforce", **NEWER}),
        (("overlays/site",), {"agent": {"privileged": True}}), (("base", "components/prometheus"), {"serviceMonitor": True}))


def test_the_chart_is_made_from_the_manifests(top):
    out = subprocess.run([top / "deploy/helm/render", "--check"], capture_output=True, text=True, timeout=60)
    assert (out.returncode, out.stdout + out.stderr) == (0, "")


@pytest.mark.parametrize("parts,values", SAME, ids=[" + ".join(parts) for parts, _ in SAME])
def test_the_chart_installs_what_kustomize_installs(kustomized, render, parts, values):
    ours, theirs = compared(render(**values)), compared(kustomized(*parts))
    assert set(ours) == set(theirs)
    for key, o in theirs.items():
        assert ours[key] == o, key


def test_values_reach_where_they_belong(render):
    objects = render(namespace="n1", agentNamespace="n2", rights="cordon", controller={"image": "r/c:1"}, agent={"image": "r/a:1"},
                     policyYaml="v: 1\nmode: observe\n", createNamespaces=False, alertmanagers=["http://alerts.monitoring:9093"], **NEWER)
    text = yaml.safe_dump_all(objects)
    assert not [o for o in objects if o["kind"] == "Namespace"]
    assert {o["metadata"].get("namespace") for o in objects} == {None, "n1", "n2"}
    assert "registry.example" not in text and "r/c:1" in text and "r/a:1" in text
    assert "system:serviceaccount:n1:" in text and "https://assay-controller.n1.svc:9470" in text and "namespace: assay" not in text
    config = next(o for o in objects if o["metadata"]["name"] == "assay-controller-config")
    assert config["data"]["policy.yaml"] == "v: 1\nmode: observe\n"
    controller = yaml.safe_load(config["data"]["controller.yaml"])
    assert controller["kubernetes"]["agents"] == ["n2:assay-agent"]
    assert controller["alertmanagers"] == [{"url": "http://alerts.monitoring:9093"}]


def test_another_prefix_is_one_value_and_one_command(top, render, kubectl, tmp_path):
    """The command in the document changes the manifests as the value changes the chart."""
    command = re.search(r"^    (grep -rl .*sed -i .*)$", (top / "docs/kubernetes.md").read_text(), re.M).group(1)
    shutil.copytree(top / "deploy/kubernetes", tmp_path / "deploy/kubernetes")
    subprocess.run(["bash", "-euc", command], cwd=tmp_path, check=True, timeout=60)
    values = {"prefix": "gpu.example.com", "rights": "cordon", "mode": "enforce", **NEWER}
    ours, theirs = compared(render(**values)), compared(kustomize(kubectl, tmp_path / "deploy/kubernetes/overlays/enforce"))
    assert ours == theirs and "assay.dev" not in json.dumps([list(o.values()) for o in (ours, theirs)])
    config = yaml.safe_load(ours["ConfigMap", "assay", "assay-controller-config"]["data"]["controller.yaml"])
    assert config["kubernetes"]["prefix"] == "gpu.example.com"
    assert "startsWith('gpu.example.com/')" in json.dumps(ours["ValidatingAdmissionPolicy", None, "assay-nodes"])


def test_a_changed_file_starts_the_pods_anew(render):
    def sums(**values):
        return {o["kind"]: o["spec"]["template"]["metadata"]["annotations"]["checksum/config"] for o in render(**values)
                if o["kind"] in ("StatefulSet", "DaemonSet")}
    usual, other = sums(), sums(policyYaml="v: 1\n")
    assert usual["StatefulSet"] != other["StatefulSet"] and usual["DaemonSet"] == other["DaemonSet"]


# --- the images ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stages(top):
    """{stage: [(instruction, words)]} of the Dockerfile, continued lines joined."""
    text = (top / "deploy/docker/Dockerfile").read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            stage = found.setdefault(rest.split()[-1], [])
        elif word and not word.startswith("#"):
            stage.append((word, rest.split()))
    return found


def installed(stage):
    """What apt-get is told to install."""
    commands = [c.split() for word, rest in stage if word == "RUN" for c in " ".join(rest).split("&&")]
    found = [w for c in commands if c[:2] == ["apt-get", "install"] for w in c[2:] if not w.startswith("-")]
    assert found
    return set(found)


def test_the_build_installs_what_scripts_packages_says(top, stages):
    rows = [line.split() for line in (top / "scripts/packages").read_text().splitlines() if line and not line.startswith("#")]
    wanted = {row[1].split("|")[0] for row in rows if row[0] in ("build", "optional")} - {"python3"}
    assert installed(stages["build"]) == wanted


def test_what_is_copied_is_there(top, build, stages):
    made = [w for word, rest in stages["build"] if word == "COPY" for w in rest[:-1]]
    assert len(made) > 10 and not [w for w in made if not (top / w).exists()]
    # All files tracked by git, except those not needed for the build.
    tracked = {p.split("/")[0] for p in subprocess.run(["git", "-C", top, "ls-files"], capture_output=True, text=True).stdout.split()}
    assert not tracked or not {p for p in tracked if not p.startswith(".")} - set(made)
    for name in ("controller", "agent"):
        copied = [rest[1] for word, rest in stages[name] if word == "COPY" and rest[0] == "--from=build"]
        assert copied and all(p.startswith("/out/usr/") for p in copied)
        for path in copied:
            program = os.path.basename(path)
            assert os.path.isdir(path) or program == "assay" or (build / program).exists(), path
    assert ("USER", ["65532:65532"]) in stages["controller"]


def test_the_agent_has_what_no_driver_brings_along(top, stages):
    assert ("ARG", ['CUDA_PACKAGES="nvidia-cublas-cu12==12.8.4.1', 'nvidia-nccl-cu12==2.27.3"']) in stages["cuda"]
    made = next(" ".join(rest) for word, rest in stages["cuda"] if word == "RUN")
    assert "libcublasLt.so.*" in made and "libnccl.so.*" in made
    place = next(rest[-1] for word, rest in stages["agent"] if word == "COPY" and rest[0] == "--from=cuda").rstrip("/")
    assert f'"{place}",' in (top / "probes/accel/library.c").read_text()  # one of the searched directories


def packages_of(programs):
    """The Debian packages of the libraries that these link directly."""
    libraries = set()
    for program in programs:
        out = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
        libraries |= set(re.findall(r"NEEDED +(\S+)", out))
    where = {}
    for program in programs:
        for name, path in re.findall(r"(\S+) => (/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout):
            where[name] = os.path.realpath(path)
    # Packages from before the merge of /lib into /usr/lib have the old path.
    files = {p for name in libraries & set(where) for p in (where[name], where[name].replace("/usr/lib/", "/lib/", 1))}
    out = subprocess.run(["dpkg", "-S", *files], capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in out.splitlines()}


@pytest.mark.parametrize("name,more", [("controller", set()), ("agent", {"ibverbs-providers", "libibverbs1"})])
def test_an_image_has_the_libraries_of_its_programs(build, stages, name, more):
    if not shutil.which("dpkg") or not shutil.which("objdump") or "bookworm" not in open("/etc/os-release").read():
        pytest.skip("only Debian bookworm has the packages of these images")
    if "-fsanitize" in (build / "Makefile").read_text():
        pytest.skip("sanitizers bring libraries of their own")
    config = (build / "config.h").read_text()
    if not all(f"HAVE_{name} 1" in config for name in ("GNUTLS", "HWLOC", "CBLAS", "VERBS", "ZSTD", "ZLIB")):
        pytest.skip("this build has not all optional libraries, as the images have")
    programs = {"controller": ["assay-controller", "assayctl"], "agent": ["assay", "assayd", *(p.name for p in build.glob("assay-probe-*"))]}[name]
    paths = [build / p for p in programs if (build / p).exists() and "." not in p]
    assert len(paths) >= 2
    assert installed(stages[name]) == (packages_of(paths) | more) - {"libc6"}


# --- leaving ----------------------------------------------------------------------------------

FAKE = """#!%s
import json, os, sys
here = os.path.dirname(sys.argv[0])
args = sys.argv[1:]
if args[0] == "get":
    nodes = json.load(open(here + "/nodes.json"))
    names = args[2:args.index("-o")]
    chosen = [n for n in nodes if not names or n["metadata"]["name"] in names]
    print(json.dumps(chosen[0] if len(names) == 1 else {"kind": "List", "items": chosen}))
else:
    open(here + "/calls", "a").write(json.dumps(args) + "\\n")
    sys.exit(args[2] == "conflict")
"""


def node(name, annotations=None, taints=None, out=False, healthy=False):
    return {"kind": "Node", "metadata": {"name": name, "resourceVersion": "7", "annotations": annotations or {}},
            "spec": {**({"taints": taints} if taints else {}), **({"unschedulable": True} if out else {})},
            "status": {"conditions": [{"type": "Ready"}] + ([{"type": "assay.dev/Healthy"}] if healthy else [])}}


OURS = {"assay.dev/cordon": json.dumps({"v": 1, "by": "assay", "pre": False}), "other/x": "1"}
THEIRS = {"assay.dev/cordon": json.dumps({"v": 1, "by": "assay", "pre": True})}
TAINTS = [{"key": "assay.dev/testing", "effect": "NoSchedule"}, {"key": "a/b", "effect": "NoSchedule"}]
NODES = [node("clean", {"other/x": "1"}, [TAINTS[1]], True), node("ours", OURS, TAINTS, True, True), node("theirs", THEIRS, None, True),
         node("note", {"assay.dev/cordon": "hands off"}, None, True), node("tested", None, TAINTS[:1])]


@pytest.fixture
def remove_marks(top, tmp_path):
    """remove_marks("--uncordon", nodes=[...]) -> (status, words, {node: [(type of patch, patch)]})."""
    fake = tmp_path / "kubectl"
    fake.write_text(FAKE % sys.executable)
    fake.chmod(0o755)

    def go(*args, nodes=NODES):
        (tmp_path / "nodes.json").write_text(json.dumps(nodes))
        (tmp_path / "calls").write_text("")
        out = subprocess.run([top / "deploy/kubernetes/remove-marks", *args], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "KUBECTL": str(fake)})
        calls = {}
        for line in (tmp_path / "calls").read_text().splitlines():
            words = json.loads(line)
            assert words[:2] == ["patch", "node"]
            calls.setdefault(words[2], []).append((words[words.index("--type") + 1], json.loads(words[words.index("-p") + 1])))
        return out.returncode, out.stdout + out.stderr, calls

    return go


def test_only_our_marks_go_and_only_our_cordon_is_lifted(remove_marks):
    status, words, calls = remove_marks("--uncordon")
    assert status == 0 and set(calls) == {"ours", "theirs", "note", "tested"}
    for patches in calls.values():
        assert patches[0][0] == "merge" and patches[0][1]["metadata"]["resourceVersion"] == "7"
    merge = {name: patches[0][1] for name, patches in calls.items()}
    assert merge["ours"]["metadata"]["annotations"] == {"assay.dev/cordon": None}
    assert merge["ours"]["spec"] == {"taints": [TAINTS[1]], "unschedulable": None}
    assert calls["ours"][1] == ("strategic", {"status": {"conditions": [{"$patch": "delete", "type": "assay.dev/Healthy"}]}})
    assert merge["theirs"]["spec"] == {} and merge["note"]["spec"] == {} and merge["tested"]["spec"] == {"taints": None}
    assert "ours: marks removed, back in service" in words


def test_without_being_told_nothing_goes_back_into_service(remove_marks):
    status, words, calls = remove_marks()
    assert status == 0 and "unschedulable" not in calls["ours"][0][1]["spec"] and "it stays cordoned" in words


def test_marks_of_another_prefix_go_when_it_is_told(remove_marks):
    theirs = {k.replace("assay.dev", "gpu.example.com"): v for k, v in OURS.items()}
    nodes = [node("ours", OURS, TAINTS, True, True), node("moved", theirs, None, True)]
    status, words, calls = remove_marks("--prefix", "gpu.example.com", "--uncordon", nodes=nodes)
    assert status == 0 and set(calls) == {"moved"}
    assert calls["moved"][0][1]["metadata"]["annotations"] == {"gpu.example.com/cordon": None}
    assert remove_marks("--prefix")[0] == remove_marks("--prefix", "a/b")[0] == 2


def test_one_node_and_a_conflict(remove_marks):
    nodes = [node("conflict", OURS, None, True), node("ours", OURS, None, True)]
    assert set(remove_marks("ours", nodes=nodes)[2]) == {"ours"}
    status, words, calls = remove_marks(nodes=nodes)
    assert status == 1 and set(calls) == {"conflict", "ours"} and "conflict:" not in words
    assert remove_marks("--uncordan")[0] == 2
