/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between rank 0 and the other ranks of an all-reduce, one JSON object each. Rank 0
 * asks, the others follow.
 *
 *	hello		each to rank 0: its rank, node, rails, memory and engine
 *	plan		rank 0: nodes by rank, the minimum of rails and memory, its piece size and
 *			queue pairs
 *	ping -> pong	compares the clocks
 *	open -> offer	queues for a rail | ready with `why`: failed
 *	join -> ready	the neighbours' offers; `why` if connecting failed
 *	unite -> ready	with NCCL, after open -> ready: the id of the common group
 *	go -> done	a number of operations, and their outcome
 *	whose -> seen	resends of all ranks: did the port have foreign traffic?
 *	stop		it is over: who is at fault, and why
 *	result		results of all ranks for a rail
 *	bye		end of session
 *
 * Everything sent is bounded and is checked here. Pure.
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

/* What moves the data; verbs if a message does not say. */
enum reduce_engine { REDUCE_VERBS, REDUCE_NCCL, REDUCE_ENGINES };
extern const char *const reduce_engine_names[]; /* "verbs", "nccl"; NULL-terminated */

enum {
	REDUCE_OPS_MAX = 1000000,
	REDUCE_NOBODY = COLL_RANKS_MAX, /* value of `suspect` */
	REDUCE_WINDOWS = 8,
};

struct reduce_message {
	int kind;     /* enum reduce_kind */
	char *node;   /* hello; owned */
	char **nodes; /* plan; owned */
	uint64_t rank, ranks, rails, bytes;
	int engine;		       /* hello, plan: enum reduce_engine */
	uint64_t size, qps;	       /* plan */
	uint64_t now_ns;	       /* pong */
	uint64_t rail;		       /* open, result */
	struct coll_offer offer;       /* offer: own; join: from the previous and next rank */
	uint64_t ops, within_us;       /* go */
	bool check;		       /* go: use fresh data and check the sums */
	bool timed;		       /* go: a window */
	int state;		       /* done: enum coll_state */
	uint64_t suspect;	       /* done, stop: a rank, or REDUCE_NOBODY */
	bool busy;		       /* ready, stop: others use a port: not slow, not broken */
	char *why;		       /* ready, done, seen, stop, result: "" if well; owned */
	uint64_t arrived_ns, ended_ns; /* done, on the sender's clock */
	uint64_t sent_bytes;
	double sent_s;
	uint64_t wrong;	      /* done: elements */
	uint64_t resends;     /* done: of its port since the rail was opened */
	struct jreals again;  /* whose: resends of all, by rank */
	struct jreals behind; /* result, by rank and window: after the first, before the last, s */
	char *id;	      /* unite: NCCL id in base64; owned */
	char *foreign;	      /* result: whose port had foreign traffic; owned */
	struct jreals rates, late; /* result, by rank: its link, bytes/s; behind the first, s */
};

struct reduce_message reduce_message_init(int kind);
void reduce_message_release(struct reduce_message *m);

/* -EINVAL with the place if it is not one of these messages. */
int reduce_message_decode(const char *text, size_t length, struct reduce_message *ret,
			  struct err *err);

/* One line; the caller frees it. */
char *reduce_message_encode(const struct reduce_message *m);
