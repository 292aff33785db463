/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each RNIC counter means and when its growth is a finding: the table of docs/rnic-state.md as
 * data. A new counter is a new row.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "probes/harness/finding.h"

/* Where a counter is read from. */
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
	/* Counters up to this width saturate (IBTA 16.1.3.5) and need a reset. */
	BITS_STOP = 16,
};

struct counter_row {
	const char *check; /* "rnic.retransmits" */
	enum counter_place place;
	const char *name;     /* '#' matches one or two digits: a priority, a lane */
	unsigned bits;	      /* 64, 32 (wraps), 16, 8, 4 (saturates) */
	enum finding finding; /* if growth exceeds the limit; otherwise it is a note */
	double limit;	      /* growth allowed within `within_s`; both 0: none */
	double within_s;
	const char *words;  /* what its growth means, to end a sentence with */
	const char *source; /* of the rule */
};

extern const struct counter_row counter_rows[];
extern const size_t n_counter_rows;

/* Does the name of a counter match the pattern of a row? */
bool counter_fits(const char *pattern, const char *name);

/* The row of a counter, or NULL if it is not reported. */
const struct counter_row *counter_find(enum counter_place place, const char *name);
