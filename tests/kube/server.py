# SPDX-License-Identifier: Apache-2.0
"""A real etcd and kube-apiserver on loopback, without containers.

    with server.Server(directory) as kube:
        kube.admin.create_node("gpu-1")
        run(["assay-controller", "--kubeconfig", kube.kubeconfig("ctl")])
        kube.audit.writes(user=server.CONTROLLER, node="gpu-1")

Users by static token: admin (system:masters), ctl (the controller's service account; ctl-1 to ctl-8 are the
same account with another uid, to distinguish twins in the audit log) and nobody. There is no kubelet, scheduler or
controller-manager: see kubelet.py and api.py.
"""
import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from waiting import wait_for  # noqa: E402

from api import Api, ApiError  # noqa: E402
from apiserver import HERE, apiserver, make_ca, make_certificate, openssl, tool  # noqa: E402
from audit import Audit  # noqa: E402

READY_S = 90
STOP_S = 30
YIELDS = 10  # nice value: a tenth of others' share
STARTS = 3  # retries, because a free port may be taken a moment later
NAMESPACE = "assay"
ACCOUNT = "assay-controller"
CONTROLLER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
DEPLOY = HERE.parents[1] / "deploy/kubernetes"
ISSUER = "https://kubernetes.default.svc"
TWINS = 8
ACCOUNT_GROUPS = f'"system:serviceaccounts,system:serviceaccounts:{NAMESPACE}"'
USERS = [("admin", "admin", "admin", "system:masters"), ("nobody", "nobody", "nobody", "")] + [
    (name, CONTROLLER, name, ACCOUNT_GROUPS) for name in ("ctl", *(f"ctl-{i + 1}" for i in range(TWINS)))]
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "RequestResponse", "verbs": ["create", "update", "patch", "delete", "deletecollection"],
         "resources": [{"group": "", "resources": ["nodes", "nodes/status", "pods", "pods/eviction", "events"]},
                       {"group": "coordination.k8s.io", "resources": ["leases"]},
                       {"group": "authentication.k8s.io", "resources": ["tokenreviews"]}]},
        {"level": "Metadata"}]}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def deployed_roles():
    """The rights that deploy/kubernetes gives to a draining controller, for our account, so that tests find missing ones."""
    for path in ("base/rbac.yaml", "components/cordon/rbac.yaml", "components/drain/rbac.yaml"):
        with open(DEPLOY / path) as f:
            items = [item for item in yaml.safe_load_all(f) if item["apiVersion"].startswith("rbac.")]
        for item in items:
            item["metadata"]["name"] = "test-" + item["metadata"]["name"]
            if "subjects" in item:
                item["subjects"] = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}]
                item["roleRef"]["name"] = "test-" + item["roleRef"]["name"]
            yield item


def yield_to_all(pid):
    """Takes only a tenth of a contended CPU. With autogroups, the nice value of the session counts."""
    os.setpriority(os.PRIO_PROCESS, pid, YIELDS)
    group = Path(f"/proc/{pid}/autogroup")
    if group.exists():
        group.write_text(str(YIELDS))


class Server:
    """One cluster in a directory; `options` go to kube-apiserver. `elsewhere`: once it serves, as if on another machine: yield_to_all()."""

    def __init__(self, directory, options=(), elsewhere=False):
        self.directory, self.options, self.elsewhere = Path(directory), list(options), elsewhere
        self.program, self.etcd_program = apiserver(), tool("etcd")
        self.etcd = self.process = self.port = self.admin = None
        self.starts = []  # (from, to) in seconds when it was starting
        self.directory.mkdir(parents=True, exist_ok=True)
        self.audit = Audit(self.directory / "audit.log")
        self.make_files()

    def make_files(self):
        make_ca(self.directory, "ca")
        make_ca(self.directory, "client-ca")
        make_certificate(self.directory, "ca", "serving", "/CN=kube-apiserver", "serverAuth")
        make_certificate(self.directory, "client-ca", "admin", "/O=system:masters/CN=admin", "clientAuth")
        openssl(self.directory, "genrsa", "-out", "account.key", "2048")
        (self.directory / "tokens.csv").write_text("".join(f"{n}-token,{user},{uid},{groups}\n" for n, user, uid, groups in USERS))
        (self.directory / "policy.json").write_text(json.dumps(AUDIT_POLICY))

    # ---- processes ---------------------------------------------------------------------

    def spawn(self, log, *command):
        with open(self.directory / log, "a") as out:
            # If our parent is killed, no process is left behind.
            process = subprocess.Popen([tool("setpriv"), "--pdeathsig", "KILL", *map(str, command)], cwd=self.directory,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=self.elsewhere,
                                       env={**os.environ, **({"GOMAXPROCS": "1"} if self.elsewhere else {})})
        return process

    def start_etcd(self):
        self.etcd_port, peer = free_port(), free_port()
        client = f"http://127.0.0.1:{self.etcd_port}"
        self.etcd = self.spawn("etcd.log", self.etcd_program, "--data-dir", self.directory / "etcd", "--logger", "zap", "--log-level", "warn",
                               "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                               "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}")

    def start_apiserver(self):
        file = self.directory.joinpath
        self.admin = self.api("admin")  # a client with all rights
        self.process = self.spawn(
            "apiserver.log", self.program, f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", f"--cert-dir={file('run')}", f"--tls-cert-file={file('serving.crt')}",
            f"--tls-private-key-file={file('serving.key')}", f"--client-ca-file={file('client-ca.crt')}",
            f"--token-auth-file={file('tokens.csv')}", f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={file('account.key')}", f"--service-account-signing-key-file={file('account.key')}",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true",
            "--endpoint-reconciler-type=none", "--profiling=false", f"--audit-policy-file={file('policy.json')}",
            f"--audit-log-path={file('audit.log')}", "--audit-log-maxsize=2000", *self.options)

    def start(self):
        """Starts both on the existing data, and waits until it serves. Returns self."""
        for _ in range(STARTS):
            began = time.time()
            if self.etcd is None:
                self.port = self.port or free_port()
                self.start_etcd()
            self.start_apiserver()
            if wait_for(self.is_ready_or_ended, READY_S) and self.process.poll() is None:
                self.prepare()
                if self.elsewhere:
                    yield_to_all(self.process.pid)
                    yield_to_all(self.etcd.pid)
                self.starts.append((began, time.time()))
                return self
            self.end_all()
            self.port = None
        raise RuntimeError("kube-apiserver did not start:\n" + self.log()[-3000:])

    def is_ready_or_ended(self):
        if self.process.poll() is not None or self.etcd.poll() is not None:
            return True
        try:
            return self.admin.get("/readyz", check=False).status == 200 and self.admin.get("/api/v1/namespaces/default", check=False).status == 200
        except OSError:
            return False

    def prepare(self):
        """Creates our namespace, its accounts and their rights, if missing."""
        self.admin.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for name in (ACCOUNT, "assay-agent"):
            self.admin.ensure({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}})
        for item in deployed_roles():
            self.admin.ensure(item)
        if not wait_for(lambda: self.api("ctl").get("/api/v1/nodes?limit=1", check=False).status == 200, READY_S):
            raise RuntimeError("kube-apiserver does not know our roles:\n" + self.log()[-3000:])

    def stop(self, how=signal.SIGKILL):
        """Stops only the API server; its port and data are kept. start() brings it back."""
        if self.process is not None:
            self.end(self.process, how)
            self.process = None

    def restart(self):
        """Restarts it; older watches then get 410."""
        self.stop()
        return self.start()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        # A thread on another CPU continues until the signal is delivered.
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    @staticmethod
    def end(process, how=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def end_all(self):
        self.stop()
        if self.etcd is not None:
            self.end(self.etcd)
            self.etcd = None
        shutil.rmtree(self.directory / "etcd", ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.end_all()

    def log(self):
        with open(self.directory / "apiserver.log", errors="replace") as f:
            return f.read()

    def panics(self):
        """How often a handler panicked; responses after that are unreliable."""
        return self.log().count("Observed a panic")

    # ---- clients -----------------------------------------------------------------------

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca(self):
        return self.directory / "ca.crt"

    def api(self, user, **more):
        """A client as one of USERS, or with token="..."."""
        return Api(self.url, self.ca, **{"token": f"{user}-token", **more})

    def make_node_certificate(self, node):
        """Creates a kubelet's NAME.crt and NAME.key. Returns the path without suffix."""
        name = f"node-{node}"
        make_certificate(self.directory, "client-ca", name, f"/O=system:nodes/CN=system:node:{node}", "clientAuth")
        return self.directory / name

    def rotate_ca(self):
        """Replaces the CA and serving certificate, as after a rotation, and restarts. ca.crt is the new one."""
        make_ca(self.directory, "ca")
        make_certificate(self.directory, "ca", "serving", "/CN=kube-apiserver", "serverAuth")
        return self.restart()

    def mint(self, account=ACCOUNT, audience=ISSUER, seconds=3600, pod=None):
        """A service account's token, signed here, with any expiry, even a past one. The server allows 60 s of grace."""
        now = int(time.time())
        uid = self.admin.get(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}").body["metadata"]["uid"]
        of = {"namespace": NAMESPACE, "serviceaccount": {"name": account, "uid": uid}}
        if pod:
            of["pod"] = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        claims = {"iss": ISSUER, "aud": [audience], "exp": now + seconds, "iat": now - 3600, "nbf": now - 3600,
                  "sub": f"system:serviceaccount:{NAMESPACE}:{account}", "kubernetes.io": of}
        text = b".".join(encode(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, claims))
        signed = subprocess.run([tool("openssl"), "dgst", "-sha256", "-sign", self.directory / "account.key"], input=text,
                                capture_output=True, check=True)
        return (text + b"." + encode(signed.stdout)).decode()

    def kubeconfig(self, user="admin", path=None, url=None, **credentials):
        """Writes one for a user's token, or for token=, tokenFile=, or client-certificate= and client-key=. Returns its path."""
        path = Path(path or self.directory / f"kubeconfig-{user}")
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test", "preferences": {},
            "clusters": [{"name": "test", "cluster": {"server": url or self.url, "certificate-authority": str(self.ca)}}],
            "users": [{"name": user, "user": {k.replace("_", "-"): str(v) for k, v in credentials.items()} or {"token": f"{user}-token"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": NAMESPACE}}]}, indent=1))
        return path

    def kubectl(self, *words, user="admin", check=True, **more):
        """Runs kubectl as that user. Returns the CompletedProcess."""
        done = subprocess.run([tool("kubectl"), "--kubeconfig", self.kubeconfig(user), *map(str, words)], capture_output=True, text=True,
                              env={"HOME": str(self.directory), "PATH": "/usr/bin:/bin"}, timeout=READY_S, check=False, **more)
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(map(str, words))}: {done.stderr}")
        return done

    # ---- between tests -----------------------------------------------------------------

    def clean(self):
        """Deletes nodes, pods, budgets, events and our Leases; the audit starts here."""
        self.admin.delete("/api/v1/nodes")
        for kind, path in (("pods", "/api/v1"), ("poddisruptionbudgets", "/apis/policy/v1beta1")):
            items = self.admin.get(f"{path}/{kind}").body["items"]
            for namespace in sorted({item["metadata"]["namespace"] for item in items}):
                self.admin.delete(f"{path}/namespaces/{namespace}/{kind}?gracePeriodSeconds=0")
        self.admin.delete("/api/v1/namespaces/default/events")
        self.admin.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")
        self.audit.begin()


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


__all__ = ["ACCOUNT", "Api", "ApiError", "CONTROLLER", "ISSUER", "NAMESPACE", "Server"]
