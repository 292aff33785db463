/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_pods.h"

#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

/* Outlives its owner, as the cluster is closed last. */
struct question {
	struct job_pods *by; /* NULL: no longer wanted */
};

struct job_pods {
	struct placing_pods known;
	struct question *question; /* or NULL */
	void (*done)(void *context);
	void *context;
};

struct job_pods *job_pods_new(void (*done)(void *context), void *context)
{
	struct job_pods *pods = xcalloc(1, sizeof(*pods));

	pods->done = done;
	pods->context = context;
	return pods;
}

void job_pods_forget(struct job_pods *pods)
{
	while (pods->known.n > 0)
		free(pods->known.items[--pods->known.n].node);
	free(TAKE(pods->known.items));
}

void job_pods_free(struct job_pods *pods)
{
	if (!pods)
		return;
	if (pods->question)
		pods->question->by = NULL;
	job_pods_forget(pods);
	free(pods);
}

/* Pods are known until now; their future is not. */
static void keep(struct job_pods *pods, const struct cluster_answer *answer)
{
	const uint64_t now_us = clock_real_us();
	size_t i;

	pods->known.items = xcalloc(MAX(answer->n_places, (size_t)1), sizeof(*pods->known.items));
	for (i = 0; i < answer->n_places; i++) {
		const struct cluster_place *place = &answer->places[i];

		pods->known.items[pods->known.n++] = (struct placing_pod){
			.node = xstrdup(place->node),
			.first = place->first,
			.n = place->n,
			.from_us = place->from_us,
			.until_us = now_us,
		};
	}
}

static void on_answer(void *context, const struct cluster_answer *answer)
{
	CLEANUP(freep) struct question *question = context;
	struct job_pods *pods = question->by;

	if (!pods)
		return;
	pods->question = NULL;
	if (answer->result == CLUSTER_DONE)
		keep(pods, answer);
	else
		log_warning("cannot read the pods of a job; its window is analysed "
			    "without them: %s",
			    answer->words);
	pods->done(pods->context);
}

void job_pods_ask(struct job_pods *pods, struct cluster *cluster, const char *job)
{
	job_pods_forget(pods);
	if (!cluster || !cluster->ops->placement) {
		pods->done(pods->context);
		return;
	}
	pods->question = xcalloc(1, sizeof(*pods->question));
	pods->question->by = pods;
	cluster->ops->placement(cluster, job, &(struct cluster_call){ on_answer, pods->question });
}

bool job_pods_asked(const struct job_pods *pods)
{
	return pods->question != NULL;
}

const struct placing_pods *job_pods_known(const struct job_pods *pods)
{
	return &pods->known;
}
