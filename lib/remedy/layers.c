/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/layers.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* y * k / y is k except for rounding. */
#define SAME 1e-9

static size_t most_of(const struct layers_wish *wish, size_t j)
{
	return wish->most ? MIN(wish->most[j], wish->layers) : wish->layers;
}

/* How many layers a stage can do in `slowest`. */
static size_t fit(const struct layers_wish *wish, size_t j, double slowest)
{
	double layers = floor(slowest / wish->slowdown[j] * (1 + SAME) + SAME);
	size_t most = most_of(wish, j);

	return layers < (double)most ? (size_t)layers : most;
}

static size_t fit_all(const struct layers_wish *wish, double slowest)
{
	size_t sum = 0, j;

	for (j = 0; j < wish->stages; j++)
		sum += fit(wish, j, slowest);
	return sum;
}

/* The least y[j] * k that suffices, by bisection over k for each stage. */
static double find_slowest(const struct layers_wish *wish)
{
	double best = INFINITY;
	size_t j;

	for (j = 0; j < wish->stages; j++) {
		size_t low = 1, high = most_of(wish, j) + 1; /* `high` suffices, or nothing does */

		while (low < high) {
			size_t k = low + (high - low) / 2;

			if (fit_all(wish, wish->slowdown[j] * (double)k) >= wish->layers)
				high = k;
			else
				low = k + 1;
		}
		if (low <= most_of(wish, j))
			best = MIN(best, wish->slowdown[j] * (double)low);
	}
	return best;
}

static int check(const struct layers_wish *wish, struct err *err)
{
	size_t held = 0, j;

	if (wish->stages == 0 || wish->stages > LAYERS_STAGES_MAX)
		return err_set(err, EINVAL, "%zu stages: expected 1 to %d", wish->stages,
			       LAYERS_STAGES_MAX);
	if (wish->layers == 0 || wish->layers > LAYERS_MAX)
		return err_set(err, EINVAL, "%zu layers: expected 1 to %d", wish->layers,
			       LAYERS_MAX);
	if (wish->stages * wish->layers > LAYERS_WORK_MAX)
		return err_set(err, EINVAL,
			       "%zu stages of %zu layers: expected a product of at most %d",
			       wish->stages, wish->layers, LAYERS_WORK_MAX);
	for (j = 0; j < wish->stages; j++)
		held += most_of(wish, j);
	if (held < wish->layers)
		return err_set(err, ERANGE,
			       "the memory of %zu stages holds %zu layers, %zu fewer than %zu",
			       wish->stages, held, wish->layers - held, wish->layers);
	return 0;
}

int layers_assign(const struct layers_wish *wish, size_t *ret_counts, double *ret_slowest,
		  struct err *err)
{
	double slowest;
	size_t sum = 0, from, j;
	int r = check(wish, err);

	if (r < 0)
		return r;
	slowest = find_slowest(wish);
	for (j = 0; j < wish->stages; j++) {
		ret_counts[j] = fit(wish, j, slowest);
		sum += ret_counts[j];
	}
	for (; sum > wish->layers; sum--) {
		for (from = 0, j = 1; j < wish->stages; j++)
			if (wish->slowdown[j] * (double)ret_counts[j] >
			    wish->slowdown[from] * (double)ret_counts[from] * (1 + SAME))
				from = j;
		ret_counts[from]--;
	}
	for (slowest = 0, j = 0; j < wish->stages; j++)
		slowest = MAX(slowest, wish->slowdown[j] * (double)ret_counts[j]);
	if (ret_slowest)
		*ret_slowest = slowest;
	return 0;
}

void layers_caps(const struct layers_memory *memory, size_t *ret_most)
{
	double room = (memory->most - memory->extra) / memory->share;
	size_t j;

	for (j = 0; j < memory->stages; j++) {
		bool end = j == 0 || j + 1 == memory->stages;
		double left = end ? room - memory->embedding : room;
		double layers = floor(left / memory->layer[j] * (1 + SAME));

		ret_most[j] = layers < 1 ? 0 : (size_t)MIN(layers, (double)LAYERS_MAX);
	}
}
