/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_hotspa.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/hotspa.h"
#include "lib/remedy/hotspa_switch.h"

enum { ROWS_MAX = 1000 * 1000 * 1000 };

static const struct plan_args_range lengths_range = { 0, 1e12 };
static const struct plan_args_range rows_range = { 0, ROWS_MAX };

/* The lengths of each group, and their division into packs. */
static void put_groups(json_t *answer, const struct hotspa_place *places, size_t n, size_t n_groups)
{
	json_t *groups = json_array(), *packed = json_array();
	size_t g, i;

	for (g = 0; g < n_groups; g++) {
		(void)json_array_append_new(groups, json_array());
		(void)json_array_append_new(packed, json_array());
	}
	for (i = 0; i < n; i++) {
		json_t *packs = json_array_get(packed, places[i].group);

		if (places[i].pack == json_array_size(packs))
			(void)json_array_append_new(packs, json_array());
		(void)json_array_append_new(json_array_get(packs, places[i].pack),
					    json_integer((json_int_t)places[i].length));
	}
	(void)json_object_set_new(answer, "groups", groups);
	(void)json_object_set_new(answer, "packed", packed);
}

/* The groups themselves, by descending length. */
static void put_sorted(json_t *answer, const struct hotspa_wish *wish)
{
	json_t *groups = json_object_get(answer, "groups");
	size_t g = 0, i;

	for (i = 0; i < wish->n; i++) {
		while (wish->lengths[i] <= wish->bounds[g + 1])
			g++;
		(void)json_array_append_new(json_array_get(groups, g),
					    json_integer((json_int_t)wish->lengths[i]));
	}
}

static int compare_descending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

static uint64_t *as_u64(const struct plan_args_counts *counts)
{
	uint64_t *v = xcalloc(counts->n + 1, sizeof(*v));
	size_t i;

	for (i = 0; i < counts->n; i++)
		v[i] = counts->v[i];
	return v;
}

int plan_hotspa_group(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(plan_args_counts_release) struct plan_args_counts lens = { 0 };
	CLEANUP(plan_args_counts_release) struct plan_args_counts bounds = { 0 };
	CLEANUP(freep) struct hotspa_place *places = NULL;
	CLEANUP(freep) uint64_t *lengths = NULL;
	CLEANUP(freep) uint64_t *limits = NULL;
	struct hotspa_wish wish = { 0 };
	int r = plan_args_counts(args, "lens", lengths_range, HOTSPA_SEQUENCES_MAX, &lens, err);

	if (r == 0)
		r = plan_args_counts(args, "bounds", lengths_range, HOTSPA_GROUPS_MAX + 1, &bounds,
				     err);
	if (r < 0)
		return r;
	lengths = as_u64(&lens);
	qsort(lengths, lens.n, sizeof(*lengths), compare_descending);
	limits = as_u64(&bounds);
	places = xcalloc(lens.n, sizeof(*places));
	wish = (struct hotspa_wish){ lengths, lens.n, limits, bounds.n };
	r = hotspa_group(&wish, places, err);
	if (r < 0)
		return r;
	put_groups(answer, places, lens.n, bounds.n - 1);
	put_sorted(answer, &wish);
	return 0;
}

/* {dp, tp} of `rows` rows: each of tp adjacent devices has a part of them. */
static int shards_of_plan(const struct jval *v, size_t rows, struct hotspa_switch_shard *shards,
			  size_t *ret_n, struct err *err)
{
	const struct plan_args_range range = { 1, HOTSPA_SWITCH_DEVICES_MAX };
	struct jval dp_value = jval_get(v, "dp"), tp_value = jval_get(v, "tp");
	size_t dp = 1, tp = 1, i;
	int r = dp_value.value ? plan_args_count_of(&dp_value, range, &dp, err) : 0;

	if (r == 0 && tp_value.value)
		r = plan_args_count_of(&tp_value, range, &tp, err);
	if (r == 0 && dp * tp > HOTSPA_SWITCH_DEVICES_MAX)
		r = jval_fail(v, err, "expected at most %d devices", HOTSPA_SWITCH_DEVICES_MAX);
	if (r == 0 && (rows == 0 || rows % tp != 0))
		r = jval_fail(v, err, "tp %zu does not divide rows, %zu", tp, rows);
	if (r < 0)
		return r;
	for (i = 0; i < dp * tp; i++) {
		int64_t each = (int64_t)(rows / tp), first = (int64_t)(i % tp) * each;

		shards[i] = (struct hotspa_switch_shard){ first, first + each - 1 };
	}
	*ret_n = dp * tp;
	return 0;
}

/* [[first, last], ...], per device; [] is none. */
static int shards_of_list(const struct jval *v, struct hotspa_switch_shard *shards, size_t *ret_n,
			  struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > HOTSPA_SWITCH_DEVICES_MAX)
		r = jval_fail(v, err, "expected at most %d devices", HOTSPA_SWITCH_DEVICES_MAX);
	for (i = 0; i < n && r == 0; i++) {
		CLEANUP(plan_args_counts_release) struct plan_args_counts rows = { 0 };
		struct jval at = jval_at(v, i);

		r = plan_args_counts_of(&at, rows_range, 2, &rows, err);
		if (r == 0 && (rows.n == 1 || (rows.n == 2 && rows.v[1] < rows.v[0])))
			r = jval_fail(&at, err, "expected the first and the last row, or none");
		if (r == 0)
			shards[i] = rows.n == 0
					    ? (struct hotspa_switch_shard){ 0, -1 }
					    : (struct hotspa_switch_shard){ (int64_t)rows.v[0],
									    (int64_t)rows.v[1] };
	}
	*ret_n = n;
	return r;
}

static int read_shards(struct plan_args *args, const char *name, struct hotspa_switch_shard *shards,
		       size_t *ret_n, struct err *err)
{
	struct jval v = plan_args_get(args, name);
	size_t rows = 0;
	int r = 0;

	if (!json_is_object(v.value))
		return shards_of_list(&v, shards, ret_n, err);
	r = plan_args_count(args, "rows", rows_range, &rows, err);
	return r < 0 ? r : shards_of_plan(&v, rows, shards, ret_n, err);
}

/* nodes: [[0, 1], [2, 3]] lists the devices of each host; each device is on exactly one. */
static int read_nodes(struct plan_args *args, size_t n, size_t *hosts, struct err *err)
{
	const struct plan_args_range range = { 0, (double)n - 1 };
	struct jval v = plan_args_get(args, "nodes");
	CLEANUP(freep) bool *seen = xcalloc(n + 1, sizeof(*seen));
	size_t host, i, all = 0;
	int r = jval_need_array(&v, err);

	for (host = 0; r == 0 && host < json_array_size(v.value); host++) {
		CLEANUP(plan_args_counts_release) struct plan_args_counts devices = { 0 };
		struct jval at = jval_at(&v, host);

		r = plan_args_counts_of(&at, range, n, &devices, err);
		for (i = 0; r == 0 && i < devices.n; i++) {
			if (seen[devices.v[i]])
				r = jval_fail(&at, err, "device %zu is in two places", devices.v[i]);
			seen[devices.v[i]] = true;
			hosts[devices.v[i]] = host;
			all++;
		}
	}
	if (r == 0 && all < n)
		r = jval_fail(&v, err, "they have %zu devices of %zu", all, n);
	return r;
}

static json_t *rows_json(const uint64_t *rows, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)rows[i]));
	return list;
}

static json_t *move_json(const struct hotspa_switch_move *m)
{
	json_t *rows = json_array();

	(void)json_array_append_new(rows, json_integer(m->rows.first));
	(void)json_array_append_new(rows, json_integer(m->rows.last));
	return json_pack("{s:o, s:I, s:I, s:s}", "rows", rows, "from", (json_int_t)m->from, "to",
			 (json_int_t)m->to, "link",
			 m->local   ? "local"
			 : m->intra ? "intra"
				    : "inter");
}

static uint64_t most_of(const uint64_t *v, size_t n)
{
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = MAX(most, v[i]);
	return most;
}

/* Seconds, if both rates are given in rows per second. */
static int put_time(struct plan_args *args, const struct hotspa_switch_plan *plan, size_t n,
		    json_t *answer, struct err *err)
{
	const struct plan_args_range range = { 1e-9, 1e18 };
	double intra = 0, inter = 0;
	int r;

	if (!plan_args_has(args, "bw_intra") && !plan_args_has(args, "bw_inter"))
		return 0;
	r = plan_args_real(args, "bw_intra", range, &intra, err);
	if (r == 0)
		r = plan_args_real(args, "bw_inter", range, &inter, err);
	if (r == 0)
		(void)json_object_set_new(answer, "time",
					  json_real(MAX((double)most_of(plan->intra, n) / intra,
							(double)most_of(plan->inter, n) / inter)));
	return r;
}

static int put_switch(struct plan_args *args, const struct hotspa_switch_plan *plan, size_t n,
		      json_t *answer, struct err *err)
{
	json_t *moves = json_array(), *local = json_array();
	size_t i;

	for (i = 0; i < plan->n; i++)
		(void)json_array_append_new(plan->moves[i].local ? local : moves,
					    move_json(&plan->moves[i]));
	(void)json_object_set_new(answer, "moves", moves);
	(void)json_object_set_new(answer, "local", local);
	(void)json_object_set_new(answer, "V_intra", rows_json(plan->intra, n));
	(void)json_object_set_new(answer, "V_inter", rows_json(plan->inter, n));
	return put_time(args, plan, n, answer, err);
}

int plan_hotspa_switch(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(hotspa_switch_release) struct hotspa_switch_plan plan = { .n = 0 };
	CLEANUP(freep)
	struct hotspa_switch_shard *source = xcalloc(HOTSPA_SWITCH_DEVICES_MAX, sizeof(*source));
	CLEANUP(freep)
	struct hotspa_switch_shard *target = xcalloc(HOTSPA_SWITCH_DEVICES_MAX, sizeof(*target));
	CLEANUP(freep) size_t *hosts = xcalloc(HOTSPA_SWITCH_DEVICES_MAX, sizeof(*hosts));
	struct hotspa_switch_wish wish = { source, target, hosts, 0 };
	struct jval v = plan_args_get(args, "target");
	size_t n = 0;
	int r = read_shards(args, "source", source, &wish.devices, err);

	if (r == 0)
		r = read_shards(args, "target", target, &n, err);
	if (r == 0 && (n != wish.devices || n == 0))
		r = jval_fail(&v, err, "%zu devices, but the source has %zu", n, wish.devices);
	if (r == 0)
		r = read_nodes(args, wish.devices, hosts, err);
	if (r == 0)
		r = hotspa_switch_plan(&wish, &plan, err);
	return r < 0 ? r : put_switch(args, &plan, wish.devices, answer, err);
}

/* A square matrix of seconds; [n * n], the caller frees it. */
static int read_costs(struct plan_args *args, double **ret_cost, size_t *ret_n, struct err *err)
{
	const struct plan_args_range seconds = { 0, 1e9 };
	struct jval v = plan_args_get(args, "cost");
	CLEANUP(freep) double *cost = NULL;
	size_t n = json_array_size(v.value), i;
	int r = jval_need_array(&v, err);

	if (r == 0 && (n == 0 || n > HOTSPA_PLANS_MAX))
		r = jval_fail(&v, err, "%zu rows: expected 1 to %d", n, HOTSPA_PLANS_MAX);
	if (r < 0)
		return r;
	cost = xcalloc(n * n, sizeof(*cost));
	for (i = 0; i < n && r == 0; i++) {
		CLEANUP(plan_args_reals_release) struct plan_args_reals row = { 0 };
		struct jval at = jval_at(&v, i);

		r = plan_args_reals_of(&at, seconds, n, &row, err);
		if (r == 0 && row.n != n)
			r = jval_fail(&at, err, "a row of %zu values in a square of %zu", row.n, n);
		if (r == 0)
			memcpy(cost + i * n, row.v, n * sizeof(*cost));
	}
	if (r < 0)
		return r;
	*ret_cost = TAKE(cost);
	*ret_n = n;
	return 0;
}

int plan_hotspa_order(struct plan_args *args, json_t *answer, struct err *err)
{
	const struct plan_args_range range = { 0, HOTSPA_PLANS_MAX - 1 };
	CLEANUP(freep) double *cost = NULL;
	size_t order[HOTSPA_PLANS_MAX + 1], n = 0, first = 0;
	double total = 0;
	int r = read_costs(args, &cost, &n, err);

	if (r == 0 && plan_args_has(args, "first"))
		r = plan_args_count(args, "first", range, &first, err);
	if (r == 0)
		r = hotspa_order(cost, n, first, order, &total, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(answer, "order", plan_args_json_counts(order, n + 1));
	(void)json_object_set_new(answer, "total", json_real(total));
	return 0;
}
