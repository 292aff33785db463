/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_pipeline.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/distribute.h"
#include "lib/remedy/layers.h"
#include "lib/remedy/pipe_1f1b.h"
#include "lib/remedy/split.h"

enum {
	STAGES_MAX = 1024,
	MICROBATCHES_MAX = 65536,
	PLAYED_MAX = 1 << 24, /* stages * micro-batches that are simulated */
};

/* A backward without its own time takes twice the forward (attention and matmuls). */
#define FORWARD_PART (1.0 / 3.0)

static const struct plan_args_range seconds = { 1e-9, 1e9 };
static const struct plan_args_range microbatches = { 1, MICROBATCHES_MAX };

/* Simulate if it is small enough. */
static int play(const struct plan_args_reals *forward, const struct plan_args_reals *backward,
		size_t n, double *ret_time, struct err *err)
{
	if (n * forward->n > PLAYED_MAX)
		return err_set(err, EINVAL, "%zu stages of %zu micro-batches: expected %d in total",
			       forward->n, n, PLAYED_MAX);
	*ret_time = pipe_1f1b(forward->v, backward->v, forward->n, n, NULL);
	return 0;
}

/* F and B, of equal length. */
static int read_both(struct plan_args *args, struct plan_args_reals *forward,
		     struct plan_args_reals *backward, struct err *err)
{
	struct jval v = plan_args_get(args, "B");
	int r = plan_args_reals(args, "F", seconds, STAGES_MAX, forward, err);

	if (r == 0)
		r = plan_args_reals(args, "B", seconds, STAGES_MAX, backward, err);
	if (r == 0 && forward->n != backward->n)
		r = jval_fail(&v, err, "%zu values, but F has %zu", backward->n, forward->n);
	return r;
}

int plan_pipeline_1f1b(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(plan_args_reals_release) struct plan_args_reals forward = { 0 };
	CLEANUP(plan_args_reals_release) struct plan_args_reals backward = { 0 };
	size_t m = 0;
	double time = 0;
	int r = read_both(args, &forward, &backward, err);

	if (r == 0)
		r = plan_args_count(args, "m", microbatches, &m, err);
	if (r == 0)
		r = play(&forward, &backward, m, &time, err);
	if (r == 0)
		(void)json_object_set_new(answer, "time", json_real(time));
	return r;
}

/* N_b, by default as many rounds as for a template. */
static int read_microbatches(struct plan_args *args, size_t stages, size_t *ret_n, struct err *err)
{
	const struct plan_args_range range = { (double)stages, MICROBATCHES_MAX };

	*ret_n = SPLIT_ROUNDS * stages;
	return plan_args_has(args, "N_b") ? plan_args_count(args, "N_b", range, ret_n, err) : 0;
}

/* Exact time of a template: from F and B, or a third and two thirds of t. */
static int play_template(struct plan_args *args, const struct plan_args_reals *t, size_t n,
			 double *ret_time, struct err *err)
{
	CLEANUP(plan_args_reals_release) struct plan_args_reals forward = { 0 };
	CLEANUP(plan_args_reals_release) struct plan_args_reals backward = { 0 };
	size_t k;
	int r;

	if (plan_args_has(args, "F")) {
		r = read_both(args, &forward, &backward, err);
		if (r == 0 && forward.n != t->n)
			r = err_set(err, EINVAL, "F has %zu stages, but t has %zu", forward.n, t->n);
		return r < 0 ? r : play(&forward, &backward, n, ret_time, err);
	}
	forward = (struct plan_args_reals){ xcalloc(t->n, sizeof(double)), t->n };
	backward = (struct plan_args_reals){ xcalloc(t->n, sizeof(double)), t->n };
	for (k = 0; k < t->n; k++) {
		forward.v[k] = t->v[k] * FORWARD_PART;
		backward.v[k] = t->v[k] - forward.v[k];
	}
	return play(&forward, &backward, n, ret_time, err);
}

static void put_template(json_t *answer, const struct plan_args_reals *t, size_t n)
{
	struct split_time time = split_time(t->v, t->n, n);

	(void)json_object_set_new(answer, "T", json_real(time.total));
	(void)json_object_set_new(answer, "T1", json_real(time.fill));
	(void)json_object_set_new(answer, "T2", json_real(time.steady));
	(void)json_object_set_new(answer, "T3", json_real(time.drain));
	(void)json_object_set_new(answer, "k", json_integer((json_int_t)time.slowest));
	(void)json_object_set_new(answer, "N_b", json_integer((json_int_t)n));
	(void)json_object_set_new(answer, "paper", json_real(time.total));
	if (n == SPLIT_ROUNDS * t->n)
		(void)json_object_set_new(answer, "code", json_real(time.published));
}

int plan_pipeline_template(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(plan_args_reals_release) struct plan_args_reals t = { 0 };
	double exact = 0;
	size_t n = 0;
	int r = plan_args_reals(args, "t", seconds, STAGES_MAX, &t, err);

	if (r == 0)
		r = read_microbatches(args, t.n, &n, err);
	if (r == 0)
		r = play_template(args, &t, n, &exact, err);
	if (r < 0)
		return r;
	put_template(answer, &t, n);
	(void)json_object_set_new(answer, "exact", json_real(exact));
	return 0;
}

static void put_split(json_t *answer, const struct plan_args_reals *layers, const size_t *counts,
		      size_t stages, size_t n)
{
	CLEANUP(freep) double *t = xcalloc(stages, sizeof(*t));
	size_t k, i, at = 0;

	for (k = 0; k < stages; k++)
		for (i = 0; i < counts[k]; i++)
			t[k] += layers->v[at++];
	(void)json_object_set_new(answer, "split", plan_args_json_counts(counts, stages));
	(void)json_object_set_new(answer, "T", json_real(split_time(t, stages, n).total));
	(void)json_object_set_new(answer, "t", plan_args_json_reals(t, stages));
	(void)json_object_set_new(answer, "N_b", json_integer((json_int_t)n));
}

int plan_pipeline_split(struct plan_args *args, json_t *answer, struct err *err)
{
	const struct plan_args_range stages_range = { 1, SPLIT_LAYERS_MAX };
	const char *name = plan_args_has(args, "layers") ? "layers" : "t";
	CLEANUP(plan_args_reals_release) struct plan_args_reals layers = { 0 };
	CLEANUP(freep) size_t *counts = NULL;
	size_t stages = 0, n = 0;
	int r = plan_args_reals(args, name, seconds, SPLIT_LAYERS_MAX, &layers, err);

	if (r == 0)
		r = plan_args_count(args, "S", stages_range, &stages, err);
	if (r == 0)
		r = read_microbatches(args, stages, &n, err);
	if (r < 0)
		return r;
	counts = xcalloc(stages, sizeof(*counts));
	r = split_best(layers.v, layers.n, stages, n, counts, err);
	if (r == 0)
		put_split(answer, &layers, counts, stages, n);
	return r;
}

/* Minimum number of micro-batches of each pipeline: 1 by default. */
static int read_least(struct plan_args *args, size_t n, struct plan_args_counts *least,
		      struct err *err)
{
	struct jval v = plan_args_get(args, "S");
	int r;

	if (!v.value)
		return 0;
	r = plan_args_counts_of(&v, microbatches, n, least, err);
	if (r == 0 && least->n != n)
		return jval_fail(&v, err, "%zu values for %zu pipelines", least->n, n);
	return r;
}

int plan_pipeline_distribute(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(plan_args_reals_release) struct plan_args_reals t = { 0 };
	CLEANUP(plan_args_counts_release) struct plan_args_counts least = { 0 };
	CLEANUP(freep) size_t *counts = NULL;
	struct distribute_wish wish = { 0 };
	int r = plan_args_reals(args, "T", seconds, DISTRIBUTE_PIPELINES_MAX, &t, err);

	if (r == 0)
		r = plan_args_count(args, "B", microbatches, &wish.total, err);
	if (r == 0)
		r = read_least(args, t.n, &least, err);
	if (r < 0)
		return r;
	wish.t = t.v;
	wish.n = t.n;
	wish.least = least.v;
	counts = xcalloc(t.n, sizeof(*counts));
	r = distribute_minmax(&wish, counts, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(answer, "minmax", plan_args_json_counts(counts, t.n));
	(void)json_object_set_new(answer, "time", json_real(distribute_slowest(&wish, counts)));
	if (least.v || t.n > DISTRIBUTE_VARIANCE_MAX)
		return 0;
	r = distribute_variance(&wish, counts, err);
	if (r == 0)
		(void)json_object_set_new(answer, "variance", plan_args_json_counts(counts, t.n));
	return r;
}

/* One number for all stages, or one per stage. */
static int read_each(struct plan_args *args, const char *name, struct plan_args_range range,
		     size_t n, struct plan_args_reals *ret, struct err *err)
{
	struct jval v = plan_args_get(args, name);
	double all = 0;
	size_t j;
	int r;

	if (json_is_array(v.value)) {
		r = plan_args_reals_of(&v, range, n, ret, err);
		if (r == 0 && ret->n != n)
			r = jval_fail(&v, err, "%zu values for %zu stages", ret->n, n);
		return r;
	}
	r = plan_args_real(args, name, range, &all, err);
	if (r < 0)
		return r;
	*ret = (struct plan_args_reals){ xcalloc(n, sizeof(double)), n };
	for (j = 0; j < n; j++)
		ret->v[j] = all;
	return 0;
}

static int read_real_or(struct plan_args *args, const char *name, struct plan_args_range range,
			double *value, struct err *err)
{
	return plan_args_has(args, name) ? plan_args_real(args, name, range, value, err) : 0;
}

/* From (k * l + emb) * hetero + extra <= C, if C is given. */
static int caps_of_memory(struct plan_args *args, size_t n, size_t *caps, struct err *err)
{
	const struct plan_args_range bytes = { 0, 1e18 }, above = { 1e-9, 1e18 };
	CLEANUP(plan_args_reals_release) struct plan_args_reals layer = { 0 };
	struct layers_memory memory = { .stages = n, .share = 1 };
	int r = plan_args_real(args, "C", bytes, &memory.most, err);

	if (r == 0)
		r = read_each(args, "k", above, n, &layer, err);
	if (r == 0)
		r = read_real_or(args, "emb", bytes, &memory.embedding, err);
	if (r == 0)
		r = read_real_or(args, "hetero", above, &memory.share, err);
	if (r == 0)
		r = read_real_or(args, "extra", bytes, &memory.extra, err);
	if (r < 0)
		return r;
	memory.layer = layer.v;
	layers_caps(&memory, caps);
	return 0;
}

/* Maximum number of layers of each stage, by cap, by its memory, by both, or unlimited. */
static int read_caps(struct plan_args *args, size_t n, size_t layers, size_t *caps, struct err *err)
{
	const struct plan_args_range range = { 0, LAYERS_MAX };
	CLEANUP(plan_args_reals_release) struct plan_args_reals most = { 0 };
	size_t j;
	int r = 0;

	for (j = 0; j < n; j++)
		caps[j] = layers;
	if (plan_args_has(args, "C"))
		r = caps_of_memory(args, n, caps, err);
	if (r == 0 && plan_args_has(args, "cap"))
		r = read_each(args, "cap", range, n, &most, err);
	for (j = 0; j < most.n && r == 0; j++)
		caps[j] = MIN(caps[j], (size_t)most.v[j]);
	return r;
}

int plan_pipeline_layers(struct plan_args *args, json_t *answer, struct err *err)
{
	const struct plan_args_range times = { 1e-6, 1e6 }, layers = { 1, LAYERS_MAX };
	CLEANUP(plan_args_reals_release) struct plan_args_reals y = { 0 };
	CLEANUP(freep) size_t *caps = NULL;
	CLEANUP(freep) size_t *counts = NULL;
	struct layers_wish wish = { 0 };
	double slowest = 0;
	int r = plan_args_reals(args, "y", times, STAGES_MAX, &y, err);

	if (r == 0)
		r = plan_args_count(args, "L", layers, &wish.layers, err);
	if (r < 0)
		return r;
	caps = xcalloc(y.n, sizeof(*caps));
	counts = xcalloc(y.n, sizeof(*counts));
	r = read_caps(args, y.n, wish.layers, caps, err);
	if (r < 0)
		return r;
	wish.slowdown = y.v;
	wish.stages = y.n;
	wish.most = caps;
	r = layers_assign(&wish, counts, &slowest, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(answer, "o", json_real(slowest));
	(void)json_object_set_new(answer, "l", plan_args_json_counts(counts, y.n));
	return 0;
}
