/* SPDX-License-Identifier: Apache-2.0 */
/* What baseline*.c share: a baseline from within. */
#pragma once

#include "controller/fleet/baseline.h"
#include "controller/fleet/usual.h"
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
