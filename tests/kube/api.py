# SPDX-License-Identifier: Apache-2.0
"""A small API client for tests, and objects that a kubelet or scheduler would create: nodes with a status, running pods,
budgets with counts."""
import contextlib
import http.client
import json
import ssl
import threading
import urllib.parse

TIMEOUT_S = 30
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JOB = {"apiVersion": "batch/v1", "kind": "Job"}  # owners of pods
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet"}
PLURALS = {"NetworkPolicy": "networkpolicies", "PriorityClass": "priorityclasses", "Endpoints": "endpoints"}


class ApiError(Exception):
    """A response with status 400 or more."""

    def __init__(self, method, path, answer):
        self.status, self.answer = answer.status, answer
        self.reason = answer.body.get("reason", "") if isinstance(answer.body, dict) else ""
        super().__init__(f"{method} {path}: {answer.status}: {answer.words}")


class Answer:
    """status, headers, and the body: an object if it is JSON, else text."""

    def __init__(self, status, headers, raw):
        self.status, self.headers = status, headers
        self.body = raw.decode(errors="replace")
        if headers.get_content_type() == "application/json":
            self.body = json.loads(raw)

    @property
    def words(self):
        return self.body.get("message", "") if isinstance(self.body, dict) else self.body.strip()


def path_of(item):
    """The path for creating objects of this kind."""
    group, kind = item["apiVersion"], item["kind"]
    base = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    namespace = item["metadata"].get("namespace")
    plural = PLURALS.get(kind, kind.lower() + "s")
    return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"


class Api:
    """Requests as one user: by token, or by a certificate (`cert` is its path without .crt and .key)."""

    def __init__(self, url, ca, token=None, cert=None):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.ca, self.token, self.cert = parts.hostname, parts.port, ca, token, cert
        self.local = threading.local()

    def connect(self, timeout=TIMEOUT_S, context=None):
        context = context or ssl.create_default_context(cafile=self.ca)
        if self.cert:
            context.load_cert_chain(f"{self.cert}.crt", f"{self.cert}.key")
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)

    def headers(self, content=None):
        headers = {"Accept": "application/json", "User-Agent": "assay-tests/1"}
        if self.token and not self.cert:
            headers["Authorization"] = "Bearer " + self.token
        return {**headers, "Content-Type": content} if content else headers

    def call(self, method, path, body=None, content="application/json", check=True):
        """Sends one request. Returns its Answer; raises ApiError for 400 and more unless check=False, OSError without a response."""
        text = None if body is None else json.dumps(body)
        connection = getattr(self.local, "connection", None)
        for used in (True, False):
            if used and connection is None:
                continue
            if not used:
                connection = self.local.connection = self.connect()
            try:
                connection.request(method, path, text, self.headers(content if body is not None else None))
                answer = connection.getresponse()
                answer = Answer(answer.status, answer.headers, answer.read())
                break
            except (OSError, http.client.HTTPException) as e:
                connection.close()
                self.local.connection = None
                if not used:
                    raise OSError(f"{method} {path}: {e}") from e
        if check and answer.status >= 400:
            raise ApiError(method, path, answer)
        return answer

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body, **more):
        return self.call("POST", path, body, **more)

    def put(self, path, body, **more):
        return self.call("PUT", path, body, **more)

    def delete(self, path, body=None, **more):
        return self.call("DELETE", path, body, **more)

    def patch(self, path, body, content=MERGE, **more):
        return self.call("PATCH", path, body, content=content, **more)

    def create(self, item, **more):
        return self.post(path_of(item), item, **more)

    def ensure(self, item):
        """Creates it, or merges it into the existing one."""
        answer = self.create(item, check=False)
        if answer.status == 409:
            return self.patch(f"{path_of(item)}/{item['metadata']['name']}", item)
        if answer.status >= 400:
            raise ApiError("POST", path_of(item), answer)
        return answer

    def watch(self, path, seconds, **query):
        """(type, object) of each event until the server ends it after `seconds`."""
        query = {"watch": 1, "timeoutSeconds": max(1, int(seconds)), **query}
        with contextlib.closing(self.connect(seconds + TIMEOUT_S)) as connection:
            connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}", headers=self.headers())
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError("GET", path, Answer(answer.status, answer.headers, answer.read()))
            for line in answer:
                event = json.loads(line)
                yield event["type"], event["object"]

    # ---- objects created by others -----------------------------------------------------

    def node(self, name):
        return self.get(f"/api/v1/nodes/{name}").body

    def create_node(self, name, ready=True, labels=None, annotations=None, **spec):
        """Creates a node with a status; a ready one is as left by the node-lifecycle controller. Returns the object."""
        state = "True" if ready else "False"
        conditions = [{"type": "Ready", "status": state, "reason": "KubeletReady" if ready else "KubeletNotReady", "message": "as the test says",
                       "lastHeartbeatTime": "2026-11-20T10:00:00Z", "lastTransitionTime": "2026-11-20T10:00:00Z"}]
        made = self.post("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "spec": spec,
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}, "annotations": annotations or {}},
            "status": {"conditions": conditions, "capacity": {"cpu": "8", "memory": "64Gi", "pods": "110"},
                       "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}}}).body
        if not ready:
            return made
        return self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": spec.get("taints")}}).body

    def create_pod(self, name, node, namespace="default", phase="Running", labels=None, annotations=None, owner=None, **spec):
        """Creates a pod on the node in that phase; without a node (None) it is left to a scheduler. `owner`: an ownerReference without name and uid."""
        metadata = {"name": name, "namespace": namespace, "labels": labels or {}, "annotations": annotations or {}}
        if owner:
            metadata["ownerReferences"] = [{"name": "owner", "uid": "00000000-0000-0000-0000-000000000001", "controller": True, **owner}]
        path = f"/api/v1/namespaces/{namespace}/pods"
        made = self.post(path, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
                                "spec": {**({"nodeName": node} if node else {}), "containers": [{"name": "main", "image": "none"}], **spec}}).body
        if phase == "Pending":
            return made
        return self.set_phase(name, phase, namespace)

    def set_phase(self, name, phase, namespace="default"):
        """Sets a pod's phase, like its kubelet. Returns the object."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        ready = [{"type": "Ready", "status": "True" if phase == "Running" else "False"}]
        return self.patch(f"{path}/{name}/status", {"status": {"phase": phase, "conditions": ready}}).body

    def create_budget(self, name, labels, allowed, namespace="default"):
        """Creates a PodDisruptionBudget for these labels with the number of allowed disruptions that its controller would set."""
        path = f"/apis/policy/v1beta1/namespaces/{namespace}/poddisruptionbudgets"
        self.post(path, {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
                         "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}})
        return self.allow_disruptions(name, allowed, namespace)

    def allow_disruptions(self, name, allowed, namespace="default"):
        """Sets the number of allowed disruptions; earlier ones are dropped."""
        path = f"/apis/policy/v1beta1/namespaces/{namespace}/poddisruptionbudgets/{name}"
        status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 10, "desiredHealthy": 10 - allowed,
                  "expectedPods": 10, "disruptedPods": None}
        return self.patch(f"{path}/status", {"status": status}).body

    def create_token(self, account, namespace, audience, pod=None, seconds=600):
        """A token as the kubelet projects it into a pod: a bound token of the account for that audience."""
        spec = {"audiences": [audience], "expirationSeconds": seconds}
        if pod:
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        answer = self.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        return answer.body["status"]["token"]

    # ---- queries -----------------------------------------------------------------------

    def condition(self, node, kind):
        """That condition of the node, or None."""
        conditions = self.node(node).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), None)

    def events_of(self, node):
        """Events about a node, found like `kubectl describe` does."""
        items = self.get("/api/v1/namespaces/default/events").body["items"]
        return [e for e in items if e["involvedObject"].get("kind") == "Node" and e["involvedObject"].get("name") == node
                and not e["involvedObject"].get("namespace")]

    def nodes(self):
        """All nodes by name."""
        return {n["metadata"]["name"]: n for n in self.get("/api/v1/nodes").body["items"]}

    def cordoned(self):
        """Names of the nodes that are cordoned, by any user."""
        return {name for name, n in self.nodes().items() if n["spec"].get("unschedulable")}
