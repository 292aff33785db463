/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The explanation: matrices, the links that make cells slow, and other findings. Printed as text
 * (show_explain.c) or encoded as explain/1 (docs/formats.md).
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "lib/judge/heat.h"
#include "lib/judge/localise.h"

struct explain_input;

struct explanation {
	const struct explain_input *input; /* borrowed */
	struct heats heats;
	struct localised found;
};

/* `reference` holds the same cells of a good host; it may be empty. */
void explain_make(const struct explain_input *input, const struct sample_list *reference,
		  struct explanation *ret);
void explanation_release(struct explanation *e);

/* Next verdict item after `at`, worst first, that none of the links found explains. */
const struct verdict_item *explain_next(const struct explanation *e, size_t *at);

/* Describe the nth link, with the names of parts. The caller frees the result. */
char *explain_link(const struct explanation *e, size_t nth);

/* One-sentence summary: the links by name, or that none is slow. The caller frees it. */
char *explain_sentence(const struct explanation *e);

/* Exit status: 0 nothing slow, 1 a link is named or another check fails, 3 nothing was measured. */
int explain_status(const struct explanation *e);

json_t *explain_encode(const struct explanation *e); /* new reference */

void explain_show(const struct explanation *e, FILE *out, bool colour, unsigned width);
