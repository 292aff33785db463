/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of jobs were on which hosts, as hosts report themselves. Each report of a host
 * replaces the previous one: ranks no longer in it have ended then. If a host falls silent (its
 * agent, its network) nothing ends: readers see when it last reported.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct store;

/*
 * How long the last report of a host is believed: hosts repeat it every ten minutes, and report
 * changes within one.
 */
#define STORE_PLACEMENT_BELIEVED_US (12 * USEC_PER_MIN)

enum {
	STORE_PLACEMENTS_AT_ONCE = 64,	  /* per host */
	STORE_PLACEMENTS_OF_NODE = 1024,  /* kept per host, including ended ones */
	STORE_PLACEMENT_NODES_MAX = 4096, /* hosts of a job; reports of further ones are dropped */
	STORE_PLACEMENTS_READ_MAX = 262144, /* per query */
};

/* A rank of a job on a host. Texts are borrowed. */
struct store_placement {
	const char *job;
	int64_t run; /* 0: unknown */
	int64_t rank;
	const char *node;
	int64_t source;
	int64_t start;		    /* of its process; distinguishes it from the next */
	const char *pod;	    /* UID, or NULL */
	uint64_t from_us, until_us; /* as far as it is believed; exclusive */
};

/* What a host has now: at most STORE_PLACEMENTS_AT_ONCE, of which job, run, rank, source, start,
 * pod and from_us are used. */
struct store_placed {
	const char *node, *boot_id;
	uint64_t now_us;
	const struct store_placement *list;
	size_t n;
	size_t hosts_max; /* maximum number of known hosts */
};

/* Returns -EDQUOT if that many hosts have reported placements. */
int store_set_placements(struct store *s, const struct store_placed *placed, struct err *err);

/* Is a rank of the job on the host, or was recently, by its own report? */
int store_has_placement(struct store *s, const char *job, const char *node, bool *ret,
			struct err *err);

/* Calls `each` for those of ranks `first` to `last` of the job; texts are borrowed. -E2BIG: there
 * are too many to look at. */
int store_placements(struct store *s, const char *job, const int64_t ranks[static 2],
		     void (*each)(void *context, const struct store_placement *placement),
		     void *context, struct err *err);

/*
 * Calls `each` for what was there since then, over all jobs, newest first, at most
 * STORE_PLACEMENTS_READ_MAX. Texts are borrowed; source, start and pod are not set.
 */
int store_placements_since(struct store *s, uint64_t since_us,
			   void (*each)(void *context, const struct store_placement *placement),
			   void *context, struct err *err);

/* Has the host ranks of any job now, as far as it is believed? */
int store_placement_present(struct store *s, const char *node, uint64_t now_us, bool *ret,
			    struct err *err);

/*
 * Calls `each` for each job that the host has ranks of, or had since then, newest first, at most
 * that many. Only job (borrowed), from_us and until_us of the placement are set.
 */
int store_node_jobs(struct store *s, const char *node, const uint64_t since_and_most[static 2],
		    void (*each)(void *context, const struct store_placement *placement),
		    void *context, struct err *err);

/*
 * The hosts with ranks of the job now; if there are none, those with ranks of its last run since
 * `lately_us`. At most `most` names: an array, new reference.
 */
int store_job_hosts(struct store *s, const char *job, const uint64_t now_and_lately_us[static 2],
		    size_t most, json_t **ret, struct err *err);

/* Reported ranks of one run of a job, including those without a run. */
struct store_ranks {
	uint64_t live;	 /* of that run, on hosts that have reported since */
	uint64_t silent; /* that ran when their hosts last reported, before then */
	uint64_t ended;
	uint64_t later; /* of later runs */
};

/* Counts hosts that reported after `since_us` and within STORE_PLACEMENT_BELIEVED_US. */
int store_count_ranks(struct store *s, const struct store_placement *of_run,
		      const uint64_t since_and_now_us[static 2], struct store_ranks *ret,
		      struct err *err);

/* Delete some that ended before then, and those of hosts that have not reported since. */
int store_thin_placements(struct store *s, uint64_t before_us, struct err *err);
