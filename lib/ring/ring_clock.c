/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_func.h"

enum {
	HOST_BLOCKS = 16, /* the least delay of each one is a point */
	RESOLUTION_STAMPS_MIN = 128,
	RESOLUTION_GROUPS = 4,
};

bool ring_clock_synchronises(const struct ring_op *op)
{
	return op->func == RING_ALL_REDUCE || op->func == RING_ALL_GATHER ||
	       op->func == RING_REDUCE_SCATTER || op->func == RING_ALL_TO_ALL;
}

static size_t count_ops(const struct ring_view *rings, size_t n)
{
	size_t i, sum = 0;

	for (i = 0; i < n; i++)
		sum += rings[i].n;
	return sum;
}

/* --- timer resolution --- */

static int by_stamp(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint64_t ring_clock_resolution(const struct ring_view *rings, size_t n)
{
	CLEANUP(freep) uint64_t *stamps = xcalloc(2 * count_ops(rings, n) + 1, sizeof(*stamps));
	uint64_t grids[RESOLUTION_GROUPS] = { 0 }, coarsest = 0;
	size_t i, j, n_stamps = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < rings[i].n; j++) {
			if (!ring_clock_has(&rings[i].ops[j]))
				continue;
			stamps[n_stamps++] = rings[i].ops[j].gpu_start_ns;
			stamps[n_stamps++] = rings[i].ops[j].gpu_stop_ns;
		}
	}
	if (n_stamps < RESOLUTION_STAMPS_MIN)
		return 0;
	qsort(stamps, n_stamps, sizeof(*stamps), by_stamp);
	/* A stray timestamp is in two differences, and so in at most two groups. */
	for (i = 1; i < n_stamps; i++) {
		uint64_t *grid = &grids[i * RESOLUTION_GROUPS / n_stamps];

		*grid = divisor(*grid, stamps[i] - stamps[i - 1]);
	}
	for (i = 0; i < RESOLUTION_GROUPS; i++)
		coarsest = MAX(coarsest, grids[i]);
	return coarsest;
}

static int refuse_coarse(const struct ring_view *rings, size_t n, int code, struct err *err)
{
	const uint64_t resolution = ring_clock_resolution(rings, n);

	if (resolution < RING_CLOCK_COARSE_NS)
		return 0;
	return err_set(err, code,
		       "the GPU's timer counts in steps of %" PRIu64
		       " us: too coarse to tell who is late",
		       resolution / 1000);
}

/* --- the host's clock --- */

static int by_x(const void *a, const void *b)
{
	const struct ring_point *left = a, *right = b;

	return (left->x > right->x) - (left->x < right->x);
}

/* The least delay in each of HOST_BLOCKS blocks; returns how many. */
static size_t least_delays(struct ring_point *points, size_t n)
{
	const size_t blocks = MIN(n, (size_t)HOST_BLOCKS);
	size_t i, block;

	qsort(points, n, sizeof(*points), by_x);
	for (block = 0; block < blocks; block++) {
		const size_t end = n * (block + 1) / blocks;
		size_t least = n * block / blocks;

		for (i = least; i < end; i++)
			least = points[i].y < points[least].y ? i : least;
		points[block] = points[least];
	}
	return blocks;
}

int ring_clock_host(const struct ring_view *rings, size_t n, uint64_t base, uint64_t host_base,
		    struct ring_line *ret, struct err *err)
{
	CLEANUP(freep)
	struct ring_point *points = xcalloc(count_ops(rings, n) + 1, sizeof(*points));
	size_t i, j, n_points = 0;
	int r = refuse_coarse(rings, n, ENODATA, err);

	if (r < 0)
		return r;
	for (i = 0; i < n; i++) {
		for (j = 0; j < rings[i].n; j++) {
			const struct ring_op *op = &rings[i].ops[j];

			if (!ring_clock_has(op) || !op->host_stop_ns)
				continue;
			points[n_points++] = (struct ring_point){
				(double)(int64_t)(op->gpu_stop_ns - base),
				(double)(int64_t)((op->host_stop_ns - host_base) -
						  (op->gpu_stop_ns - base)),
			};
		}
	}
	if (n_points == 0)
		return err_set(err, ENODATA,
			       "no operation has time stamps of both the GPU and the host: its "
			       "NCCL does not report kernels");
	*ret = ring_line_fit(points, least_delays(points, n_points), RING_CLOCK_SLOPE_MOST);
	return 0;
}

/* --- clocks of ranks --- */

/* An operation of a rank that has ended. */
struct entry {
	uint64_t comm_id, key; /* function and number; for p2p: function, peer and order */
	uint32_t rank;	       /* index among the ranks */
	int32_t size;	       /* of the communicator */
	int32_t place;	       /* the rank's place in it */
	uint64_t stop;
};

/* All operations of one rank in one communicator: entries first to first + n - 1. */
struct run {
	size_t first, n;
	int32_t size;
};

struct clocks {
	uint64_t base;
	struct entry *entries;
	size_t n_entries;
	struct run *runs; /* wider communicators first, those of the same one adjacent */
	size_t n_runs;
	struct ring_point *points[2]; /* room for the longest run each */
	struct ring_line *lines;
	bool *known;
};

static void clocks_release(struct clocks *c)
{
	free(c->entries);
	free(c->runs);
	free(c->points[0]);
	free(c->points[1]);
}

static int by_size(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->size != right->size)
		return left->size > right->size ? -1 : 1;
	if (left->comm_id != right->comm_id)
		return left->comm_id < right->comm_id ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->key > right->key) - (left->key < right->key);
}

static uint64_t key_of(const struct ring_op *op, uint64_t order)
{
	const bool p2p = ring_func_is_p2p(op->func);

	if (p2p)
		return (uint64_t)op->func << 56 | (uint64_t)(uint16_t)op->peer << 40 | order;
	return (uint64_t)op->func << 56 | (op->seq & UINT64_C(0xffffffffffffff));
}

static void add_ring(struct clocks *c, uint32_t rank, const struct ring_view *ring)
{
	size_t i;

	for (i = 0; i < ring->n; i++) {
		const struct ring_op *op = &ring->ops[i];
		const bool p2p = ring_func_is_p2p(op->func);

		/* Pairing by order needs all of them: one without a timestamp keeps its place. */
		if (!p2p && !(ring_clock_synchronises(op) && ring_clock_has(op)))
			continue;
		c->entries[c->n_entries++] =
			(struct entry){ .comm_id = ring->comm->comm_id,
					.key = key_of(op, i),
					.rank = rank,
					.size = ring->comm->n_ranks,
					.place = ring->comm->rank,
					.stop = ring_clock_has(op) ? op->gpu_stop_ns : 0 };
	}
}

static void list_runs(struct clocks *c)
{
	size_t i, longest = 0;

	qsort(c->entries, c->n_entries, sizeof(*c->entries), by_size);
	c->runs = xcalloc(c->n_entries + 1, sizeof(*c->runs));
	for (i = 0; i < c->n_entries; i++) {
		const struct entry *e = &c->entries[i];
		const bool same = i > 0 && e[-1].comm_id == e->comm_id && e[-1].rank == e->rank;

		if (!same)
			c->runs[c->n_runs++] = (struct run){ i, 0, e->size };
		c->runs[c->n_runs - 1].n++;
		longest = MAX(longest, c->runs[c->n_runs - 1].n);
	}
	c->points[0] = xcalloc(longest + 1, sizeof(struct ring_point));
	c->points[1] = xcalloc(longest + 1, sizeof(struct ring_point));
}

static double behind(const struct clocks *c, uint64_t stop)
{
	return (double)(int64_t)(stop - c->base);
}

/* How far `other` is ahead of `one` where both left a collective; points over other's clock. */
static size_t compare(const struct clocks *c, const struct run *one, const struct run *other)
{
	const uint64_t p2p = (uint64_t)RING_SEND << 56, after = (uint64_t)(RING_RECV + 1) << 56;
	size_t i = 0, j = 0, n = 0;

	while (i < one->n && j < other->n) {
		const struct entry *a = &c->entries[one->first + i];
		const struct entry *b = &c->entries[other->first + j];

		if (a->key == b->key && (a->key < p2p || a->key >= after))
			c->points[0][n++] =
				(struct ring_point){ behind(c, b->stop),
						     (double)(int64_t)(b->stop - a->stop) };
		i += a->key <= b->key;
		j += b->key <= a->key;
	}
	return n;
}

/* The transfers of a function with one peer in a run. */
static struct run transfers(const struct clocks *c, const struct run *run, enum ring_func func,
			    int32_t peer)
{
	const uint64_t want = (uint64_t)func << 56 | (uint64_t)(uint16_t)peer << 40;
	struct run found = { run->first, 0, run->size };
	size_t i;

	for (i = 0; i < run->n; i++) {
		if (c->entries[run->first + i].key >> 40 != want >> 40)
			continue;
		if (found.n++ == 0)
			found.first = run->first + i;
	}
	return found;
}

/* Delays of what `from` sent to `to`, over the clock of `to` (`swap`: of `from`). */
static size_t delays(const struct clocks *c, const struct run *from, const struct run *to,
		     bool swap, struct ring_point *points)
{
	const struct run sent = transfers(c, from, RING_SEND, c->entries[to->first].place);
	const struct run got = transfers(c, to, RING_RECV, c->entries[from->first].place);
	size_t i, n = 0;

	for (i = 0; sent.n == got.n && i < sent.n; i++) {
		const uint64_t a = c->entries[sent.first + i].stop;
		const uint64_t b = c->entries[got.first + i].stop;

		if (a && b)
			points[n++] = (struct ring_point){ behind(c, swap ? a : b),
							   (double)(int64_t)(b - a) };
	}
	return n;
}

/* How far the clock of `other` is ahead of `one`, from traffic both ways. */
static bool compare_both_ways(const struct clocks *c, const struct run *one,
			      const struct run *other, struct ring_line *ret)
{
	const size_t there = delays(c, one, other, false, c->points[0]);
	const size_t back = delays(c, other, one, true, c->points[1]);
	struct ring_line forth, home;

	if (there < RING_CLOCK_OPS_MIN || back < RING_CLOCK_OPS_MIN)
		return false;
	forth = ring_line_fit(c->points[0], there, RING_CLOCK_SLOPE_MOST);
	home = ring_line_fit(c->points[1], back, RING_CLOCK_SLOPE_MOST);
	*ret = (struct ring_line){ .base = forth.base,
				   .at = (forth.at - ring_line_at(&home, forth.base)) / 2,
				   .slope = (forth.slope - home.slope) / 2,
				   .iqr = MAX(forth.iqr, home.iqr),
				   .n = MIN(there, back) };
	return true;
}

/* The clock of a rank that is `ahead` of a known one, as a function of its own time. */
static struct ring_line behind_known(const struct ring_line *known, const struct ring_line *ahead)
{
	return (struct ring_line){ .base = ahead->base,
				   .at = ring_line_at(known, ahead->base - ahead->at) + ahead->at,
				   .slope = known->slope + ahead->slope,
				   .iqr = MAX(known->iqr, ahead->iqr),
				   .n = ahead->n };
}

static int scatters(const struct clocks *c, const struct run *run, const struct ring_line *line,
		    struct err *err)
{
	return err_set(err, EDOM,
		       "ends of collectives of communicator %#" PRIx64
		       " scatter by %.0f us between its ranks: their clocks cannot be compared",
		       c->entries[run->first].comm_id, line->iqr / 1000);
}

/* Finds unknown clocks of a communicator from the known `from`. Returns 1 if any became known. */
static int reach(struct clocks *c, const struct run *runs, size_t n, const struct run *from,
		 struct err *err)
{
	const uint32_t known = c->entries[from->first].rank;
	size_t i, found;
	int any = 0;

	for (i = 0; i < n; i++) {
		const uint32_t rank = c->entries[runs[i].first].rank;
		struct ring_line ahead = { .n = 0 };

		if (c->known[rank])
			continue;
		found = compare(c, from, &runs[i]);
		if (found >= RING_CLOCK_OPS_MIN) {
			ahead = ring_line_fit(c->points[0], found, RING_CLOCK_SLOPE_MOST);
			if (ahead.iqr > RING_CLOCK_IQR_NS)
				return scatters(c, &runs[i], &ahead, err);
		} else if (!compare_both_ways(c, from, &runs[i], &ahead)) {
			continue;
		}
		c->lines[rank] = behind_known(&c->lines[known], &ahead);
		c->known[rank] = true;
		any = 1;
	}
	return any;
}

/* How many runs belong to the communicator of the first. */
static size_t members(const struct clocks *c, size_t first)
{
	const uint64_t comm_id = c->entries[c->runs[first].first].comm_id;
	size_t n = 0;

	while (first + n < c->n_runs && c->entries[c->runs[first + n].first].comm_id == comm_id)
		n++;
	return n;
}

/* One pass over all communicators, from all known ranks. Returns as reach(). */
static int spread_out(struct clocks *c, struct err *err)
{
	size_t first, i, n;
	int any = 0, r;

	for (first = 0; first < c->n_runs; first += n) {
		n = members(c, first);
		for (i = first; i < first + n; i++) {
			if (!c->known[c->entries[c->runs[i].first].rank])
				continue;
			r = reach(c, c->runs + first, n, &c->runs[i], err);
			if (r < 0)
				return r;
			any |= r;
		}
	}
	return any;
}

static int compare_all(struct clocks *c, size_t n_ranks, struct err *err)
{
	size_t i, connected = 0;
	int r;

	/* The reference is a rank of the widest communicator. */
	if (c->n_runs > 0)
		c->known[c->entries[c->runs[0].first].rank] = true;
	do
		r = spread_out(c, err);
	while (r > 0);
	if (r < 0)
		return r;
	for (i = 0; i < n_ranks; i++)
		connected += c->known[i];
	if (connected < 2)
		return err_set(
			err, ENODATA,
			"no two ranks have %d collectives, or transfers both ways, in common",
			RING_CLOCK_OPS_MIN);
	return 0;
}

int ring_clock_ranks(const struct ring_rank *ranks, size_t n_ranks, uint64_t base,
		     struct ring_line *lines, bool *known, struct err *err)
{
	CLEANUP(clocks_release)
	struct clocks c = { .base = base, .lines = lines, .known = known };
	size_t i, j, n = 0;
	int r;

	if (n_ranks > RING_CLOCK_RANKS_MAX)
		return err_set(err, E2BIG, "%zu ranks: clocks of at most %d can be compared",
			       n_ranks, RING_CLOCK_RANKS_MAX);
	for (i = 0; i < n_ranks; i++) {
		r = refuse_coarse(ranks[i].rings, ranks[i].n, EDOM, err);
		if (r < 0)
			return err_wrap(err, r, "rank %zu", i);
		n += count_ops(ranks[i].rings, ranks[i].n);
		lines[i] = (struct ring_line){ .n = 0 };
		known[i] = false;
	}
	c.entries = xcalloc(n + 1, sizeof(*c.entries));
	for (i = 0; i < n_ranks; i++) {
		for (j = 0; j < ranks[i].n; j++)
			add_ring(&c, (uint32_t)i, &ranks[i].rings[j]);
	}
	list_runs(&c);
	return compare_all(&c, n_ranks, err);
}
