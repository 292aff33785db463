/* SPDX-License-Identifier: Apache-2.0 */
/* What the API shows of a plan (docs/jobs.md, *What would help*). Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/plan_facts.h"

struct plan_view_input {
	const struct plan_facts *facts;
	const struct remedies *remedies;
	const json_t *spares;	      /* names of hosts that could come in place */
	const json_t *without;	      /* hosts that are to be taken from it; NULL: nobody asked */
	const json_t *without_spares; /* that could come in place of those */
};

/* What a person is told to do: new memory. */
char *plan_view_deed(const struct plan_facts *facts, const struct remedy *one);

/* Puts remedies, advised, next, costs, without and sentence into `plan`. */
void plan_view_put(const struct plan_view_input *in, json_t *plan);
