/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_places.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

/* The job of the first unfinished pod; false: another pod belongs to a different job. */
static bool find_job(const struct kube_job_table *table, const struct kube_pods *pods,
		     struct kube_job *ret)
{
	size_t i;

	for (i = 0; i < pods->n; i++) {
		CLEANUP(kube_job_release) struct kube_job job = { 0 };

		if (kube_pod_finished(&pods->items[i]))
			continue;
		kube_job_of(table, &pods->items[i], ret->kind ? &job : ret);
		if (job.kind && !kube_job_same(ret, &job))
			return false;
	}
	return true;
}

static const char *place(const struct kube_ranks *ranks, struct kube_places *ret)
{
	int64_t first = 0;
	size_t i;

	for (i = 0; i < ranks->n; i++) {
		const struct kube_place *p = &ranks->items[i];

		if (p->rank < 0 && p->of->gpus == 0)
			continue;
		if (p->rank < 0)
			return "one of its pods has no rank of its own";
		if (p->rank != (int64_t)ret->n)
			return "one of its pods is missing";
		if (p->of->gpus == 0)
			return "one of its pods requests no GPU";
		if (!p->node || !p->of->started_us)
			return "one of its pods has not started";
		ret->items[ret->n++] =
			(struct cluster_place){ p->node, first, p->of->gpus, p->of->started_us };
		first += p->of->gpus;
	}
	return NULL;
}

const char *kube_places_of(const struct kube_job_table *table, const struct kube_pods *pods,
			   struct kube_places *ret)
{
	CLEANUP(kube_job_release) struct kube_job job = { 0 };
	CLEANUP(kube_ranks_release) struct kube_ranks ranks = { 0 };
	const char *why = NULL;

	*ret = (struct kube_places){ 0 };
	if (!find_job(table, pods, &job))
		return "two jobs have that name";
	if (!job.kind)
		return NULL;
	kube_ranks_of(table, &job, pods, &ranks);
	ret->items = xcalloc(MAX(ranks.n, (size_t)1), sizeof(*ret->items));
	why = place(&ranks, ret);
	if (why)
		kube_places_release(ret);
	return why;
}

void kube_places_release(struct kube_places *places)
{
	free(places->items);
	*places = (struct kube_places){ 0 };
}
