# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests against a real API server; those of the system tests are here too."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from fixtures_controller import controller  # noqa: E402, F401
from fixtures_programs import (build, configured, environ, full, pytest_collection_modifyitems, pytest_configure,  # noqa: E402, F401
                               run, top, wait_until)

import acting as acting_module  # noqa: E402
import chaos  # noqa: E402
import kubelet  # noqa: E402
import server as kube_server  # noqa: E402
from apiserver import Missing  # noqa: E402


def new_server(directory, *options):
    try:
        return kube_server.Server(directory, options)
    except Missing as e:
        pytest.skip(str(e))


@pytest.fixture(scope="session")
def kube_of_session(tmp_path_factory):
    with new_server(tmp_path_factory.mktemp("kube")) as server:
        yield server
        assert server.panics() == 0, server.log()[-3000:]


@pytest.fixture
def kube(kube_of_session):
    """A running server without nodes and pods, with its audit log from now on. Tests must not stop it; use kube_own for that."""
    kube_of_session.clean()
    return kube_of_session


@pytest.fixture(scope="session")
def kube_spare(tmp_path_factory):
    with new_server(tmp_path_factory.mktemp("kube-own")) as server:
        yield server


@pytest.fixture
def kube_own(kube_spare):
    """The same, but exclusive to the test, which may stop, restart and pause it."""
    if kube_spare.process is None:
        kube_spare.start()
    kube_spare.resume()
    kube_spare.clean()
    yield kube_spare
    assert kube_spare.panics() == 0, kube_spare.log()[-3000:]


@pytest.fixture
def kubelets(kube):
    """Finishes evicted pods."""
    with kubelet.Kubelet(kube.api("admin")) as k:
        yield k


@pytest.fixture
def way(kube):
    """A faulty path to `kube`: way.url, way.set("busy", retry_after=1)."""
    with chaos.Chaos(kube) as c:
        yield c


@pytest.fixture
def acting_on(controller, tmp_path, run):  # noqa: F811
    """acting_on(server).start(["gpu-1", ...]): a controller that acts on the nodes of that server."""
    return lambda server: acting_module.Acting(controller, server, tmp_path, run)


@pytest.fixture
def acting(acting_on, kube):
    """The same on `kube`."""
    return acting_on(kube)
