/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts a job would be better without, and how sure that is.
 *
 * Every synchronous job has a slowest host, so neither the slowdown of a job nor what its
 * slowest host costs alone accuses anybody. Of sets of at most SUSPECTS_MAX hosts is said:
 *
 *	gain   (T - T_fix) / T, T_fix with the hosts of the set replaced by hosts at the
 *	       median of the others of the same stage
 *	share  gain / (gain + lost), lost / T being what is lost to no host in particular:
 *	       T_even - T_ideal, with all hosts at the medians, and with all operations at the
 *	       means of that
 *	alone  of each host of the set (T_but - T_even) / (T - T_even), T_but with all hosts at
 *	       the medians but this one: two equal replicas hide each other from gain, not
 *	       from this
 *
 * A set counts when the lower ends of the 95 % intervals of gain, and of what its last
 * host adds to it, are at least min_gain, that of share at least `share`, and each
 * host's alone is at least SUSPECTS_ALONE. If computes are what is slow, each host must also be
 * apart from the slowest of the others, and `beyond` times as far from what is usual as good
 * silicon is in the mean (lottery.h): good silicon has a slowest part, and of many hosts it is
 * slower. Sets grow by the host that gains most, and beside that in the order in which hosts are
 * slow. subjects.h says what is taken for a host.
 *
 * Pure: no clock, no I/O; the threads are those of crew.h.
 */
#pragma once

#include "attribution/bootstrap.h"
#include "attribution/cost.h"
#include "attribution/graph.h"
#include "attribution/lottery.h"
#include "attribution/trace.h"

struct err;

enum {
	SUSPECTS_MAX = 3,	     /* hosts of a set */
	SUSPECTS_BY_COMPUTE = 8,     /* that are tried: those that lose most by computing */
	SUSPECTS_BY_TRANSFER = 4,    /* and by transfers */
	SUSPECTS_STEPS_MAX = 100000, /* more steps are never said to be needed */
};

#define SUSPECTS_SHARE 0.5 /* of what is lost, unless the caller says otherwise */
#define SUSPECTS_ALONE 0.5
#define SUSPECTS_MIN_GAIN 0.03

/* One host. */
struct suspect {
	uint32_t *workers; /* owned, ascending: [d * pp + stage] */
	size_t n;
	uint32_t worst;		       /* of the workers: which loses most */
	int32_t node;		       /* place in job.nodes; -1: it has no name */
	int64_t first_rank, last_rank; /* with the tensor-parallel peers of its workers */
	struct interval alone;
	double now;    /* how fast it computes here, 1 is usual; NAN: not known, as below */
	double tested; /* and by its own tests */
};

struct suspects {
	struct suspect list[SUSPECTS_MAX];
	size_t n; /* 0: there is nobody to suspect */
	struct interval gain, share;
	bool transfers;	   /* most of the gain is that of transfers, not of computes */
	bool identifiable; /* others do the same work as each of them */
	bool counts;
	bool enough;	     /* false: the steps are too few to blame anybody */
	size_t steps_needed; /* when they are: about how many would do */
};

/* Of what; all is borrowed. */
struct suspects_case {
	const struct trace *trace;
	const struct graph *graph;
	const struct cost *cost;
	const double *step_times; /* s, [step]: simulated, as all was */
	const struct bootstrap *bootstrap;
	double min_gain, share;
	struct lottery_known known; /* of good silicon, and of the hosts */
	double beyond;		    /* standard deviations of it that a slow host is beyond */
};

/* -ENOMEM. */
int suspects_find(const struct suspects_case *of, size_t n_threads, struct suspects *ret_suspects,
		  struct err *err);
void suspects_release(struct suspects *suspects);
