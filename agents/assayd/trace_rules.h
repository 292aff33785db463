/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a followed directory is taken, whose it is, and why the rest is not. Pure.
 *
 * Whoever may write into such a directory may be anybody's job. So a file counts only as that of
 * its owner, and an owner only by the processes with a rank that run here as that user.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "agents/assayd/process_map.h"
#include "lib/base/macro.h"

enum {
	TRACE_FILE_MAX = 64 * 1024 * 1024, /* bytes, and unpacked: no whole profile is larger */
	TRACE_PARTS_MAX = 512,		   /* of a window: what the controller takes */
	TRACE_JOB_SIZE = 160,		   /* of a job's name, with its NUL */
	TRACE_SHAPE_SIZE = 64,
};

enum trace_refusal {
	TRACE_TAKEN,
	TRACE_GONE, /* not there any more, or nothing in it yet: nothing to say */
	TRACE_LINK,
	TRACE_KIND,
	TRACE_LINKS,
	TRACE_STRANGER,
	TRACE_LARGE,
	TRACE_CROWDED,
	TRACE_CHANGED,
	TRACE_UNUSABLE,
	TRACE_UNPACKS,
	TRACE_LIMITS,
	TRACE_RANK,
	TRACE_JOB,
	TRACE_SHAPE,
	TRACE_TWICE,
	TRACE_SANDBOX,
	TRACE_STALE,
	TRACE_REFUSED,
	TRACE_REFUSALS
};

/* For metrics, and for people. */
extern const char *const trace_refusal_names[TRACE_REFUSALS];
extern const char *const trace_refusal_words[TRACE_REFUSALS];

/* Does a profiler name its files so, when they are whole? */
bool trace_rules_name_ok(const char *name);

/* TRACE_TAKEN, or what is wrong with what was opened. */
enum trace_refusal trace_rules_judge(const struct stat *st);

/* Has nobody touched it between the two looks? A user can set any time but that of the change. */
bool trace_rules_unchanged(const struct stat *before, const struct stat *after);

/* What is known of a rank: what its part is sent by. */
struct trace_place {
	char job[TRACE_JOB_SIZE];
	int64_t run, rank;
	unsigned dp, pp, tp;
};

/*
 * Of a process: TRACE_TAKEN; TRACE_JOB when it does not say its job by a name; TRACE_SHAPE when
 * its ASSAY_SHAPE is no dpN-ppN-tpN, is not WORLD_SIZE ranks, or has more than TRACE_PARTS_MAX
 * workers. Without a shape all WORLD_SIZE ranks are replicas.
 */
enum trace_refusal trace_rules_place(const struct process_env *env, struct trace_place *ret);

/*
 * Whose rank `rank` of user `uid` is: TRACE_TAKEN; TRACE_STRANGER: the user has no rank here;
 * TRACE_RANK: not this one, or it is one of two jobs; TRACE_JOB, TRACE_SHAPE as above.
 */
enum trace_refusal trace_rules_find(const struct process_entry *entries, size_t n, uid_t uid,
				    int64_t rank, struct trace_place *ret);
