# SPDX-License-Identifier: Apache-2.0
"""The part of kubelets that a drain needs: terminating pods are deleted a moment later."""
import contextlib
import http.client
import json
import socket
import threading

from api import ApiError

WATCH_S = 60


class Kubelet:
    """Finishes terminating pods in a thread, except those of nodes in `dead`."""

    def __init__(self, api, dead=()):
        self.api, self.dead, self.finished = api, set(dead), []
        self.connection, self.stopping = None, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        with contextlib.suppress(OSError, AttributeError):  # it may be between two watches
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(WATCH_S)

    def run(self):
        while not self.stopping.is_set():
            try:
                self.watch()
            except (ApiError, OSError, ValueError, http.client.HTTPException):  # the server is failing, or we are being stopped
                self.stopping.wait(0.2)

    def watch(self):
        """Watches without a version, so the first events are all existing pods."""
        self.connection = self.api.connect(WATCH_S * 2)
        self.connection.request("GET", f"/api/v1/pods?watch=1&timeoutSeconds={WATCH_S}", headers=self.api.headers())
        for line in self.connection.getresponse():
            if self.stopping.is_set():
                return
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                self.look(event["object"])

    def look(self, pod):
        metadata = pod["metadata"]
        if "deletionTimestamp" not in metadata or pod["spec"].get("nodeName") in self.dead:
            return
        try:
            self.api.delete(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}",
                            {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}})
            self.finished.append(metadata["name"])
        except ApiError as e:
            if e.status not in (404, 409):
                raise
