/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of one port that the table knows, as they are now and as they
 * grew since the last run.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rnic_state/nic.h"

struct counter_row;
struct port;
struct rnic_state;
struct strbuf;

enum { READINGS_MAX = 1024 }; /* of one port: the table, 8 priorities and lanes */

struct reading {
	const struct counter_row *row;
	char name[NIC_STAT_NAME_SIZE];
	uint64_t value;
	/* of readings_judge() */
	uint64_t growth;
	bool known;   /* it was read in an earlier run of this boot */
	bool early;   /* so soon after that the RNIC has not counted anew */
	bool stopped; /* at the largest value that it can show */
	bool bad;     /* beyond the limit of its row */
};

struct readings {
	struct reading *all; /* owned; in the order of the table */
	size_t n;
};

/* Read all of a port; `stats` are those of its network device. */
void readings_take(const struct port *port, const struct nic_stats *stats, struct readings *ret);
void readings_release(struct readings *readings);

/* Compare with the last run, and keep for the next one. */
void readings_judge(struct rnic_state *state, const struct port *port, struct readings *readings);

/* What the counters of one check come to. */
struct tally {
	size_t n, n_known;
	const struct reading *worst;   /* of those that grew: a finding before a note; or NULL */
	const struct reading *stopped; /* any, or NULL */
};
struct tally readings_tally(const struct readings *readings, const char *check);

/* "; also NAME +N, ..." of the same check, "" when nothing else grew. */
void readings_name_others(const struct readings *readings, const struct reading *worst,
			  struct strbuf *to);

/*
 * Growth of a counter of hw_counters since the last run; false when it was not
 * read then or now. After readings_judge().
 */
bool counter_growth(const struct rnic_state *state, const struct port *port, const char *name,
		    uint64_t *ret);

/* Did a counter of link downs grow since the last run? After readings_judge(). */
bool link_went_down(const struct rnic_state *state, const struct port *port);
