/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of hangs: what hosts say of the ranks of jobs that stand still is taken, hosts
 * are asked to look, and who has stopped is shown, told and kept (hang_job.h says how;
 * docs/jobs.md, section 11).
 *
 * Nothing is done to a host because of it: no verdict cordons, evicts or tests. It is told; where
 * jobs.on_stop diagnoses a job that stands still, it says which (hang_board.h); and what is wrong
 * with a GPU by its own account (a fatal Xid) is a finding of the host, by the usual rule.
 *
 * In memory: jobs, hosts of a job, and bytes are bounded, and what a host said is forgotten after
 * HANG_DOCS_AGE_US.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/hang/hang_judge.h"

struct controller_part;
struct err;
struct service;

enum {
	HANGS_JOBS_MAX = 1024, /* as many as the store has: what was over first makes room */
	HANGS_NODE_JOBS = 4,   /* of which one host speaks */
	HANGS_BYTES_MAX = 128 * 1024 * 1024,
	HANGS_JOB_BYTES_MAX = HANGS_BYTES_MAX / 2,
	HANGS_DOC_BYTES_MAX = 4 * 1024 * 1024, /* of one host; its text has 1 MiB at most */
	HANGS_LOOKS_MAX = 256,		       /* hosts that look at once, for all jobs */
	HANGS_WAKES_MAX = 32,		       /* that are given the order in a second */
	HANGS_GROUPS_SHOWN = 1024,
};

extern const struct controller_part hangs_part;

/*
 * Take what `node` says, a document of lib/hang/hang_json.h; `doc` is cut on the way. -EINVAL with
 * a sentence: it is none; -EPERM: the host has no rank of the job; -EDQUOT: no room; -EIO and
 * others: the store failed.
 */
int hangs_take(struct service *s, const char *node, json_t *doc, struct err *err);

/* The order to look for a host, new reference; NULL: none. */
json_t *hangs_order(struct service *s, const char *node);

/* Put "hang" into a job as the API shows it, and "state" while it hangs by what its hosts say. */
void hangs_show(const struct service *s, json_t *job);

/*
 * Ranks of a job as far as hosts have said, from `first`, at most `most`: {"hang", "world",
 * "groups", "ranks"}, new reference, and whether there are more.
 */
json_t *hangs_ranks(const struct service *s, const char *job, size_t first, size_t most,
		    bool *ret_more);

/* The hangs that a rank of the host is named in, for `why`: an array, new reference. */
json_t *hangs_of_node(const struct service *s, const char *node);

/* A job that hangs by what its hosts say. Borrowed. */
struct hangs_hung {
	const char *job;
	const char *sentence; /* NULL: not known yet */
	uint64_t since_us;
	bool still; /* it stands still by its beats too */
};

/* Call `each` with each that does now. */
void hangs_each(const struct service *s, void (*each)(void *context, const struct hangs_hung *hung),
		void *context);

/* Since the start; and now. */
struct hangs_counts {
	uint64_t hangs[HANG_CLASSES]; /* that were told, by what was found first */
	uint64_t documents, refused;  /* that came */
	uint64_t looks;		      /* orders given */
	uint64_t hung;		      /* jobs, now */
	uint64_t bytes;		      /* of documents, now */
};
struct hangs_counts hangs_counts(const struct service *s);
