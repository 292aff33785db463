# SPDX-License-Identifier: Apache-2.0
"""Clocks that tests control, for the programs of a build (tests/fakes/clock_shift.c)."""
import subprocess

import pytest

MIN, HOUR, DAY = 60, 3600, 86400


class Clock:
    """env() is for a program; it shifts its wall clock by `wall` seconds and its time since boot by `boot` seconds."""

    def __init__(self, path, library):
        self.path, self.library = path, library
        self.set()

    def set(self, wall=0.0, boot=0.0):
        """Takes effect at once in all programs that use it."""
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(f"{int(wall * 1e6)} {int(boot * 1e6)}\n")
        temporary.rename(self.path)

    def env(self):
        return {"LD_PRELOAD": str(self.library), "ASSAY_CLOCK_FILE": str(self.path)}


def library(build, configured, name):
    if configured("enable-sanitizers"):
        pytest.skip("the library that shifts clocks cannot be loaded before that of the sanitizers")
    name = f"tests/fakes/{name}.so"
    subprocess.run(["make", "-s", "-C", str(build), name], check=True, capture_output=True)
    return build / name


@pytest.fixture(scope="session")
def clock_shift(build, configured):
    """The path of the library."""
    return library(build, configured, "clock_shift")


@pytest.fixture(scope="session")
def clock_leap(build, configured):
    """The library that makes days pass in minutes (tests/fakes/clock_leap.c)."""
    return library(build, configured, "clock_leap")


@pytest.fixture
def clock(clock_shift, tmp_path):
    """The clocks of one host."""
    return Clock(tmp_path / "clock", clock_shift)


@pytest.fixture
def other_clock(clock_shift, tmp_path):
    """The clocks of another machine, the controller's."""
    return Clock(tmp_path / "other-clock", clock_shift)
