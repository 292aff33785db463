/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a verdict (hang_judge.h), as written by the rules. Pure. */
#pragma once

#include "lib/hang/hang_judge.h"

/* Adds a culprit, or a suspect, once and in order; a culprit is removed from the suspects. */
void hang_verdict_blame(struct hang_verdict *verdict, uint32_t rank);
void hang_verdict_suspect(struct hang_verdict *verdict, uint32_t rank);
bool hang_verdict_blames(const struct hang_verdict *verdict, uint32_t rank);

/* Adds a sentence; those beyond HANG_SENTENCES_MAX are only counted. */
void hang_verdict_say(struct hang_sentences *sentences, const char *fmt, ...) PRINTF(2, 3);
