#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and CPU time of an idle assayd that holds its TLS connection and watches a kernel log and eight RNICs, after it has
sent reports.

bench_assayd.py [BUILD] [SECONDS]: fails above 16 MiB or 0.1 % of a core.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system"))
from controller_stub import Stub, make_certificates, server_tls  # noqa: E402
from fake_host import FakeHost  # noqa: E402
from fake_rnic import FakeRnic  # noqa: E402
from waiting import wait_for  # noqa: E402

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ASSAY_BUILD", "build")).resolve()
LIMIT_S = 60
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
RSS_MAX_MIB = 16
CPU_MAX = 0.001
REPORTS = 50


def memory_kib(pid):
    """{"Rss": ..., "Pss": ..., "Private_Dirty": ...} of a process."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[1:]}


def cpu_s(pid):
    """CPU seconds, by the scheduler's clock instead of ticks."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def wakeups(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if "voluntary_ctxt" in line)


def write_reports(spool):
    spool.mkdir()
    samples = [{"v": 1, "check": "gemm.rate", "subject": f"cpu:{i}", "value": 1.0, "unit": "FLOP/s", "better": "higher", "ok": None,
                "state": "measured", "w": [1.0] * 8} for i in range(40)]
    for seq in range(1, REPORTS + 1):
        report = {"v": 1, "kind": "report", "node": "n1", "boot_id": "b", "seq": seq, "time": "2026-11-21T00:00:00Z", "profile": "quick",
                  "agent": "bench", "sku": None, "topology": None, "env": {}, "duration_s": 1.0, "samples": samples, "problems": []}
        (spool / f"{seq}.json").write_text(json.dumps(report))


def wait_until(condition):
    if not wait_for(condition, LIMIT_S):
        sys.exit(f"bench_assayd: waited {LIMIT_S} s")


def make_host(directory):
    """Creates eight RNICs and a silent kernel log. Returns the environment of a host with them."""
    host = FakeHost(directory / "host")
    for i in range(8):
        FakeRnic(host, device=f"mlx5_{i}", netdev=f"eth{i}")
    os.mkfifo(directory / "kmsg")
    return {"ASSAY_SYSROOT": str(host.root), "ASSAY_KMSG": str(directory / "kmsg"), "ASSAY_POLICY_DIR": str(HERE.parents[1] / "policies")}


def measure(stub, directory):
    conf = directory / "assayd.yaml"
    conf.write_text(json.dumps({"v": 1, "controller": stub.url.replace("127.0.0.1", "localhost"), "node": "n1",
                                "ca": str(directory / "ca.pem"), "cert": str(directory / "client.pem"), "key": str(directory / "client.key")}))
    env = {**os.environ, "ASSAY_STATE_DIR": str(directory), "ASSAY_RUN_DIR": str(directory), "ASSAY_CONF_DIR": str(directory),
           "NOTIFY_SOCKET": str(directory / "none"), "WATCHDOG_USEC": "60000000", **make_host(directory)}
    with subprocess.Popen([BUILD / "assayd", "--config", conf], env=env, stderr=subprocess.DEVNULL) as daemon:
        try:
            wait_until(lambda: len(stub.stored) == REPORTS and stub.times_held >= 2)
            began, woken = cpu_s(daemon.pid), wakeups(daemon.pid)
            time.sleep(SECONDS)
            return memory_kib(daemon.pid), (cpu_s(daemon.pid) - began) / SECONDS, wakeups(daemon.pid) - woken
        finally:
            daemon.kill()


def main():
    if not (BUILD / "assayd").exists() or not shutil.which("openssl"):
        print("assayd: not built, or openssl is missing: not measured")
        return 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        make_certificates(directory)
        write_reports(directory / "spool")
        stub = Stub(server_tls(directory / "server.pem", directory / "server.key", directory / "ca.pem"))
        memory, cpu, woken = measure(stub, directory)
    good = memory["Rss"] <= RSS_MAX_MIB * 1024 and cpu <= CPU_MAX
    print(f"idle assayd, TLS held, {SECONDS} s: RSS {memory['Rss'] / 1024:.1f} MiB (private {memory['Private_Dirty'] / 1024:.1f}, "
          f"target {RSS_MAX_MIB}), {cpu * 100:.4f} % of a core (target {CPU_MAX * 100}), {woken} wake-ups"
          f"{'' if good else ': MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
