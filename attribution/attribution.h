/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is found of a trace, for those who show it. */
#pragma once

#include <jansson.h>

#include "attribution/align.h"
#include "attribution/cause.h"
#include "attribution/hints.h"

struct attribution {
	struct trace *trace; /* owned */
	struct graph *graph; /* owned */
	bool aligned;	     /* clocks were looked at */
	struct alignment alignment;
	struct cost cost;
	struct slowdown slowdown;
	struct cause cause; /* points into the slowdown: the whole is never copied */
	struct hints hints;
};

/* Takes the trace over, even when it fails. -EINVAL: what it says cannot be; -ENOMEM. */
int attribution_new(struct trace *trace, bool align, size_t n_threads,
		    struct attribution **ret_attribution, struct err *err);
void attribution_free(struct attribution *attribution);
DEFINE_CLEANUP(struct attribution *, attribution_free, attribution_freep);

/* The document of docs/formats.md. New reference. */
json_t *attribution_document(const struct attribution *attribution);

/* Digits of its numbers. */
enum { ATTRIBUTION_DIGITS = 9 };
