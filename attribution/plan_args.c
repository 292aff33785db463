/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_args.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Words for symbols. In an operation a word stands for one symbol. */
static const struct {
	const char *symbol, *word;
} words[] = {
	{ "N", "nodes" },
	{ "N'", "left" },
	{ "f", "failures" },
	{ "n0", "least" },
	{ "N_b", "microbatches" },
	{ "m", "microbatches" },
	{ "F", "forward" },
	{ "B", "backward" },
	{ "B", "batch" },
	{ "T", "times" },
	{ "T", "o" },
	{ "t", "times" },
	{ "S", "stages" },
	{ "y", "slowdown" },
	{ "L", "layers" },
	{ "cap", "caps" },
	{ "pipelines", "start" },
	{ "lens", "lengths" },
	{ "source", "from" },
	{ "target", "to" },
};

static void ask(struct plan_args *args, const char *symbol)
{
	size_t i;

	for (i = 0; i < args->n_asked; i++)
		if (streq(args->asked[i], symbol))
			return;
	if (args->n_asked < PLAN_ARGS_MAX)
		args->asked[args->n_asked++] = symbol;
}

struct jval plan_args_get(struct plan_args *args, const char *symbol)
{
	struct jval v = jval_get(&args->line, symbol), other;
	size_t i;

	ask(args, symbol);
	for (i = 0; i < ARRAY_SIZE(words) && !v.value; i++) {
		if (!streq(words[i].symbol, symbol))
			continue;
		other = jval_get(&args->line, words[i].word);
		if (other.value)
			v = other;
	}
	return v;
}

bool plan_args_has(struct plan_args *args, const char *symbol)
{
	return plan_args_get(args, symbol).value != NULL;
}

static int check_range(const struct jval *v, double value, struct plan_args_range range,
		       struct err *err)
{
	if (!json_is_number(v->value))
		return jval_fail(v, err, "expected a number, not %s", jval_type_name(v));
	if (!(value >= range.least && value <= range.most))
		return jval_fail(v, err, "%.15g is outside %.15g to %.15g", value, range.least,
				 range.most);
	return 0;
}

int plan_args_count_of(const struct jval *v, struct plan_args_range range, size_t *ret_count,
		       struct err *err)
{
	double value = json_number_value(v->value);
	int r = check_range(v, value, range, err);

	if (r < 0)
		return r;
	if (value != floor(value))
		return jval_fail(v, err, "%.15g is not a whole number", value);
	*ret_count = (size_t)value;
	return 0;
}

int plan_args_count(struct plan_args *args, const char *symbol, struct plan_args_range range,
		    size_t *ret_count, struct err *err)
{
	struct jval v = plan_args_get(args, symbol);

	return plan_args_count_of(&v, range, ret_count, err);
}

int plan_args_real(struct plan_args *args, const char *symbol, struct plan_args_range range,
		   double *ret_real, struct err *err)
{
	struct jval v = plan_args_get(args, symbol);
	double value = json_number_value(v.value);
	int r = check_range(&v, value, range, err);

	if (r == 0)
		*ret_real = value;
	return r;
}

static int check_list(const struct jval *v, size_t most, struct err *err)
{
	int r = jval_need_array(v, err);

	if (r == 0 && json_array_size(v->value) > most)
		return jval_fail(v, err, "%zu values: expected at most %zu",
				 json_array_size(v->value), most);
	return r;
}

int plan_args_reals_of(const struct jval *v, struct plan_args_range range, size_t most,
		       struct plan_args_reals *ret_reals, struct err *err)
{
	CLEANUP(freep) double *reals = NULL;
	size_t n = json_array_size(v->value), i;
	int r = check_list(v, most, err);

	if (r < 0)
		return r;
	reals = xcalloc(n + 1, sizeof(*reals));
	for (i = 0; i < n && r == 0; i++) {
		struct jval at = jval_at(v, i);

		reals[i] = json_number_value(at.value);
		r = check_range(&at, reals[i], range, err);
	}
	if (r < 0)
		return r;
	*ret_reals = (struct plan_args_reals){ TAKE(reals), n };
	return 0;
}

int plan_args_counts_of(const struct jval *v, struct plan_args_range range, size_t most,
			struct plan_args_counts *ret_counts, struct err *err)
{
	CLEANUP(freep) size_t *counts = NULL;
	size_t n = json_array_size(v->value), i;
	int r = check_list(v, most, err);

	if (r < 0)
		return r;
	counts = xcalloc(n + 1, sizeof(*counts));
	for (i = 0; i < n && r == 0; i++) {
		struct jval at = jval_at(v, i);

		r = plan_args_count_of(&at, range, &counts[i], err);
	}
	if (r < 0)
		return r;
	*ret_counts = (struct plan_args_counts){ TAKE(counts), n };
	return 0;
}

static int refuse_empty(const struct jval *v, struct err *err)
{
	return json_is_array(v->value) && json_array_size(v->value) == 0
		       ? jval_fail(v, err, "expected at least one")
		       : 0;
}

int plan_args_reals(struct plan_args *args, const char *symbol, struct plan_args_range range,
		    size_t most, struct plan_args_reals *ret_reals, struct err *err)
{
	struct jval v = plan_args_get(args, symbol);
	int r = refuse_empty(&v, err);

	return r < 0 ? r : plan_args_reals_of(&v, range, most, ret_reals, err);
}

int plan_args_counts(struct plan_args *args, const char *symbol, struct plan_args_range range,
		     size_t most, struct plan_args_counts *ret_counts, struct err *err)
{
	struct jval v = plan_args_get(args, symbol);
	int r = refuse_empty(&v, err);

	return r < 0 ? r : plan_args_counts_of(&v, range, most, ret_counts, err);
}

static bool was_asked(const struct plan_args *args, const char *key)
{
	size_t i, j;

	for (i = 0; i < args->n_asked; i++) {
		if (streq(args->asked[i], key))
			return true;
		for (j = 0; j < ARRAY_SIZE(words); j++)
			if (streq(words[j].symbol, args->asked[i]) && streq(words[j].word, key) &&
			    !json_object_get(args->line.value, args->asked[i]))
				return true;
	}
	return streq(key, "op") || streq(key, "id");
}

json_t *plan_args_ignored(const struct plan_args *args)
{
	json_t *ignored = NULL, *value;
	const char *key;

	json_object_foreach(args->object, key, value)
	{
		if (was_asked(args, key))
			continue;
		if (!ignored)
			ignored = json_array();
		(void)json_array_append_new(ignored, json_string(key));
	}
	return ignored;
}

json_t *plan_args_json_counts(const size_t *v, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)v[i]));
	return list;
}

json_t *plan_args_json_reals(const double *v, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_real(v[i]));
	return list;
}

void plan_args_reals_release(struct plan_args_reals *reals)
{
	free(reals->v);
}

void plan_args_counts_release(struct plan_args_counts *counts)
{
	free(counts->v);
}
