/* SPDX-License-Identifier: Apache-2.0 */
/* State of one call of policy_decide(): what its passes decide on, and how they report it. */
#pragma once

#include "lib/policy/decide.h"

struct deciding {
	const struct policy *policy;
	struct fleet *fleet;
	struct breaker *breaker;
	uint64_t now_us;
	struct outcome *out;
};

/* Adds an item; its texts are in the outcome's pool. */
struct decision *deciding_add(struct deciding *d, struct fleet_node *node, int action);

/* Marks it as refused; copies the refusal. If that ends with time, it is decided again then. */
void deciding_refuse(struct deciding *d, struct decision *one, const struct refusal *refusal);

/* Records a state that changes without an effect. */
void deciding_step(struct deciding *d, struct fleet_node *node, int event, const char *why,
		   const char *evidence);

void deciding_open(struct deciding *d, int cause, const char *sentence);

char *deciding_text(struct deciding *d, const char *fmt, ...) PRINTF(2, 3);

/* "incident 17", or "" for a finding without one. */
const char *deciding_incident(struct deciding *d, const struct finding *finding);

/* True if `then_us` is at least `age_us` ago, or 0. */
bool deciding_past(uint64_t now_us, uint64_t then_us, uint64_t age_us);

/* The same for now; if false, the outcome asks for a new decision when it becomes true. */
bool deciding_reached(const struct deciding *d, uint64_t then_us, uint64_t age_us);
