/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-all-reduce: an all-reduce with the neighbours under one ToR
 * switch, memory of hosts or of GPUs over RDMA, rail by rail.
 *
 * Rank 0 listens, the others dial it. It leads: everybody is ready before
 * anybody begins, and whoever dies, is late or fails is told to all others by it,
 * so that all are out by the deadline and know whose fault it was.
 *
 * Each host prints what it saw itself: its bus bandwidth, the rate of the link
 * from it to the next rank, how late it came, and whether its sums were right.
 */
#pragma once

#include "probes/all_reduce/reduce_guard.h"
#include "probes/all_reduce/reduce_message.h"
#include "probes/harness/probe.h"
#include "probes/rdma/oob.h"
#include "probes/rnic_pair/pair.h"

struct numa_host;
struct pair_plan;

struct reduce_options {
	struct pair_options pair; /* first: the ports are opened with them */
	const char *peers;
	unsigned rank;
	bool rank_given, force;
};

/* What rank 0 knows of another rank. */
struct reduce_peer {
	struct oob line;
	int64_t ahead_ns;	      /* of its clock before ours */
	bool gone;		      /* its line broke */
	bool answered;		      /* `answer` is its answer to the last question */
	struct reduce_message answer; /* owned */
};

struct reduce_session {
	struct probe *probe;
	const struct pair_side *sides; /* the rails of this host; borrowed */
	size_t n_sides;
	const struct numa_host *host; /* where its cores are; may be NULL */
	unsigned n, rank;
	char *const *addresses; /* of the ranks, for people; borrowed */
	const char *token;	/* borrowed */
	char *node;		/* this host's name; borrowed */
	unsigned depth, mtu, qps;
	uint32_t size; /* of a request; this and `qps` are rank 0's once there is a plan */
	uint64_t seed;
	uint64_t deadline_us; /* of this side */
	uint64_t window_us;   /* of a window, at most */
	uint64_t go_us;	      /* in which operations that are asked for at once must end, at most */
	uint64_t grace_us; /* beyond that, for the answer; and for a line to break after a link */
	int (*emit)(struct probe *probe, struct sample *s);
	/* From the plan. */
	char **nodes; /* by rank; owned */
	uint64_t rails, bytes;
	struct reduce_peer peers[COLL_RANKS_MAX]; /* rank 0: by rank; others: [0] is rank 0 */
	/* The rail that is measured. */
	struct coll *ring;
	uint64_t rail;
	double window_s[REDUCE_WINDOWS]; /* from when this rank came to when it was through */
	uint64_t window_ops;		 /* of each */
	size_t n_windows;
	uint64_t sent_bytes;
	double sent_s;
	uint64_t checks, wrong;
	struct coll_wrong first_wrong;
	struct reduce_guard guard;
	bool emitted[PAIR_PORTS_MAX];
	/* Why it ended early. */
	int suspect;
	bool busy; /* others use one of the ports */
	char why[PAIR_NOTE_SIZE];
};

/* Over lines that are open: rank 0's `peers` by rank, or the line to it. 0 with all emitted;
 * else what was not measured has been emitted with the reason, and is in `err` too. */
int reduce_session_run(struct reduce_session *s, struct err *err);
/* What the ports of this host, made ready, and its options say; borrowed. */
void reduce_session_take(struct reduce_session *s, const struct pair_plan *plan);

/* No line is open, nobody suspected. */
void reduce_session_init(struct reduce_session *s);
void reduce_session_release(struct reduce_session *s);

/* Find each other: listen at the first address, or dial it. -EINVAL: no such address. */
int reduce_meet(struct reduce_session *s, uint64_t deadline_us, struct err *err);

/* The whole probe. Errors as struct probe_desc's run(). */
int reduce_run(struct probe *probe, struct rdma_engine *engine, struct err *err);

/* --- shared by the files of the session --- */

int reduce_lead(struct reduce_session *s, struct err *err);
int reduce_follow(struct reduce_session *s, struct err *err);

int reduce_say(struct oob *line, const struct reduce_message *m, uint64_t deadline_us,
	       struct err *err);
int reduce_hear(struct oob *line, uint64_t deadline_us, struct reduce_message *ret, struct err *err);

/* "rank 2 (node-c)", or its address while its name is not known. New memory. */
char *reduce_name(const struct reduce_session *s, unsigned rank);

/* What all do together on the rail: without sums in memory of GPUs (coll/verbs.h). */
struct coll_op reduce_op(const struct reduce_session *s);

/* This rank's part of each question; `ret` is its answer. */
void reduce_open(struct reduce_session *s, uint64_t rail, struct reduce_message *ret);
void reduce_join(struct reduce_session *s, const struct coll_offer *of_neighbours,
		 struct reduce_message *ret);
void reduce_go(struct reduce_session *s, const struct reduce_message *go,
	       const struct coll_watch *watch, struct reduce_message *ret);
void reduce_shut(struct reduce_session *s);

/* Whose traffic went through this rank's port, told how often all had to send again. */
void reduce_see(struct reduce_session *s, const struct reduce_message *whose,
		struct reduce_message *ret);

/* Of the windows of a rail, by rank. */
struct reduce_tally {
	double late[COLL_RANKS_MAX][REDUCE_WINDOWS]; /* behind the first that came, s */
	double rest[COLL_RANKS_MAX][REDUCE_WINDOWS]; /* before the last that was through, s */
	uint64_t sent_bytes[COLL_RANKS_MAX];
	double sent_s[COLL_RANKS_MAX];
	uint64_t resends[COLL_RANKS_MAX];
	char foreign[PAIR_NOTE_SIZE]; /* whose port had traffic of others; "": nobody's */
	size_t n;
};

/* Rank 0: a window that all have answered, itself with `own`. */
void reduce_tally_add(struct reduce_session *s, const struct reduce_message *own,
		      struct reduce_tally *t);

/* The REDUCE_RESULT of one window or more, which are put in order. */
struct reduce_message reduce_tally_result(const struct reduce_session *s, uint64_t rail,
					  struct reduce_tally *t);

/* What the rail came to; errors of emit(). */
int reduce_emit(struct reduce_session *s, const struct reduce_message *result);

/* All rails that were not told of: nothing was measured there, for `why`. */
int reduce_emit_rest(struct reduce_session *s, int state, const char *why);
