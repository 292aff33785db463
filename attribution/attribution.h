/* SPDX-License-Identifier: Apache-2.0 */
/* Everything found in a trace, for the code that prints it. */
#pragma once

#include <jansson.h>

#include "attribution/align.h"
#include "attribution/cause.h"
#include "attribution/hints.h"
#include "attribution/lateness.h"
#include "attribution/lottery.h"
#include "attribution/outline.h"
#include "attribution/replace.h"
#include "attribution/speeds.h"
#include "attribution/suspects.h"

struct attribution_options {
	bool align; /* correct clocks */
	bool nodes; /* simulate fixing each node: needed by a document, not by a summary */
	size_t n_threads;
	double min_slowdown;	     /* a job with a smaller S is not straggling */
	double min_gain;	     /* of a step, for a suspect to count */
	double share;		     /* of the loss, likewise */
	double spread;		     /* of good silicon: one standard deviation, relative */
	double beyond;		     /* standard deviations for a suspect to count */
	const struct speeds *speeds; /* of the hosts in their own tests; borrowed, NULL: unknown */
	size_t draws;		     /* bootstrap resamples */
};

/* Default options. */
#define ATTRIBUTION_OPTIONS                                                                       \
	{                                                                                         \
		.align = true, .nodes = true, .n_threads = 1, .min_slowdown = CAUSE_STRAGGLING,   \
		.min_gain = SUSPECTS_MIN_GAIN, .share = SUSPECTS_SHARE, .spread = LOTTERY_SPREAD, \
		.beyond = LOTTERY_BEYOND, .draws = BOOTSTRAP_DRAWS,                               \
	}

struct attribution {
	struct attribution_options options;
	struct trace *trace; /* owned */
	struct graph *graph; /* owned */
	struct alignment alignment;
	struct cost cost;
	struct slowdown slowdown;
	struct cause cause; /* points into `slowdown`: never copy the whole struct */
	struct hints hints;
	struct bootstrap bootstrap;
	struct interval s; /* the slowdown with its interval */
	double *speeds;	   /* owned: of workers, from options.speeds; NULL: unknown */
	struct suspects suspects;
	struct outline outline;
	struct replace replace;
	struct lateness lateness;
	json_t *remedies; /* owned: the result of outlook.h; NULL: not requested */
};

/* Takes over the trace, even on failure. -EINVAL: the trace is inconsistent; -ENOMEM. */
int attribution_new(struct trace *trace, const struct attribution_options *options,
		    struct attribution **ret_attribution, struct err *err);
void attribution_free(struct attribution *attribution);
DEFINE_CLEANUP(struct attribution *, attribution_free, attribution_freep);

/* Interval of S of a part; `times` are the step times with only that part as recorded. */
struct interval attribution_slowdown(const struct attribution *attribution, const double *times);

/* Interval of M of a part; `times` are the step times with that part fixed. */
struct interval attribution_share(const struct attribution *attribution, const double *times);

/* The document in docs/formats.md. New reference. */
json_t *attribution_document(const struct attribution *attribution);

/* Significant digits of its numbers. */
enum { ATTRIBUTION_DIGITS = 9 };
