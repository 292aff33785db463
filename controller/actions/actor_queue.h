/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to the actor, one after the other. Whoever has something to tell it appends an event
 * and nobody calls into its midst: what comes while an event is handled waits until that one is
 * over. The queue is empty again before the loop sleeps, so no event waits for another.
 *
 * It owns the questions to the cluster too. Each carries what its answer is about, and an answer
 * to what was asked before the last actor_queue_restart() is dropped.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/ledger.h"
#include "lib/base/macro.h"
#include "lib/policy/blame.h"

enum actor_event_kind {
	/* what the cluster tells whoever watches */
	ACTOR_NODE,
	ACTOR_GONE,
	ACTOR_SYNCED,
	ACTOR_STALE,
	/* what it answers */
	ACTOR_APPLIED,
	ACTOR_TRIED, /* to a dry run: effect_try() */
	ACTOR_JOBS,
	ACTOR_CONFIRMED,
	ACTOR_LEDGER_READ,
	ACTOR_LEDGER_REREAD,
	ACTOR_LEDGER_WRITTEN,
	/* what the controller tells */
	ACTOR_COMMITTED,
	ACTOR_TICK,
	ACTOR_BLAME,
	ACTOR_BLAMES_TOLD,
	ACTOR_EVENTS_, /* not a kind: how many there are */
};

/* What a question is about. */
struct actor_about {
	const char *node; /* or NULL */
	int64_t action;	  /* its number, or 0 */
};

struct actor_event {
	struct actor_event *next;
	enum actor_event_kind kind;
	struct actor_about about; /* of an answer, and of ACTOR_GONE the node */
	char *words;		  /* ACTOR_STALE: why, or NULL */
	struct blame blame;	  /* ACTOR_BLAME */
	struct cluster_node node; /* ACTOR_NODE; whoever handles it may take it, and zeroes it then */
	struct cluster_answer answer; /* what it points to is the event's; its `text` is not kept: */
	struct ledger_reading ledger; /* ... this is what it says */
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
 * Append it, a copy of what `event` says; what it borrows is copied. Unless another one is being
 * handled it is handled before this returns, with all that come meanwhile.
 */
void actor_queue_put(struct actor_queue *q, const struct actor_event *event);

/* A call whose answer becomes an event of this kind. For one question only. */
struct cluster_call actor_queue_call(struct actor_queue *q, enum actor_event_kind kind,
				     const struct actor_about *about);

/* Whoever asked has begun anew: nothing that was asked is answered any more. */
void actor_queue_restart(struct actor_queue *q);
