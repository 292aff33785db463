/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of jobs were on which hosts, as hosts say of themselves. What a host says takes the
 * place of what it said before: what is no longer there has ended then. A host that is heard no
 * more (its agent, its network) ends nothing: whoever reads sees when it was heard last.
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
 * So long what a host said last is believed to be so still: it says it again every ten minutes, and
 * whatever changed within one.
 */
#define STORE_PLACEMENT_BELIEVED_US (12 * USEC_PER_MIN)

enum {
	STORE_PLACEMENTS_AT_ONCE = 64,	    /* of a host */
	STORE_PLACEMENTS_OF_NODE = 1024,    /* kept of a host, those that ended too */
	STORE_PLACEMENT_NODES_MAX = 4096,   /* hosts of a job; what more say is not kept */
	STORE_PLACEMENTS_READ_MAX = 262144, /* for one question */
};

/* A rank of a job on a host. Texts are borrowed. */
struct store_placement {
	const char *job;
	int64_t run; /* 0: not said */
	int64_t rank;
	const char *node;
	int64_t source;
	int64_t start;		    /* of its process; tells it from the next */
	const char *pod;	    /* uid, or NULL */
	uint64_t from_us, until_us; /* as far as it is believed; the end is not written */
};

/* What a host has now: at most STORE_PLACEMENTS_AT_ONCE, of which job, run, rank, source, start,
 * pod and from_us count. */
struct store_placed {
	const char *node, *boot_id;
	uint64_t now_us;
	const struct store_placement *list;
	size_t n;
	size_t hosts_max; /* that may be known */
};

/* -EDQUOT: as many hosts as may be known have said something. */
int store_set_placements(struct store *s, const struct store_placed *placed, struct err *err);

/* Is, or was lately, a rank of the job on the host, as that says itself? */
int store_has_placement(struct store *s, const char *job, const char *node, bool *ret,
			struct err *err);

/* Called with those of ranks `first` to `last` of the job, whose texts are borrowed. -E2BIG: there
 * are more than anybody can look at. */
int store_placements(struct store *s, const char *job, const int64_t ranks[static 2],
		     void (*each)(void *context, const struct store_placement *placement),
		     void *context, struct err *err);

/*
 * Called with what was there since then, of all jobs, the newest first, STORE_PLACEMENTS_READ_MAX
 * at most. The texts are borrowed; source, start and pod are not said.
 */
int store_placements_since(struct store *s, uint64_t since_us,
			   void (*each)(void *context, const struct store_placement *placement),
			   void *context, struct err *err);

/* Has the host ranks of any job now, as far as it is believed? */
int store_placement_present(struct store *s, const char *node, uint64_t now_us, bool *ret,
			    struct err *err);

/*
 * Called with each job that the host has, or had since then, ranks of, the newest first, `most` at
 * most: of the placement its job, which is borrowed, and from when to when count.
 */
int store_node_jobs(struct store *s, const char *node, const uint64_t since_and_most[static 2],
		    void (*each)(void *context, const struct store_placement *placement),
		    void *context, struct err *err);

/*
 * The hosts that have ranks of the job now; where none has, those that had ranks of its last run
 * since `lately_us`. Names, at most `most`: an array, new reference.
 */
int store_job_hosts(struct store *s, const char *job, const uint64_t now_and_lately_us[static 2],
		    size_t most, json_t **ret, struct err *err);

/* Ranks of one run of a job, as hosts say, and of those that say no run. */
struct store_ranks {
	uint64_t live;	 /* that run, of hosts that were heard of since */
	uint64_t silent; /* that ran when their hosts were heard of last, before */
	uint64_t ended;
	uint64_t later; /* of later runs */
};

/* Hosts count that were heard of after `since_us`, and within STORE_PLACEMENT_BELIEVED_US. */
int store_count_ranks(struct store *s, const struct store_placement *of_run,
		      const uint64_t since_and_now_us[static 2], struct store_ranks *ret,
		      struct err *err);

/* Drop some that ended before, and what hosts had that were not heard of since. */
int store_thin_placements(struct store *s, uint64_t before_us, struct err *err);
