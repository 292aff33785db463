# SPDX-License-Identifier: Apache-2.0
"""deploy/npd follows the contract of node-problem-detector: exit status 0 is no problem, 1 a problem, anything else unknown; stdout is the
message, trimmed and cut at max_output_length; a rule that exceeds its timeout is killed (pkg/custompluginmonitor)."""
import json
import os
import re
import subprocess
import time

import pytest

STATUS = {0: "False", 1: "True"}  # status of the node's condition
FOLDER = "deploy/npd"


@pytest.fixture(scope="module")
def monitor(top):
    return json.loads((top / FOLDER / "assay-custom-plugin.json").read_text())


def seconds(text):
    assert re.fullmatch(r"\d+s", text), text
    return int(text[:-1])


def stamp(ago_s):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - ago_s))


def verdict(level="pass", fatal=False, age_s=60, sentence="cpu:3 is slow"):
    items = [] if level == "pass" else [{"check": "gemm.rate", "subject": "cpu:3", "verdict": level, "value": 1.0, "unit": "FLOP/s", "expected": 2.0,
                                         "floor": 1.9, "source": "peers", "n": 7, "sentence": sentence, "fatal": fatal}]
    return {"v": 1, "kind": "verdict", "node": "n1", "time": stamp(age_s), "seq": 1, "profile": "quick", "verdict": level, "sentence": "s", "items": items}


@pytest.fixture
def conditions(top, build, environ, monitor):
    """conditions(verdict or None): {condition: (status, message)} as node-problem-detector derives them from its rules."""

    def ask(value=None, **env):
        path = os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")
        if value is not None:
            with open(path, "w", encoding="utf-8") as f:
                json.dump(value, f)
        found = {}
        for rule in monitor["rules"]:
            program = top / FOLDER / os.path.basename(rule["path"])
            out = subprocess.run([program, *rule["args"]], env={**environ, "ASSAY": str(build / "assay"), "ASSAY_NODE": "n1", **env},
                                 capture_output=True, text=True, timeout=seconds(rule["timeout"]), stdin=subprocess.DEVNULL)
            message = out.stdout.strip()
            assert message and "\n" not in message and len(message) <= monitor["pluginConfig"]["max_output_length"]
            found[rule["condition"]] = (STATUS.get(out.returncode, "Unknown"), message)
        return found

    return ask


@pytest.mark.parametrize("value,bad,degraded", [
    (verdict(), "False", "False"),
    (verdict("warn"), "False", "True"),
    (verdict("fail"), "False", "True"),  # slow, and nothing fatal: jobs may start
    (verdict("fail", fatal=True), "True", "False"),
    (verdict("inconclusive"), "Unknown", "Unknown"),
    (verdict(age_s=2 * 86400), "Unknown", "Unknown"),
    (None, "Unknown", "Unknown"),
])
def test_each_answer_is_the_status_of_its_condition(conditions, value, bad, degraded):
    found = conditions(value)
    assert (found["AssayBad"][0], found["AssayDegraded"][0]) == (bad, degraded)


def test_the_message_is_the_reason(conditions):
    assert "no verdict" in conditions()["AssayBad"][1]
    assert "cpu:3 is slow" in conditions(verdict("fail", fatal=True))["AssayBad"][1]


def test_a_long_or_strange_reason_is_still_one_line(conditions):
    found = conditions(verdict("fail", fatal=True, sentence="x" * 1000 + "\n$(touch /tmp/assay-npd-was-here) `id` ; %s"))
    assert found["AssayBad"][0] == "True" and not os.path.exists("/tmp/assay-npd-was-here")


def test_without_the_program_nothing_is_known(conditions):
    found = conditions(verdict(), ASSAY="/nonexistent/assay")
    assert {status for status, _ in found.values()} == {"Unknown"}
    assert all("failed" in message for _, message in found.values())


def test_a_program_that_answers_something_else_is_unknown(conditions, tmp_path):
    for text in ("echo answer=tomorrow", "exit 2", "exit 0", "kill -9 $$"):
        fake = tmp_path / "assay"
        fake.write_text("#!/bin/sh\n" + text + "\n")
        fake.chmod(0o755)
        assert {status for status, _ in conditions(ASSAY=str(fake)).values()} == {"Unknown"}, text


@pytest.mark.parametrize("args", [[], ["gpu"], ["bad", "degraded"]])
def test_a_wrong_argument_is_unknown(top, args):
    out = subprocess.run([top / FOLDER / "assay-npd", *args], capture_output=True, text=True, timeout=60)
    assert (out.returncode, out.stdout) == (2, "assay-npd: expected bad or degraded\n")


def test_the_file_is_one_that_the_monitor_takes(top, monitor):
    """The checks of ApplyConfiguration() and Validate() in its config.go."""
    known = {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
    assert set(monitor) == known and monitor["plugin"] == "custom" and monitor["source"]
    plugin = monitor["pluginConfig"]
    assert set(plugin) == {"invoke_interval", "timeout", "max_output_length", "concurrency", "enable_message_change_based_condition_update",
                           "skip_initial_status"}
    preset = {c["type"]: c for c in monitor["conditions"]}
    assert len(preset) == len(monitor["conditions"]) == len(monitor["rules"])
    for rule in monitor["rules"]:
        assert rule["type"] == "permanent" and rule["condition"] in preset and rule["reason"] != preset[rule["condition"]]["reason"]
        assert seconds(rule["timeout"]) <= seconds(plugin["timeout"]) < seconds(plugin["invoke_interval"])
        assert os.access(top / FOLDER / os.path.basename(rule["path"]), os.X_OK)
    # Before the first answer no status is set, and the message may change while the status stays.
    assert plugin["skip_initial_status"] and plugin["enable_message_change_based_condition_update"]
    length = int(re.search(r"^LENGTH=(\d+)", (top / FOLDER / "assay-npd").read_text(), re.M).group(1))
    assert length == plugin["max_output_length"]
