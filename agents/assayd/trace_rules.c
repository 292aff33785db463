/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_rules.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/report/rank_env.h"

enum { DECIMAL = 10, SIZE_DIGITS = 5 };

#define DIGITS "0123456789"

const char *const trace_refusal_names[TRACE_REFUSALS] = {
	[TRACE_TAKEN] = "taken",       [TRACE_GONE] = "gone",	    [TRACE_LINK] = "link",
	[TRACE_KIND] = "kind",	       [TRACE_LINKS] = "links",	    [TRACE_STRANGER] = "stranger",
	[TRACE_LARGE] = "large",       [TRACE_CROWDED] = "crowded", [TRACE_CHANGED] = "changed",
	[TRACE_UNUSABLE] = "unusable", [TRACE_UNPACKS] = "unpacks", [TRACE_LIMITS] = "limits",
	[TRACE_RANK] = "rank",	       [TRACE_JOB] = "job",	    [TRACE_SHAPE] = "shape",
	[TRACE_TWICE] = "twice",       [TRACE_SANDBOX] = "sandbox", [TRACE_STALE] = "stale",
	[TRACE_REFUSED] = "refused",
};

const char *const trace_refusal_words[TRACE_REFUSALS] = {
	[TRACE_TAKEN] = "it was taken",
	[TRACE_GONE] = "it is gone",
	[TRACE_LINK] = "it is a symbolic link, or leads out of the directory",
	[TRACE_KIND] = "it is not a regular file",
	[TRACE_LINKS] = "it has other hard links",
	[TRACE_STRANGER] = "its owner runs no rank of a job with a GPU on this host",
	[TRACE_LARGE] = "it is larger than 64 MiB",
	[TRACE_CROWDED] = "its owner has too many files waiting",
	[TRACE_CHANGED] = "it changed while it was read",
	[TRACE_UNUSABLE] = "it cannot be converted",
	[TRACE_UNPACKS] = "it decompresses to more than any profile should",
	[TRACE_LIMITS] = "its conversion exceeded its time or memory, or produced more than 4 MiB",
	[TRACE_RANK] = "its owner runs no such rank here, or the rank belongs to two jobs",
	[TRACE_JOB] = "the process of its rank does not say which job it belongs to: set ASSAY_JOB",
	[TRACE_SHAPE] = "ASSAY_SHAPE of its rank is not dpN-ppN-tpN with a product of WORLD_SIZE",
	[TRACE_TWICE] = "a part of this rank and window is already waiting",
	[TRACE_SANDBOX] =
		"the converter cannot be started or confined, or its output cannot be kept",
	[TRACE_STALE] = "newer windows replaced it while the controller was unreachable",
	[TRACE_REFUSED] = "the controller refused it",
};

bool trace_rules_name_ok(const char *name)
{
	static const char *const endings[] = { ".json", ".json.gz", ".jsonl", ".jsonl.gz" };
	const size_t length = strlen(name);
	size_t i;

	for (i = 0; name[0] != '.' && i < ARRAY_SIZE(endings); i++) {
		const size_t n = strlen(endings[i]);

		if (length > n && streq(name + length - n, endings[i]))
			return true;
	}
	return false;
}

enum trace_refusal trace_rules_judge(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return TRACE_LINK;
	if (!S_ISREG(st->st_mode))
		return TRACE_KIND;
	if (st->st_nlink != 1)
		return st->st_nlink ? TRACE_LINKS : TRACE_GONE;
	if (st->st_size == 0)
		return TRACE_GONE; /* created, but not written yet */
	return st->st_size <= TRACE_FILE_MAX ? TRACE_TAKEN : TRACE_LARGE;
}

bool trace_rules_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* --- ownership --- */

/* "dp" and a number; returns the rest, NULL if it does not match. */
static const char *read_size(const char *text, const char *key, unsigned *ret)
{
	const size_t n = strlen(key), digits = strspn(text + MIN(n, strlen(text)), DIGITS);

	if (!starts_with(text, key) || digits == 0 || digits > SIZE_DIGITS)
		return NULL;
	*ret = (unsigned)strtoul(text + n, NULL, DECIMAL);
	return text + n + digits;
}

static bool read_shape(const char *text, struct trace_place *p)
{
	text = read_size(text, "dp", &p->dp);
	if (text)
		text = read_size(text, "-pp", &p->pp);
	if (text)
		text = read_size(text, "-tp", &p->tp);
	return text && !*text;
}

static bool is_shaped(const struct process_env *env, struct trace_place *p)
{
	const char *shape = env->values[PROCESS_ENV_SHAPE], *world = env->values[PROCESS_ENV_WORLD];
	const uint64_t ranks = strtoull(world, NULL, DECIMAL);
	uint64_t workers;

	p->dp = (unsigned)MIN(ranks, UINT64_C(100000));
	p->pp = p->tp = 1;
	if (shape[0] && !read_shape(shape, p))
		return false;
	workers = (uint64_t)p->dp * p->pp;
	return workers > 0 && p->tp > 0 && workers <= TRACE_PARTS_MAX &&
	       (!world[0] || workers * p->tp == ranks);
}

enum trace_refusal trace_rules_place(const struct process_env *env, struct trace_place *ret)
{
	const char(*values)[PROCESS_ENV_VALUE_SIZE] = env->values;
	const char *rank = values[PROCESS_ENV_RANK][0] ? values[PROCESS_ENV_RANK]
						       : values[PROCESS_ENV_PROCID];
	CLEANUP(freep)
	char *job = rank_env_job(values[PROCESS_ENV_JOB], values[PROCESS_ENV_SLURM_CLUSTER],
				 values[PROCESS_ENV_SLURM_JOB]);

	*ret = (struct trace_place){ .rank = strtoll(rank, NULL, DECIMAL) };
	ret->run = rank_env_run(values[PROCESS_ENV_RUN], values[PROCESS_ENV_SLURM_RESTARTS]);
	ret->run = MAX(ret->run, INT64_C(1));
	if (!job)
		return TRACE_JOB;
	(void)snprintf(ret->job, sizeof(ret->job), "%s", job);
	return is_shaped(env, ret) ? TRACE_TAKEN : TRACE_SHAPE;
}

enum trace_refusal trace_rules_find(const struct process_entry *entries, size_t n, uid_t uid,
				    int64_t rank, struct trace_place *ret)
{
	enum trace_refusal found = TRACE_STRANGER;
	struct trace_place place;
	size_t i;

	for (i = 0; i < n; i++) {
		enum trace_refusal why;

		if (entries[i].uid != uid)
			continue;
		why = trace_rules_place(&entries[i].env, &place);
		if (found == TRACE_STRANGER)
			found = TRACE_RANK;
		if (place.rank != rank)
			continue;
		if (found == TRACE_TAKEN && (!streq(place.job, ret->job) || place.run != ret->run))
			return TRACE_RANK;
		found = why;
		*ret = place;
	}
	return found;
}
