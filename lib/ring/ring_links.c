/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_links.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

/* Both ends of a transfer end together, within this many ns. */
#define TOGETHER 1e6
/* Standard deviations by which a unit's median must differ from similar ones. */
#define APART 5

double ring_links_ns(const struct ring_job *job, size_t rank, uint64_t stamp)
{
	const double x = (double)(int64_t)(stamp - job->base);

	return x - ring_line_at(&job->lines[rank], x);
}

/* A send or a receive, on the common clock. */
struct end {
	uint64_t comm_id, bytes;
	int32_t size, from, to; /* places in the communicator */
	uint32_t rank;
	uint8_t func;
	double start, stop;
};

struct transfers {
	struct ring_transfer *list;
	size_t n;
};

static int by_pair(const void *a, const void *b)
{
	const struct end *left = a, *right = b;

	if (left->comm_id != right->comm_id)
		return left->comm_id < right->comm_id ? -1 : 1;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	if (left->func != right->func)
		return left->func < right->func ? -1 : 1;
	return (left->stop > right->stop) - (left->stop < right->stop);
}

static bool one_pair(const struct end *a, const struct end *b)
{
	return a->comm_id == b->comm_id && a->from == b->from && a->to == b->to;
}

static size_t list_ends(const struct ring_job *job, struct end *ends)
{
	size_t rank, i, j, n = 0;

	for (rank = 0; rank < job->n_ranks; rank++) {
		for (i = 0; job->known[rank] && i < job->ranks[rank].n; i++) {
			const struct ring_view *ring = &job->ranks[rank].rings[i];
			const struct ring_comm *comm = ring->comm;

			for (j = 0; j < ring->n; j++) {
				const struct ring_op *op = &ring->ops[j];
				const bool send = op->func == RING_SEND;

				if ((!send && op->func != RING_RECV) || !ring_clock_has(op))
					continue;
				ends[n++] = (struct end){
					.comm_id = comm->comm_id,
					.bytes = op->bytes,
					.size = comm->n_ranks,
					.from = send ? comm->rank : op->peer,
					.to = send ? op->peer : comm->rank,
					.rank = (uint32_t)rank,
					.func = op->func,
					.start = ring_links_ns(job, rank, op->gpu_start_ns),
					.stop = ring_links_ns(job, rank, op->gpu_stop_ns),
				};
			}
		}
	}
	qsort(ends, n, sizeof(*ends), by_pair);
	return n;
}

/* Matches sends and receives of one pair, which end together; unmatched ones were lost. */
static void match(const struct end *sends, size_t n_sends, const struct end *receives,
		  size_t n_receives, struct transfers *t)
{
	size_t i = 0, j = 0;

	while (i < n_sends && j < n_receives) {
		const double apart = receives[j].stop - sends[i].stop;

		if (fabs(apart) > TOGETHER) {
			i += apart > 0;
			j += apart < 0;
			continue;
		}
		t->list[t->n++] = (struct ring_transfer){
			.comm_id = sends[i].comm_id,
			.bytes = sends[i].bytes,
			.from = sends[i].rank,
			.to = receives[j].rank,
			.size = sends[i].size,
			.func = RING_SEND,
			.xfer_s = (MAX(sends[i].stop, receives[j].stop) -
				   MAX(sends[i].start, receives[j].start)) /
				  1e9,
		};
		i++;
		j++;
	}
}

static void match_all(const struct end *ends, size_t n, struct transfers *t)
{
	size_t i, sends, all;

	for (i = 0; i < n; i += all) {
		for (all = 0; i + all < n && one_pair(&ends[i], &ends[i + all]); all++)
			;
		/* RING_SEND sorts before RING_RECV. */
		for (sends = 0; sends < all && ends[i + sends].func == RING_SEND; sends++)
			;
		match(ends + i, sends, ends + i + sends, all - sends, t);
	}
}

static int by_like(const void *a, const void *b)
{
	const struct ring_transfer *left = a, *right = b;

	if (left->size != right->size)
		return left->size < right->size ? -1 : 1;
	if (left->func != right->func)
		return left->func < right->func ? -1 : 1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	if (left->comm_id != right->comm_id)
		return left->comm_id < right->comm_id ? -1 : 1;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return (left->xfer_s > right->xfer_s) - (left->xfer_s < right->xfer_s);
}

static bool is_like(const struct ring_transfer *a, const struct ring_transfer *b)
{
	return a->size == b->size && a->func == b->func && a->bytes == b->bytes;
}

static bool one_unit(const struct ring_transfer *a, const struct ring_transfer *b)
{
	return is_like(a, b) && a->comm_id == b->comm_id && a->from == b->from && a->to == b->to;
}

/* A unit with its transfers, ascending. */
struct unit {
	const struct ring_transfer *first;
	size_t n;
	double median, error;
};

static void keep(struct ring_slow_link *links, size_t *n, const struct unit *u, double usual)
{
	const struct ring_slow_link link = { .comm_id = u->first->comm_id,
					     .from = u->first->from,
					     .to = u->first->to,
					     .func = u->first->func,
					     .n = u->n,
					     .xfer_s = u->median,
					     .usual_s = usual };
	size_t at = *n;

	while (at > 0 && links[at - 1].xfer_s * usual < link.xfer_s * links[at - 1].usual_s)
		at--;
	if (at == RING_LINKS_MAX)
		return;
	*n = MIN(*n + 1, (size_t)RING_LINKS_MAX);
	memmove(&links[at + 1], &links[at], (*n - at - 1) * sizeof(links[0]));
	links[at] = link;
}

static void judge(const struct unit *units, size_t n, struct ring_slow_link *links, size_t *n_links)
{
	CLEANUP(freep) double *medians = xcalloc(n + 1, sizeof(*medians));
	double usual, spread;
	size_t i;

	if (n < RING_LINKS_LIKE_MIN)
		return;
	for (i = 0; i < n; i++)
		medians[i] = units[i].median;
	usual = ring_line_median(medians, n);
	/* Similar units differ anyway: cables have lengths. */
	spread = ring_line_iqr(medians, n) / 1.349;
	for (i = 0; i < n; i++) {
		const double more = units[i].median - usual;

		if (units[i].median > usual * RING_LINKS_SLOW && more > APART * units[i].error &&
		    more > APART * spread)
			keep(links, n_links, &units[i], usual);
	}
}

static size_t find_slow(struct ring_transfer *list, size_t n, struct ring_slow_link *links)
{
	CLEANUP(freep) struct unit *units = xcalloc(n + 1, sizeof(*units));
	size_t i, j, k, n_units, n_links = 0;

	qsort(list, n, sizeof(*list), by_like);
	for (i = 0; i < n; i = j) {
		n_units = 0;
		for (j = i; j < n && is_like(&list[i], &list[j]); j = k) {
			for (k = j; k < n && one_unit(&list[j], &list[k]); k++)
				;
			if (k - j < RING_LINKS_TRANSFERS_MIN)
				continue;
			units[n_units++] = (struct unit){
				&list[j], k - j, list[j + (k - j - 1) / 2].xfer_s,
				ring_line_median_error(list[j + (k - j - 1) * 3 / 4].xfer_s -
							       list[j + (k - j - 1) / 4].xfer_s,
						       k - j)
			};
		}
		judge(units, n_units, links, &n_links);
	}
	return n_links;
}

size_t ring_links_find(const struct ring_job *job, const struct ring_transfer *transfers, size_t n,
		       struct ring_slow_link ret[static RING_LINKS_MAX])
{
	CLEANUP(freep) struct end *ends = NULL;
	CLEANUP(freep) struct ring_transfer *list = NULL;
	struct transfers all;
	size_t rank, i, n_ends = 0;

	for (rank = 0; rank < job->n_ranks; rank++) {
		for (i = 0; i < job->ranks[rank].n; i++)
			n_ends += job->ranks[rank].rings[i].n;
	}
	ends = xcalloc(n_ends + 1, sizeof(*ends));
	list = xcalloc(n + n_ends + 1, sizeof(*list));
	n_ends = list_ends(job, ends);
	memcpy(list, transfers, n * sizeof(*list));
	all = (struct transfers){ list, n };
	match_all(ends, n_ends, &all);
	return find_slow(list, all.n, ret);
}
