/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the findings of a trace in one paragraph. Pure. */
#pragma once

#include "attribution/attribution.h"

struct strbuf;

/* What slows the job, where, and who should act. No newline. */
void words_write(const struct attribution *attribution, struct strbuf *text);

/* The last sentence of it: "Who should act: ...". Constant. */
const char *words_acts(const struct attribution *attribution);

/* One sentence: who is to blame, or that nobody is. No newline. */
void words_sentence(const struct attribution *attribution, struct strbuf *text);

/*
 * The workers to name, worst first: those of the guilty ones that alone cause half of the loss,
 * at least the first. `ret` has room for all workers. Returns how many, 0 if nobody is guilty.
 */
size_t words_culprits(const struct attribution *attribution, uint32_t *ret);
