/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/speeds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/trace.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Parse [first, n, speed], which must start after `end`; advances `end`. */
static int read_span(const struct jval *row, int64_t *end, struct speeds_span *ret, struct err *err)
{
	const json_t *first = json_array_get(row->value, 0), *n = json_array_get(row->value, 1);
	const json_t *speed = json_array_get(row->value, 2);

	if (json_array_size(row->value) != 3 || !json_is_integer(first) || !json_is_integer(n) ||
	    !json_is_number(speed))
		return jval_fail(row, err, "expected [first rank, how many, speed]");
	*ret = (struct speeds_span){ json_integer_value(first), json_integer_value(n),
				     json_number_value(speed) };
	if (ret->first < *end || ret->first > INT32_MAX)
		return jval_fail(row, err, "rank %lld is invalid or out of order",
				 (long long)ret->first);
	if (ret->n < 1 || ret->n > INT32_MAX)
		return jval_fail(row, err, "%lld is not a valid number of ranks", (long long)ret->n);
	if (!(ret->speed >= SPEEDS_LEAST && ret->speed <= SPEEDS_MOST))
		return jval_fail(row, err, "expected a speed from %g to %g (1 is normal)",
				 SPEEDS_LEAST, SPEEDS_MOST);
	*end = ret->first + ret->n;
	return 0;
}

static int read_spans(const struct jval *ranks, struct speeds *ret, struct err *err)
{
	size_t n = json_array_size(ranks->value);
	int64_t end = 0;
	int r = jval_need_array(ranks, err);

	if (r == 0 && n > SPEEDS_SPANS_MAX)
		r = jval_fail(ranks, err, "more than %d", SPEEDS_SPANS_MAX);
	if (r < 0)
		return r;
	ret->spans = xcalloc(n + 1, sizeof(*ret->spans));
	for (ret->n = 0; r == 0 && ret->n < n; ret->n++) {
		struct jval row = jval_at(ranks, ret->n);

		r = read_span(&row, &end, &ret->spans[ret->n], err);
	}
	return r;
}

/* 0 if it is missing. */
static int read_part(const struct jval *v, double least, double most, double *ret, struct err *err)
{
	if (!v->value)
		return 0;
	*ret = json_number_value(v->value);
	if (!(*ret >= least && *ret <= most))
		return jval_fail(v, err, "expected a number from %g to %g", least, most);
	return 0;
}

static int read_root(const struct jval *root, struct speeds *ret, struct err *err)
{
	struct jval v, ranks, spread, low;
	int r = jval_need_object(root, err);

	if (r < 0)
		return r;
	v = jval_get(root, "v");
	ranks = jval_get(root, "ranks");
	spread = jval_get(root, "spread");
	low = jval_get(root, "low");
	if (json_integer_value(v.value) != 1)
		return jval_fail(&v, err, "expected 1");
	r = read_part(&spread, SILICON_SPREAD_LEAST, SPEEDS_SPREAD_MOST, &ret->good.spread, err);
	if (r == 0)
		r = read_part(&low, SPEEDS_LEAST, 1, &ret->good.low, err);
	return r < 0 ? r : read_spans(&ranks, ret, err);
}

int speeds_read(const char *path, struct speeds *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r;

	*ret = (struct speeds){ .n = 0 };
	r = json_read_file(path, SPEEDS_FILE_MAX, &value, err);
	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = read_root(&root, ret, err);
	if (r < 0)
		speeds_release(ret);
	return r;
}

void speeds_release(struct speeds *speeds)
{
	free(speeds->spans);
	*speeds = (struct speeds){ .n = 0 };
}

/* Index of the first span that ends at or after the rank; `n` if there is none. */
static size_t find(const struct speeds *speeds, int64_t rank)
{
	size_t low = 0, high = speeds->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (speeds->spans[middle].first + speeds->spans[middle].n <= rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The lowest speed of ranks `first` to `first + n - 1`. */
static double slowest(const struct speeds *speeds, int64_t first, int64_t n)
{
	double speed = INFINITY;
	int64_t rank = first;
	size_t i;

	for (i = find(speeds, first); rank < first + n; i++) {
		if (i == speeds->n || speeds->spans[i].first > rank)
			return NAN;
		speed = MIN(speed, speeds->spans[i].speed);
		rank = speeds->spans[i].first + speeds->spans[i].n;
	}
	return speed;
}

double *speeds_of_workers(const struct speeds *speeds, const struct trace_job *job)
{
	size_t n = (size_t)job->dp * job->pp, i;
	double *ret = xcalloc(n, sizeof(*ret));

	for (i = 0; i < n; i++)
		ret[i] = slowest(speeds, job->workers[i].rank, (int64_t)job->tp * job->dsp);
	return ret;
}
