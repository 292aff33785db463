/* SPDX-License-Identifier: Apache-2.0 */
/* A small fleet for tests: nodes n000, n001 ... of SKU hgx, all of which report. */
#pragma once

#include "lib/base/duration.h"
#include "lib/judge/verdict.h"
#include "lib/policy/decide.h"
#include "lib/report/report.h"

struct world {
	struct policy policy;
	struct fleet fleet;
	struct breaker breaker;
	struct outcome out;
	uint64_t now_us;
};

#define FATAL "{name: fatal, match: {severity: fatal}, action: cordon}"
#define SLOW "{name: slow, match: {check: 'gemm.*'}, windows: {k: 2, n: 3}, action: retest}"
#define REST "{name: rest, match: {check: '*'}, action: alert}"

/* A policy with these rules in mode enforce, and `n` nodes. */
void world_init(struct world *w, const char *rules, unsigned n);
void world_release(struct world *w);

/* The node n<i>. */
struct fleet_node *world_node(const struct world *w, unsigned i);

/* Holds the node from now on, for the time in the policy. */
void world_hold(struct world *w, unsigned i);

/* Advances the time; every agent reports. */
void later(struct world *w, uint64_t us);

void decide(struct world *w);

/* Decides and carries out all decisions. */
void decide_and_do(struct world *w);

/* Returns the first decision with this action for node n<i>, or NULL. */
const struct decision *find(const struct world *w, unsigned i, int action);
size_t count_of(const struct world *w, int action);

/* Adds a bad window, now, of (check, gpu:3) on node n<i>. */
struct finding *note(struct world *w, unsigned i, const char *check, int severity);

/* Records the outcome of a test of the finding. */
void tested(struct world *w, unsigned i, struct finding *finding, int outcome);

/* An event caused by an operator or seen on the cluster. The transition must be valid. */
void happens(struct world *w, unsigned i, int event);

/* Makes it slow and both tests fail, so that the next decide() asks for a cordon. */
void reproduce(struct world *w, unsigned i, const char *check);
