/* SPDX-License-Identifier: Apache-2.0 */
/* One call of policy_decide() while it lasts: what its passes decide by, and how they say it. */
#pragma once

#include "lib/policy/decide.h"

struct deciding {
	const struct policy *policy;
	struct fleet *fleet;
	struct breaker *breaker;
	uint64_t now_us;
	struct outcome *out;
};

/* One more item; its texts are of the outcome's pool. */
struct decision *deciding_add(struct deciding *d, struct fleet_node *node, int action);

/* It is not to be carried out; the refusal is copied, and when it ends by itself it is decided again. */
void deciding_refuse(struct deciding *d, struct decision *one, const struct refusal *refusal);

/* A state changes by itself. */
void deciding_step(struct deciding *d, struct fleet_node *node, int event, const char *why,
		   const char *evidence);

void deciding_open(struct deciding *d, int cause, const char *sentence);

char *deciding_text(struct deciding *d, const char *fmt, ...) PRINTF(2, 3);

/* "incident 17", or "" of a finding without one. */
const char *deciding_incident(struct deciding *d, const struct finding *finding);

/* Is `then_us` at least `age_us` ago? A stamp of 0 is. */
bool deciding_past(uint64_t now_us, uint64_t then_us, uint64_t age_us);

/* The same of now, of what is decided when it is so: else the outcome says when that is. */
bool deciding_reached(const struct deciding *d, uint64_t then_us, uint64_t age_us);
