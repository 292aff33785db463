/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actor's event queue, which serializes its work. Callers append events instead of calling into
 * the actor: an event that arrives while another is handled waits until that one is done. The queue
 * is drained before the loop sleeps, so no event is left waiting.
 *
 * The queue also owns the requests to the cluster. Each carries what its answer refers to, and
 * answers to requests from before the last actor_queue_restart() are dropped.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/ledger.h"
#include "lib/base/macro.h"
#include "lib/policy/blame.h"

enum actor_event_kind {
	/* cluster notifications */
	ACTOR_NODE,
	ACTOR_GONE,
	ACTOR_SYNCED,
	ACTOR_STALE,
	/* cluster answers */
	ACTOR_APPLIED,
	ACTOR_TRIED, /* to a dry run: effect_try() */
	ACTOR_JOBS,
	ACTOR_CONFIRMED,
	ACTOR_LEDGER_READ,
	ACTOR_LEDGER_REREAD,
	ACTOR_LEDGER_WRITTEN,
	/* from the controller */
	ACTOR_COMMITTED,
	ACTOR_TICK,
	ACTOR_BLAME,
	ACTOR_BLAMES_TOLD,
	ACTOR_EVENTS_, /* number of kinds */
};

/* What a request refers to. */
struct actor_about {
	const char *node; /* or NULL */
	int64_t action;	  /* number of the action, or 0 */
};

struct actor_event {
	struct actor_event *next;
	enum actor_event_kind kind;
	struct actor_about about;     /* for answers, and the node of ACTOR_GONE */
	char *words;		      /* ACTOR_STALE: why, or NULL */
	struct blame blame;	      /* ACTOR_BLAME */
	struct cluster_node node;     /* ACTOR_NODE; the handler may take it and zero it */
	struct cluster_answer answer; /* pointers belong to the event; `text` is not kept, but */
	struct ledger_reading ledger; /* parsed here */
};

struct actor_queue {
	struct actor_event *first, *last;
	unsigned starts;
	void (*handle)(void *context, struct actor_event *event);
	void *context;
};

void actor_queue_init(struct actor_queue *q,
		      void (*handle)(void *context, struct actor_event *event), void *context);

/*
 * Append a deep copy of `event`. If no event is being handled, it is handled before this returns,
 * together with all that arrive meanwhile.
 */
void actor_queue_put(struct actor_queue *q, const struct actor_event *event);

/* Returns a call whose answer becomes an event of this kind. For a single request. */
struct cluster_call actor_queue_call(struct actor_queue *q, enum actor_event_kind kind,
				     const struct actor_about *about);

/* The actor starts over: answers to all outstanding requests are dropped. */
void actor_queue_restart(struct actor_queue *q);
