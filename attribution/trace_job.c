/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/trace_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/trace.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

enum { RANKS_PER_NODE = 8 }; /* GPUs per host, if hosts are not given */

static size_t n_workers(const struct trace_job *job)
{
	return (size_t)job->dp * job->pp;
}

static int check_sizes(const struct trace_job *job, struct err *err)
{
	const struct {
		const char *name;
		uint64_t size, most;
	} rows[] = {
		{ "dp_size", job->dp, TRACE_DP_MAX },	{ "pp_size", job->pp, TRACE_PP_MAX },
		{ "tp_size", job->tp, TRACE_PP_MAX },	{ "vpp_size", job->vpp, TRACE_VPP_MAX },
		{ "dsp_size", job->dsp, TRACE_DP_MAX },
	};
	uint64_t world;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].size < 1 || rows[i].size > rows[i].most)
			return err_set(err, EINVAL, "%s: %" PRIu64 " is outside 1 to %" PRIu64,
				       rows[i].name, rows[i].size, rows[i].most);
	}
	if (n_workers(job) > TRACE_WORKERS_MAX)
		return err_set(err, EINVAL, "dp_size: %zu workers are more than %d", n_workers(job),
			       TRACE_WORKERS_MAX);
	world = (uint64_t)job->dp * job->pp * job->tp * job->dsp;
	if (world > INT32_MAX)
		return err_set(err, EINVAL, "world_size: %" PRIu64 " ranks are more than %d", world,
			       INT32_MAX);
	if (job->world != world)
		return err_set(err, EINVAL,
			       "world_size: %" PRIu64
			       " is not dp_size * pp_size * tp_size * dsp_size = %" PRIu64,
			       job->world, world);
	return 0;
}

int trace_job_open(struct trace_job *job, struct err *err)
{
	size_t i;
	int r;

	r = check_sizes(job, err);
	if (r < 0)
		return r;
	job->workers = calloc(n_workers(job), sizeof(*job->workers));
	job->names = calloc(n_workers(job), sizeof(*job->names));
	if (!job->workers || !job->names)
		return err_set(err, ENOMEM, "no memory for %zu workers", n_workers(job));
	for (i = 0; i < n_workers(job); i++)
		job->workers[i] = (struct trace_worker){ .rank = -1, .node = -1 };
	return 0;
}

static int place_node(struct trace_job *job, size_t worker, const char *node, struct err *err)
{
	size_t length = strlen(node);

	if (length == 0 || length > TRACE_NAME_MAX)
		return err_set(err, EINVAL, "node: a name has 1 to %d bytes, not %zu",
			       TRACE_NAME_MAX, length);
	if (job->names[worker] && !streq(job->names[worker], node))
		return err_set(err, EINVAL, "node: '%.40s', but '%.40s' before", node,
			       job->names[worker]);
	if (!job->names[worker])
		job->names[worker] = xstrdup(node);
	return 0;
}

int trace_job_place(struct trace_job *job, int64_t dp_rank, int64_t stage, int64_t rank,
		    const char *node, struct err *err)
{
	struct trace_worker *worker;

	if (dp_rank < 0 || dp_rank >= (int64_t)job->dp)
		return err_set(err, EINVAL, "dp_rank: %" PRId64 " is outside 0 to %u", dp_rank,
			       job->dp - 1);
	if (stage < 0 || stage >= (int64_t)job->pp)
		return err_set(err, EINVAL, "stage: %" PRId64 " is outside 0 to %u", stage,
			       job->pp - 1);
	if (rank < 0 || rank >= (int64_t)job->world)
		return err_set(err, EINVAL, "rank: %" PRId64 " is outside 0 to %" PRIu64, rank,
			       job->world - 1);
	worker = &job->workers[(size_t)dp_rank * job->pp + (size_t)stage];
	if (worker->rank >= 0 && worker->rank != rank)
		return err_set(err, EINVAL,
			       "rank: %" PRId64 " for dp_rank %" PRId64 " and stage %" PRId64
			       ", which is rank %" PRId32,
			       rank, dp_rank, stage, worker->rank);
	worker->rank = (int32_t)rank;
	return node ? place_node(job, (size_t)(worker - job->workers), node, err) : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_rank(const void *a, const void *b)
{
	int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;

	return (left > right) - (left < right);
}

/* Each worker has a rank, and no two have the same. */
static int check_ranks(const struct trace_job *job, struct err *err)
{
	CLEANUP(freep) int32_t *ranks = xcalloc(n_workers(job), sizeof(*ranks));
	size_t i;

	for (i = 0; i < n_workers(job); i++) {
		ranks[i] = job->workers[i].rank;
		if (ranks[i] < 0)
			return err_set(err, EINVAL, "ranks: none for dp_rank %zu and stage %zu",
				       i / job->pp, i % job->pp);
	}
	qsort(ranks, n_workers(job), sizeof(*ranks), by_rank);
	for (i = 1; i < n_workers(job); i++) {
		if (ranks[i] == ranks[i - 1])
			return err_set(err, EINVAL,
				       "ranks: rank %" PRId32 " belongs to two workers", ranks[i]);
	}
	return 0;
}

int trace_job_close(struct trace_job *job, struct err *err)
{
	size_t i, n = 0;
	char **sorted;
	int r;

	if (job->nodes)
		return 0;
	r = check_ranks(job, err);
	if (r < 0)
		return r;
	sorted = xcalloc(n_workers(job), sizeof(*sorted));
	job->named = true;
	for (i = 0; i < n_workers(job); i++) {
		job->named &= job->names[i] != NULL;
		if (!job->names[i])
			job->names[i] = xasprintf("n%03d", job->workers[i].rank / RANKS_PER_NODE);
		sorted[i] = job->names[i];
	}
	qsort(sorted, n_workers(job), sizeof(*sorted), by_text);
	for (i = 0; i < n_workers(job); i++) {
		if (n == 0 || !streq(sorted[n - 1], sorted[i]))
			sorted[n++] = sorted[i];
	}
	for (i = 0; i < n_workers(job); i++) {
		char **at = bsearch(&job->names[i], sorted, n, sizeof(*sorted), by_text);

		job->workers[i].node = (int32_t)(at - sorted);
	}
	for (i = 0; i < n; i++)
		sorted[i] = xstrdup(sorted[i]);
	job->nodes = sorted;
	job->n_nodes = n;
	return 0;
}

int trace_job_copy(const struct trace_job *from, struct trace_job *to, struct err *err)
{
	struct trace_job copy = *from;
	size_t i;
	int r;

	copy.name = NULL;
	copy.workers = NULL;
	copy.names = copy.nodes = NULL;
	copy.n_nodes = 0;
	r = trace_job_open(&copy, err);
	if (r < 0) {
		trace_job_release(&copy);
		return r;
	}
	copy.name = xstrdup(from->name);
	for (i = 0; i < n_workers(from); i++) {
		copy.workers[i] = from->workers[i];
		copy.names[i] = xstrdup(from->names[i]);
	}
	if (from->nodes) {
		copy.nodes = xcalloc(from->n_nodes, sizeof(*copy.nodes));
		copy.n_nodes = from->n_nodes;
	}
	for (i = 0; i < copy.n_nodes; i++)
		copy.nodes[i] = xstrdup(from->nodes[i]);
	*to = copy;
	return 0;
}

void trace_job_release(struct trace_job *job)
{
	size_t i;

	for (i = 0; job->names && i < n_workers(job); i++)
		free(job->names[i]);
	for (i = 0; i < job->n_nodes; i++)
		free(job->nodes[i]);
	free(job->names);
	free(job->nodes);
	free(job->workers);
	free(job->name);
	*job = (struct trace_job){ 0 };
}
