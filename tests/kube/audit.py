# SPDX-License-Identifier: Apache-2.0
"""The API server's audit log as evidence: which user sent which request, the response, and the order of effects.

A response may arrive a moment before its line in the log, so tests poll."""
import datetime
import json
from dataclasses import dataclass, field

WRITES = ("create", "update", "patch", "delete", "deletecollection")
OWNER = "assay.dev/cordon"


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@dataclass
class Record:
    """One answered request."""

    user: str
    uid: str
    agent: str
    verb: str
    resource: str  # with its subresource: "nodes/status"
    namespace: str
    name: str
    code: int
    began: float  # wall clock time, in seconds
    ended: float
    uri: str
    id: str  # the Audit-Id of the response
    stage: str  # ResponseComplete; for a running watch also ResponseStarted
    request: dict = field(repr=False)
    response: dict = field(repr=False)

    @property
    def version(self):
        """The resourceVersion that it created, which orders all writes. 0: none."""
        return int((self.response or {}).get("metadata", {}).get("resourceVersion") or 0)

    @property
    def wrote(self):
        return self.verb in WRITES and self.code < 300 and "dryRun=" not in self.uri


def parse(line):
    value = json.loads(line)
    about, user = value.get("objectRef") or {}, value.get("user") or {}
    resource = about.get("resource", "")
    if about.get("subresource"):
        resource += "/" + about["subresource"]
    return Record(user.get("username", ""), user.get("uid", ""), value.get("userAgent", ""), value["verb"], resource,
                  about.get("namespace", ""), about.get("name", ""), (value.get("responseStatus") or {}).get("code", 0),
                  seconds(value["requestReceivedTimestamp"]), seconds(value["stageTimestamp"]), value["requestURI"],
                  value["auditID"], value["stage"], value.get("requestObject"), value.get("responseObject"))


class Audit:
    """The log of one server, read incrementally."""

    def __init__(self, path):
        self.path, self.position, self.kept = path, 0, []

    def begin(self):
        """Skips all records so far."""
        self.read()
        self.kept = []

    def read(self):
        """All records since begin(), in log order."""
        try:
            with open(self.path, "rb") as f:
                f.seek(self.position)
                text = f.read()
        except FileNotFoundError:
            return self.kept
        whole = text.rfind(b"\n") + 1
        self.position += whole
        self.kept += [parse(line) for line in text[:whole].splitlines()]
        return self.kept

    def find(self, node=None, **fields):
        """Records with these fields: find(user=..., verb="patch", resource="nodes", code=409)."""
        if node is not None:
            fields["name"] = node
        return [r for r in self.read() if all(getattr(r, k) == v for k, v in fields.items())
                and (node is None or r.resource.startswith("nodes"))]

    def writes(self, **fields):
        """Records of writes."""
        return [r for r in self.find(**fields) if r.wrote]

    def refused(self, user, starts=()):
        """Requests of a user that were forbidden: if there are any, the roles lack a right. Without those while the server started,
        given as (from, to), when it does not know the roles yet."""
        return [f"{r.verb} {r.uri}: {r.code}" for r in self.find(user=user, code=403) if not any(a <= r.ended and r.began <= b for a, b in starts)]

    def history(self):
        """(version, name, out of service, our mark or None, Record) of each write of a node, in order of effect."""
        found, last = [], 0
        for r in self.writes():
            if r.resource.split("/")[0] != "nodes":
                continue
            last = max(last, r.version)
            after = r.response or {}
            if after.get("kind") != "Node":
                found.append((last + 0.5, r.name, False, None, r))  # the response to a deletion has no version
                continue
            mark = (after["metadata"].get("annotations") or {}).get(OWNER)
            found.append((r.version, after["metadata"]["name"], bool(after["spec"].get("unschedulable")), mark, r))
        return sorted(found, key=lambda row: row[0])

    def cordons(self, name=None):
        """Records that took a node out of service that was in service before, in order of effect."""
        out, found = {}, []
        for _, node, unschedulable, _, record in self.history():
            if unschedulable and not out.get(node) and name in (None, node):
                found.append(record)
            out[node] = unschedulable
        return found

    def most_in_force(self, anybody=False):
        """The maximum number of nodes out of service at the same time with our mark; with `anybody`, also without it."""
        out, most = set(), 0
        for _, node, unschedulable, mark, _ in self.history():
            (out.add if unschedulable and (mark or anybody) else out.discard)(node)
            most = max(most, len(out))
        return most
