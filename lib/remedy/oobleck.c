/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/oobleck.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

int oobleck_sizes(size_t hosts, size_t failures, size_t least, struct oobleck_sizes *ret_sizes,
		  struct err *err)
{
	size_t need = (failures + 1) * least;

	if (hosts < need)
		return err_set(err, ERANGE, "%zu hosts are %zu fewer than (f + 1) * n0 = %zu",
			       hosts, need - hosts, need);
	*ret_sizes = (struct oobleck_sizes){ least, hosts - failures * least };
	return 0;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Ways to cover each count of hosts with each number of pipelines; the last row means "or more". */
static void count(const struct oobleck_wish *wish, struct oobleck_options *options)
{
	size_t rows = wish->pipelines + 1, width = wish->hosts + 1;
	CLEANUP(freep) uint64_t *ways = xcalloc(rows * width, sizeof(*ways));
	size_t p, n, k;

	ways[0] = 1;
	for (p = 0; p < wish->n_sizes; p++) {
		for (n = wish->sizes[p]; n < width; n++) {
			for (k = rows; k-- > 0;) {
				size_t from = n - wish->sizes[p];
				uint64_t more = k > 0 ? ways[(k - 1) * width + from] : 0;

				if (k + 1 == rows)
					more = add_saturating(more, ways[k * width + from]);
				ways[k * width + n] = add_saturating(ways[k * width + n], more);
			}
		}
	}
	options->n_enough = ways[(rows - 1) * width + wish->hosts];
	for (k = 0; k < rows; k++)
		options->n_all = add_saturating(options->n_all, ways[k * width + wish->hosts]);
}

/* State of the recursion. */
struct walk {
	const struct oobleck_wish *wish;
	struct oobleck_options *options;
	bool *covers;	  /* [p * (hosts + 1) + n]: the first p sizes can cover n hosts */
	uint16_t *counts; /* so far */
	size_t pipelines; /* so far */
};

static void find_covers(struct walk *walk)
{
	size_t width = walk->wish->hosts + 1, p, n;

	walk->covers[0] = true;
	for (p = 1; p <= walk->wish->n_sizes; p++) {
		size_t size = walk->wish->sizes[p - 1];

		for (n = 0; n < width; n++)
			walk->covers[p * width + n] =
				walk->covers[(p - 1) * width + n] ||
				(n >= size && walk->covers[p * width + n - size]);
	}
}

static void take(struct walk *walk)
{
	size_t n_sizes = walk->wish->n_sizes;

	if (walk->pipelines >= walk->wish->pipelines)
		memcpy(walk->options->counts + walk->options->n++ * n_sizes, walk->counts,
		       n_sizes * sizeof(*walk->counts));
}

/* Recursion depth: number of sizes plus pipelines, bounded by OOBLECK_HOSTS_MAX. */
static void walk_on(struct walk *walk, size_t p, size_t hosts)
{
	size_t size;

	if (hosts == 0) {
		take(walk);
		return;
	}
	if (p == 0 || !walk->covers[p * (walk->wish->hosts + 1) + hosts])
		return;
	walk_on(walk, p - 1, hosts);
	size = walk->wish->sizes[p - 1];
	if (hosts < size)
		return;
	walk->counts[p - 1]++;
	walk->pipelines++;
	walk_on(walk, p, hosts - size);
	walk->counts[p - 1]--;
	walk->pipelines--;
}

static int check(const struct oobleck_wish *wish, struct err *err)
{
	size_t p;

	if (wish->hosts == 0 || wish->hosts > OOBLECK_HOSTS_MAX)
		return err_set(err, EINVAL, "%zu hosts: expected 1 to %d", wish->hosts,
			       OOBLECK_HOSTS_MAX);
	if (wish->n_sizes == 0 || wish->n_sizes > OOBLECK_HOSTS_MAX)
		return err_set(err, EINVAL, "%zu sizes: expected 1 to %d", wish->n_sizes,
			       OOBLECK_HOSTS_MAX);
	if (wish->pipelines > OOBLECK_HOSTS_MAX)
		return err_set(err, EINVAL, "at least %zu pipelines: expected at most %d",
			       wish->pipelines, OOBLECK_HOSTS_MAX);
	for (p = 0; p < wish->n_sizes; p++)
		if (wish->sizes[p] == 0 || (p > 0 && wish->sizes[p] <= wish->sizes[p - 1]))
			return err_set(err, EINVAL, "sizes[%zu]: %zu: sizes must ascend, from 1 up",
				       p, wish->sizes[p]);
	return 0;
}

int oobleck_options(const struct oobleck_wish *wish, struct oobleck_options *ret_options,
		    struct err *err)
{
	struct oobleck_options options = { .n = 0 };
	struct walk walk = { .wish = wish, .options = &options };
	CLEANUP(freep) bool *covers = NULL;
	CLEANUP(freep) uint16_t *counts = NULL;
	int r = check(wish, err);

	if (r < 0)
		return r;
	count(wish, &options);
	if (options.n_enough > 0 && options.n_enough <= OOBLECK_OPTIONS_MAX &&
	    options.n_all <= OOBLECK_WALK_MAX) {
		covers = xcalloc((wish->n_sizes + 1) * (wish->hosts + 1), sizeof(*covers));
		counts = xcalloc(wish->n_sizes, sizeof(*counts));
		walk.covers = covers;
		walk.counts = counts;
		options.counts = xcalloc(options.n_enough * wish->n_sizes, sizeof(*options.counts));
		find_covers(&walk);
		walk_on(&walk, wish->n_sizes, wish->hosts);
	}
	*ret_options = options;
	return 0;
}

void oobleck_options_release(struct oobleck_options *options)
{
	free(options->counts);
	*options = (struct oobleck_options){ .n = 0 };
}
