/* SPDX-License-Identifier: Apache-2.0 */
/* From the pods of a job to which of its ranks is where. */
#include <stdlib.h>
#include <strings.h>

#include "controller/cluster/kube/kube_jobs.h"
#include "controller/cluster/kube/kube_jobs_inside.h"
#include "lib/base/xalloc.h"

/* A pod's rank before the others are known. */
struct claim {
	struct kube_place place;
	int64_t part, in; /* -1: it claims none */
};

/* A whole number below the limit, or -1. */
static int64_t number_of(const char *text)
{
	int64_t value = 0;
	const char *c = text;

	if (!text || !text[0])
		return -1;
	for (; *c >= '0' && *c <= '9'; c++) {
		value = value * 10 + (*c - '0');
		if (value > KUBE_RANK_MAX)
			return -1;
	}
	return *c == '\0' ? value : -1;
}

/*
 * The parts of a job by name: who leads has rank 0, and the workers follow. A launcher
 * only starts the others.
 */
static int64_t part_of(const char *text)
{
	static const struct {
		const char *name;
		int64_t part;
	} parts[] = { { "master", 0 },	{ "chief", 0 },	    { "leader", 0 }, { "worker", 1 },
		      { "workers", 1 }, { "launcher", -1 }, { "ps", -1 },    { "evaluator", -1 } };
	int64_t number = number_of(text);
	size_t i;

	for (i = 0; number < 0 && i < ARRAY_SIZE(parts); i++) {
		if (strcasecmp(text, parts[i].name) == 0)
			return parts[i].part;
	}
	return number >= 0 ? number : 1;
}

static const char *find_key(const struct kube_pod *pod, char *const keys[KUBE_RANK_KEYS])
{
	const char *found = NULL;
	size_t i;

	for (i = 0; !found && i < KUBE_RANK_KEYS && keys[i]; i++) {
		found = kube_pod_label(pod, keys[i]);
		if (!found)
			found = kube_pod_annotation(pod, keys[i]);
	}
	return found;
}

/* The first row whose key is on the pod and that knows a rank; else the literal in its environment. */
static void claim_rank(const struct kube_job_table *table, const struct kube_pod *pod,
		       struct claim *claim)
{
	const struct kube_job_row *row;
	size_t i;

	claim->part = 0;
	for (i = 0; (row = kube_job_row_at(table, i)); i++) {
		const char *in = find_key(pod, row->rank), *part = find_key(pod, row->rank_part);

		if (!in || !kube_job_row_is(row, pod))
			continue;
		claim->in = number_of(in);
		claim->part = part ? part_of(part) : 0;
		return;
	}
	claim->in = number_of(pod->rank_env);
}

static bool has_rank(const struct claim *c)
{
	return c->part >= 0 && c->in >= 0;
}

/* By part and place; without a rank last, by name. */
static int by_claim(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (has_rank(x) != has_rank(y))
		return has_rank(x) ? -1 : 1;
	if (has_rank(x) && x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (has_rank(x) && x->in != y->in)
		return x->in < y->in ? -1 : 1;
	return strcmp(x->place.pod, y->place.pod);
}

static bool same_rank(const struct claim *a, const struct claim *b)
{
	return a->part == b->part && a->in == b->in;
}

/* Each part begins where the one before it ends. */
static void count(struct claim *claims, size_t n, struct kube_ranks *ret)
{
	int64_t first = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		struct claim *c = &claims[i];
		bool twice = has_rank(c) && ((i > 0 && same_rank(c, c - 1)) ||
					     (i + 1 < n && has_rank(c + 1) && same_rank(c, c + 1)));

		if (i > 0 && has_rank(c) && c->part != claims[i - 1].part)
			first += claims[i - 1].in + 1;
		c->place.rank = has_rank(c) && !twice ? first + c->in : -1;
		ret->items[ret->n++] = c->place;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct kube_place *x = a, *y = b;

	if ((x->rank < 0) != (y->rank < 0))
		return x->rank < 0 ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->pod, y->pod);
}

void kube_ranks_of(const struct kube_job_table *table, const struct kube_job *job,
		   const struct kube_pods *pods, struct kube_ranks *ret)
{
	CLEANUP(freep) struct claim *claims = xcalloc(MAX(pods->n, (size_t)1), sizeof(*claims));
	size_t n = 0, i;

	for (i = 0; i < pods->n; i++) {
		const struct kube_pod *pod = &pods->items[i];
		CLEANUP(kube_job_release) struct kube_job its = { 0 };

		kube_job_of(table, pod, &its);
		if (kube_pod_finished(pod) || !kube_job_same(job, &its))
			continue;
		claims[n].place = (struct kube_place){ pod->name, pod->node, -1 };
		claim_rank(table, pod, &claims[n++]);
	}
	*ret = (struct kube_ranks){ .items = xcalloc(MAX(n, (size_t)1), sizeof(*ret->items)) };
	if (n > 1)
		qsort(claims, n, sizeof(*claims), by_claim);
	count(claims, n, ret);
	if (n > 1)
		qsort(ret->items, n, sizeof(*ret->items), by_rank);
}

void kube_ranks_release(struct kube_ranks *ranks)
{
	free(ranks->items);
	*ranks = (struct kube_ranks){ 0 };
}
