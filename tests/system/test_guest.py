# SPDX-License-Identifier: Apache-2.0
"""The test guest: Debian's kernel with Soft-RoCE under software emulation, with the real libibverbs."""
import re

import pytest


def test_the_bench_itself_is_sound(guest):
    """With perftest, not our probes: the link works, and traffic shaping slows that direction."""
    done = guest("perftest")
    assert done.returncode == 0, done.stdout + done.stderr
    rate = dict(re.findall(r"^(\w+) ([\d.]+)$", done.stdout, re.MULTILINE))
    # 8 Mbit/s are 1 MB/s, including headers.
    assert 0 < float(rate["shaped"]) <= 1.0 < float(rate["free"])


@pytest.mark.short
def test_programs_of_the_build_run_in_it_and_a_scenario_that_fails_says_so(guest, tmp_path):
    scenario = tmp_path / "fails.sh"
    scenario.write_text("assay list -o kv | grep host-state\nfail 'the reason'\n")
    done = guest(scenario)
    assert done.returncode == 1, done.stderr
    assert done.stdout == "probes.0.probe=host-state\nguest: the reason\n"
