/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as shown by the API (docs/jobs.md, *What would help*). Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/plan_facts.h"

struct plan_view_input {
	const struct plan_facts *facts;
	const struct remedies *remedies;
	const json_t *spares;	      /* names of possible replacements */
	const json_t *without;	      /* hosts to be taken from the job; NULL: not asked */
	const json_t *without_spares; /* possible replacements for those */
};

/* The instruction for a person. New memory. */
char *plan_view_deed(const struct plan_facts *facts, const struct remedy *one);

/* Adds remedies, advised, next, costs, without and sentence to `plan`. */
void plan_view_put(const struct plan_view_input *in, json_t *plan);
