/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_oobleck.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/distribute.h"
#include "lib/remedy/oobleck.h"
#include "lib/remedy/reconfigure.h"

enum { NUMBER_MAX = 1000 * 1000 * 1000 }; /* per host */

static const struct plan_args_range hosts_range = { 1, OOBLECK_HOSTS_MAX };
static const struct plan_args_range failures_range = { 0, OOBLECK_HOSTS_MAX };

/* Read N, f and n0. */
static int read_sizes(struct plan_args *args, struct oobleck_sizes *sizes, struct err *err)
{
	size_t hosts = 0, failures = 0, least = 0;
	int r = plan_args_count(args, "N", hosts_range, &hosts, err);

	if (r == 0)
		r = plan_args_count(args, "f", failures_range, &failures, err);
	if (r == 0)
		r = plan_args_count(args, "n0", hosts_range, &least, err);
	return r < 0 ? r : oobleck_sizes(hosts, failures, least, sizes, err);
}

/* All sizes; the caller frees them. */
static struct plan_args_counts each_size(const struct oobleck_sizes *sizes)
{
	struct plan_args_counts counts = { .n = sizes->last - sizes->first + 1 };
	size_t i;

	counts.v = xcalloc(counts.n, sizeof(*counts.v));
	for (i = 0; i < counts.n; i++)
		counts.v[i] = sizes->first + i;
	return counts;
}

int plan_oobleck_sizes(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(plan_args_counts_release) struct plan_args_counts all = { 0 };
	struct oobleck_sizes sizes = { 0 };
	int r = read_sizes(args, &sizes, err);

	if (r < 0)
		return r;
	all = each_size(&sizes);
	(void)json_object_set_new(answer, "sizes", plan_args_json_counts(all.v, all.n));
	return 0;
}

/* The pipeline sizes of an option, ascending. */
static json_t *option_json(const struct oobleck_wish *wish, const uint16_t *counts)
{
	json_t *list = json_array();
	size_t p, i;

	for (p = 0; p < wish->n_sizes; p++)
		for (i = 0; i < counts[p]; i++)
			(void)json_array_append_new(list, json_integer((json_int_t)wish->sizes[p]));
	return list;
}

static json_t *count_json(uint64_t n)
{
	return n > INT64_MAX ? json_null() : json_integer((json_int_t)n);
}

/*
 * Deal B micro-batches to the pipelines of an option. Returns the time of the slowest, INFINITY
 * if there are too few.
 */
static double deal(const struct oobleck_wish *wish, const uint16_t *counts, const double *times,
		   size_t total, struct plan_args_counts *ret_dealt)
{
	CLEANUP(freep) double *t = xcalloc(OOBLECK_HOSTS_MAX, sizeof(*t));
	struct distribute_wish deal = { .t = t, .total = total };
	size_t p, i;

	for (p = 0; p < wish->n_sizes; p++)
		for (i = 0; i < counts[p]; i++)
			t[deal.n++] = times[p];
	ret_dealt->n = deal.n;
	return distribute_minmax(&deal, ret_dealt->v, NULL) < 0
		       ? INFINITY
		       : distribute_slowest(&deal, ret_dealt->v);
}

/* The first option whose slowest pipeline is fastest, given B and the times T of the sizes. */
static int choose(struct plan_args *args, const struct oobleck_wish *wish,
		  const struct oobleck_options *options, json_t *answer, struct err *err)
{
	const struct plan_args_range seconds = { 1e-9, 1e9 }, total = { 1, DISTRIBUTE_TOTAL_MAX };
	CLEANUP(plan_args_reals_release) struct plan_args_reals times = { 0 };
	CLEANUP(freep) size_t *counts = xcalloc(OOBLECK_HOSTS_MAX, sizeof(*counts));
	struct plan_args_counts dealt = { counts, 0 };
	size_t n = 0, chosen = 0, i;
	double best = INFINITY;
	int r = plan_args_reals(args, "T", seconds, wish->n_sizes, &times, err);

	if (r == 0 && times.n != wish->n_sizes)
		r = err_set(err, EINVAL, "%s: T: %zu values for %zu sizes", args->line.file,
			    times.n, wish->n_sizes);
	if (r == 0)
		r = plan_args_count(args, "B", total, &n, err);
	for (i = 0; i < options->n && r == 0; i++) {
		double time = deal(wish, options->counts + i * wish->n_sizes, times.v, n, &dealt);

		if (time < best) {
			best = time;
			chosen = i;
		}
	}
	if (r < 0 || isinf(best))
		return r;
	(void)deal(wish, options->counts + chosen * wish->n_sizes, times.v, n, &dealt);
	(void)json_object_set_new(answer, "choice",
				  option_json(wish, options->counts + chosen * wish->n_sizes));
	(void)json_object_set_new(answer, "minmax", plan_args_json_counts(dealt.v, dealt.n));
	(void)json_object_set_new(answer, "time", json_real(best));
	return 0;
}

static int instantiate(struct plan_args *args, const struct oobleck_wish *wish, json_t *answer,
		       struct err *err)
{
	CLEANUP(oobleck_options_release) struct oobleck_options options = { .n = 0 };
	json_t *list;
	size_t i;
	int r = oobleck_options(wish, &options, err);

	if (r < 0)
		return r;
	list = options.n < options.n_enough ? json_null() : json_array();
	for (i = 0; i < options.n; i++)
		(void)json_array_append_new(list,
					    option_json(wish, options.counts + i * wish->n_sizes));
	(void)json_object_set_new(answer, "options", list);
	(void)json_object_set_new(answer, "count", count_json(options.n_enough));
	(void)json_object_set_new(answer, "all", count_json(options.n_all));
	return plan_args_has(args, "T") ? choose(args, wish, &options, answer, err) : 0;
}

/* Sizes are given, or derived from N, f and n0; N' hosts of N are left. */
int plan_oobleck_instantiate(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(plan_args_counts_release) struct plan_args_counts sizes = { 0 };
	struct oobleck_sizes range = { 0 };
	struct oobleck_wish wish = { 0 };
	bool given = plan_args_has(args, "sizes");
	int r = given ? plan_args_counts(args, "sizes", hosts_range, OOBLECK_HOSTS_MAX, &sizes, err)
		      : read_sizes(args, &range, err);

	if (r == 0)
		r = plan_args_count(args, plan_args_has(args, "N'") ? "N'" : "N", hosts_range,
				    &wish.hosts, err);
	if (r == 0)
		r = plan_args_count(args, "f", failures_range, &wish.pipelines, err);
	if (r < 0)
		return r;
	if (!given)
		sizes = each_size(&range);
	wish.pipelines++;
	wish.sizes = sizes.v;
	wish.n_sizes = sizes.n;
	r = instantiate(args, &wish, answer, err);
	return r == -EINVAL && !starts_with(err->msg, args->line.file)
		       ? err_wrap(err, r, "%s", args->line.file)
		       : r;
}

/* The present lists of hosts. */
static int read_pipelines(struct plan_args *args, struct reconfigure_pipelines *pipelines,
			  struct err *err)
{
	const struct plan_args_range range = { 0, NUMBER_MAX };
	struct jval v = plan_args_get(args, "pipelines");
	size_t p, i;
	int r = jval_need_array(&v, err);

	if (r == 0 && json_array_size(v.value) > RECONFIGURE_HOSTS_MAX)
		r = jval_fail(&v, err, "expected at most %d pipelines", RECONFIGURE_HOSTS_MAX);
	if (r < 0)
		return r;
	pipelines->ends = xcalloc(json_array_size(v.value) + 1, sizeof(*pipelines->ends));
	for (p = 0; p < json_array_size(v.value); p++) {
		CLEANUP(plan_args_counts_release) struct plan_args_counts hosts = { 0 };
		struct jval at = jval_at(&v, p);

		r = plan_args_counts_of(&at, range, RECONFIGURE_HOSTS_MAX, &hosts, err);
		if (r < 0)
			return r;
		pipelines->hosts = xrealloc(pipelines->hosts, pipelines->n_hosts + hosts.n + 1,
					    sizeof(*pipelines->hosts));
		for (i = 0; i < hosts.n; i++)
			pipelines->hosts[pipelines->n_hosts++] = (uint32_t)hosts.v[i];
		pipelines->ends[pipelines->n++] = pipelines->n_hosts;
	}
	return 0;
}

static void put_pipelines(json_t *answer, const struct reconfigure_pipelines *pipelines)
{
	json_t *list = json_array();
	size_t p, i = 0;

	for (p = 0; p < pipelines->n; p++) {
		json_t *hosts = json_array();

		for (; i < pipelines->ends[p]; i++)
			(void)json_array_append_new(hosts,
						    json_integer((json_int_t)pipelines->hosts[i]));
		(void)json_array_append_new(list, hosts);
	}
	(void)json_object_set_new(answer, "pipelines", list);
}

static int reconfigure(const struct reconfigure_pipelines *old, const struct plan_args_counts *lost,
		       size_t least, json_t *answer, struct err *err)
{
	CLEANUP(reconfigure_pipelines_release) struct reconfigure_pipelines new = { .n = 0 };
	CLEANUP(freep) uint32_t *hosts = xcalloc(lost->n + 1, sizeof(*hosts));
	enum reconfigure_way way = RECONFIGURE_KEPT;
	size_t i;
	int r;

	for (i = 0; i < lost->n; i++)
		hosts[i] = (uint32_t)lost->v[i];
	r = reconfigure_pipelines(old, hosts, lost->n, least, &new, &way, err);
	if (r < 0)
		return r;
	put_pipelines(answer, &new);
	(void)json_object_set_new(answer, "way", json_string(reconfigure_way_names[way]));
	return 0;
}

int plan_oobleck_reconfigure(struct plan_args *args, json_t *answer, struct err *err)
{
	const struct plan_args_range range = { 0, NUMBER_MAX };
	const struct plan_args_range least_range = { 1, RECONFIGURE_HOSTS_MAX };
	CLEANUP(reconfigure_pipelines_release) struct reconfigure_pipelines old = { .n = 0 };
	CLEANUP(plan_args_counts_release) struct plan_args_counts lost = { 0 };
	struct jval v = plan_args_get(args, "lost");
	size_t least = 0;
	int r = read_pipelines(args, &old, err);

	if (r == 0)
		r = plan_args_counts_of(&v, range, RECONFIGURE_HOSTS_MAX, &lost, err);
	if (r == 0)
		r = plan_args_count(args, "n0", least_range, &least, err);
	return r < 0 ? r : reconfigure(&old, &lost, least, answer, err);
}
