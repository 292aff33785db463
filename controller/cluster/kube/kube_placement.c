/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_placement.h"

#include <stdlib.h>

#include "controller/cluster/kube/kube_places.h"
#include "controller/cluster/kube/kube_pod_list.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

/* Bytes; anything longer is on no pod. */
enum { NAMESPACE_MAX = 63, LABEL_VALUE_MAX = 63 };

struct kube_placement {
	struct kube_placement *next;
	struct kube_placements *all;
	struct cluster_call call;
	char *namespace, *name;
	const char *labels[KUBE_JOB_LABELS_MAX];
	size_t n_labels, asked;
	uint64_t deadline_us; /* monotonic */
	struct kube_pod_list *list;
};

static void conclude(struct kube_placement *p, const struct cluster_answer *answer)
{
	struct kube_placement **at = &p->all->first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->all->n--;
	kube_pod_list_cancel(p->list);
	cluster_answer(&p->call, answer);
	free(p->namespace);
	free(p->name);
	free(p);
}

static void ask_next(struct kube_placement *p);

static void on_listed(void *context, struct kube_pods_listed *listed)
{
	CLEANUP(kube_places_release) struct kube_places places = { 0 };
	struct kube_placement *p = context;
	const char *why;

	p->list = NULL;
	if (listed->result == CLUSTER_DONE && listed->pods->n == 0) {
		ask_next(p);
		return;
	}
	if (listed->result == CLUSTER_DONE) {
		why = kube_places_of(p->all->jobs, listed->pods, &places);
		if (why)
			log_info("cannot tell from its pods where the ranks of %s/%s run: %s",
				 p->namespace, p->name, why);
	}
	conclude(p, &(struct cluster_answer){ .result = listed->result,
					      .words = listed->words,
					      .retry_us = listed->retry_us,
					      .places = places.items,
					      .n_places = places.n });
}

static void ask_next(struct kube_placement *p)
{
	CLEANUP(freep) char *selector = NULL;
	struct err err = ERR_INIT;

	if (p->asked == p->n_labels) {
		conclude(p, &(struct cluster_answer){ .result = CLUSTER_DONE, .words = "" });
		return;
	}
	selector = xasprintf("%s=%s", p->labels[p->asked++], p->name);
	if (kube_pod_list_begin_chosen(p->all->kube,
				       &(struct kube_pods_chosen){ .namespace = p->namespace,
								   .labels = selector,
								   .deadline_us = p->deadline_us },
				       on_listed, p, &p->list, &err) < 0)
		conclude(p, &(struct cluster_answer){ .result = CLUSTER_AGAIN, .words = err.msg });
}

/* Valid as the value of a label; anything else would change the selector. */
static bool is_label_value(const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const size_t length = strlen(text);

	return length > 0 && length <= LABEL_VALUE_MAX && strspn(text, plain) == length;
}

bool kube_is_namespace(const char *text, const char *end)
{
	const size_t length = (size_t)(end - text);

	return length > 0 && length <= NAMESPACE_MAX && text[0] != '-' && end[-1] != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

void kube_placement(struct kube_placements *placements, const char *job,
		    const struct cluster_call *call)
{
	const char *slash = strchr(job, '/');
	struct kube_placement *p;

	if (!slash || !kube_is_namespace(job, slash) || !is_label_value(slash + 1)) {
		cluster_answer(call,
			       &(struct cluster_answer){ .result = CLUSTER_DONE, .words = "" });
		return;
	}
	if (placements->n == KUBE_PLACEMENTS_MAX) {
		cluster_answer(call, &(struct cluster_answer){
					     .result = CLUSTER_AGAIN,
					     .words = "too many jobs are looked up at once" });
		return;
	}
	p = xcalloc(1, sizeof(*p));
	p->next = placements->first;
	p->all = placements;
	p->call = *call;
	p->namespace = xasprintf("%.*s", (int)(slash - job), job);
	p->name = xstrdup(slash + 1);
	p->n_labels = kube_job_labels(placements->jobs, p->labels);
	p->deadline_us = clock_mono_us() + CLUSTER_PLACEMENT_US;
	placements->first = p;
	placements->n++;
	ask_next(p);
}

void kube_placements_close(struct kube_placements *placements)
{
	while (placements->first)
		conclude(placements->first,
			 &(struct cluster_answer){ .result = CLUSTER_AGAIN,
						   .words = "the controller is stopping" });
}
