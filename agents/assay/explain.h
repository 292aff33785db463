/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The explanation itself: matrices, the links that make cells slow, and what else is not
 * as it should be. Said in words (show_explain.c) or as explain/1 of docs/formats.md.
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

/* `reference`: the same cells of a good host; may be empty. */
void explain_make(const struct explain_input *input, const struct sample_list *reference,
		  struct explanation *ret);
void explanation_release(struct explanation *e);

/* The items of the verdict, worst first, that no link told here explains: next after `at`. */
const struct verdict_item *explain_next(const struct explanation *e, size_t *at);

/* What is said of the link of that number, with the names of parts. New memory. */
char *explain_link(const struct explanation *e, size_t nth);

/* The one sentence: the links by name, or that none is slow. New memory. */
char *explain_sentence(const struct explanation *e);

/* 0 nothing slow, 1 a link is named or something else fails, 3 nothing was measured. */
int explain_status(const struct explanation *e);

json_t *explain_encode(const struct explanation *e); /* new reference */

void explain_show(const struct explanation *e, FILE *out, bool colour, unsigned width);
