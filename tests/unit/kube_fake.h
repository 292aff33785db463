/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake API server for nodes, behind kube.h. It keeps its objects and their history, which it
 * compacts like etcd. It answers nothing on its own: the test decides when and how.
 *
 * It defines kube_send(), kube_cancel() and kube_encode(); do not link others with it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/kube.h"

enum {
	FAKE_NODES = 12,
	FAKE_PAGE = 3, /* nodes per page, whatever the limit: lists have several pages */
	FAKE_EVENTS_MAX = 1 << 16,
	FAKE_REQUESTS_MAX = 8,
};

struct fake_node {
	unsigned uid; /* 0: no such node */
	bool unschedulable;
	uint64_t version;
};

struct fake_event {
	const char *type;
	unsigned node;
	struct fake_node was; /* the node after the event */
};

struct kube {
	struct fake_node nodes[FAKE_NODES];
	uint64_t version,
		forgotten; /* version: of the latest change; watches from before `forgotten` fail */
	unsigned uids;
	struct fake_event *events; /* by version */
	struct kube_request *requests[FAKE_REQUESTS_MAX];
	bool down;	  /* kube_send() fails */
	unsigned sent;	  /* requests so far */
	unsigned lists;	  /* first pages served */
	unsigned watches; /* watches started */
};

struct kube_request {
	struct kube *kube;
	struct kube_call call;
	char *query;
	bool watch;
	uint64_t at; /* of a watch: the last version sent; of a list: its snapshot */
	struct fake_node snapshot[FAKE_NODES];
	bool cut;	      /* the client wants no more lines */
	bool cancelled, busy; /* busy: inside one of its callbacks */
};

void fake_release(struct kube *kube);

/* Create or change a node, delete it, or delete and create it with a new uid. */
void fake_touch(struct kube *kube, unsigned node);
void fake_delete(struct kube *kube, unsigned node);
void fake_recreate(struct kube *kube, unsigned node);

/* Compacts the history: watches and pages that start before now get 410. */
void fake_compact(struct kube *kube);

/* Returns the i-th pending request, or NULL. */
struct kube_request *fake_request(struct kube *kube, unsigned i);
struct kube_request *fake_watch(struct kube *kube);

/* Serves the next page of a list, or all new events of a watch. */
void fake_serve(struct kube_request *request);

/* Sends the next event of a watch. Returns false if there is none or the watch was cut. */
bool fake_line(struct kube_request *request);

/* Sends a raw line on a watch. */
void fake_say(struct kube_request *request, const char *line);
void fake_bookmark(struct kube_request *request);

/* Ends the request. Status 200: a clean end; 0: the connection was cut. */
void fake_end(struct kube_request *request, unsigned status);
