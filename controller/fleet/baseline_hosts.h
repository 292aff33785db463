/* SPDX-License-Identifier: Apache-2.0 */
/* One baseline: its key, its hosts, and the center of all hosts but one. Pure. */
#pragma once

#include "controller/fleet/baseline.h"
#include "controller/fleet/self_baseline.h"
#include "lib/judge/reference.h"

/* From this many hosts on, the median is not that of a bad host, or of one with a bad part. */
enum { WITHIN_HOSTS_MIN = 3 };

struct host_value {
	char *node;
	double value;
	double spread; /* standard deviation among its parts; 0 with one part */
};

/* Key of a baseline, in sort order. Borrowed. */
struct baseline_key {
	const char *sku;
	struct kind kind;
};

struct baseline {
	struct baseline_key key; /* points to the texts below; first, as the tree compares keys */
	char *sku, *check, *locality, *unit, *params; /* "" for none */
	struct host_value *hosts;		      /* sorted by name */
	size_t n, room;
	struct center center; /* of all hosts but `but`, as of `news` changes ago */
	double within;	      /* spread within those hosts */
	bool centered;
	double middle;		  /* median of all hosts, cached by baseline_median() */
	bool middled, middle_old; /* it is valid; values have changed since */
	char *but;		  /* the host left out; NULL: none */
	size_t news;
	uint64_t saved_us;
	bool changed; /* since it was last saved */
	struct self_baselines usuals;
	struct share_entry share;
	uint64_t used;		       /* baselines.uses when it last learned */
	bool listed, gone;	       /* in a list; removed from the table */
	struct baseline *next_dropped; /* in baselines.dropped */
};

/* Compares struct baseline_key, with which a struct baseline begins. */
int baseline_compare_keys(const void *a, const void *b);

/* Set a host's value; hosts beyond BASELINE_HOSTS_MAX are ignored. */
void baseline_host_put(struct baseline *line, const char *node, double value, double spread);
void baseline_host_forget(struct baseline *line, const char *node);

/* Values of all hosts but `node` (NULL: of all), ascending. New memory. */
double *baseline_host_values(const struct baseline *line, const char *node, size_t *ret_n);

/* Center of the other hosts, cached as described in baseline.h. */
const struct center *baseline_center_but(struct baseline *line, const char *node);

/* Forget its hosts and their history. */
void baseline_empty(struct baseline *baseline);
