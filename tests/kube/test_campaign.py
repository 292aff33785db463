# SPDX-License-Identifier: Apache-2.0
"""The addresses at which hosts of a cluster meet for a campaign."""
import json

STATUS = "application/strategic-merge-patch+json"
ADDRESSES = {
    "gpu-5": ([("Hostname", "gpu-5"), ("ExternalIP", "192.0.2.5"), ("InternalIP", "10.0.0.5")], "10.0.0.5:7400"),
    "gpu-6": ([("InternalIP", "fd00::6"), ("InternalIP", "10.0.0.6")], "[fd00::6]:7400"),
    "gpu-7": ([("Hostname", "gpu-7")], "gpu-7:7400"),
}


def test_hosts_meet_at_the_addresses_within_the_cluster(kube, acting):
    for name, (addresses, _) in ADDRESSES.items():
        kube.admin.create_node(name)
        kube.admin.patch(f"/api/v1/nodes/{name}/status", {"status": {"addresses": [{"type": t, "address": a} for t, a in addresses]}},
                         content=STATUS)
    a = acting.start(["gpu-1"])
    for name in ADDRESSES:
        a.host(name).report()
    body = json.dumps({"nodes": list(ADDRESSES), "reason": "where are they?"}).encode()
    begun = a.ask(lambda c: c.call("POST", "/v1/campaigns", body))
    assert begun.status == 202, begun.body
    nodes = a.ask(lambda c: c.get(f"/v1/campaigns/{begun.json['id']}")).json["nodes"]
    assert {n["node"]: n["address"] for n in nodes} == {name: address for name, (_, address) in ADDRESSES.items()}
