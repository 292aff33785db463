/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server with nodes, behind kube.h: it keeps its objects, what happened to them, and
 * forgets as etcd does. Nothing is answered by itself: the test says when, and how.
 *
 * It defines kube_send(), kube_cancel() and kube_encode(); a test that uses it links no other.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/kube.h"

enum {
	FAKE_NODES = 12,
	FAKE_PAGE = 3, /* nodes of one page, whatever was asked for: many pages */
	FAKE_EVENTS_MAX = 1 << 16,
	FAKE_REQUESTS_MAX = 8,
};

struct fake_node {
	unsigned uid; /* 0: there is none */
	bool unschedulable;
	uint64_t version;
};

struct fake_event {
	const char *type;
	unsigned node;
	struct fake_node was; /* after it */
};

struct kube {
	struct fake_node nodes[FAKE_NODES];
	uint64_t version,
		forgotten; /* of the last change; watches from before this one are refused */
	unsigned uids;
	struct fake_event *events; /* by version */
	struct kube_request *requests[FAKE_REQUESTS_MAX];
	bool down;	  /* nothing can even be sent */
	unsigned sent;	  /* requests, ever */
	unsigned lists;	  /* first pages answered */
	unsigned watches; /* watches begun */
};

struct kube_request {
	struct kube *kube;
	struct kube_call call;
	char *query;
	bool watch;
	uint64_t at; /* a watch: the version told last; a list: its snapshot */
	struct fake_node snapshot[FAKE_NODES];
	bool cut;	      /* it wants no more lines */
	bool cancelled, busy; /* inside of one of its callbacks */
};

void fake_release(struct kube *kube);

/* Change a node: it appears, changes, goes, or comes back as another one. */
void fake_touch(struct kube *kube, unsigned node);
void fake_delete(struct kube *kube, unsigned node);
void fake_recreate(struct kube *kube, unsigned node);

/* What happened so far is forgotten: watches and pages that begin there are 410. */
void fake_compact(struct kube *kube);

/* The i-th request under way, or NULL. */
struct kube_request *fake_request(struct kube *kube, unsigned i);
struct kube_request *fake_watch(struct kube *kube);

/* Answer a list with the page that is due; a watch with all events it has not told. */
void fake_serve(struct kube_request *request);

/* The next event of a watch; false: there is none, or it was cut. */
bool fake_line(struct kube_request *request);

/* One line as it is, of a watch. */
void fake_say(struct kube_request *request, const char *line);
void fake_bookmark(struct kube_request *request);

/* End it: status 200 is a clean end; 0: the connection was cut. */
void fake_end(struct kube_request *request, unsigned status);
