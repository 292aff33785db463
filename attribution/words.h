/* SPDX-License-Identifier: Apache-2.0 */
/* What was found of a trace, as one paragraph for people. Pure. */
#pragma once

#include "attribution/attribution.h"

struct strbuf;

/* What slows the job, where, and who should act. Without a newline. */
void words_write(const struct attribution *attribution, struct strbuf *text);

/* The last sentence of that: "Who should act: ...". Constant. */
const char *words_acts(const struct attribution *attribution);

/* Who is to blame, or that nobody is, in one sentence. Without a newline. */
void words_sentence(const struct attribution *attribution, struct strbuf *text);

/*
 * The workers to name, worst first: of those that are guilty those that alone cost
 * half of what is lost, at least the first. `ret` has room for all workers; returns
 * how many, 0 when nobody is guilty.
 */
size_t words_culprits(const struct attribution *attribution, uint32_t *ret);
