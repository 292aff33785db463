/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/reconfigure.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

const char *const reconfigure_way_names[] = {
	[RECONFIGURE_KEPT] = "kept",
	[RECONFIGURE_BORROWED] = "borrowed",
	[RECONFIGURE_MERGED] = "merged",
};

/* A pipeline under construction. */
struct pipe {
	uint32_t *hosts; /* owned; room for all hosts */
	size_t n;
};

struct work {
	struct pipe *pipes; /* in order; those without hosts are gone */
	size_t n, least;
};

static int compare_hosts(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_pipes(const void *a, const void *b)
{
	const struct pipe *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->n > 0 ? compare_hosts(x->hosts, y->hosts) : 0;
}

static void join(struct pipe *to, struct pipe *from)
{
	to->hosts = xrealloc(to->hosts, to->n + from->n + 1, sizeof(*to->hosts));
	memcpy(to->hosts + to->n, from->hosts, from->n * sizeof(*to->hosts));
	to->n += from->n;
	from->n = 0;
}

/* The longest with more than it needs, the later of equals; NULL if none. */
static struct pipe *lender(const struct work *work)
{
	struct pipe *longest = NULL;
	size_t i;

	for (i = 0; i < work->n; i++)
		if (work->pipes[i].n > work->least && (!longest || work->pipes[i].n >= longest->n))
			longest = &work->pipes[i];
	return longest;
}

/* Returns false if nobody can lend any more. */
static bool borrow(struct work *work, struct pipe *pipe)
{
	struct pipe *from;

	pipe->hosts = xrealloc(pipe->hosts, pipe->n + work->least, sizeof(*pipe->hosts));
	while (pipe->n < work->least) {
		from = lender(work);
		if (!from)
			return false;
		pipe->hosts[pipe->n++] = from->hosts[--from->n];
	}
	return true;
}

/* The first pipeline that was complete before merging, else the first one made by it. */
static struct pipe *first_whole(struct work *work, const bool *merged)
{
	struct pipe *made = NULL;
	size_t i;

	for (i = 0; i < work->n; i++) {
		if (work->pipes[i].n < work->least)
			continue;
		if (!merged[i])
			return &work->pipes[i];
		if (!made)
			made = &work->pipes[i];
	}
	return made;
}

static void merge(struct work *work)
{
	CLEANUP(freep) bool *merged = xcalloc(work->n + 1, sizeof(*merged));
	struct pipe *growing = NULL, *whole;
	size_t i;

	for (i = 0; i < work->n; i++) {
		struct pipe *pipe = &work->pipes[i];

		if (pipe->n == 0 || (pipe->n >= work->least && pipe != growing))
			continue;
		if (growing)
			join(growing, pipe);
		else
			growing = pipe;
		merged[growing - work->pipes] = true;
		if (growing->n >= work->least)
			growing = NULL;
	}
	whole = growing ? first_whole(work, merged) : NULL;
	if (whole)
		join(whole, growing);
}

static bool has_lost(const uint32_t *lost, size_t n_lost, uint32_t host)
{
	return n_lost > 0 && bsearch(&host, lost, n_lost, sizeof(host), compare_hosts);
}

static int check(const struct reconfigure_pipelines *old, struct err *err)
{
	CLEANUP(freep) uint32_t *sorted = NULL;
	size_t i;

	if (old->n_hosts > RECONFIGURE_HOSTS_MAX)
		return err_set(err, EINVAL, "%zu hosts: expected at most %d", old->n_hosts,
			       RECONFIGURE_HOSTS_MAX);
	sorted = xcalloc(old->n_hosts + 1, sizeof(*sorted));
	for (i = 0; i < old->n_hosts; i++)
		sorted[i] = old->hosts[i];
	qsort(sorted, old->n_hosts, sizeof(*sorted), compare_hosts);
	for (i = 1; i < old->n_hosts; i++)
		if (sorted[i] == sorted[i - 1])
			return err_set(err, EINVAL, "host %u is in two places", sorted[i]);
	return 0;
}

/* The remaining hosts of each pipeline; returns how many in all. */
static size_t survivors(const struct reconfigure_pipelines *old, const uint32_t *lost,
			size_t n_lost, struct work *work)
{
	size_t left = 0, p, i = 0;

	for (p = 0; p < old->n; p++) {
		struct pipe *pipe = &work->pipes[p];

		pipe->hosts = xcalloc(old->ends[p] - i + 1, sizeof(*pipe->hosts));
		for (; i < old->ends[p]; i++)
			if (!has_lost(lost, n_lost, old->hosts[i]))
				pipe->hosts[pipe->n++] = old->hosts[i];
		left += pipe->n;
	}
	return left;
}

static enum reconfigure_way mend(struct work *work)
{
	enum reconfigure_way way = RECONFIGURE_KEPT;
	bool enough = true;
	size_t i;

	for (i = 0; i < work->n; i++) {
		if (work->pipes[i].n == 0 || work->pipes[i].n >= work->least)
			continue;
		way = RECONFIGURE_BORROWED;
		enough = borrow(work, &work->pipes[i]) && enough;
	}
	if (enough)
		return way;
	merge(work);
	return RECONFIGURE_MERGED;
}

static void put_in_order(struct work *work, size_t left, struct reconfigure_pipelines *ret_new)
{
	size_t i;

	*ret_new = (struct reconfigure_pipelines){ xcalloc(left, sizeof(uint32_t)),
						   xcalloc(work->n, sizeof(size_t)), 0, 0 };
	for (i = 0; i < work->n; i++)
		qsort(work->pipes[i].hosts, work->pipes[i].n, sizeof(uint32_t), compare_hosts);
	qsort(work->pipes, work->n, sizeof(*work->pipes), compare_pipes);
	for (i = 0; i < work->n; i++) {
		struct pipe *pipe = &work->pipes[i];

		if (pipe->n == 0)
			continue;
		memcpy(ret_new->hosts + ret_new->n_hosts, pipe->hosts,
		       pipe->n * sizeof(*pipe->hosts));
		ret_new->n_hosts += pipe->n;
		ret_new->ends[ret_new->n++] = ret_new->n_hosts;
	}
}

int reconfigure_pipelines(const struct reconfigure_pipelines *old, const uint32_t *lost,
			  size_t n_lost, size_t least, struct reconfigure_pipelines *ret_new,
			  enum reconfigure_way *ret_way, struct err *err)
{
	struct work work = { .n = old->n, .least = least };
	CLEANUP(freep) struct pipe *pipes = NULL;
	CLEANUP(freep) uint32_t *sorted = NULL;
	size_t left, i;
	int r = check(old, err);

	if (r < 0)
		return r;
	pipes = xcalloc(old->n + 1, sizeof(*pipes));
	sorted = xcalloc(n_lost + 1, sizeof(*sorted));
	if (n_lost > 0)
		memcpy(sorted, lost, n_lost * sizeof(*sorted));
	qsort(sorted, n_lost, sizeof(*sorted), compare_hosts);
	work.pipes = pipes;
	left = survivors(old, sorted, n_lost, &work);
	if (left < least) {
		r = err_set(err, ERANGE, "%zu hosts are left, %zu fewer than n0 = %zu", left,
			    least - left, least);
	} else {
		*ret_way = mend(&work);
		put_in_order(&work, left, ret_new);
	}
	for (i = 0; i < old->n; i++)
		free(pipes[i].hosts);
	return r;
}

void reconfigure_pipelines_release(struct reconfigure_pipelines *pipelines)
{
	free(pipelines->hosts);
	free(pipelines->ends);
	*pipelines = (struct reconfigure_pipelines){ .n = 0 };
}
