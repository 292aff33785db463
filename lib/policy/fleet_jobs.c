/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/fleet_jobs.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"

static struct fleet_ran *find(const struct fleet_node *node, int job)
{
	size_t i;

	for (i = 0; i < node->n_ran; i++) {
		if (node->ran[i].job == job)
			return &node->ran[i];
	}
	return NULL;
}

static struct fleet_ran *oldest(const struct fleet_node *node)
{
	struct fleet_ran *found = &node->ran[0];
	size_t i;

	for (i = 1; i < node->n_ran; i++) {
		if (node->ran[i].last_us < found->last_us)
			found = &node->ran[i];
	}
	return found;
}

/* Takes over the reference to the job's name. */
static void add(struct fleet *f, struct fleet_node *node, const struct fleet_ran *ran)
{
	struct fleet_ran *place;

	if (node->n_ran == FLEET_RAN_MAX) {
		place = oldest(node);
		names_drop(&f->jobs, place->job);
	} else {
		node->ran = xrealloc(node->ran, node->n_ran + 1, sizeof(*node->ran));
		place = &node->ran[node->n_ran++];
	}
	*place = *ran;
}

void fleet_jobs_ran(struct fleet *f, struct fleet_node *node, const char *job,
		    const uint64_t span_us[static 2])
{
	const int number = names_hold(&f->jobs, job);
	struct fleet_ran *known = find(node, number);

	if (!known) {
		add(f, node, &(struct fleet_ran){ number, span_us[0], span_us[1] });
		return;
	}
	names_drop(&f->jobs, number);
	known->from_us = MIN(known->from_us, span_us[0]);
	known->last_us = MAX(known->last_us, span_us[1]);
}

void fleet_jobs_note(struct fleet *f, struct fleet_node *node, uint64_t now_us)
{
	size_t i, n = 0;

	for (i = 0; i < node->n_jobs; i++) {
		const uint64_t now[] = { now_us, now_us };
		struct fleet_ran *known = find(node, node->jobs[i]);

		/* Each decision does this for each host, so it avoids looking up the name. */
		if (known)
			known->last_us = MAX(known->last_us, now_us);
		else
			fleet_jobs_ran(f, node, names_text(&f->jobs, node->jobs[i]), now);
	}
	for (i = 0; i < node->n_ran; i++) {
		if (node->ran[i].last_us + FLEET_RAN_LATELY_US < now_us)
			names_drop(&f->jobs, node->ran[i].job);
		else
			node->ran[n++] = node->ran[i];
	}
	node->n_ran = n;
}

static bool runs_now(const struct fleet_node *node, int job)
{
	size_t i = 0;

	while (i < node->n_jobs && node->jobs[i] != job)
		i++;
	return i < node->n_jobs;
}

bool fleet_jobs_has(const struct fleet_node *node, int job, const struct finding *finding)
{
	const struct fleet_ran *ran = find(node, job);

	if (!ran || !finding || runs_now(node, job))
		return ran != NULL;
	return ran->last_us + FLEET_RAN_SLACK_US >= finding->since_us &&
	       ran->from_us <= finding->seen_us + FLEET_RAN_SLACK_US;
}

void fleet_jobs_release(struct fleet *f, struct fleet_node *node)
{
	while (node->n_ran > 0)
		names_drop(&f->jobs, node->ran[--node->n_ran].job);
	free(node->ran);
	node->ran = NULL;
}
