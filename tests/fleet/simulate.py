#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated hosts that report to a real controller, each with its own token and a held call for orders.

simulate.py tokens DIR [--hosts N]         DIR/tokens.yaml for the controller, DIR/operator and DIR/gpu-00 ... for callers
simulate.py run URL DIR [--hosts N] [--runs R] [--seed S] [--slow-gpu HOST/GPU] [--slow-link HOST/SWITCH]

`run` sends R quick runs and one full run of each host, prints one line, and holds the calls until it is told to stop.
"""
import argparse
import contextlib
import hashlib
import http.client
import json
import os
import secrets
import selectors
import signal
import socket
import sys
import time
import urllib.parse

import faults
import hosts
import wiring

HOLD_S = 60
ANSWER_S = 30
RESEND_S = 60  # reports refused for this long are dropped
RUN_EVERY_S = 300


class Agents:
    """The agents of many hosts: `tokens` is {name: token}, or None if none are required."""

    def __init__(self, address, fleet, tokens=None):
        self.address, self.hosts, self.tokens = address, fleet, tokens
        self.wirings = {h.wiring.digest: h.wiring.body for h in fleet if h.wiring}
        self.reporting = {}
        self.holding = {}
        self.poll = selectors.DefaultSelector()
        self.opinions = {}

    def headers(self, name):
        return {"Authorization": "Bearer " + self.tokens[name]} if self.tokens else {}

    def send(self, bodies):
        """Sends {name: body}, all at once, and retries those that a busy controller refuses. Returns {name: status}."""
        status, due, deadline = {}, dict.fromkeys(bodies, 0.0), time.monotonic() + RESEND_S
        while due and min(due.values()) < deadline:
            time.sleep(max(0.0, min(due.values()) - time.monotonic()))  # Retry-After
            now = time.monotonic()
            again = self.send_once({name: bodies[name] for name, at in due.items() if at <= now}, status)
            due = {name: at for name, at in due.items() if at > now} | {name: now + s for name, s in again.items()}
        return status

    def send_once(self, bodies, status):
        """Fills in `status`. Returns {name: seconds to wait} for retries."""
        for name, body in bodies.items():
            if name not in self.reporting:
                self.reporting[name] = http.client.HTTPConnection(*self.address, timeout=ANSWER_S)
            self.reporting[name].request("POST", "/v1/reports", body, self.headers(name))
        again, wanted = {}, {}
        for name in bodies:
            answer = self.reporting[name].getresponse()
            body = answer.read()
            status[name] = answer.status
            if b"want_topologies" in body:
                wanted |= dict.fromkeys(json.loads(body)["want_topologies"], name)
            if answer.status == 503:
                again[name] = int(answer.headers["Retry-After"])
        self.send_wirings(wanted)
        return again

    def send_wirings(self, wanted):
        """Sends {digest: name of a host with it}, each once. Those not accepted are requested again after the next report."""
        for digest, name in wanted.items():
            self.reporting[name].request("PUT", f"/v1/topologies/{digest}", self.wirings[digest], self.headers(name))
            answer = self.reporting[name].getresponse()
            body = answer.read()
            if answer.status not in (200, 201, 429, 503):
                raise ValueError(f"{name}: its topology is refused: {answer.status} {body[:200]!r}")

    def run(self, profile="quick", at=None, some=None):
        """Makes one run of each host (or of `some`). Returns {name: status}."""
        return self.send({h.node: h.body(profile, at) for h in some or self.hosts})

    # --- held calls ---

    def hold(self, name):
        if name not in self.holding:
            s = self.holding[name] = socket.create_connection(self.address, timeout=ANSWER_S)
            self.poll.register(s, selectors.EVENT_READ, name)
        lines = [f"GET /v1/nodes/{name}/orders?wait={HOLD_S} HTTP/1.1", "Host: controller"]
        lines += [f"{key}: {value}" for key, value in self.headers(name).items()]
        self.holding[name].sendall("\r\n".join([*lines, "", ""]).encode())

    def hold_all(self):
        for host in self.hosts:
            self.hold(host.node)

    def obey(self, name, orders):
        for order in orders:
            if order["kind"] == "opinion":
                self.opinions[name] = order["opinion"]

    def listen(self, seconds):
        """Repeats held calls that end within `seconds`. Returns how many ended."""
        ended = 0
        for key, _ in self.poll.select(seconds):
            response = http.client.HTTPResponse(key.fileobj)
            try:
                response.begin()
                body = response.read()
            except (OSError, http.client.HTTPException):
                raise ConnectionError(f"{key.data}: the controller closed the held call") from None
            if response.status == 200:
                self.obey(key.data, json.loads(body))
            elif response.status != 204:
                raise ConnectionError(f"{key.data}: {response.status} {body[:200]!r}")
            ended += 1
            self.hold(key.data)
        return ended

    def close(self):
        for connection in [*self.reporting.values(), *self.holding.values()]:
            with contextlib.suppress(OSError):
                connection.close()
        self.poll.close()


# --- the command line ---

def write_tokens(where, names):
    """One token per name, and one for reading."""
    os.makedirs(where, exist_ok=True)
    lines = ["v: 1", "tokens:"]
    for name in [*names, "operator"]:
        token = secrets.token_hex(24)
        with open(os.path.join(where, name), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(token + "\n")
        who = "role: operate" if name == "operator" else f"node: {name}"
        lines.append(f"  - {{sha256: {hashlib.sha256(token.encode()).hexdigest()}, {who}}}")
    with open(os.path.join(where, "tokens.yaml"), "w") as f:
        f.write("\n".join(lines) + "\n")


def read_tokens(where, names):
    tokens = {}
    for name in names:
        with open(os.path.join(where, name)) as f:
            tokens[name] = f.read().strip()
    return tokens


def place(text):
    host, _, number = text.partition("/")
    return host, int(number)


def run(options, names):
    url = urllib.parse.urlsplit(options.url)
    ill = {}
    if options.slow_gpu:
        host, gpu = options.slow_gpu
        ill.setdefault(host, []).append(faults.SlowGpu(gpu))
    if options.slow_link:
        host, switch = options.slow_link
        ill.setdefault(host, []).append(faults.SlowLink(hosts.uplink(switch)))
    fleet = wiring.wire(hosts.fleet(len(names), options.seed, ill))
    agents = Agents((url.hostname, url.port), fleet, read_tokens(options.dir, names))
    begin, count = time.time(), 0
    agents.hold_all()
    for i in range(options.runs + 1):
        full = i == options.runs
        at = begin - (options.runs - i) * RUN_EVERY_S
        answers = agents.run("full" if full else "quick", at)
        bad = {name: status for name, status in answers.items() if status != 202}
        if bad:
            sys.exit(f"simulate.py: refused: {bad}")
        count += len(answers)
    print(f"{len(names)} hosts have sent {count} reports", flush=True)
    stop = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.append(1))
    with contextlib.suppress(ConnectionError):
        while not stop:
            agents.listen(1)
    agents.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["tokens", "run"])
    parser.add_argument("places", nargs="+", help="DIR, or URL DIR")
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow-gpu", type=place)
    parser.add_argument("--slow-link", type=place)
    options = parser.parse_args()
    names = [h.node for h in hosts.fleet(options.hosts)]
    if options.what == "tokens" and len(options.places) == 1:
        write_tokens(options.places[0], names)
    elif options.what == "run" and len(options.places) == 2:
        options.url, options.dir = options.places
        run(options, names)
    else:
        parser.error("expected tokens DIR, or run URL DIR")


if __name__ == "__main__":
    main()
