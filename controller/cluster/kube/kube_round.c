/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_round.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

static void round_free(struct kube_round *round)
{
	size_t i;

	kube_pod_list_cancel(round->list);
	kube_cancel(round->request);
	for (i = 0; round->asked && i < round->pods.n; i++)
		kube_cancel(round->asked[i].request);
	free(round->asked);
	kube_pods_release(&round->pods);
	free(round->node);
	free(round->note);
	free(round->words);
	free(round);
}

void kube_round_end(struct kube_round *round, const struct cluster_answer *answer)
{
	struct kube_drains *drains = round->drains;
	struct kube_round **at = &drains->rounds;

	while (*at != round)
		at = &(*at)->next;
	*at = round->next;
	drains->n_rounds--;
	cluster_answer(&round->call, answer);
	round_free(round);
}

void kube_round_fail(struct kube_round *round, enum cluster_result result, const char *words,
		     uint64_t retry_us)
{
	kube_round_end(round, &(struct cluster_answer){
				      .result = result, .words = words, .retry_us = retry_us });
}

static bool is_under_way(const struct kube_drains *drains, const char *node, bool jobs_only)
{
	const struct kube_round *round;

	for (round = drains->rounds; round; round = round->next) {
		if (round->jobs_only == jobs_only && streq(round->node, node))
			return true;
	}
	return false;
}

struct kube_round *kube_round_new(struct kube_drains *drains, const char *node, bool jobs_only,
				  const struct cluster_call *call)
{
	const bool twice = is_under_way(drains, node, jobs_only);
	struct kube_round *round;

	if (twice || drains->n_rounds >= KUBE_ROUNDS_MAX) {
		cluster_answer(call,
			       &(struct cluster_answer){
				       .result = CLUSTER_AGAIN,
				       .words = twice ? "it is already being queried"
						      : "too many nodes are being queried at once",
				       .retry_us = KUBE_NOT_NOW_US });
		return NULL;
	}
	round = xcalloc(1, sizeof(*round));
	*round = (struct kube_round){ .next = drains->rounds,
				      .drains = drains,
				      .node = xstrdup(node),
				      .call = *call,
				      .jobs_only = jobs_only };
	drains->rounds = round;
	drains->n_rounds++;
	return round;
}
