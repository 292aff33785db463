/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/rungs.h"

#include "lib/policy/blame.h"

enum { PREFIXES = 5 };

/* As in policies/profiles.yaml: what each profile measures, by prefixes of checks. */
static const struct rung {
	const char *profile;
	const char *prefixes[PREFIXES];
} rungs[] = {
	{ "rung-gemm", { "gemm.rate", "gpu.", "host." } },
	{ "rung-chain", { "gemm.", "gpu.", "host." } },
	{ "rung-load", { "gemm.", "memory.", "gpu.", "host." } },
	{ RUNGS_WHOLE, { "" } },
};

static const char *const ladders[BLAME_CLASSES][RUNGS_MAX] = {
	[BLAME_COMPUTE] = { "rung-gemm", "rung-load" },
	[BLAME_LAUNCH] = { "rung-chain", "rung-load" },
	[BLAME_LINK] = { RUNGS_WHOLE }, /* each end by itself; pairs are next (pair_rungs.h) */
};

const char *rungs_at(int class, size_t nth)
{
	return class >= 0 && class < BLAME_CLASSES && nth < RUNGS_MAX ? ladders[class][nth] : NULL;
}

static const struct rung *find(const char *profile)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rungs); i++) {
		if (streq(rungs[i].profile, profile))
			return &rungs[i];
	}
	return NULL;
}

const char *rungs_find(const char *profile)
{
	const struct rung *rung = find(profile);

	return rung ? rung->profile : NULL;
}

bool rungs_is_short(const char *profile)
{
	return find(profile) && !streq(profile, RUNGS_WHOLE);
}

/* Its position; for a profile that measures everything the last one; RUNGS_MAX: none of them. */
static size_t place_of(int class, const char *profile)
{
	size_t i, last = RUNGS_MAX;

	for (i = 0; i < RUNGS_MAX && rungs_at(class, i); i++) {
		if (streq(rungs_at(class, i), profile))
			return i;
		last = i;
	}
	return streq(profile, RUNGS_WHOLE) ? last : RUNGS_MAX;
}

bool rungs_has(int class, const char *profile)
{
	return place_of(class, profile) < RUNGS_MAX;
}

bool rungs_is_last(int class, const char *profile)
{
	const size_t place = place_of(class, profile);

	return place < RUNGS_MAX && !rungs_at(class, place + 1);
}

bool rungs_measure(const char *profile, const char *check)
{
	const struct rung *rung = find(profile);
	size_t i;

	for (i = 0; rung && i < PREFIXES && rung->prefixes[i]; i++) {
		if (starts_with(check, rung->prefixes[i]))
			return true;
	}
	return false;
}

static const char *last_of(int class)
{
	const char *last = NULL;
	size_t i;

	for (i = 0; rungs_at(class, i); i++)
		last = rungs_at(class, i);
	return last;
}

const char *rungs_next(int class, const struct rungs_test *newest)
{
	if (!newest || !rungs_has(class, newest->profile))
		return rungs_at(class, 0);
	if (newest->repeat && newest->has_time)
		return last_of(class);
	if (newest->repeat)
		return rungs_find(newest->shows ? newest->shows : newest->profile);
	return newest->proven ? NULL : rungs_at(class, place_of(class, newest->profile) + 1);
}
