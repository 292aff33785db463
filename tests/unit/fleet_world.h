/* SPDX-License-Identifier: Apache-2.0 */
/* A small fleet in a test's hands: nodes n000, n001 ... of SKU hgx that all report. */
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

/* A policy of those rules in mode enforce, and `n` nodes. */
void world_init(struct world *w, const char *rules, unsigned n);
void world_release(struct world *w);

/* The node n<i>. */
struct fleet_node *world_node(const struct world *w, unsigned i);

/* It is kept free from now on, for as long as the policy says. */
void world_hold(struct world *w, unsigned i);

/* Time passes, and every agent reports. */
void later(struct world *w, uint64_t us);

void decide(struct world *w);

/* Decide, and carry out everything. */
void decide_and_do(struct world *w);

/* The first decision of the kind about node n<i>, or NULL. */
const struct decision *find(const struct world *w, unsigned i, int action);
size_t count_of(const struct world *w, int action);

/* A bad window of (check, gpu:3) on node n<i>, seen now. */
struct finding *note(struct world *w, unsigned i, const char *check, int severity);

/* A test of the finding ended. */
void tested(struct world *w, unsigned i, struct finding *finding, int outcome);

/* By an operator, or seen on the cluster. The transition must be possible. */
void happens(struct world *w, unsigned i, int event);

/* Make it slow, and let both tests fail again: the next decide() wants the cordon. */
void reproduce(struct world *w, unsigned i, const char *check);
