#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A held-out simulation: hosts of silicon.py report over HTTP to an unmodified controller with a leaping clock.

held_out.py [--build DIR] [--world NAME]... [--seed N]... [--spread X]... [--mode dry-run|enforce]... [--hosts N] [--days D] [--out FILE]

Each run (a world, a seed, a spread, a mode) prints one line of JSON and appends it to --out; runs already in there are skipped,
so a long series can be interrupted and resumed. `--sum FILE` prints the totals of all runs.

A step of the simulation is 15 minutes. Passive runs without changes come each half hour instead of 5 minutes, so the policy's
breaker.silent_after is an hour here; all else is as shipped. Quick runs come about five times a day, and every fifth is a full one. An
order to test is answered at the next step. An operator repairs a cordoned host after a day, and fixes a wrong SKU file when the world
says so, resetting the breaker; a breaker that opened for another reason is reset after four hours.
"""
import argparse
import calendar
import collections
import contextlib
import http.client
import json
import math
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import silicon
from silicon import DAY, HOUR

TOP = Path(__file__).resolve().parents[2]
STEP = 900
SPEED = 50  # of the controller's clocks between two leaps
ANSWER_S = 60
START_S = 60
CALLS = 3
CLOSE = 60  # tolerance between the controller's time of a run and the true one
BATCH_LINES, BATCH_BYTES = 64, 1_500_000
RESET_AFTER = 4 * HOUR
AFTER = DAY  # how long values measured during a fault affect the judge


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"


def seconds(text):
    whole, _, rest = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (rest or "0"))


class Controller:
    """A controller of a build with simulated clocks; `at` is the simulation time in seconds."""

    def __init__(self, build, where, mode, racks):
        self.where, self.start = Path(where), time.time()
        self.leap_file = open(self.where / "leap", "w+b")
        self.leap_file.write(struct.pack("qq", 0, 0))
        self.leap_file.flush()
        self.leap = mmap.mmap(self.leap_file.fileno(), 16)
        self.leap_s = 0.0
        self.policies = self.where / "policies"
        shutil.copytree(TOP / "policies", self.policies)
        default = self.policies / "default.yaml"
        text = re.sub(r"(?m)^mode: \w+", f"mode: {mode}", default.read_text())
        default.write_text(re.sub(r"silent_after: \w+", "silent_after: 1h", text))
        (self.where / "controller.yaml").write_text("v: 1\nlabels:\n" + "".join(
            f"  - {{nodes: {name}, labels: {{topology.kubernetes.io/rack: {rack}}}}}\n" for name, rack in racks.items()))
        env = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        env.update(LD_PRELOAD=str(Path(build) / "tests/fakes/clock_leap.so"), ASSAY_CLOCK_LEAP=str(self.where / "leap"), ASSAY_CLOCK_SPEED=str(SPEED),
                   ASSAY_POLICY_DIR=str(self.policies), ASSAY_STATE_DIR=where, ASSAY_RUN_DIR=where, ASSAY_CONF_DIR=where)
        self.log = open(self.where / "log", "w")
        self.process = subprocess.Popen(
            [str(Path(build) / "assay-controller"), "--config", str(self.where / "controller.yaml"), "--listen", "127.0.0.1:0",
             "--db", str(self.where / "assay.db"), "--mode", mode], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            sys.exit("held_out.py: the controller did not start: " + (self.where / "log").read_text()[-500:])
        if self.began_ns() == 0:  # otherwise it would be graded by real clocks
            self.process.kill()
            sys.exit("held_out.py: the controller has clocks of its own: make -C BUILD tests/fakes/clock_leap.so")
        self.address = ("127.0.0.1", int(line.rsplit(":", 1)[1]))
        self.connection = None

    def began_ns(self):
        """The start by the monotonic clock; 0 until the controller has written it."""
        return struct.unpack("q", self.leap[8:16])[0]

    def now(self):
        """The controller's time, in seconds of the simulation."""
        return time.time() + (time.monotonic() - self.began_ns() / 1e9) * (SPEED - 1) + self.leap_s - self.start

    def leap_to(self, at):
        self.leap_s += max(at - self.now(), 0)
        self.leap[:8] = struct.pack("q", int(self.leap_s * 1e6))
        if self.connection:
            self.connection.close()
        self.connection = None

    def call(self, method, path, body=None, headers=None):
        """Sends a request, with retries, which are harmless because reports have sequence numbers."""
        for attempt in range(CALLS):
            try:
                return self.call_once(method, path, body, headers)
            except (ConnectionError, http.client.HTTPException):  # closed as idle by the leap of the clock
                self.connection = None
                if attempt == CALLS - 1:
                    raise
        raise AssertionError

    def call_once(self, method, path, body, headers):
        if not self.connection:
            self.connection = http.client.HTTPConnection(*self.address, timeout=ANSWER_S)
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def get(self, path):
        status, value = self.call("GET", path)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {value}")
        return value

    def pages(self, path):
        items, cursor = [], None
        while True:
            page = self.get(path + ("&" if "?" in path else "?") + "limit=1000" + (f"&cursor={cursor}" if cursor else ""))
            items += page["items"]
            cursor = page["next"]
            if not cursor:
                return items

    def order(self, path, **body):
        return self.call("POST", path, json.dumps({"by": "held-out", **body}).encode())[0]

    def send(self, lines):
        """Sends [(line, when it was measured)]. Returns how many were accepted."""
        taken = 0
        while lines:
            n = size = 0
            while n < min(len(lines), BATCH_LINES) and size + len(lines[n][0]) < BATCH_BYTES:
                size += len(lines[n][0])
                n += 1
            ages = ",".join(f"{max(self.now() - at, 0):.1f}" for _, at in lines[:n])
            status, value = self.call("POST", "/v1/reports/batch", "\n".join(line for line, _ in lines[:n]).encode(),
                                      {"Assay-Age": ages, "Content-Type": "application/x-ndjson"})
            if status in (429, 503):
                time.sleep(0.2)  # Retry-After
                continue
            if status != 202:
                raise RuntimeError(f"a batch was refused: {status} {value}")
            bad = [r for r in value["results"] if r["status"] not in (200, 202)]
            if bad:
                raise RuntimeError(f"a report was refused: {bad[0]}")
            taken += len(value["results"])
            lines = lines[len(value["results"]):]
        return taken

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(START_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        self.leap_file.close()


class Simulation:
    def __init__(self, controller, world):
        self.c, self.world = controller, world
        self.hosts = {h.name: h for h in world.hosts}
        self.late = []  # (when to send it, line, when it was measured)
        self.next_active = {h.name: h.chance.uniform(0, 4.8 * HOUR) for h in world.hosts}
        self.runs = collections.Counter()
        self.repairs, self.reports, self.orders = {}, 0, {}
        self.openings, self.opened, self.told = [], None, {}
        self.seen = set()  # cordons

    def line(self, host, profile, at, order=None):
        body = host.report(profile, at, order)
        return silicon.line_of(body, stamp(self.c.start + at + host.skew)), at

    def runs_of(self, begin, end):
        """The reports to send between two steps, in order of measurement."""
        lines = []
        for host in self.world.hosts:
            if int(begin / STEP) % 2 == host.boots % 2 or any(f.kind in ("dead-gpu", "flaps", "xids") for f in host.faults):
                lines.append(self.line(host, "passive", begin + 1 + host.place))
            order = self.orders.pop(host.name, None)
            due = self.next_active[host.name]
            if order or due < end:
                at = begin + host.chance.uniform(5, STEP - 5) if order else max(due, begin + 5)
                self.runs[host.name] += 1
                full = order or self.runs[host.name] % 5 == 0
                self.next_active[host.name] = at + host.chance.uniform(3.9, 5.3) * HOUR
                lines.append(self.line(host, "full" if full else "quick", at, order))
        return sorted(lines, key=lambda one: one[1])

    def step(self, end):
        begin = end - STEP
        out = []
        for line, at in self.runs_of(begin, end):
            host = json.loads(line[:line.index(',"boot_id"')] + "}")["node"]
            chance = self.hosts[host].chance
            if chance.random() < self.hosts[host].noise.late:
                self.late.append((end + chance.uniform(0.5, 3) * HOUR, line, at))
                continue
            out.append((line, at))
            if chance.random() < self.hosts[host].noise.twice:
                out.append((line, at))
        out = [(line, at) for when, line, at in self.late if when <= end] + out
        self.late = [one for one in self.late if one[0] > end]
        self.c.leap_to(end)
        self.reports += self.c.send(out)
        self.watch(end)

    def watch(self, now):
        """Reacts to the controller: obeys its orders, and acts as its operator."""
        for action in self.c.get("/v1/actions?limit=200")["items"]:
            if action["node"] not in self.hosts:
                continue
            if action["action"] == "retest" and action["state"] == "decided":
                self.take_order(action["node"])
            if action["action"] == "cordon" and action["state"] == "done" and action["id"] not in self.seen:
                self.seen.add(action["id"])
                self.repairs[action["node"]] = now + DAY
        for name in [n for n, at in self.repairs.items() if at <= now]:
            del self.repairs[name]
            host = self.hosts[name]
            host.faults = [f if now < f.onset else silicon.dataclasses.replace(f, until=min(f.until, now)) for f in host.faults]
            self.c.order(f"/v1/nodes/{name}/repair-done", reason="repaired")
        self.watch_breaker(now)
        self.watch_file(now)
        self.watch_shared(now)

    def take_order(self, name):
        status, orders = self.c.call("GET", f"/v1/nodes/{name}/orders?wait=0")
        for order in orders or [] if status == 200 else []:
            if order["kind"] == "deep":
                self.orders[name] = order

    def watch_breaker(self, now):
        breaker = self.c.get("/v1/breaker")
        if not breaker["open"]:
            self.opened = None
        elif self.opened is None:
            self.opened = now
            self.openings.append((now, breaker["cause"], breaker["reason"]))
        elif breaker["cause"] != "sku-file" and now - self.opened >= RESET_AFTER or (
                breaker["cause"] == "sku-file" and not self.file_is_wrong(now) and now - self.opened >= RESET_AFTER):
            self.c.order("/v1/breaker/reset", reason="looked at")
            self.opened = None

    def file_is_wrong(self, now):
        return bool(self.world.wrong_file) and self.world.wrong_file[0] <= now < self.world.wrong_file[1]

    def watch_file(self, now):
        path, good = self.c.policies / "sku/hgx-h100.yaml", (TOP / "policies/sku/hgx-h100.yaml").read_text()
        want = spoil(good) if self.file_is_wrong(now) else good
        if path.read_text() != want:
            path.write_text(want)
            self.c.process.send_signal(signal.SIGHUP)

    def watch_shared(self, now):
        for one in self.c.get("/v1/incidents?state=open&limit=1000")["items"]:
            if one["node"] in self.hosts:
                continue
            for cause in self.world.causes:
                if cause.word in " ".join(str(one[k]) for k in ("node", "subject", "sentence")) and cause.onset <= now:
                    self.told.setdefault(cause.word, now)


def spoil(text):
    """A wrong SKU file: it expects 30 % too much of GPU compute and copies."""
    rows = re.split(r"(?m)^(?=  - check: )", text)
    wrong = [re.sub(r"((?:value|floor): )([0-9.e+]+)", lambda m: f"{m[1]}{float(m[2]) * 1.3:.4g}", row)
             if re.match(r"  - check: (gemm\.rate|memory\.h2d_bw)\n", row) else row for row in rows]
    if wrong == rows:
        raise RuntimeError("the SKU file has no row to spoil")
    return "".join(wrong)


# --- grading: from the injected faults, and the controller's output ---

def share(part, of):
    return part / of if of else None


def is_family(check, family):
    return check.startswith(family + ".")


def cause_of(world, name, check, at):
    """The cause that explains it, or None."""
    for cause in world.causes:
        if name in cause.hosts and is_family(check, silicon.FAMILY[cause.kind]) and cause.onset <= at < cause.until + AFTER:
            return cause
    return None


def fault_of(host, at):
    return next((f for f in host.faults if f.onset <= at < f.until + AFTER), None)


def was_low_once(host, at):
    """Did its run at that time have a dip? Then a finding is right."""
    return any(abs(at - low) < CLOSE for low in host.low_runs)


def low_gpus(world):
    """{(host, part)}: GPUs that can be told from the good ones of their model."""
    found = set()
    for sku in {h.sku for h in world.hosts}:
        members = [h for h in world.hosts if h.sku == sku]
        born = {(h.name, f.part) for h in members for f in h.faults if f.kind == "slow-gpu" and f.onset == 0}
        good = sorted((h.true_gpu(i), h.name, i) for h in members for i in range(silicon.GPUS) if (h.name, i) not in born)
        cut = good[int(0.005 * len(good))][0]
        for h in members:
            for i in range(silicon.GPUS):
                value = h.true_gpu(i)
                next_one = next(v for v, name, part in good if (name, part) != (h.name, i))
                if value <= cut and value <= 0.95 * next_one:
                    found.add((h.name, i))
    return found


def grade(world, facts):
    """`facts`: incidents [{node, check, subject, opened}], tests and cordons [(node, at)], refused [(node, rule)], openings
    [(at, cause)], told {word: at}, verdicts {node: [(at, profile, verdict)]}; times in seconds of the simulation."""
    hosts = {h.name: h for h in world.hosts}
    clean = [h for h in world.hosts if h.clean]
    low = low_gpus(world)
    right, wrong, shared, tail, false = set(), set(), set(), 0, []
    for one in facts["incidents"]:
        host = hosts.get(one["node"])
        if not host:
            continue
        if fault_of(host, one["opened"]):
            right.add(host.name)
        elif cause_of(world, host.name, one["check"], one["opened"]):
            shared.add(host.name)
        elif is_family(one["check"], "gemm") and any((host.name, i) in low for i in range(silicon.GPUS)):
            tail += 1
        else:
            wrong.add(host.name)
            if host.clean:
                false.append((one["node"], one["check"]))
    cordoned = {name for name, _ in facts["cordons"]}
    rows = collections.defaultdict(lambda: collections.Counter())
    delays = []
    for host in world.hosts:
        for f in host.faults:
            row = rows[f.kind if f.onset else f.kind + "-born"]
            row["hosts"] += 1
            named = [o["opened"] for o in facts["incidents"] if o["node"] == host.name and f.onset <= o["opened"] < f.until + AFTER]
            row["named"] += bool(named)
            row["incidents"] += len(named)
            row["tested"] += any(name == host.name and f.onset <= at < f.until + AFTER for name, at in facts["tests"])
            out = [at for name, at in facts["cordons"] if name == host.name and f.onset <= at < f.until + AFTER]
            row["cordoned"] += bool(out)
            if f.kind in silicon.ONSETS and f.onset and (out or named):
                delays.append(min(out or named) - f.onset)
            if f.kind == "slow-gpu" and not f.onset:
                row["identifiable"] += (host.name, f.part) in low
                row["identifiable_named"] += (host.name, f.part) in low and bool(named)
    runs = collections.Counter(verdict for h in clean for at, profile, verdict in facts["verdicts"].get(h.name, ())
                               if profile != "passive" and not was_low_once(h, at))
    delays.sort()
    node_days = len(clean) * world.days
    reasons = {h.name for h in world.hosts if any(f.kind in silicon.ONSETS or f.kind == "lost-channel" for f in h.faults)}
    return {
        "world": world.name, "hosts": len(world.hosts), "days": world.days, "clean_node_days": node_days,
        "false_incidents": len(false), "false_per_10000": share(1e4 * len(false), node_days), "tail_incidents": tail,
        "false": collections.Counter(f"{check}" for _, check in false),
        "named": {"right": len(right), "wrong": len(wrong), "shared": len(shared),
                  "precision": share(len(right), len(right) + len(wrong) + len(shared))},
        "cordons": len(cordoned), "false_cordons": sorted(n for n in cordoned if n in hosts and not hosts[n].causes and n not in reasons),
        "faults": {kind: dict(row) for kind, row in rows.items()},
        "delay_h": {"p50": delays[len(delays) // 2] / HOUR, "p99": delays[min(int(len(delays) * 0.99), len(delays) - 1)] / HOUR}
        if delays else None,
        "runs": {"n": sum(runs.values()), "warn": share(runs["warn"], sum(runs.values())), "fail": share(runs["fail"], sum(runs.values()))},
        "shared": [grade_cause(world, cause, facts, hosts, cordoned) for cause in world.causes],
        "breaker": collections.Counter(cause for _, cause in facts["openings"]),
        "wrong_file_told_h": wrong_file_told(world, facts),
        "refused": collections.Counter(rule for _, rule in facts["refused"]),
    }


def grade_cause(world, cause, facts, hosts, cordoned):
    told = facts["told"].get(cause.word)
    end = min(told if told is not None else math.inf, cause.until, world.days * DAY)
    runs = [sum(cause.onset <= at < end for at in hosts[name].active_runs) for name in cause.hosts]
    blamed = {o["node"] for o in facts["incidents"] if cause_of(world, o["node"], o["check"], o["opened"]) is cause}
    settled = min(told + 6 * HOUR if told is not None else math.inf, cause.until, world.days * DAY)
    after = {o["node"] for o in facts["incidents"] if cause_of(world, o["node"], o["check"], o["opened"]) is cause
             and o["opened"] <= settled and (o["closed"] is None or o["closed"] > settled)}
    return {"kind": cause.kind, "hosts": len(cause.hosts), "told_h": None if told is None else (told - cause.onset) / HOUR,
            "runs_mean": sum(runs) / len(runs), "blamed": len(blamed), "blamed_after": len(after),
            "cordoned": len(cordoned & {n for n in cause.hosts if not hosts[n].faults})}


def wrong_file_told(world, facts):
    if not world.wrong_file:
        return None
    times = [at for at, cause in facts["openings"] if cause == "sku-file" and at >= world.wrong_file[0]]
    times += [o["opened"] for o in facts["incidents"] if o["node"].startswith("sku:") and o["opened"] >= world.wrong_file[0]
              and "SKU file" in o["sentence"]]
    return (min(times) - world.wrong_file[0]) / HOUR if times else None


# --- one run, and many ---

def facts_of(sim):
    c = sim.c

    def at(text):
        return seconds(text) - c.start

    incidents = [{**{k: i[k] for k in ("node", "check", "subject", "sentence")}, "opened": at(i["opened"]),
                  "closed": at(i["closed"]) if i["closed"] else None} for i in c.pages("/v1/incidents?state=all")]
    actions = c.pages("/v1/actions")
    done = [a for a in actions if a["state"] in ("done", "dry-run")]
    verdicts = {}
    for name in sim.hosts:
        verdicts[name] = [(at(v["seen"]), v["profile"], v["verdict"]) for v in c.pages(f"/v1/nodes/{name}/verdicts")
                          if v["profile"] != "passive"]
    return {"incidents": incidents, "openings": [(when, cause) for when, cause, _ in sim.openings], "told": sim.told,
            "tests": [(a["node"], at(a["at"])) for a in actions if a["action"] == "retest" and a["state"] != "refused"],
            "cordons": [(a["node"], at(a["at"])) for a in done if a["action"] == "cordon"],
            "refused": [(a["node"], a["rule"] or "-") for a in actions if a["state"] == "refused"],
            "verdicts": verdicts}


def run(build, options, one):
    world = silicon.make(one["world"], one["seed"], one["spread"], options.hosts, options.days)
    with tempfile.TemporaryDirectory(prefix="held-out-", dir=options.tmp) as where:
        c = Controller(build, where, one["mode"], {h.name: h.rack for h in world.hosts})
        try:
            sim = Simulation(c, world)
            began = time.monotonic()
            for step in range(1, int(options.days * DAY / STEP) + 1):
                sim.step(step * STEP)
            result = grade(world, facts_of(sim))
        finally:
            c.stop()
            if options.keep:
                shutil.copytree(where, options.keep, dirs_exist_ok=True)
    return {**one, **result, "reports": sim.reports, "seconds": round(time.monotonic() - began, 1)}


def add_up(path):
    """One line per (world, mode, spread): sums over seeds."""
    groups = collections.defaultdict(list)
    for line in Path(path).read_text().splitlines():
        one = json.loads(line)
        groups[one["world"], one["mode"], one["spread"]].append(one)
    for (world, mode, spread), some in sorted(groups.items()):
        days = sum(o["clean_node_days"] for o in some)
        named = {k: sum(o["named"][k] for o in some) for k in ("right", "wrong", "shared")}
        faults = collections.defaultdict(collections.Counter)
        for o in some:
            for kind, row in o["faults"].items():
                faults[kind].update(row)
        print(json.dumps({
            "world": world, "mode": mode, "spread": spread, "seeds": len(some), "clean_node_days": days,
            "false_per_10000": share(1e4 * sum(o["false_incidents"] for o in some), days),
            "tail_incidents": sum(o["tail_incidents"] for o in some), "precision": share(named["right"], sum(named.values())), **named,
            "false_cordons": sum(len(o["false_cordons"]) for o in some), "faults": faults,
            "runs_warn": [round(o["runs"]["warn"], 4) for o in some], "runs_fail": [round(o["runs"]["fail"], 4) for o in some],
            "shared": [s for o in some for s in o["shared"]], "breaker": dict(sum((collections.Counter(o["breaker"]) for o in some),
                                                                                collections.Counter())),
            "wrong_file_told_h": [o["wrong_file_told_h"] for o in some if o["wrong_file_told_h"] is not None],
            "delay_h": [o["delay_h"] for o in some if o["delay_h"]]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=os.environ.get("ASSAY_BUILD", TOP / "build"))
    parser.add_argument("--world", action="append", choices=silicon.WORLDS)
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--spread", action="append", type=float)
    parser.add_argument("--mode", action="append", choices=["dry-run", "enforce"])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--days", type=float, default=10.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tmp", help="where the stores are, for as long as they are needed")
    parser.add_argument("--keep", help="copy the store and the log of the last run there")
    parser.add_argument("--sum", metavar="FILE")
    options = parser.parse_args()
    if options.sum:
        add_up(options.sum)
        return
    keys = ("world", "seed", "spread", "mode")
    there = set()
    if options.out and options.out.exists():
        there = {tuple(json.loads(line)[k] for k in keys) for line in options.out.read_text().splitlines()}
    for seed in options.seed or [1]:
        for spread in options.spread or [1.0, 0.5, 0.25]:
            for mode in options.mode or ["enforce", "dry-run"]:
                for world in options.world or silicon.WORLDS:
                    one = {"world": world, "seed": seed, "spread": spread, "mode": mode}
                    if tuple(one[k] for k in keys) in there:
                        continue
                    line = json.dumps(run(options.build, options, one))
                    print(line, flush=True)
                    if options.out:
                        with open(options.out, "a") as f:
                            f.write(line + "\n")


if __name__ == "__main__":
    main()
