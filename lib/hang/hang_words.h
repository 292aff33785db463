/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict on a hang, in words and as JSON (docs/hangs.md). Pure. */
#pragma once

#include <jansson.h>

#include "lib/hang/hang_judge.h"

struct strbuf;

/*
 * {v: 1, kind: "hang", ranks: [int], suspects: [int], class, evidence: [text], missing: [text],
 * tell: [text], act, nodes: [host name per culprit, or null], suspect_nodes}. New reference.
 */
json_t *hang_words_json(const struct hang_case *c, const struct hang_verdict *verdict);

/* "Rank 9 (gpu-2, gpu 1) and rank 14 have stopped: ..." One sentence, without a newline. */
void hang_words_sentence(const struct hang_case *c, const struct hang_verdict *verdict,
			 struct strbuf *text);

/* What to do: "Nobody is to be evicted: ...". One sentence. */
const char *hang_words_act(const struct hang_verdict *verdict);
