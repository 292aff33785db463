/* SPDX-License-Identifier: Apache-2.0 */
/* What baseline*.c share: a baseline from within. */
#pragma once

#include "controller/baseline.h"
#include "controller/usual.h"
#include "lib/judge/reference.h"

/* Of so many hosts the median is one that no sick host, or part of one, has made. */
enum { WITHIN_HOSTS_MIN = 3 };

struct host_value {
	char *node;
	double value;
	double spread; /* standard deviation among its parts; 0 for one */
};

/* What tells baselines apart, in the order in which they are kept. Borrowed. */
struct baseline_key {
	const char *sku;
	struct kind kind;
};

struct baseline {
	struct baseline_key key; /* of the texts below; first, as the tree compares keys */
	char *sku, *check, *locality, *unit, *params; /* "" for none */
	struct host_value *hosts;		      /* by name */
	size_t n, room;
	struct center center; /* of all but `but`, as it was `news` changes ago */
	double within;	      /* of the same hosts */
	bool centered;
	char *but; /* name of the host that is left out; NULL: none */
	size_t news;
	uint64_t saved_us;
	bool changed; /* since it was saved */
	struct usuals usuals;
	struct share_entry share;
	uint64_t used;		       /* baselines.uses when it was last learnt */
	bool listed, gone;	       /* somebody's list has it; it is in no table any more */
	struct baseline *next_dropped; /* of baselines.dropped */
};

struct sample;

int baseline_compare_keys(const void *a, const void *b);

/* Forget all its hosts, and what they were. */
void baseline_empty(struct baseline *line);

/* Is the table full? Then those of the fewest hosts go. */
void baselines_make_room(struct baselines *b);

/* The baseline that the sample belongs to; NULL when there is none yet. */
struct baseline *baseline_of(const struct baselines *b, const char *sku, const struct sample *s);

/* What the other hosts reach, kept for as long as baseline.h says. */
const struct center *baseline_center_but(struct baseline *line, const char *node);

/* What the others say of a value of the host, whose parts have the median `middle`; false when they
 * are too few to say anything. */
bool baseline_hold(struct baseline *line, const char *node, const struct measure *m, double middle,
		   struct expectation *ret);

/* `n` values of one run of the host, ascending. */
void baseline_learn_usual(struct baseline *line, const struct verdict *verdict, const char *node,
			  const struct usual_value *values, size_t n);
