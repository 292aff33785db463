# SPDX-License-Identifier: Apache-2.0
"""docs/tutorials/bare-metal.md with the packages: four clean Debian systems, each with its own systemd and network."""
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/system"))
import booted  # noqa: E402
import machines  # noqa: E402
import tutorials  # noqa: E402


def test_three_hosts_by_packages(prepared, packages, tmp_path):
    try:
        with machines.Site(tmp_path / "site", ["controller", "gpu-1", "gpu-2", "gpu-3"], root=prepared.root, debs=sorted(packages.glob("*.deb"))) as site:
            def run(name, command):
                done = site[name].run(command)
                return done.returncode, done.stdout + done.stderr

            try:
                player = tutorials.Player(run).play(tutorials.blocks(TOP / "docs/tutorials/bare-metal.md"))
            except AssertionError:
                print(*(m.words() for m in site.machines.values()))
                raise
            assert player.left_out == [] and len(player.ran) >= 12
    except booted.CannotBoot as why:
        pytest.skip(f"no machines here: {why}")
