/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deny budget: limits everything short of a cordon that keeps work off nodes (refused
 * admissions, Slurm drains, holds, start-up taints that stay) for the same signature on many hosts.
 * Above `budget.deny` of the policy, the larger of its percent of the fleet and its nodes, within
 * `per`, the answer is degraded instead of bad: a wrong file must not stop a fleet. Pure.
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
	uint64_t at_us; /* most recent */
};

/* Zeroed: empty. */
struct denials {
	struct denial *items; /* by signature, then node */
	size_t n, room;
};

struct deny_question {
	const char *node;
	const char *signature; /* as "gemm.rate sku": the check and its reference */
};

struct deny_answer {
	bool denied; /* false: fail open, answer degraded */
	bool alarm;  /* over the budget */
	uint64_t used, limit;
	char sentence[DENY_TEXT_SIZE]; /* if over: which, how many, what would allow it */
};

/*
 * May work be kept off a node, in a fleet of `nodes`? A denial is counted; a node that is already
 * counted takes nothing more.
 */
void deny_ask(struct denials *d, const struct policy *policy, size_t nodes,
	      const struct deny_question *question, uint64_t now_us, struct deny_answer *ret);

void denials_release(struct denials *d);
