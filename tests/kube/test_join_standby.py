# SPDX-License-Identifier: Apache-2.0
"""A host that tries to join at a standby controller."""
import json

from acting import CONFIG, POLICY
from test_join import join, make, sha, tokens_file
from waiting import wait_for

WAIT_S = 60


def test_the_one_that_stands_by_lets_nobody_join_and_says_who_acts(kube, controller, tmp_path):
    def start(name):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "policy.yaml").write_text(POLICY % 5)
        (directory / "controller.yaml").write_text(CONFIG % (directory / "policy.yaml"))
        return controller("--config", directory / "controller.yaml", "--cluster", "kubernetes", "--tokens", tokens_file(directory / "tokens.yaml"),
                          "--kubeconfig", kube.kubeconfig(name, directory / "kubeconfig"), db=directory / "assay.db")

    first = start("ctl-1")
    assert wait_for(lambda: "now the leader" in first.log(), WAIT_S), first.log()
    second = start("ctl-2")
    assert wait_for(lambda: second.get("/readyz").status == 503, WAIT_S)
    ticket = make(first).json["token"]
    refused = join(second, "gpu-1", ticket, "s1")
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0 and "another controller is the leader" in refused.json["detail"]
    assert make(second).status == 503, "a token made there would be known to nobody after"
    assert join(first, "gpu-1", ticket, "s1").status == 200
    assert first.stop()[0] == 0
    assert wait_for(lambda: second.get("/readyz").status == 200, WAIT_S), second.log()
    gone = second.call("POST", "/v1/join", json.dumps({"node": "gpu-1", "token": ticket, "sha256": sha("s1")}).encode())
    assert gone.status == 401 and "assayctl token create" in gone.json["detail"]
