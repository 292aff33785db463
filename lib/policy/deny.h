/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deny budget: everything short of a cordon that keeps work off a node
 * (a refused admission, a Slurm drain, a hold, a start-up taint that stays) for one
 * signature on many hosts. Past `budget.deny` of the policy, which is the larger of
 * its percent of the fleet and its nodes, within `per`, the answer is
 * degraded instead of bad: a wrong file must not stop a fleet. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct policy;

enum {
	DENIALS_MAX = 4096, /* (signature, node) pairs; when full, nothing more is denied */
	DENY_TEXT_SIZE = 384,
};

struct denial {
	char *signature, *node;
	uint64_t at_us; /* the last time */
};

/* A zeroed one is empty. */
struct denials {
	struct denial *items; /* by signature, then node */
	size_t n, room;
};

struct deny_question {
	const char *node;
	const char *signature; /* as "gemm.rate sku": the check and what it was held against */
};

struct deny_answer {
	bool denied; /* false: fail open, answer degraded */
	bool alarm;  /* it is over the budget */
	uint64_t used, limit;
	char sentence[DENY_TEXT_SIZE]; /* when over: which, how many, what would allow it */
};

/*
 * May work be kept off a node of a fleet of `nodes`? What is denied is counted;
 * a node that is counted already takes nothing more.
 */
void deny_ask(struct denials *d, const struct policy *policy, size_t nodes,
	      const struct deny_question *question, uint64_t now_us, struct deny_answer *ret);

void denials_release(struct denials *d);
