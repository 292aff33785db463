/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts a job would be better without, and how certain that is.
 *
 * Every synchronous job has a slowest host, so neither the slowdown of a job nor the cost of its
 * slowest host is by itself a reason to blame anybody. For sets of at most SUSPECTS_MAX hosts:
 *
 *	gain   (T - T_fix) / T, where T_fix has the hosts of the set replaced by hosts at the
 *	       median of the others of the same stage
 *	share  gain / (gain + lost), where lost / T is the loss that no host in particular
 *	       causes: T_even - T_ideal, with all hosts at the medians, and with all operations
 *	       at the means of that
 *	alone  for each host of the set (T_but - T_even) / (T - T_even), where T_but has all hosts
 *	       but this one at the medians: two equally slow replicas hide each other in gain,
 *	       but not here
 *
 * A set counts if the lower ends of the 95 % intervals of gain, and of what its last host adds to
 * it, are at least min_gain, that of share at least `share`, and alone of each host at least
 * SUSPECTS_ALONE. If the computes are slow, each host must also be clearly slower than the
 * slowest of the others, and by `beyond` standard deviations of good silicon slower than usual
 * (lottery.h): good silicon has a slowest part too, and the slower the more hosts there are. Sets
 * grow by the host that gains most, and also in the order of slowness. subjects.h defines what
 * counts as a host.
 *
 * Pure: no clock, no I/O; threads are from crew.h.
 */
#pragma once

#include "attribution/bootstrap.h"
#include "attribution/cost.h"
#include "attribution/graph.h"
#include "attribution/lottery.h"
#include "attribution/trace.h"

struct err;

enum {
	SUSPECTS_MAX = 3,	     /* hosts per set */
	SUSPECTS_BY_COMPUTE = 8,     /* hosts tried: those that lose most in computes */
	SUSPECTS_BY_TRANSFER = 4,    /* and in transfers */
	SUSPECTS_STEPS_MAX = 100000, /* never report more steps as needed */
};

#define SUSPECTS_SHARE 0.5 /* of the loss, unless the caller sets it */
#define SUSPECTS_ALONE 0.5
#define SUSPECTS_MIN_GAIN 0.03

/* One host. */
struct suspect {
	uint32_t *workers; /* owned, ascending: [d * pp + stage] */
	size_t n;
	uint32_t worst;		       /* worker with the largest loss */
	int32_t node;		       /* index in job.nodes; -1: unnamed */
	int64_t first_rank, last_rank; /* including tensor-parallel peers */
	struct interval alone;
	double now;    /* compute speed here, 1 is usual; NAN: unknown */
	double tested; /* the same in its own tests */
};

struct suspects {
	struct suspect list[SUSPECTS_MAX];
	size_t n; /* 0: no suspects */
	struct interval gain, share;
	bool transfers;	   /* most of the gain is from transfers, not computes */
	bool identifiable; /* each of them has peers with the same work */
	bool counts;
	bool enough;	     /* false: too few steps to blame anybody */
	size_t steps_needed; /* if so: about how many would suffice */
};

/* Input; everything is borrowed. */
struct suspects_case {
	const struct trace *trace;
	const struct graph *graph;
	const struct cost *cost;
	const double *step_times; /* seconds, [step]: simulated, with everything as recorded */
	const struct bootstrap *bootstrap;
	double min_gain, share;
	struct lottery_known known; /* of good silicon, and of the hosts */
	double beyond;		    /* standard deviations by which a slow host exceeds them */
};

/* -ENOMEM. */
int suspects_find(const struct suspects_case *of, size_t n_threads, struct suspects *ret_suspects,
		  struct err *err);
void suspects_release(struct suspects *suspects);
