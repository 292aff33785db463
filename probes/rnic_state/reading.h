/* SPDX-License-Identifier: Apache-2.0 */
/* The known counters of one port: current values and growth since the last run. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rnic_state/nic.h"

struct counter_row;
struct port;
struct rnic_state;
struct strbuf;

enum { READINGS_MAX = 1024 }; /* per port: the table, 8 priorities and lanes */

struct reading {
	const struct counter_row *row;
	char name[NIC_STAT_NAME_SIZE];
	uint64_t value;
	/* set by readings_judge() */
	uint64_t growth;
	bool known;   /* read in an earlier run of this boot */
	bool early;   /* too soon: the RNIC has not updated it since */
	bool stopped; /* saturated at its maximum value */
	bool bad;     /* beyond the limit of its row */
};

struct readings {
	struct reading *all; /* owned; in table order */
	size_t n;
};

/* Read all counters of a port; `stats` are those of its network device. */
void readings_take(const struct port *port, const struct nic_stats *stats, struct readings *ret);
void readings_release(struct readings *readings);

/* Compare with the last run, and save for the next one. */
void readings_judge(struct rnic_state *state, const struct port *port, struct readings *readings);

/* The counters of one check, summarised. */
struct tally {
	size_t n, n_known;
	const struct reading *worst;   /* of those that grew, findings first; or NULL */
	const struct reading *stopped; /* a saturated one, or NULL */
};
struct tally readings_tally(const struct readings *readings, const char *check);

/* Append "; also NAME +N, ..." for other counters of the same check that grew. */
void readings_name_others(const struct readings *readings, const struct reading *worst,
			  struct strbuf *to);

/*
 * Growth since the last run of a counter in hw_counters; false if it was not read both times. To be
 * called after readings_judge().
 */
bool counter_growth(const struct rnic_state *state, const struct port *port, const char *name,
		    uint64_t *ret);

/* Did a counter of link downs grow since the last run? To be called after readings_judge(). */
bool link_went_down(const struct rnic_state *state, const struct port *port);
