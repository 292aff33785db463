/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/replace.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/trace_job.h"
#include "attribution/wave.h"
#include "lib/base/xalloc.h"

/* Relative difference below which times are equal. */
#define SAME 1e-9

struct candidate {
	uint32_t node;
	double score; /* largest slowdown caused by one of its workers alone */
	bool taken;
};

struct search {
	const struct trace *trace;
	const struct slowdown *slowdown;
	const struct bootstrap *bootstrap;
	struct wave wave;
	struct candidate *hosts; /* owned; worst first */
	uint32_t *workers;	 /* owned: of the chosen hosts, and room for one more */
	size_t n_workers;
};

static void search_release(struct search *search)
{
	wave_release(&search->wave);
	free(search->hosts);
	free(search->workers);
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->score != right->score)
		return left->score > right->score ? -1 : 1;
	return (left->node > right->node) - (left->node < right->node);
}

static void sort_hosts(struct search *search)
{
	const struct trace_job *job = &search->trace->job;
	size_t i, n = (size_t)job->dp * job->pp;

	search->hosts = xcalloc(job->n_nodes, sizeof(*search->hosts));
	for (i = 0; i < job->n_nodes; i++)
		search->hosts[i].node = (uint32_t)i;
	for (i = 0; i < n; i++) {
		struct candidate *host = &search->hosts[job->workers[i].node];

		host->score = MAX(host->score, search->slowdown->exact[i]);
	}
	qsort(search->hosts, job->n_nodes, sizeof(*search->hosts), by_score);
}

static enum whatif_choice mend(const struct trace_key *key, const void *context)
{
	const struct wave_stages *stages = context;

	return stages->set->first[key->stage + 1] > stages->set->first[key->stage]
		       ? WHATIF_MENDED
		       : WHATIF_ORIGINAL;
}

/* Append the workers of a host to those of the chosen ones. Returns the new count. */
static size_t add_workers(struct search *search, uint32_t node)
{
	const struct trace_job *job = &search->trace->job;
	size_t n = search->n_workers, i;

	for (i = 0; i < (size_t)job->dp * job->pp; i++) {
		if (job->workers[i].node == (int32_t)node)
			search->workers[n++] = (uint32_t)i;
	}
	return n;
}

/* Add a what-if per candidate. Returns how many, and which. */
static size_t add_round(struct search *search, const double **times, size_t *which)
{
	size_t i, n = 0;

	for (i = 0; i < search->trace->job.n_nodes && n < REPLACE_TRIED; i++) {
		if (search->hosts[i].taken)
			continue;
		times[n] = wave_add_set(&search->wave, mend, search->workers,
					add_workers(search, search->hosts[i].node));
		which[n++] = i;
	}
	wave_run(&search->wave);
	return n;
}

static struct interval time_of(const struct search *search, const double *times)
{
	CLEANUP(freep)
	double *means = xcalloc(search->bootstrap->n_draws + 1, sizeof(*means));

	bootstrap_means(search->bootstrap, times, means);
	return bootstrap_interval(search->bootstrap, means);
}

/* Choose the best host of a round. */
static void take_best(struct search *search, const double *const *times, const size_t *which,
		      size_t n, struct replace *ret)
{
	const size_t steps = search->trace->n_steps;
	struct replace_host *host = &ret->list[ret->n++];
	double least = wave_mean(times[0], steps);
	size_t best = 0, i;

	for (i = 1; i < n; i++) {
		const double time = wave_mean(times[i], steps);

		if (time < least * (1 - SAME)) {
			least = time;
			best = i;
		}
	}
	*host = (struct replace_host){
		.node = search->hosts[which[best]].node,
		.time = time_of(search, times[best]),
		.gap_s = ret->n == 1 && n == search->trace->job.n_nodes
				 ? 0
				 : MAX(least - search->slowdown->ideal, 0),
	};
	search->n_workers = add_workers(search, host->node);
	search->hosts[which[best]].taken = true;
	ret->tried += n;
}

/* Is enough left to gain with another host? */
static bool goes_on(const struct search *search, const struct replace *found)
{
	const struct slowdown *s = search->slowdown;
	const double now = found->n ? found->list[found->n - 1].time.value : s->simulated;

	return found->n < MIN((size_t)REPLACE_ROUNDS, search->trace->job.n_nodes - 1) &&
	       now - s->ideal > REPLACE_LEAST * s->simulated;
}

/* Drop hosts at the end that gain nothing: they were not hidden by others. */
static void cut(const struct slowdown *slowdown, struct replace *found)
{
	double best = slowdown->simulated;
	size_t n = 0, i;

	for (i = 0; i < found->n; i++) {
		if (found->list[i].time.value < best - REPLACE_LEAST * slowdown->simulated) {
			best = found->list[i].time.value;
			n = i + 1;
		}
	}
	found->n = n;
}

int replace_find(const struct replace_case *of, size_t n_threads, struct replace *ret_replace,
		 struct err *err)
{
	const struct trace *trace = of->trace;
	CLEANUP(search_release)
	struct search search = { .trace = trace,
				 .slowdown = of->slowdown,
				 .bootstrap = of->bootstrap };
	struct replace found = { .n = 0 };
	int r;

	*ret_replace = found;
	if (!of->slowdown->measurable || of->slowdown->s < REPLACE_SLOWDOWN ||
	    trace->job.n_nodes < 2)
		return 0;
	r = wave_open(&search.wave, trace, of->graph, of->cost, n_threads, err);
	if (r < 0)
		return r;
	search.workers = xcalloc((size_t)trace->job.dp * trace->job.pp, sizeof(*search.workers));
	sort_hosts(&search);
	while (goes_on(&search, &found)) {
		const double *times[REPLACE_TRIED];
		size_t which[REPLACE_TRIED], n = add_round(&search, times, which);

		if (n == 0)
			break;
		take_best(&search, times, which, n, &found);
	}
	cut(of->slowdown, &found);
	*ret_replace = found;
	return 0;
}
