/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of two hosts: each rail of this one with the same rail of the other
 * (pair_rails.h), both directions. Who dialled leads, the other follows (pair_message.h); both emit
 * the same results, each with its own end named plainly and the other's by node.
 *
 * A result counts when the other side has acknowledged it: a writer whose other
 * side was killed sees a dead path, and must not call it a sick one.
 */
#pragma once

#include "probes/rdma/oob.h"
#include "probes/rnic_pair/pair_message.h"

struct numa_host;
struct topology;

struct pair_session {
	struct probe *probe;
	struct rdma_engine *engine;
	struct pair_side *sides; /* of this host; borrowed, and put into the order of the rails */
	size_t n_sides;
	struct pair_options *options; /* of all sides; the follower takes the leader's */
	const struct topology *topology;
	const struct numa_host *host; /* where its cores are; may be NULL */
	const char *other;	      /* how it was asked for, until it says its name */
	char node[PAIR_NAME_MAX + 1]; /* this host's name */
	struct oob line;
	bool leads;
	struct pair_message peer;	/* its hello */
	size_t n_rails;			/* the first so many sides of both hosts */
	unsigned rails[PAIR_PORTS_MAX]; /* their numbers */
	uint64_t deadline_us;		/* of both sides */
	struct pair_lanes lanes;
	struct pair_written written;		      /* by this side in the step at hand */
	struct pair_reading reading;		      /* while the other writes */
	bool emitted[PAIR_PORTS_MAX][2][PAIR_CHECKS]; /* by rail and whether it goes out from here */
	int (*emit)(struct probe *probe, struct sample *s); /* probe_emit() */
};

/* Say hello, then measure all rails. What was not measured has samples that say why. */
int pair_session_run(struct pair_session *s, struct err *err);

/* All that was not emitted yet, in this state. Errors of probe_emit(). */
int pair_session_emit_rest(struct pair_session *s, int state, const char *why);

/* --- shared by pair_session.c, pair_lead.c and pair_follow.c --- */

/* What a step is about. */
struct pair_step {
	size_t rail;
	bool forth; /* the leader writes */
	bool rates;
	unsigned mtu; /* 0: the ports' */
	uint64_t us;  /* of one measurement */
};

struct pair_outcome {
	struct pair_verdict verdict;
	bool lost_full;
	struct sample samples[2]; /* of a step with rates */
};
void pair_outcome_release(struct pair_outcome *o);

int pair_say(struct pair_session *s, const struct pair_message *m, struct err *err);

/* The next message, within `us`. */
int pair_hear(struct pair_session *s, uint64_t us, struct pair_message *ret, struct err *err);

/* Write through the connected lanes as the step says. */
void pair_session_write(struct pair_session *s, const struct pair_step *step,
			struct pair_outcome *ret);

/* Open our lanes of a step. Errors are of set-up and are also in `ret`. */
int pair_session_open(struct pair_session *s, const struct pair_step *step,
		      struct pair_verdict *ret);
int pair_session_connect(struct pair_session *s, const struct pair_offer *peer,
			 struct pair_verdict *ret);

/*
 * The other side wrote `written` while we were `reading`: what of others came meanwhile, when
 * that is too much, as it goes into the samples of both. New memory, or NULL.
 */
char *pair_session_heard(struct pair_session *s, const struct pair_written *written);

/* Emit the samples of a final: one of the connection, or two of the rates. Takes them. */
int pair_session_emit(struct pair_session *s, size_t rail, bool forth, struct sample *samples,
		      size_t n);

int pair_lead(struct pair_session *s, struct err *err);
int pair_follow(struct pair_session *s, struct err *err);
