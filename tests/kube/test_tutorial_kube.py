# SPDX-License-Identifier: Apache-2.0
"""docs/tutorials/kubernetes.md on a real API server, in a copy of the sources: everything except steps that wait for running pods."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import tutorials
from apiserver import tool
from test_deploy import kube  # noqa: F401

TOP = Path(__file__).resolve().parents[2]
COMMAND_S = 120


def test_the_commands_of_the_tutorial(kube, tmp_path):  # noqa: F811
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing")
    shutil.copytree(TOP / "deploy", tmp_path / "deploy")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "kubectl").symlink_to(tool("kubectl"))
    for name in ("gpu-1", "gpu-2", "cpu-1"):
        kube.admin.create_node(name)
    env = {**os.environ, "KUBECONFIG": str(kube.kubeconfig("admin")), "PATH": f"{tools}:{os.environ['PATH']}"}

    def run(_, command):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=COMMAND_S,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout + done.stderr

    player = tutorials.Player(run).play(tutorials.blocks(TOP / "docs/tutorials/kubernetes.md"))
    # Commands in pods, and connections to them, need a kubelet.
    assert [line.split()[0] for _, line in player.left_out] == ["kubectl", "kubectl", "kubectl", "assayctl"] and len(player.ran) == 7
    pods = kube.admin.get("/apis/apps/v1/namespaces/assay-agents/daemonsets/assay-agent").body["spec"]["template"]["spec"]
    assert pods["containers"][0]["image"].startswith("registry.gpu.example.com/assay/agent:")
    labelled = [n["metadata"]["name"] for n in kube.admin.get("/api/v1/nodes").body["items"] if n["metadata"].get("labels", {}).get("assay.dev/agent")]
    assert labelled == ["gpu-1", "gpu-2"]
    assert (tmp_path / "ca.pem").read_text().startswith("-----BEGIN CERTIFICATE-----") and (tmp_path / "token").stat().st_mode & 0o077 == 0
