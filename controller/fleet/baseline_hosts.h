/* SPDX-License-Identifier: Apache-2.0 */
/* One baseline: its key, its hosts, and what all but one of them reach. Pure. */
#pragma once

#include "controller/fleet/baseline.h"
#include "controller/fleet/self_baseline.h"
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
	double middle;		  /* of all hosts, once worked out: baseline_median() */
	bool middled, middle_old; /* it was; a value has changed since */
	char *but;		  /* name of the host that is left out; NULL: none */
	size_t news;
	uint64_t saved_us;
	bool changed; /* since it was saved */
	struct self_baselines usuals;
	struct share_entry share;
	uint64_t used;		       /* baselines.uses when it was last learnt */
	bool listed, gone;	       /* somebody's list has it; it is in no table any more */
	struct baseline *next_dropped; /* of baselines.dropped */
};

/* The order of struct baseline_key, which a struct baseline begins with. */
int baseline_compare_keys(const void *a, const void *b);

/* What a host reaches; beyond BASELINE_HOSTS_MAX no other one is taken. */
void baseline_host_put(struct baseline *line, const char *node, double value, double spread);
void baseline_host_forget(struct baseline *line, const char *node);

/* Values of all but `node` (NULL: of all), ascending. New memory. */
double *baseline_host_values(const struct baseline *line, const char *node, size_t *ret_n);

/* What the other hosts reach, kept for as long as baseline.h says. */
const struct center *baseline_center_but(struct baseline *line, const char *node);

/* Forget all its hosts, and what they were. */
void baseline_empty(struct baseline *baseline);
