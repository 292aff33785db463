/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/subjects.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/trace_job.h"
#include "lib/base/xalloc.h"

/* Does a node have all workers of a stage? Then only its workers can be compared, not the node. */
static void find_whole(const struct trace_job *job, bool *whole)
{
	size_t stage, d;

	for (stage = 0; stage < job->pp; stage++) {
		int32_t node = job->workers[stage].node;

		for (d = 1; d < job->dp && job->workers[d * job->pp + stage].node == node; d++)
			;
		if (d == job->dp)
			whole[node] = true;
	}
}

/* Assign workers to subjects, [worker]. Returns the number of subjects. */
static size_t number_subjects(const struct trace_job *job, uint32_t *of)
{
	uint32_t n = job->dp * job->pp, i, next = 0;
	CLEANUP(freep) bool *whole = xcalloc(job->n_nodes + 1, sizeof(*whole));
	CLEANUP(freep) uint32_t *of_node = xcalloc(job->n_nodes + 1, sizeof(*of_node));

	if (job->dp > 1)
		find_whole(job, whole);
	for (i = 0; i < n; i++) {
		int32_t node = job->workers[i].node;

		if (!job->named || whole[node]) {
			of[i] = next++;
			continue;
		}
		if (of_node[node] == 0)
			of_node[node] = ++next; /* from 1: 0 means not yet */
		of[i] = of_node[node] - 1;
	}
	return next;
}

struct subjects subjects_of(const struct trace_job *job)
{
	uint32_t n = job->dp * job->pp, i;
	CLEANUP(freep) uint32_t *of = xcalloc(n, sizeof(*of));
	size_t n_subjects = number_subjects(job, of), at = 0;
	struct subjects subjects = {
		.list = xcalloc(n_subjects, sizeof(*subjects.list)),
		.n = n_subjects,
		.workers = xcalloc(n, sizeof(*subjects.workers)),
	};

	for (i = 0; i < n; i++)
		subjects.list[of[i]].n++;
	for (i = 0; i < n_subjects; i++) {
		subjects.list[i].workers = subjects.workers + at;
		at += subjects.list[i].n;
		subjects.list[i].n = 0;
	}
	for (i = 0; i < n; i++) {
		struct subject *subject = &subjects.list[of[i]];

		subjects.workers[(size_t)(subject->workers - subjects.workers) + subject->n++] = i;
	}
	return subjects;
}

const struct subject *subjects_with(const struct subjects *subjects, uint32_t worker)
{
	size_t i, j;

	for (i = 0; i < subjects->n; i++) {
		for (j = 0; j < subjects->list[i].n; j++) {
			if (subjects->list[i].workers[j] == worker)
				return &subjects->list[i];
		}
	}
	return NULL; /* not reached: each worker has a subject */
}

void subjects_release(struct subjects *subjects)
{
	free(subjects->list);
	free(subjects->workers);
	*subjects = (struct subjects){ 0 };
}

/* A host is as slow as its slowest worker. */
static void find_excess(struct subject *subject, const struct pace *pace,
			const struct pace_level *level)
{
	double most = -INFINITY;
	size_t i;

	subject->excess = subject->transfer = -INFINITY;
	for (i = 0; i < subject->n; i++) {
		uint32_t w = subject->workers[i];
		double computes = pace_excess(pace, level, w, false);
		double transfers = pace_excess(pace, level, w, true);

		subject->excess = MAX(subject->excess, computes);
		subject->transfer = MAX(subject->transfer, transfers);
		if (MAX(computes, transfers) > most) {
			most = MAX(computes, transfers);
			subject->worst = w;
		}
	}
}

/* The worst one that is not among the `n` found; NULL: none left. */
static const struct subject *next_worst(const struct subjects *subjects, bool by_transfer,
					const struct subject *const *found, size_t n)
{
	const struct subject *worst = NULL;
	size_t i, j;

	for (i = 0; i < subjects->n; i++) {
		const struct subject *subject = &subjects->list[i];
		double value = by_transfer ? subject->transfer : subject->excess;

		if (worst && value <= (by_transfer ? worst->transfer : worst->excess))
			continue;
		for (j = 0; j < n && found[j] != subject; j++)
			;
		if (j == n)
			worst = subject;
	}
	return worst;
}

size_t subjects_worst(struct subjects *subjects, const struct pace *pace, const bool *nobody,
		      size_t n_compute, size_t n_transfer, const struct subject **ret)
{
	CLEANUP(pace_level_release) struct pace_level level = pace_level_of(pace, nobody, true);
	size_t i, n = 0;

	for (i = 0; i < subjects->n; i++)
		find_excess(&subjects->list[i], pace, &level);
	while (n < MIN(n_compute + n_transfer, subjects->n)) {
		ret[n] = next_worst(subjects, n >= n_compute, ret, n);
		n++;
	}
	return n;
}
