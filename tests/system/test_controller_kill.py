# SPDX-License-Identifier: Apache-2.0
"""The controller is killed at random moments under load: each acknowledged report is in its store exactly once."""
import http.client
import json
import os
import random
import sqlite3
import threading

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

SENDERS = 4
HOSTS = 6          # per sender
DEADLINE_S = 60    # for one more acknowledgement
BUSY = 503         # the controller sheds load: retry
BITS = 16          # runs of a window that are compared
AGAIN = 0.1        # fraction of acknowledged reports that are sent again


def is_bad(seq):
    """Every second run is bad: 2 of 3 is reached at once and stays."""
    return seq % 2 == 1


def body(node, seq):
    cores = [sample(subject=f"cpu:{i}", value=40e9 if i == 3 and is_bad(seq) else 70e9 + i * 1e8) for i in range(8)]
    # Each host is its own model, because a fault common to a model is not a host's fault.
    return json.dumps(report(node, seq, samples=cores, sku=node))


class Sender(threading.Thread):
    """One connection over which hosts report in order; unanswered reports are sent again."""

    def __init__(self, port, number):
        super().__init__(daemon=True)
        self.port, self.dice = port, random.Random(number)
        self.next = {f"gpu-{number}-{i}": 1 for i in range(HOSTS)}
        self.acknowledged, self.wrong, self.cut = 0, [], 0
        self.ends = threading.Event()
        self.connection = None

    def send(self, node, seq):
        """The status, or None if there was no response."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
            self.connection.request("POST", "/v1/reports", body(node, seq))
            answer = self.connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            self.cut += 1
            self.connection.close()
            self.connection = None
            return None

    def once_more(self, node):
        """An acknowledged report is stored, so its copy must be a duplicate."""
        seq = self.dice.randrange(1, self.next[node])
        status = self.send(node, seq)
        if status not in (200, BUSY, None):
            self.wrong.append((node, seq, status))

    def run(self):
        unanswered = None
        while unanswered or not self.ends.is_set():
            node = unanswered or self.dice.choice(list(self.next))
            status = self.send(node, self.next[node])
            # Only reports sent before without a response may be duplicates.
            if status == 202 or status == 200 and unanswered:
                self.next[node] += 1
                self.acknowledged += 1
                unanswered = None
            elif status is None:
                unanswered = node
                self.ends.wait(0.01)
            elif status == BUSY:  # not accepted
                self.ends.wait(0.05)
                continue
            else:
                self.wrong.append((node, self.next[node], status))
                return
            if not unanswered and self.dice.random() < AGAIN:
                self.once_more(node)


def acknowledged(senders):
    return sum(s.acknowledged for s in senders)


def kill_often(controller, config, senders, c, kills, dice):
    """Kills after a number of acknowledgements, plus a random delay of up to two commits."""
    for _ in range(kills):
        goal = acknowledged(senders) + dice.randrange(1, 40)
        assert wait_for(lambda goal=goal: acknowledged(senders) >= goal or any(s.wrong for s in senders), DEADLINE_S)
        threading.Event().wait(dice.random() * 0.1)
        c.kill()
        c = controller("--config", config, "--listen", f"127.0.0.1:{c.port}")
    return c


def stored(db):
    """{host: its reports in order of arrival}, windows {host: (bits, seen)}, errors of the integrity check."""
    rows, windows = {}, {}
    with sqlite3.connect(db) as connection:
        for node, seq in connection.execute("SELECT n.node, r.seq FROM reports r JOIN nodes n ON n.id = r.node ORDER BY r.id"):
            rows.setdefault(node, []).append(seq)
        for node, check, subject, bits, seen in connection.execute("SELECT node, check_name, subject, bits, seen FROM windows"):
            assert (check, subject) == ("gemm.rate", "cpu:3")
            windows[node] = (bits, seen)
        return rows, windows, connection.execute("PRAGMA integrity_check").fetchall()


@pytest.mark.once
def test_every_acknowledged_report_is_there_once_whenever_it_is_killed(controller, tmp_path, full):
    policy = tmp_path / "policy.yaml"
    policy.write_text("v: 1\nmode: observe\nrules: [{name: slow, match: {check: gemm.*}, windows: {k: 2, n: 3}, action: alert}]\n")
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\npolicy: {policy}\nreport-rate: 100000\nreport-burst: 100000\n")
    seed = int(os.environ.get("ASSAY_SEED", "4"))
    kills = 200 if full else 30
    c = controller("--config", config)
    senders = [Sender(c.port, i) for i in range(SENDERS)]
    for s in senders:
        s.start()
    c = kill_often(controller, config, senders, c, kills, random.Random(seed))
    for s in senders:
        s.ends.set()
    for s in senders:
        s.join(DEADLINE_S)
        assert not s.is_alive()
    assert [s.wrong for s in senders] == [[]] * SENDERS
    assert sum(s.cut for s in senders) >= kills, "the kills did not fall into the work"
    c.stop()
    rows, windows, broken = stored(c.db)
    assert broken == [("ok",)]
    sent = {node: n - 1 for s in senders for node, n in s.next.items()}
    assert rows == {node: list(range(1, n + 1)) for node, n in sent.items() if n}
    # Each run counts once in K of N, however often it was sent.
    mask = (1 << BITS) - 1
    for node, n in sent.items():
        runs = [is_bad(seq) for seq in range(n, max(0, n - BITS), -1)]
        assert (node in windows) == (n > 0)
        if n:
            bits, seen = windows[node]
            assert bits & mask == sum(bad << i for i, bad in enumerate(runs)), node
            assert seen >= min(n, BITS), node
            assert n >= BITS or seen == n, node
