# SPDX-License-Identifier: Apache-2.0
"""assay admit: which owners of verdict.json it trusts."""
import os
import subprocess

import pytest

from test_admit import admit, verdict  # noqa: F401


def test_a_verdict_that_others_can_write_is_not_believed(admit, run, environ):  # noqa: F811
    """Through the file or its directory; a file that root wrote by hand is trusted."""
    home = environ["ASSAY_STATE_DIR"]
    assert admit(verdict())[1]["answer"] == "ok"
    for path, mode, good in ((os.path.join(home, "verdict.json"), 0o666, 0o644), (home, 0o777, 0o755)):
        os.chmod(path, mode)
        answer = admit(None)[1]
        assert answer["answer"] == "unknown" and answer["reasons"] == [
            f"the verdict cannot be believed: {path} can be changed by everybody: chmod go-w {path}"]
        assert admit(None, "--fail-closed")[0] == 1
        os.chmod(path, good)
        assert admit(None)[1]["answer"] == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_verdict_of_another_user_is_not_believed_but_by_root_of_a_container(admit, run, environ, build):  # noqa: F811
    path = os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")
    admit(verdict())
    os.chown(path, 54321, -1)
    assert admit(None)[1]["reasons"] == [f"the verdict cannot be believed: {path} belongs to user 54321, who may change it: chown root {path}"]
    if subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    done = subprocess.run(["unshare", "--user", "--map-root-user", build / "assay", "admit"],
                          env={**environ, "ASSAY_NODE": "n1"}, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "ok"), "its owner is outside of the namespace: nobody inside is that user"
