/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of a followed directory are taken, whose they are, and why others are refused.
 * Pure.
 *
 * Anybody's job may be able to write to such a directory. So a file is attributed only to its
 * owner, and an owner only to the processes with a rank that run here as that user.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "agents/assayd/process_map.h"
#include "lib/base/macro.h"

enum {
	TRACE_FILE_MAX = 64 * 1024 * 1024, /* bytes, also unpacked: no complete profile is larger */
	TRACE_PARTS_MAX = 512,		   /* per window: the controller's limit */
	TRACE_JOB_SIZE = 160,		   /* of a job's name, including NUL */
	TRACE_SHAPE_SIZE = 64,
};

enum trace_refusal {
	TRACE_TAKEN,
	TRACE_GONE, /* vanished, or still empty: not reported */
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

/* Names for metrics, and sentences for people. */
extern const char *const trace_refusal_names[TRACE_REFUSALS];
extern const char *const trace_refusal_words[TRACE_REFUSALS];

/* Is it a file name that profilers use for complete files? */
bool trace_rules_name_ok(const char *name);

/* Check an opened file: TRACE_TAKEN or the reason for refusing it. */
enum trace_refusal trace_rules_judge(const struct stat *st);

/* Is the file unchanged between the two stat calls? Relies on ctime, which users cannot set. */
bool trace_rules_unchanged(const struct stat *before, const struct stat *after);

/* Identity of a rank, sent with its parts. */
struct trace_place {
	char job[TRACE_JOB_SIZE];
	int64_t run, rank;
	unsigned dp, pp, tp;
};

/*
 * Get it from a process: TRACE_TAKEN; TRACE_JOB if the process states no job name; TRACE_SHAPE if
 * its ASSAY_SHAPE is not dpN-ppN-tpN, does not multiply to WORLD_SIZE, or has more than
 * TRACE_PARTS_MAX workers. Without a shape all WORLD_SIZE ranks are replicas.
 */
enum trace_refusal trace_rules_place(const struct process_env *env, struct trace_place *ret);

/*
 * Find rank `rank` of user `uid`: TRACE_TAKEN; TRACE_STRANGER: the user has no rank here;
 * TRACE_RANK: not this one, or it belongs to two jobs; TRACE_JOB, TRACE_SHAPE as above.
 */
enum trace_refusal trace_rules_find(const struct process_entry *entries, size_t n, uid_t uid,
				    int64_t rank, struct trace_place *ret);
