/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-all-reduce: an all-reduce with the neighbours under one ToR switch, on host or GPU
 * memory over RDMA, rail by rail.
 *
 * Rank 0 listens and the others dial it. It leads: nobody starts before all are ready, and rank 0
 * tells all others who died, was late or failed, so that everyone ends by the deadline and knows
 * whose fault it was.
 *
 * Each host prints only what it saw itself: its bus bandwidth, the rate of the link from it to the
 * next rank, how late it arrived, and whether its sums were right.
 *
 * The data is moved by our own ring of verbs, or by NCCL as in jobs. With NCCL each rail is a group
 * of one GPU per host, the one nearest to the port, and nothing is known about single links.
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

/* What rank 0 knows about another rank. */
struct reduce_peer {
	struct oob line;
	int64_t ahead_ns;	      /* how far its clock is ahead of ours */
	bool gone;		      /* its connection broke */
	bool answered;		      /* `answer` answers the last question */
	struct reduce_message answer; /* owned */
};

struct reduce_session {
	struct probe *probe;
	const struct pair_side *sides; /* the rails of this host; borrowed */
	size_t n_sides;
	const struct numa_host *host; /* for its cores; may be NULL */
	unsigned n, rank;
	char *const *addresses; /* of the ranks, for people; borrowed */
	const char *token;	/* borrowed */
	char *node;		/* this host's name; borrowed */
	unsigned depth, mtu, qps;
	uint32_t size; /* of a request; like `qps`, rank 0's once there is a plan */
	uint64_t seed;
	uint64_t deadline_us; /* of this side */
	uint64_t window_us;   /* maximum length of a window */
	uint64_t go_us;	      /* maximum time for the operations of one request */
	uint64_t grace_us;    /* on top of that, to hear the answer or that a connection broke */
	int (*emit)(struct probe *probe, struct sample *s);
	int engine;		  /* enum reduce_engine */
	struct nccl_library nccl; /* if that is the engine */
	struct err no_nccl;	  /* why it could not be loaded */
	/* From the plan. */
	char **nodes; /* by rank; owned */
	uint64_t rails, bytes;
	struct reduce_peer peers[COLL_RANKS_MAX]; /* rank 0: by rank; others: only [0], rank 0 */
	/* The rail being measured. */
	struct coll *ring;
	uint64_t rail;
	double window_s[REDUCE_WINDOWS]; /* from this rank's arrival to its end */
	uint64_t window_ops;		 /* operations per window */
	size_t n_windows;
	uint64_t sent_bytes;
	double sent_s;
	struct rdma_posted moved; /* in each direction, by NCCL */
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

/* The windows of a rail, by rank. */
struct reduce_tally {
	double late[COLL_RANKS_MAX][REDUCE_WINDOWS]; /* after the first arrival, s */
	double rest[COLL_RANKS_MAX][REDUCE_WINDOWS]; /* before the last end, s */
	uint64_t sent_bytes[COLL_RANKS_MAX];
	double sent_s[COLL_RANKS_MAX];
	uint64_t resends[COLL_RANKS_MAX];
	char foreign[PAIR_NOTE_SIZE]; /* whose port had foreign traffic; "": nobody's */
	size_t n;
};
