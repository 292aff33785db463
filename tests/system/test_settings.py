# SPDX-License-Identifier: Apache-2.0
"""Host settings, from the devices to the message about which host differs from how many."""
import json

import pytest
from fake_host import FakeHost
from fixtures_controller import controller  # noqa: F401
from gpu_fixtures import gpu_host, gpu_libraries, gpus  # noqa: F401

HOSTS = 4


@pytest.fixture
def reports(run, gpus, top, tmp_path):  # noqa: F811
    """reports({2: "vbios=99"}) has the passive reports of HOSTS hosts, the second one with such GPUs."""

    def make(gpu_words, governors):
        found = []
        for i in range(HOSTS):
            env = gpus(f"count=4 {gpu_words.get(i, '')}".strip(), real=True)
            root = FakeHost(tmp_path / "gpu-host").cpus(governor=governors.get(i, "performance"))
            env = {**env, **root.env(top / "policies"), "ASSAY_NODE": f"gpu-{i}", "ASSAY_STATE_DIR": str(tmp_path / f"state-{i}")}
            done = run("assay", "run", "--profile", "passive", "--probe", "gpu-state", "--probe", "host-state", "--report", "-o", "json", env=env)
            report = json.loads(done.stdout)["report"]
            found.append({**report, "sku": "board", "seq": 1})
        return found

    return make


def test_a_host_set_up_otherwise_is_named_with_how_many_are_not(reports, controller, run):  # noqa: F811
    """Every setting reported by gpu-state and host-state reaches the fleet; each deviating one gets a message."""
    c = controller()
    found = reports({2: "vbios=99 computemode=3 bar1=32768 cc=1 gsp=0 persistence=0", 3: "oddvbios=1"}, {1: "powersave"})
    assert {"gpu.vbios", "gpu.compute_mode", "gpu.bar1", "gpu.cc", "gpu.gsp_firmware", "gpu.persistence", "gpu.inforom",
            "host.cpu_governor", "host.smt"} <= set(found[0]["env"])
    for report in found:
        assert c.post(report).status == 202
    drift = {item["key"]: item for item in c.get("/v1/drift").json["items"]}
    assert {key: sorted(n["node"] for n in item["nodes"]) for key, item in drift.items()} == {
        **{f"gpu.{key}": ["gpu-2"] for key in ("compute_mode", "bar1", "cc", "gsp_firmware", "persistence")},
        "gpu.vbios": sorted(n["node"] for n in drift["gpu.vbios"]["nodes"]), "host.cpu_governor": ["gpu-1"]}
    text = run("assayctl", "why", "gpu-2", "--controller", f"http://127.0.0.1:{c.port}").stdout
    assert "gpu.compute_mode is exclusive process; 3 of 4 hosts of its SKU have default" in text
    assert "gpu.gsp_firmware is off; 3 of 4 hosts of its SKU have 580.65.06" in text
    text = run("assayctl", "why", "gpu-1", "--controller", f"http://127.0.0.1:{c.port}").stdout
    assert "host.cpu_governor is powersave; 3 of 4 hosts of its SKU have performance" in text
    # Two of four have the usual VBIOS: that is no majority, and no host deviates.
    assert drift["gpu.vbios"]["majority"] is None
    assert {n["value"] for n in drift["gpu.vbios"]["nodes"]} == {
        "96.00.74.00.01", "96.00.99.00.01", "96.00.74.00.01 (3), 96.00.30.00.01 (1)"}
