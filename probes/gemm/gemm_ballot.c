/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_ballot.h"

#include <string.h>

enum {
	NOTHING = GEMM_VERSIONS_MAX, /* a device without a vote */
	VOTERS_MAX = 1024,	     /* GEMM_DEVICES_MAX */
};

unsigned gemm_versions_add(struct gemm_versions *versions, const struct gemm_version *v)
{
	unsigned i;

	for (i = 0; i < versions->n; i++) {
		const struct gemm_version *known = &versions->list[i];

		if (known->hash == v->hash && known->count == v->count && known->at == v->at)
			return i;
	}
	if (i == GEMM_VERSIONS_MAX)
		return GEMM_VERSIONS_MAX - 1;
	versions->list[i] = *v;
	versions->n++;
	return i;
}

static struct gemm_version turned(const struct gemm_version *v)
{
	struct gemm_version r = *v;

	r.is = v->was;
	r.was = v->is;
	return r;
}

/* Up to the first difference of each from version 0, the two are the same. */
bool gemm_versions_differ(const struct gemm_versions *versions, unsigned a, unsigned b,
			  struct gemm_version *ret)
{
	const struct gemm_version *one = &versions->list[a], *other = &versions->list[b];

	if (b == 0 || (a != 0 && one->at < other->at)) {
		*ret = *one;
		return a != b;
	}
	*ret = turned(other);
	if (a != 0 && one->at == other->at)
		ret->is = one->is;
	/* Compared as bits, because a NaN is not equal to itself. */
	return a != b && memcmp(&ret->is, &ret->was, sizeof(ret->is)) != 0;
}

/* The value that more than half of `list` has; NOTHING if there is none. */
static unsigned majority(const unsigned *list, unsigned n)
{
	unsigned counts[GEMM_VERSIONS_MAX] = { 0 }, i;

	for (i = 0; i < n; i++) {
		if (++counts[list[i]] > n / 2)
			return list[i];
	}
	return NOTHING;
}

/* Count its runs that differ from the version, and find the first. */
static void count_others(struct gemm_voter *v, unsigned version)
{
	unsigned i;

	v->n_wrong = v->first = 0;
	for (i = v->n_runs; i-- > 0;) {
		if (v->versions[i] == version)
			continue;
		v->n_wrong++;
		v->first = i;
	}
}

/* The version with most votes; if `strict`, only of devices that never contradict themselves. */
static unsigned elect(struct gemm_voter *voters, unsigned n, bool strict)
{
	unsigned voices[VOTERS_MAX], n_voices = 0, i;

	for (i = 0; i < n; i++) {
		unsigned own = majority(voters[i].versions, voters[i].n_runs);

		count_others(&voters[i], own);
		if (own != NOTHING && !voters[i].silent && !(strict && voters[i].n_wrong))
			voices[n_voices++] = own;
	}
	return majority(voices, n_voices);
}

/* If there is no right version, a device that contradicts itself is wrong, whatever is right. */
static void judge(struct gemm_voter *v, unsigned right)
{
	unsigned own = majority(v->versions, v->n_runs);

	if (v->n_runs == 0) {
		v->verdict = GEMM_ABSENT;
		return;
	}
	count_others(v, right != NOTHING ? right : own != NOTHING ? own : v->versions[0]);
	v->verdict = v->n_wrong || v->silent ? GEMM_WRONG
		     : right != NOTHING	     ? GEMM_RIGHT
					     : GEMM_UNDECIDED;
}

bool gemm_ballot(struct gemm_voter *voters, unsigned n, unsigned *ret_right)
{
	unsigned right, i;

	n = MIN(n, (unsigned)VOTERS_MAX);
	right = elect(voters, n, false);
	if (right == NOTHING)
		right = elect(voters, n, true);
	for (i = 0; i < n; i++)
		judge(&voters[i], right);
	*ret_right = right;
	return right != NOTHING;
}
