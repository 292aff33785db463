# SPDX-License-Identifier: Apache-2.0
"""spool.prom: metrics of the spool, which assayd writes for when the controller cannot be reached."""
import re

from assayd_fixtures import assayd, assayd_path, config, spool, stub  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from promtool import families, promtool  # noqa: F401


def values(text):
    return {k: float(v) for k, v in re.findall(r"^(assay_\w+) (\S+)$", text, re.M)}


def test_what_waits_is_told_until_it_has_left(assayd, controller, config, spool, wait_until, tmp_path, promtool, top):
    path = tmp_path / "run" / "spool.prom"
    for seq in (1, 2, 3):
        spool(seq)
    config(controller="http://127.0.0.1:1")  # no listener
    daemon = assayd()
    wait_until(lambda: path.exists() and values(path.read_text()).get("assay_spool_reports") == 3)
    now = values(path.read_text())
    assert now["assay_spool_oldest_timestamp_seconds"] == int((spool.path / "1.json").stat().st_mtime)
    assert (now["assay_agent_connected"], now["assay_spool_set_aside"], now["assay_spool_lost_total"]) == (0, 0, 0)
    assert promtool("check", "metrics", text=path.read_text()) == (0, "")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", (top / "docs/metrics.md").read_text().partition("## On the hosts")[2], re.M)
    assert rows == families(path.read_text())
    c = controller()
    config(controller=f"http://127.0.0.1:{c.port}")
    daemon.send_signal(1)
    wait_until(lambda: not spool.left())
    wait_until(lambda: values(path.read_text()) == {**now, "assay_spool_reports": 0, "assay_spool_oldest_timestamp_seconds": 0, "assay_agent_connected": 1})
