/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_vote_words.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

/* The version that member `i` is compared with, and who has it. */
struct opposite {
	unsigned version;
	unsigned n;	   /* other members that have it in all their runs */
	const char *whose; /* subject, if there is exactly one */
};

static bool always_has(const struct gemm_voter *v, unsigned version)
{
	unsigned i;

	for (i = 0; i < v->n_runs; i++) {
		if (v->versions[i] != version)
			return false;
	}
	return v->n_runs > 0;
}

/* The right version; otherwise that of another member, or its own in another run. */
static struct opposite find_opposite(const struct gemm_booth *b, unsigned i)
{
	const struct gemm_voter *v = &b->voters[i];
	unsigned own = v->versions[v->first], j;
	struct opposite o = { .version = own };

	for (j = 0; j < v->n_runs; j++) {
		if (v->versions[j] != own)
			o.version = v->versions[j];
	}
	for (j = 0; j < b->n && o.version == own; j++) {
		if (j != i && b->voters[j].n_runs)
			o.version = b->voters[j].versions[0];
	}
	if (v->verdict == GEMM_WRONG && b->right < b->versions.n)
		o.version = b->right;
	for (j = 0; j < b->n; j++) {
		if (j == i || b->voters[j].silent || !always_has(&b->voters[j], o.version))
			continue;
		o.whose = gemm_booth_device(b, j)->info.subject;
		o.n++;
	}
	return o;
}

/*
 * "row 1, column 2 of 48x40 is 1.5 where 7 others have 1.25"; sets the number of elements in `ret`.
 */
static char *tell_difference(const struct gemm_booth *b, unsigned i, uint64_t *ret)
{
	const struct gemm_voter *v = &b->voters[i];
	struct opposite o = find_opposite(b, i);
	unsigned own = v->versions[v->first];
	struct gemm_version d = { 0 };
	CLEANUP(freep)
	char *who = o.n == 0   ? xstrdup("its other runs gave")
		    : o.n == 1 ? xasprintf("%s has", o.whose)
			       : xasprintf("%u others have", o.n);

	*ret = 1;
	if (!gemm_versions_differ(&b->versions, own, o.version, &d))
		return xasprintf("it differs from %s", who);
	if (own == 0 || o.version == 0)
		*ret = d.count;
	return xasprintf("row %llu, column %llu of %ux%u is %.9g where %s %.9g, %s%llu such",
			 (unsigned long long)(d.at / b->shape.n),
			 (unsigned long long)(d.at % b->shape.n), b->shape.m, b->shape.n, d.is, who,
			 d.was, own && o.version ? "at least " : "", (unsigned long long)*ret);
}

/* The other members that may be wrong instead. */
static char **name_undecided(const struct gemm_booth *b, unsigned i)
{
	char **with = xcalloc(b->n + 1, sizeof(*with));
	unsigned j, n = 0;

	for (j = 0; j < b->n; j++) {
		if (j != i && b->voters[j].verdict == GEMM_UNDECIDED)
			with[n++] = xstrdup(gemm_booth_device(b, j)->info.subject);
	}
	return with;
}

void gemm_vote_tell(const struct gemm_booth *b, unsigned i, struct gemm_vote *vote)
{
	const struct gemm_voter *v = &b->voters[i];
	const char *again = vote->again ? "again in other memory and with another shape"
					: "not again in other memory and with another shape";
	CLEANUP(freep) char *difference = NULL;
	bool undecided = v->verdict == GEMM_UNDECIDED;

	vote->verdict = v->verdict;
	vote->n_runs = v->n_runs;
	vote->n_wrong = v->n_wrong;
	if (v->verdict != GEMM_WRONG && !undecided)
		return;
	difference = tell_difference(b, i, &vote->elements);
	if (undecided)
		vote->with = name_undecided(b, i);
	vote->words = xasprintf("random product, run %u: %s; in %u of %u runs%s; %s%s",
				v->first + 1, difference, undecided ? v->n_runs : v->n_wrong,
				v->n_runs, undecided ? "; which of them is wrong is undecided" : "",
				vote->input_damaged ? "its input was damaged; " : "", again);
}
