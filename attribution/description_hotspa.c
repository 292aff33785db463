/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/description_hotspa.h"

#include <errno.h>
#include <math.h>

#include "attribution/description_units.h"
#include "lib/base/err.h"

/* Small enough that a product of four fits 64 bits. */
enum { DEGREE_MAX = 65536 };

/* One measurement of a plan. */
struct timing {
	uint64_t tokens;
	double ms;
};

static const struct jfield length_fields[] = {
	{ "tokens", J_U64, offsetof(struct hotspa_plan_length, tokens), J_REQUIRED, 1,
	  HOTSPA_PLAN_TOKENS_MAX },
	{ "count", J_U64, offsetof(struct hotspa_plan_length, count), J_REQUIRED, 1,
	  HOTSPA_SEQUENCES_MAX },
};

static const struct jfield timing_fields[] = {
	{ "tokens", J_U64, offsetof(struct timing, tokens), J_REQUIRED, 1, HOTSPA_PLAN_TOKENS_MAX },
	{ "ms", J_REAL, offsetof(struct timing, ms), J_REQUIRED, 1e-6, MS_MAX },
};

static int longest_first(const void *a, const void *b)
{
	const struct hotspa_plan_length *x = a, *y = b;

	return (x->tokens < y->tokens) - (x->tokens > y->tokens);
}

static int decode_lengths(const struct jval *v, void *member, struct err *err)
{
	struct description_hotspa *h = member;
	size_t n = json_array_size(v->value), i;
	uint64_t sum = 0;
	int r = jval_need_array(v, err);

	if (r == 0 && (n == 0 || n > HOTSPA_PLAN_LENGTHS_MAX))
		return jval_fail(v, err, "expected 1 to %d lengths, not %zu: merge similar ones",
				 HOTSPA_PLAN_LENGTHS_MAX, n);
	for (i = 0; i < n && r == 0; i++) {
		struct jval item = jval_at(v, i);

		r = jval_decode(&item, length_fields, ARRAY_SIZE(length_fields), JVAL_STRICT,
				&h->lengths[i], err);
		sum += h->lengths[i].count;
	}
	if (r < 0)
		return r;
	if (sum > HOTSPA_SEQUENCES_MAX)
		return jval_fail(v, err, "%ju sequences in a step: expected at most %d",
				 (uintmax_t)sum, HOTSPA_SEQUENCES_MAX);
	qsort(h->lengths, n, sizeof(*h->lengths), longest_first);
	for (i = 1; i < n; i++)
		if (h->lengths[i].tokens == h->lengths[i - 1].tokens)
			return jval_fail(v, err, "%ju tokens are listed twice: add up their counts",
					 (uintmax_t)h->lengths[i].tokens);
	h->n_lengths = n;
	return 0;
}

static int decode_times(const struct jval *v, void *member, struct err *err)
{
	struct description_plan *plan = member;
	struct hotspa_plan_way way = { .pp = 1 };
	struct err why = ERR_INIT;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n != ARRAY_SIZE(plan->tokens))
		return jval_fail(v, err, "expected a short sequence and the longest one, not %zu",
				 n);
	for (i = 0; i < n && r == 0; i++) {
		struct timing timing = { 0, 0 };
		struct jval item = jval_at(v, i);

		r = jval_decode(&item, timing_fields, ARRAY_SIZE(timing_fields), JVAL_STRICT,
				&timing, err);
		plan->tokens[i] = timing.tokens;
		plan->seconds[i] = timing.ms * MS;
	}
	if (r < 0)
		return r;
	if (plan->tokens[1] <= plan->tokens[0])
		return jval_fail(v, err, "expected the second to have more tokens than the first");
	r = hotspa_plan_fit(plan->tokens, plan->seconds, &way, &why);
	return r < 0 ? jval_fail(v, err, "%s", why.msg) : 0;
}

#define DEGREE(key, flag)                                                                \
	{                                                                                \
#key, J_U64, offsetof(struct description_plan, key), flag, 1, DEGREE_MAX \
	}

static const struct jfield plan_fields[] = {
	DEGREE(tp, J_REQUIRED),
	DEGREE(pp, J_REQUIRED),
	DEGREE(dp, J_REQUIRED),
	DEGREE(cp, 0),
	{ "times", J_CUSTOM, 0, J_REQUIRED, .decode = decode_times },
};

static int decode_plans(const struct jval *v, void *member, struct err *err)
{
	struct description_hotspa *h = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && (n < 2 || n > HOTSPA_PLAN_PLANS_MAX))
		return jval_fail(v, err,
				 "expected the current one and 1 to %d others, not %zu in total",
				 HOTSPA_PLAN_PLANS_MAX - 1, n);
	for (i = 0; i < n && r == 0; i++) {
		struct jval item = jval_at(v, i);

		h->plans[i].cp = 1;
		r = jval_decode(&item, plan_fields, ARRAY_SIZE(plan_fields), JVAL_STRICT,
				&h->plans[i], err);
	}
	h->n_plans = n;
	return r;
}

static const struct jfield fields[] = {
	{ "lengths", J_CUSTOM, 0, J_REQUIRED, .decode = decode_lengths },
	{ "plans", J_CUSTOM, 0, J_REQUIRED, .decode = decode_plans },
	{ "weights_gib", J_REAL, offsetof(struct description_hotspa, weights), J_REQUIRED, 1e-6,
	  GIB_MAX },
	{ "inside_gbps", J_REAL, offsetof(struct description_hotspa, inside), J_REQUIRED, 1e-6,
	  GBPS_MAX },
};

int description_hotspa_decode(const struct jval *v, void *member, struct err *err)
{
	struct description_hotspa *h = member;
	int r = jval_need_object(v, err);

	if (r == 0)
		r = jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, h, err);
	h->weights *= GIB;
	h->inside *= GBPS;
	return r;
}
