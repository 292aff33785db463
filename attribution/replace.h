/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts to replace, one after the other, and what a step takes after each: what-ifs in which
 * all that these hosts do costs what it should (slowdown.h has the same of each host alone).
 *
 * Greedy: the host is next that leaves the shortest step beside those before it. Each round
 * simulates the REPLACE_TRIED hosts whose workers alone slow the job most (S_w_exact, which sees
 * replicas that are equally slow, where mending one of them gains nothing), so there are at most
 * REPLACE_ROUNDS * REPLACE_TRIED = 64 simulations. The list ends with the last host that gains
 * something. Nobody can gain more than all hosts together could, but for REPLACE_LEAST: what
 * another choice of as many hosts may gain beyond this one, at most, is `gap_s`.
 *
 * Pure: no clock, no I/O; the threads are those of crew.h.
 */
#pragma once

#include "attribution/bootstrap.h"
#include "attribution/slowdown.h"

struct err;

enum { REPLACE_ROUNDS = 8, REPLACE_TRIED = 8 };

/* A host that gains less than this part of a step is not worth a line. */
#define REPLACE_LEAST 0.01

/* A job that is slower by less than this is not looked at, as in the published tool. */
#define REPLACE_SLOWDOWN 1.03

struct replace_host {
	uint32_t node;	      /* place in job.nodes */
	struct interval time; /* s a step, with this host and those before it mended */
	double gap_s;	      /* 0: every host was tried, and there is one alone */
};

struct replace {
	struct replace_host list[REPLACE_ROUNDS];
	size_t n;     /* 0: replacing hosts gains nothing */
	size_t tried; /* simulations */
};

/* Of what; all is borrowed. */
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
