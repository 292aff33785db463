# SPDX-License-Identifier: Apache-2.0
"""The programs of an API server, and its certificates."""
import functools
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD_TIMEOUT_S = 2400
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
PACKAGES = {"etcd": "etcd-server", "openssl": "openssl", "kubectl": "kubernetes-client", "setpriv": "util-linux"}
DAYS = "2"


class Missing(Exception):
    """Something the server needs is missing and cannot be fetched; the text says what to do."""


def tool(name):
    path = shutil.which(name, path=PATH)
    if not path:
        raise Missing(f"{name} is not installed: apt-get install {PACKAGES.get(name, name)}")
    return path


@functools.cache
def build(*words):
    """(path, "") or (None, reason); cached, because it may take minutes."""
    done = subprocess.run([HERE / "build_apiserver", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=BUILD_TIMEOUT_S, check=False)
    if done.returncode == 0:
        return done.stdout.strip(), ""
    return None, (done.stderr.strip().splitlines() or ["build_apiserver ended with status %d" % done.returncode])[-1]


def built(*words):
    path, why = build(*words)
    if not path:
        raise Missing(why)
    return path


def apiserver():
    """The path of a kube-apiserver; builds it if there is none yet."""
    return built()


def scheduler(full):
    """The path of a kube-scheduler; only a full run builds a missing one."""
    return built("kube-scheduler") if full else built("--have", "kube-scheduler")


def openssl(directory, *words):
    subprocess.run([tool("openssl"), *map(str, words)], cwd=directory, check=True, capture_output=True)


EC_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_ca(directory, name):
    """Creates NAME.crt and NAME.key of a new CA."""
    openssl(directory, "req", "-x509", *EC_KEY, "-days", DAYS, "-subj", f"/CN={name}", "-keyout", f"{name}.key",
            "-out", f"{name}.crt", "-addext", "keyUsage=critical,keyCertSign")


def make_certificate(directory, ca, name, subject, usage):
    """Creates NAME.crt and NAME.key, signed by the CA; `usage` is serverAuth (for 127.0.0.1) or clientAuth."""
    san = ("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc") if usage == "serverAuth" else ()
    openssl(directory, "req", "-x509", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", *EC_KEY, "-days", DAYS, "-subj", subject,
            "-keyout", f"{name}.key", "-out", f"{name}.crt", "-addext", "basicConstraints=critical,CA:FALSE",
            "-addext", f"extendedKeyUsage={usage}", *san)
