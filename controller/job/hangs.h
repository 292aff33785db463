/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of hangs: takes what hosts report about the ranks of jobs that stand still,
 * asks hosts to look, and shows, reports and stores which ranks have stopped (hang_job.h;
 * docs/jobs.md, section 11).
 *
 * Nothing is done to a host because of it: no finding cordons, evicts or tests. It is reported, and
 * decides which jobs that stand still jobs.on_stop diagnoses (hang_board.h). A GPU that reports a
 * fault itself (a fatal Xid) is a finding of the host by the usual rule.
 *
 * In memory: the number of jobs, of hosts per job, and of bytes is limited, and documents are
 * dropped after HANG_DOCS_AGE_US.
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
	HANGS_JOBS_MAX = 1024, /* as many as in the store; those over the longest make room */
	HANGS_NODE_JOBS = 4,   /* that one host reports on */
	HANGS_BYTES_MAX = 128 * 1024 * 1024,
	HANGS_JOB_BYTES_MAX = HANGS_BYTES_MAX / 2,
	HANGS_DOC_BYTES_MAX = 4 * 1024 * 1024, /* of one host; as text at most 1 MiB */
	HANGS_LOOKS_MAX = 256,		       /* hosts looking at a time, over all jobs */
	HANGS_WAKES_MAX = 32,		       /* hosts given the order per second */
	HANGS_GROUPS_SHOWN = 1024,
};

extern const struct controller_part hangs_part;

/*
 * Take a document of lib/hang/hang_json.h from `node`; `doc` is cut down in the process. -EINVAL
 * with a sentence: invalid; -EPERM: the host has no rank of the job; -EDQUOT: no room; -EIO and
 * others: the store failed.
 */
int hangs_take(struct service *s, const char *node, json_t *doc, struct err *err);

/* The order to look for a host, new reference; NULL: none. */
json_t *hangs_order(struct service *s, const char *node);

/* Add "hang" to a job as shown by the API, and "state" while it hangs according to its hosts. */
void hangs_show(const struct service *s, json_t *job);

/*
 * At most `most` ranks of a job from `first` on, as reported by hosts: {"hang", "world", "groups",
 * "ranks"}, new reference; `ret_more`: there are further ones.
 */
json_t *hangs_ranks(const struct service *s, const char *job, size_t first, size_t most,
		    bool *ret_more);

/* The hangs that name a rank of the host, for `why`: an array, new reference. */
json_t *hangs_of_node(const struct service *s, const char *node);

/* A job that hangs according to its hosts. Borrowed. */
struct hangs_hung {
	const char *job;
	const char *sentence; /* NULL: unknown yet */
	uint64_t since_us;
	bool still; /* it stands still by its heartbeats, too */
};

/* Call `each` for those that hang now. */
void hangs_each(const struct service *s, void (*each)(void *context, const struct hangs_hung *hung),
		void *context);

/* Counters since the start, and current values. */
struct hangs_counts {
	uint64_t hangs[HANG_CLASSES]; /* reported, by the class first found */
	uint64_t documents, refused;  /* received; of these refused */
	uint64_t looks;		      /* orders given */
	uint64_t hung;		      /* jobs, current */
	uint64_t bytes;		      /* of documents, current */
};
struct hangs_counts hangs_counts(const struct service *s);
