# SPDX-License-Identifier: Apache-2.0
"""Packages of this tree and of an earlier commit, and separate Debian systems to install them in.

ASSAY_PACKAGES names a folder in which scripts/deb has built both already, as `now` and `before`.
"""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import chroot

TOP = Path(__file__).resolve().parents[2]
BEFORE = "608a412"  # an earlier 0.1.0, to upgrade from
BUILD_S, PREPARE_S, CACHE_DAYS = 3600, 1200, 30


def missing():
    """The reason why these tests cannot run here, or None."""
    if os.geteuid() != 0:
        return "only root can make a Debian system to install packages in"
    for tool in ("debootstrap", "dpkg-buildpackage", "dh", "unshare", "ip"):
        if not shutil.which(tool):
            return f"{tool} is missing: scripts/deb and scripts/test --full install it"
    return None


@pytest.fixture(scope="session")
def top():
    return TOP


def built(name, *options):
    """The folder `name` of built packages."""
    made = os.environ.get("ASSAY_PACKAGES")
    if made:
        return Path(made) / name
    folder = TOP / "build-test/packages" / name
    folder.mkdir(parents=True, exist_ok=True)
    out = subprocess.run([str(TOP / "scripts/deb"), *options, str(folder)], capture_output=True, text=True, timeout=BUILD_S,
                         stdin=subprocess.DEVNULL, check=False)
    assert out.returncode == 0, out.stdout + out.stderr
    return folder


@pytest.fixture(scope="session")
def packages():
    """The folder of the current packages, with their .changes."""
    if missing():
        pytest.skip(missing())
    return built("now")


@pytest.fixture(scope="session")
def packages_before(packages):
    """The packages of BEFORE."""
    known = subprocess.run(["git", "-C", str(TOP), "cat-file", "-e", BEFORE + "^{commit}"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"no commit {BEFORE} here: an upgrade from it needs the history")
    return built("before", "--of", BEFORE)


@pytest.fixture(scope="session")
def prepared(packages, tmp_path_factory):
    """A Debian system with the dependencies of our packages, but without ours."""
    cache = Path(os.environ.get("ASSAY_CACHE") or Path.home() / ".cache/assay") / "packages"
    try:
        base = chroot.debootstrapped(cache, CACHE_DAYS, PREPARE_S)
    except chroot.CannotMake as e:
        pytest.skip(str(e))
    root = tmp_path_factory.mktemp("prepared") / "root"
    chroot.copy(base, root)
    system = chroot.System(root)
    try:
        system.install_dependencies(sorted(packages.glob("*.deb")), PREPARE_S)
        yield system
    finally:
        shutil.rmtree(root)


@pytest.fixture
def system(prepared, tmp_path):
    """A separate system for each test."""
    root = tmp_path / "root"
    chroot.copy(prepared.root, root)
    yield chroot.System(root)
    shutil.rmtree(root)
