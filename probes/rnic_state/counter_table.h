/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each counter of an RNIC means and when its growth is a finding: the
 * table of docs/rnic-state.md, as data. Another counter is another row.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "probes/harness/finding.h"

/* Where a counter is read. */
enum counter_place {
	PLACE_PORT,    /* /sys/class/infiniband/DEVICE/ports/N/counters */
	PLACE_HW,      /* .../hw_counters */
	PLACE_NETDEV,  /* /sys/class/net/NETDEV, and statistics/ there */
	PLACE_ETHTOOL, /* ethtool -S NETDEV */
	PLACES,
};
extern const char *const counter_place_names[PLACES]; /* "counters", "hw_counters"... */

enum {
	BITS_ANY = 64,
	/* At most this wide they stop at their largest value (IBTA 16.1.3.5) and need a reset. */
	BITS_STOP = 16,
};

struct counter_row {
	const char *check; /* "rnic.retransmits" */
	enum counter_place place;
	const char *name;     /* '#' stands for one or two digits: a priority, a lane */
	unsigned bits;	      /* 64, 32 (wraps), 16, 8, 4 (stops) */
	enum finding finding; /* of a growth beyond the limit; what is not beyond is a note */
	double limit;	      /* more than this within `within_s`; 0 and 0: any growth */
	double within_s;
	const char *words;  /* what its growth means, for the end of a sentence */
	const char *source; /* of the rule */
};

extern const struct counter_row counter_rows[];
extern const size_t n_counter_rows;

/* Does the name of a counter fit a row's? */
bool counter_fits(const char *pattern, const char *name);

/* The row of a counter, or NULL: then nothing is said about it. */
const struct counter_row *counter_find(enum counter_place place, const char *name);
