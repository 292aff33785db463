#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time until all agents are identified again after a restart of the controller, on a real API server.

bench_identity.py BUILD [--agents N] [--pods N] [--limit S]

N agents send a report at once, each with its own token that the controller has not seen: each costs one TokenReview and one GET
of a pod (the tokens share a few pods, which makes no difference to the API server). Agents retry when told to. Then all send
again, with cached identities. Prints one line of JSON: seconds until half, 99 % and all were accepted, tokens per second, answers
by status, CPU time per token, and the second round. Exit status 1: not all within the limit.
"""
import argparse
import asyncio
import collections
import concurrent.futures
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kube"), os.path.join(HERE, "..", "system")]
from apiserver import Missing  # noqa: E402
from fixtures_controller import report  # noqa: E402
from server import NAMESPACE, Server  # noqa: E402

AGENT = "assay-agent"


def start(build, where, kube):
    with open(os.path.join(where, "controller.yaml"), "w") as f:
        json.dump({"v": 1, "report-burst": 100000, "kubernetes": {"agents": [f"{NAMESPACE}:{AGENT}"]}}, f)
    process = subprocess.Popen([os.path.join(build, "assay-controller"), "--config", f"{where}/controller.yaml", "--listen", "127.0.0.1:0",
                                "--db", f"{where}/assay.db", "--kubeconfig", kube.kubeconfig("ctl")],
                               stdout=subprocess.PIPE, stderr=open(os.path.join(where, "controller.log"), "w"), text=True)
    host, _, port = process.stdout.readline().split()[-1].rpartition(":")
    return process, (host, int(port))


def requests_of(kube, options):
    """The request of each agent."""
    pods = []
    for i in range(options.pods):
        kube.admin.ensure({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"gpu-{i}"}})
        pods.append(kube.admin.create_pod(f"agent-{i}", f"gpu-{i}", namespace=NAMESPACE, serviceAccountName=AGENT))

    def make(i):
        token = kube.mint(AGENT, "assay", 3600 + i, pods[i % options.pods])
        body = json.dumps(report(f"gpu-{i % options.pods}", seq=1 + i // options.pods)).encode()
        return (f"POST /v1/reports HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(make, range(options.agents)))


def cpu_s(pid):
    """CPU seconds used by the process."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def agent(address, number, request, begin, taken, statuses):
    """Sends until it is accepted. Each agent has its own address, like hosts."""
    here = (f"127.1.{number // 250}.{1 + number % 250}", 0)
    while True:
        try:
            reader, writer = await asyncio.open_connection(*address, local_addr=here)
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError):  # closed, as for a request that took too long
            statuses["no answer"] += 1
            await asyncio.sleep(1)
            continue
        writer.close()
        status = int(head.split()[1])
        statuses[status] += 1
        if status in (200, 202):
            taken.append(time.monotonic() - begin)
            return
        wait = [line for line in head.split(b"\r\n") if line.lower().startswith(b"retry-after:")]
        if not wait:
            raise RuntimeError(head.decode())
        await asyncio.sleep(int(wait[0].split()[1]))


async def a_round(address, requests, limit):
    taken, statuses, begin = [], collections.Counter(), time.monotonic()
    agents = [asyncio.ensure_future(agent(address, i, r, begin, taken, statuses)) for i, r in enumerate(requests)]
    await asyncio.wait(agents, timeout=limit)
    failed = [a.exception() for a in agents if a.done() and a.exception()]
    for a in agents:
        a.cancel()
    if failed:
        raise failed[0]
    taken.sort()
    at = {name: round(taken[int(part * len(taken)) - 1], 2) for name, part in (("half_s", 0.5), ("p99_s", 0.99), ("all_s", 1))} if taken else {}
    return {**at, "taken": len(taken), "per_s": round(len(taken) / taken[-1], 1) if taken else 0, "answers": {str(k): v for k, v in statuses.items()}}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--agents", type=int, default=10000)
    parser.add_argument("--pods", type=int, default=50)
    parser.add_argument("--limit", type=float, default=300)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="assay-bench.") as where:
        try:
            kube = Server(os.path.join(where, "kube"))
        except Missing as e:
            print(e, file=sys.stderr)
            return 77
        with kube:
            requests = requests_of(kube, options)
            process, address = start(options.build, where, kube)
            try:
                pids = {"controller": process.pid, "apiserver": kube.process.pid, "etcd": kube.etcd.pid}
                before = {name: cpu_s(pid) for name, pid in pids.items()}
                first = asyncio.run(a_round(address, requests, options.limit))
                first["cpu_ms_each"] = {name: round(1000 * (cpu_s(pid) - before[name]) / options.agents, 2) for name, pid in pids.items()}
                second = asyncio.run(a_round(address, requests, options.limit))
            finally:
                process.terminate()
                process.wait()
    print(json.dumps({"agents": options.agents, "unknown": first, "known": second}))
    return 0 if first["taken"] == second["taken"] == options.agents else 1


if __name__ == "__main__":
    sys.exit(main())
