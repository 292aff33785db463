/* SPDX-License-Identifier: Apache-2.0 */
/* What was found of a trace, as one paragraph for people. Pure. */
#pragma once

#include "attribution/attribution.h"

struct strbuf;

enum actor { ACTOR_NOBODY, ACTOR_OPERATOR, ACTOR_OWNER };

/* Whose matter a label is. */
enum actor words_actor(enum cause_label label);

/* What slows the job, where, and who should act. Without a newline. */
void words_write(const struct attribution *attribution, struct strbuf *text);

/*
 * The workers to name, worst first: of those that are guilty those that alone cost
 * half of what is lost, at least the first. `ret` has room for all workers; returns
 * how many, 0 when nobody is guilty.
 */
size_t words_culprits(const struct attribution *attribution, uint32_t *ret);
