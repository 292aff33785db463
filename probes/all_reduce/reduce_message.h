/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks of an all-reduce say to rank 0 and it to them, one JSON object
 * a message. Rank 0 asks, the others follow.
 *
 *	hello		each to rank 0: which rank, its node, its rails and memory, its engine
 *	plan		rank 0: nodes by rank, the least of rails and memory, its own pieces
 *			and queue pairs
 *	ping -> pong	the clocks against each other
 *	open -> offer	queues for a rail | ready with `why`: could not
 *	join -> ready	the neighbours' offers; `why` when it could not connect
 *	unite -> ready	with NCCL, where open -> ready: the id of the group that all make
 *	go -> done	so many operations, and what became of them
 *	whose -> seen	what each had to send again: was there traffic of others at its port?
 *	stop		all is over: who is at fault, and why
 *	result		of a rail: what the ranks came to
 *	bye		no more
 *
 * Whatever is sent is bounded and checked here. Pure.
 */
#pragma once

#include "lib/json/json.h"
#include "probes/coll/coll.h"
#include "probes/coll/verbs.h"

enum reduce_kind {
	REDUCE_HELLO,
	REDUCE_PLAN,
	REDUCE_PING,
	REDUCE_PONG,
	REDUCE_OPEN,
	REDUCE_OFFER,
	REDUCE_JOIN,
	REDUCE_READY,
	REDUCE_GO,
	REDUCE_DONE,
	REDUCE_WHOSE,
	REDUCE_SEEN,
	REDUCE_STOP,
	REDUCE_RESULT,
	REDUCE_BYE,
	REDUCE_UNITE,
	REDUCE_KINDS,
};

/* What moves the data; who says nothing of it has verbs. */
enum reduce_engine { REDUCE_VERBS, REDUCE_NCCL, REDUCE_ENGINES };
extern const char *const reduce_engine_names[]; /* "verbs", "nccl"; NULL-terminated */

enum {
	REDUCE_OPS_MAX = 1000000,
	REDUCE_NOBODY = COLL_RANKS_MAX, /* as `suspect` */
	REDUCE_WINDOWS = 8,
};

struct reduce_message {
	int kind;     /* enum reduce_kind */
	char *node;   /* hello; owned */
	char **nodes; /* plan; owned */
	uint64_t rank, ranks, rails, bytes;
	int engine;	    /* hello, plan: enum reduce_engine */
	uint64_t size, qps; /* plan */
	uint64_t now_ns;    /* pong */
	uint64_t rail;	    /* open, result */
	struct coll_offer
		offer; /* offer: own; join: `before` of the rank before, `next` of the next */
	uint64_t ops, within_us;       /* go */
	bool check;		       /* go: fresh data, and look at the sums */
	bool timed;		       /* go: a window */
	int state;		       /* done: enum coll_state */
	uint64_t suspect;	       /* done, stop: a rank, or REDUCE_NOBODY */
	bool busy;		       /* ready, stop: others use a port: not slow, not broken */
	char *why;		       /* ready, done, seen, stop, result: "" when well; owned */
	uint64_t arrived_ns, ended_ns; /* done, on the sender's clock */
	uint64_t sent_bytes;
	double sent_s;
	uint64_t wrong;	     /* done: elements */
	uint64_t resends;    /* done: of its port since the rail was opened */
	struct jreals again; /* whose: those of all, by rank */
	struct jreals behind; /* result, by rank, then window: behind the first, before the last, s */
	char *id;	      /* unite: of NCCL, base64; owned */
	char *foreign;	      /* result: whose port had traffic of others; owned */
	struct jreals rates, late; /* result, by rank: of its link, bytes/s; behind the first, s */
};

struct reduce_message reduce_message_init(int kind);
void reduce_message_release(struct reduce_message *m);

/* -EINVAL with the place when it is not one of these messages. */
int reduce_message_decode(const char *text, size_t length, struct reduce_message *ret,
			  struct err *err);

/* One line, new memory. */
char *reduce_message_encode(const struct reduce_message *m);
