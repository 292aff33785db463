/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actor's state that operators get alerts about (controller/alerts). Valid once actor_knows().
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct actor;
struct breaker;

/* A host that we took out of service. All borrowed. */
struct actor_told_cordon {
	const char *node;
	const char *by, *reason; /* from the node's mark, or NULL */
	uint64_t at_us;
	bool sticky; /* only a person can return it to service */
};

void actor_told_cordons(const struct actor *actor,
			void (*each)(void *context, const struct actor_told_cordon *cordon),
			void *context);

/* Borrowed until control returns to the loop. */
const struct breaker *actor_told_breaker(const struct actor *actor);
