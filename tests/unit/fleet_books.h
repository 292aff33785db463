/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet and the test's own model of it: the true state of the cluster and an
 * independent computation of the budgets, to check every result of policy_decide().
 */
#pragma once

#include "lib/policy/decide.h"
#include "tests/unit/random.h"

enum { NODES_MAX = 48, STAMPS_MAX = 100000 };

/* The true state of a node in the cluster, by the test's model. */
struct truth {
	bool there, ours, others, held, not_ready, opted_out;
	bool by_person; /* cordoned by an operator, or sticky */
	int domain, job;
	uint64_t override_us, override_until_us, silence_until_us;
	uint64_t born_us; /* when it was cordoned for a part that was always slow; 0: never */
};

struct books {
	struct random random;
	struct policy policy;
	struct fleet fleet;
	struct breaker breaker;
	struct outcome out;
	uint64_t now_us;
	struct truth truth[NODES_MAX];
	uint64_t *stamps; /* times of all our cordons */
	size_t n_stamps;
	size_t born, granted, refused, released, opened,
		notices; /* counts, to check that the test did something */
};

struct truth *truth_of(struct books *w, const struct fleet_node *node);

/* CHECKs that one more node is within the budgets of fleet, domain and job, or of the rate. */
void books_check_room(const struct books *w, const struct truth *t);
void books_check_rate(const struct books *w);

/* Records one more of our cordons. */
void books_count_cordon(struct books *w);

/* CHECKs that the refusal names the budget and what would allow the action. */
void books_check_refusal(const struct refusal *refusal);

/* Returns bits of enum fleet_out. */
unsigned books_out(const struct truth *t);

/* Decides, checks the decisions against the books, and carries out most of them. */
void books_decide(struct books *w);
