/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/cause.h"

#include <math.h>

#include "attribution/trace_job.h"

/* The paper's threshold for blame. */
#define BLAME 0.5
/* The paper's threshold for sequence lengths, and ours for how much they must vary. */
#define CORRELATED 0.9
#define SPREAD 0.05

enum { PAUSES_MIN = 3, PAUSED_MIN = 2 };
#define PAUSES_OF_ONE_MAX 0.5

const char *cause_name(enum cause_label label)
{
	static const char *const names[CAUSE_N] = {
		[CAUSE_REJECTED] = "rejected", [CAUSE_NONE] = "none", [CAUSE_WORKER] = "worker",
		[CAUSE_NODE] = "node",	       [CAUSE_LINK] = "link", [CAUSE_STAGE] = "stage",
		[CAUSE_SEQLEN] = "seqlen",     [CAUSE_GC] = "gc",     [CAUSE_COMM] = "comm",
		[CAUSE_UNKNOWN] = "unknown",
	};

	return names[label];
}

static const struct guilty_set *find_guilty(const struct trace *trace,
					    const struct slowdown *slowdown)
{
	size_t n = (size_t)trace->job.dp * trace->job.pp;
	const struct guilty_set *x = &slowdown->x;

	if (slowdown->top.share >= BLAME)
		return &slowdown->top;
	if (x->n && x->share >= BLAME && (x->n == 1 || x->n * 4 <= n) && !slowdown->x_whole_stage)
		return x;
	return NULL;
}

static enum cause_label label_of_set(const struct trace *trace, const struct guilty_set *set)
{
	const struct trace_worker *workers = trace->job.workers;
	size_t i;

	if (set->share_compute < BLAME)
		return CAUSE_LINK;
	for (i = 1; i < set->n; i++) {
		if (workers[set->workers[i]].node != workers[set->workers[0]].node)
			return CAUSE_WORKER;
	}
	return set->n > 1 ? CAUSE_NODE : CAUSE_WORKER;
}

static bool has_pauses(const struct slowdown *slowdown)
{
	const struct balance *balance = &slowdown->balance;

	return balance->n_pauses >= PAUSES_MIN && balance->n_paused >= PAUSED_MIN &&
	       balance->max_share <= PAUSES_OF_ONE_MAX && slowdown->pauses >= BLAME;
}

/* Add a label with its M; the first with the largest M is the primary one. */
static void add(struct cause *cause, enum cause_label label, double share, double *most)
{
	cause->labels[cause->n_labels++] = label;
	if (cause->n_labels == 1 || share > *most) {
		cause->primary = label;
		*most = share;
	}
}

struct cause cause_find(const struct trace *trace, const struct slowdown *slowdown,
			double min_slowdown)
{
	const struct balance *balance = &slowdown->balance;
	const struct guilty_set *guilty = find_guilty(trace, slowdown);
	struct cause cause = { 0 };
	bool slow_compute = false;
	double most = 0;

	if (!(slowdown->discrepancy <= CAUSE_DISCREPANCY_MAX)) {
		add(&cause, CAUSE_REJECTED, 0, &most);
		return cause;
	}
	if (!(slowdown->s >= min_slowdown)) {
		add(&cause, CAUSE_NONE, 0, &most);
		return cause;
	}
	cause.guilty = guilty;
	if (guilty) {
		enum cause_label label = label_of_set(trace, guilty);

		slow_compute = label != CAUSE_LINK;
		add(&cause, label, guilty->share, &most);
	}
	if (slowdown->last_stage.share_without >= BLAME &&
	    (!guilty || slowdown->stage_beside_top >= BLAME))
		add(&cause, CAUSE_STAGE, slowdown->last_stage.share_without, &most);
	if (balance->correlation >= CORRELATED && balance->spread >= SPREAD && !slow_compute)
		add(&cause, CAUSE_SEQLEN, slowdown->levelled, &most);
	if (has_pauses(slowdown))
		add(&cause, CAUSE_GC, slowdown->pauses, &most);
	if (slowdown->comm >= BLAME)
		add(&cause, CAUSE_COMM, slowdown->comm, &most);
	if (cause.n_labels == 0)
		add(&cause, CAUSE_UNKNOWN, 0, &most);
	return cause;
}

bool cause_has(const struct cause *cause, enum cause_label label)
{
	size_t i;

	for (i = 0; i < cause->n_labels; i++) {
		if (cause->labels[i] == label)
			return true;
	}
	return false;
}
