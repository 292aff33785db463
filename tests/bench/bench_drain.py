#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time to send a spool of two days: assayd and assay-controller of a build, on loopback.

bench_drain.py [BUILD] [REPORTS]: passive runs every 5 minutes, every twentieth a quick one; all must be stored in order.
"""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from waiting import wait_for  # noqa: E402

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ASSAY_BUILD", "build")).resolve()
REPORTS = int(sys.argv[2]) if len(sys.argv) > 2 else 800
DEADLINE_S = 120


def stamp(age_s):
    """Compresses two days into a few hours, because the controller soon thins out reports older than a day."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age_s))


def samples(quick):
    n, w = (40, [1.0] * 8) if quick else (12, [])
    return [{"v": 1, "check": "gemm.rate" if quick else "host.edac", "subject": f"cpu:{i}", "value": 70e9 + i, "unit": "1", "better": "higher",
             "ok": None, "state": "measured", **({"w": w} if w else {})} for i in range(n)]


def write_reports(spool):
    spool.mkdir()
    for seq in range(1, REPORTS + 1):
        quick = seq % 20 == 0
        report = {"v": 1, "kind": "report", "node": "n1", "boot_id": "b", "seq": seq, "time": stamp(60 * (REPORTS - seq)),
                  "profile": "quick" if quick else "passive", "agent": "bench", "sku": None, "topology": None, "env": {"kernel": "6.1"},
                  "duration_s": 1.0, "samples": samples(quick), "problems": []}
        (spool / f"{seq}.json").write_text(json.dumps(report))


def drain(directory, address):
    conf = directory / "assayd.yaml"
    silent = {"links": False, "kernel_log": False}  # events of this machine must not count
    conf.write_text(json.dumps({"v": 1, "controller": f"http://{address}", "node": "n1", "watch": silent}))
    env = {**os.environ, "ASSAY_STATE_DIR": str(directory), "ASSAY_RUN_DIR": str(directory), "ASSAY_CONF_DIR": str(directory)}
    began = time.monotonic()
    with subprocess.Popen([BUILD / "assayd", "--config", conf], env=env, stderr=subprocess.DEVNULL) as daemon:
        try:
            if not wait_for(lambda: not any((directory / "spool").glob("*.json")), DEADLINE_S):
                sys.exit(f"bench_drain: waited {DEADLINE_S} s")
            return time.monotonic() - began
        finally:
            daemon.kill()


def main():
    if not (BUILD / "assayd").exists() or not (BUILD / "assay-controller").exists():
        print("drain: assayd or assay-controller is not built: not measured")
        return 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        write_reports(directory / "spool")
        command = [BUILD / "assay-controller", "--listen", "127.0.0.1:0", "--db", directory / "c.db"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as controller:
            try:
                seconds = drain(directory, controller.stdout.readline().split()[-1])
            finally:
                controller.terminate()
        with sqlite3.connect(directory / "c.db") as store:
            seqs = [row[0] for row in store.execute("SELECT seq FROM reports ORDER BY id")]
    good = seqs == list(range(1, REPORTS + 1))
    print(f"spool of {REPORTS} reports drained in {seconds:.1f} s: {REPORTS / seconds:.0f} reports/s"
          f"{'' if good else ': NOT ALL THERE IN THEIR ORDER'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
