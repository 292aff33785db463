/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet and the test's own books of it: what is so in the cluster, and its
 * own arithmetic of budgets, against which every answer of policy_decide() is held.
 */
#pragma once

#include "lib/policy/decide.h"
#include "tests/unit/random.h"

enum { NODES_MAX = 48, STAMPS_MAX = 100000 };

/* What is so in the cluster, by the test's own books. */
struct truth {
	bool there, ours, others, held, not_ready, opted_out;
	bool by_person; /* an operator cordoned it, or it became sticky */
	int domain, job;
	uint64_t override_us, override_until_us, silence_until_us;
	uint64_t born_us; /* it was cordoned for a part that always was slow; 0: never */
};

struct books {
	struct random random;
	struct policy policy;
	struct fleet fleet;
	struct breaker breaker;
	struct outcome out;
	uint64_t now_us;
	struct truth truth[NODES_MAX];
	uint64_t *stamps; /* every cordon of ours */
	size_t n_stamps;
	size_t born, granted, refused, released, opened,
		notices; /* so that the test cannot be idle */
};

struct truth *truth_of(struct books *w, const struct fleet_node *node);

/* Would a node more be within total, domain and job? And within the rate? */
void books_check_room(const struct books *w, const struct truth *t);
void books_check_rate(const struct books *w);

/* One more cordon of ours. */
void books_count_cordon(struct books *w);

/* It names who refused, and what would allow it. */
void books_check_refusal(const struct refusal *refusal);

/* Bits of enum fleet_out. */
unsigned books_out(const struct truth *t);

/* Decide, hold the answer against the books, and carry out most of it. */
void books_decide(struct books *w);
