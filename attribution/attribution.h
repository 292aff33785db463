/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is found of a trace, for those who show it. */
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
	bool align; /* look at clocks */
	bool nodes; /* find what mending each node gives; a document needs it, a summary does not */
	size_t n_threads;
	double min_slowdown;	     /* below that S a job has no straggling to speak of */
	double min_gain;	     /* of a step, for a suspect to count */
	double share;		     /* of what is lost, likewise */
	double spread;		     /* of good silicon: one standard deviation, a part of 1 */
	double beyond;		     /* such that a suspect is beyond, to count */
	const struct speeds *speeds; /* of the hosts by their tests; borrowed, NULL: not known */
	size_t draws;		     /* of the bootstrap */
};

/* What the options are when nobody says anything. */
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
	struct cause cause; /* points into the slowdown: the whole is never copied */
	struct hints hints;
	struct bootstrap bootstrap;
	struct interval s; /* the slowdown, with its interval */
	double *speeds;	   /* owned: of workers, as options.speeds has them; NULL: not known */
	struct suspects suspects;
	struct outline outline;
	struct replace replace;
	struct lateness lateness;
	json_t *remedies; /* owned: what outlook.h finds; NULL: nobody asked */
};

/* Takes the trace over, even when it fails. -EINVAL: what it says cannot be; -ENOMEM. */
int attribution_new(struct trace *trace, const struct attribution_options *options,
		    struct attribution **ret_attribution, struct err *err);
void attribution_free(struct attribution *attribution);
DEFINE_CLEANUP(struct attribution *, attribution_free, attribution_freep);

/* The interval of S of a part, of the times its steps would take with only that part as it was. */
struct interval attribution_slowdown(const struct attribution *attribution, const double *times);

/* The interval of M of a part, of the times its steps would take with that part mended. */
struct interval attribution_share(const struct attribution *attribution, const double *times);

/* The document of docs/formats.md. New reference. */
json_t *attribution_document(const struct attribution *attribution);

/* Digits of its numbers. */
enum { ATTRIBUTION_DIGITS = 9 };
