/* SPDX-License-Identifier: Apache-2.0 */
/* What of the actor operators are told of (controller/alerts). All of it once actor_knows(). */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct actor;
struct breaker;

/* A host that is out of service because of us. All borrowed. */
struct actor_told_cordon {
	const char *node;
	const char *by, *reason; /* as the node's mark has them, or NULL */
	uint64_t at_us;
	bool sticky; /* only a person gives it back */
};

void actor_told_cordons(const struct actor *actor,
			void (*each)(void *context, const struct actor_told_cordon *cordon),
			void *context);

/* Borrowed until the loop goes on. */
const struct breaker *actor_told_breaker(const struct actor *actor);
