/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts to replace, one after the other, and the step time after each. These are what-ifs
 * in which all operations of the hosts have their ideal cost (slowdown.h has the same for each
 * host alone).
 *
 * Greedy: the next host is the one that leaves the shortest step in addition to the previous
 * ones. Each round simulates the REPLACE_TRIED hosts whose workers alone slow the job most
 * (S_w_exact, which detects equally slow replicas, where fixing one of them gains nothing), so
 * there are at most REPLACE_ROUNDS * REPLACE_TRIED = 64 simulations. The list ends with the last
 * host that gains something. The search stops once at most REPLACE_LEAST is left to gain. No
 * choice is better than fixing all hosts, so `gap_s`, what is left above T_ideal, bounds what
 * another choice of as many hosts could gain over this one.
 *
 * Pure: no clock, no I/O; threads are from crew.h.
 */
#pragma once

#include "attribution/bootstrap.h"
#include "attribution/slowdown.h"

struct err;

enum { REPLACE_ROUNDS = 8, REPLACE_TRIED = 8 };

/* A host must gain at least this share of a step to be listed. */
#define REPLACE_LEAST 0.01

/* Jobs with a smaller slowdown are not analysed, as in the published tool. */
#define REPLACE_SLOWDOWN 1.03

struct replace_host {
	uint32_t node;	      /* index in job.nodes */
	struct interval time; /* seconds per step, with this host and the previous ones fixed */
	double gap_s;	      /* 0: it is the only host so far, and all were tried */
};

struct replace {
	struct replace_host list[REPLACE_ROUNDS];
	size_t n;     /* 0: replacing hosts gains nothing */
	size_t tried; /* simulations */
};

/* Input; everything is borrowed. */
struct replace_case {
	const struct trace *trace;
	const struct graph *graph;
	const struct cost *cost;
	const struct slowdown *slowdown; /* of slowdown_find() */
	const struct bootstrap *bootstrap;
};

/* -ENOMEM. */
int replace_find(const struct replace_case *of, size_t n_threads, struct replace *ret_replace,
		 struct err *err);
