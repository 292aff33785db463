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
 *
 * What moves the data is a ring of verbs of our own, or NCCL, as in jobs: then each rail is a group
 * of one GPU of each host, that nearest to the port, and NCCL tells nothing of single links.
 */
#pragma once

#include "probes/all_reduce/reduce_guard.h"
#include "probes/all_reduce/reduce_message.h"
#include "probes/coll/coll_data.h"
#include "probes/coll/nccl.h"
#include "probes/harness/probe.h"
#include "probes/rdma/oob.h"
#include "probes/rnic_pair/pair.h"

struct numa_host;
struct pair_plan;

struct reduce_options {
	struct pair_options pair; /* first: the ports are opened with them */
	const char *peers;
	unsigned rank;
	int engine; /* enum reduce_engine */
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
	int engine;		  /* enum reduce_engine */
	struct nccl_library nccl; /* of that engine; */
	struct err no_nccl;	  /* why it has none */
	/* From the plan. */
	char **nodes; /* by rank; owned */
	uint64_t rails, bytes;
	struct reduce_peer peers[COLL_RANKS_MAX]; /* rank 0: by rank; others: [0] is rank 0 */
	/* The rail that is measured. */
	struct coll *ring;
	uint64_t rail;
	bool connects;			 /* every rank has what it needs for this rail */
	double window_s[REDUCE_WINDOWS]; /* from when this rank came to when it was through */
	uint64_t window_ops;		 /* of each */
	size_t n_windows;
	uint64_t sent_bytes;
	double sent_s;
	struct rdma_posted moved; /* each way, through NCCL */
	uint64_t checks, wrong;
	struct coll_wrong first_wrong;
	struct reduce_guard guard;
	bool emitted[PAIR_PORTS_MAX];
	/* Why it ended early. */
	int suspect;
	bool busy; /* others use one of the ports */
	char why[PAIR_NOTE_SIZE];
};

/* --- shared by the files of the session --- */

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
