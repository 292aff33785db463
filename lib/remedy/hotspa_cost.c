/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/hotspa_cost.h"

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Bytes so far. */
struct sums {
	double sent, got;
};

static size_t lcm(size_t a, size_t b)
{
	size_t x = a, y = b;

	while (y > 0) {
		size_t rest = x % y;

		x = y;
		y = rest;
	}
	return a / x * b;
}

/* Rows of a layer of stage `p` on each device; none on the others. */
static void fill_shards(const struct hotspa_cost_job *job, const struct hotspa_cost_layout *layout,
			size_t p, size_t rows, struct hotspa_switch_shard *shards)
{
	const int64_t part = (int64_t)(rows / layout->tp);
	size_t i, c, t;

	for (i = 0; i < job->devices; i++)
		shards[i] = (struct hotspa_switch_shard){ 0, -1 };
	for (c = 0; c < layout->copies; c++) {
		const size_t group = p * layout->copies + c;
		const size_t first = layout->first ? layout->first[group] : group * layout->tp;

		for (t = 0; t < layout->tp; t++)
			shards[first + t] =
				(struct hotspa_switch_shard){ (int64_t)t * part,
							      (int64_t)(t + 1) * part - 1 };
	}
}

/* Adds what `n` layers move from stage `p` to stage `q`. */
static int add_layers(const struct hotspa_cost_job *job,
		      const struct hotspa_cost_layout *const *both, const size_t *stages, size_t n,
		      struct sums *sums, struct err *err)
{
	CLEANUP(freep)
	struct hotspa_switch_shard *shards = xcalloc(2 * job->devices, sizeof(*shards));
	const struct hotspa_switch_wish wish = { shards, shards + job->devices, job->hosts,
						 job->devices };
	const size_t rows = lcm(both[0]->tp, both[1]->tp);
	const double bytes = job->bytes * (double)n / (double)rows;
	struct hotspa_switch_plan plan = { .n = 0 };
	size_t i;
	int r;

	for (i = 0; i < 2; i++)
		fill_shards(job, both[i], stages[i], rows, shards + i * job->devices);
	r = hotspa_switch_plan(&wish, &plan, err);
	if (r < 0)
		return r;
	for (i = 0; i < plan.n; i++) {
		const struct hotspa_switch_move *m = &plan.moves[i];
		double moved = bytes * (double)(m->rows.last - m->rows.first + 1);
		/* Links of devices come first, then those of hosts. */
		size_t from = m->intra ? m->from : job->devices + job->hosts[m->from];
		size_t to = m->intra ? m->to : job->devices + job->hosts[m->to];

		if (m->local)
			continue;
		sums[from].sent += moved;
		sums[to].got += moved;
	}
	hotspa_switch_release(&plan);
	return 0;
}

int hotspa_cost_find(const struct hotspa_cost_job *job, const struct hotspa_cost_layout *from,
		     const struct hotspa_cost_layout *to, double *ret_seconds, struct err *err)
{
	CLEANUP(freep) struct sums *sums = xcalloc(2 * job->devices, sizeof(*sums));
	const struct hotspa_cost_layout *both[] = { from, to };
	size_t ends[] = { from->split[0], to->split[0] }, stages[] = { 0, 0 }, at = 0, i;
	double seconds = 0;

	while (at < job->layers) {
		size_t until = MIN(ends[0], ends[1]);
		int r = until > at ? add_layers(job, both, stages, until - at, sums, err) : 0;

		if (r < 0)
			return r;
		at = until;
		for (i = 0; i < 2; i++)
			if (ends[i] == at && stages[i] + 1 < both[i]->pp)
				ends[i] += both[i]->split[++stages[i]];
	}
	for (i = 0; i < 2 * job->devices; i++) {
		double most = MAX(sums[i].sent, sums[i].got);
		double took = most / (i < job->devices ? job->inside : job->link);

		seconds = MAX(seconds, took);
	}
	*ret_seconds = seconds;
	return 0;
}
