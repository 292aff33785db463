/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/plan_facts.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static size_t count(const json_t *object, const char *key)
{
	return (size_t)json_integer_value(json_object_get(object, key));
}

static struct remedy_range range_of(const json_t *object)
{
	return (struct remedy_range){ number(object, "value"), number(object, "low"),
				      number(object, "high") };
}

/* --- host of each worker --- */

static void read_workers(const json_t *detail, struct plan_facts *f)
{
	const json_t *nodes = json_object_get(detail, "nodes");
	const json_t *hosts = json_object_get(detail, "hosts");
	size_t w;

	f->of_worker = json_array();
	for (w = 0; w < json_array_size(nodes); w++) {
		const json_int_t at = json_integer_value(json_array_get(nodes, w));
		json_t *name = at >= 0 ? json_array_get(hosts, (size_t)at) : NULL;

		(void)json_array_append_new(f->of_worker, name ? json_incref(name) : json_null());
	}
}

static json_t *name_of(const struct plan_facts *f, size_t worker, size_t pp)
{
	json_t *name = json_array_get(f->of_worker, worker);

	if (json_is_string(name))
		return json_incref(name);
	return pp ? json_sprintf("dp %zu stage %zu", worker / pp, worker % pp)
		  : json_sprintf("worker %zu", worker);
}

/* --- the shape --- */

/* All must be present. */
static double *numbers(const json_t *list, size_t n)
{
	double *values = xcalloc(n ? n : 1, sizeof(*values));
	size_t i;

	for (i = 0; i < n; i++) {
		const json_t *value = json_array_get(list, i);

		values[i] = json_is_number(value) ? json_number_value(value) : (double)NAN;
	}
	return values;
}

static void read_shape(const json_t *remedies, struct plan_facts *f)
{
	struct replicas *r = &f->replicas;

	*r = (struct replicas){ .dp = count(remedies, "dp"),
				.pp = count(remedies, "pp"),
				.microbatches = count(remedies, "microbatches"),
				.chunks = count(remedies, "vpp") };
	if (r->dp == 0 || r->pp == 0)
		return;
	f->forward_s = numbers(json_object_get(remedies, "forward_s"), r->pp);
	f->backward_s = numbers(json_object_get(remedies, "backward_s"), r->pp);
	f->slowdown = numbers(json_object_get(remedies, "slowdown"), r->dp * r->pp);
	r->forward_s = f->forward_s;
	r->backward_s = f->backward_s;
	r->slowdown = f->slowdown;
	f->facts.replicas = replicas_ok(r) ? r : NULL;
}

/* --- replacements --- */

/* Append it unless it is there; the order matters. */
static void add_host(json_t *hosts, const char *name)
{
	if (!json_has_text(hosts, name))
		(void)json_array_append_new(hosts, json_string(name));
}

static void add_set(struct plan_facts *f, struct remedy_range after, double gap)
{
	if (f->facts.n_sets == REMEDIES_SETS_MAX || !isfinite(after.value))
		return;
	f->sets[f->facts.n_sets++] = (struct remedies_set){
		.n = json_array_size(f->hosts),
		.after_s = after,
		.gap_s = gap,
	};
}

static void read_sets(const json_t *remedies, size_t pp, struct plan_facts *f)
{
	const json_t *list = json_object_get(remedies, "replace");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		CLEANUP(json_freep) json_t *name = name_of(f, count(one, "worker"), pp);

		add_host(f->hosts, json_string_value(name));
		add_set(f, range_of(json_object_get(one, "T")), number(one, "gap_s"));
	}
}

/* An earlier version gives the gain of replacing all suspects together, as a share of a step. */
static void read_suspects(const json_t *suspects, struct plan_facts *f)
{
	const double step = f->facts.simulated_s;
	struct remedy_range gain = { NAN, NAN, NAN };
	size_t i, j;

	for (i = 0; i < json_array_size(suspects); i++) {
		const json_t *one = json_array_get(suspects, i);
		const json_t *hosts = json_object_get(one, "hosts");

		if (!json_is_true(json_object_get(one, "counts")))
			continue;
		gain = range_of(json_object_get(one, "gain"));
		for (j = 0; j < json_array_size(hosts); j++)
			add_host(f->hosts, json_string_value(json_array_get(hosts, j)));
	}
	add_set(f,
		(struct remedy_range){ step * (1 - gain.value), step * (1 - gain.high),
				       step * (1 - gain.low) },
		0);
}

bool plan_facts_read(const json_t *analysis, struct plan_facts *ret)
{
	const json_t *detail = json_object_get(analysis, "detail");
	const json_t *remedies = json_object_get(detail, "remedies");

	*ret = (struct plan_facts){ .hosts = json_array(), .ideal_s = number(detail, "T_ideal") };
	ret->facts = (struct remedies_facts){
		.now_s = number(detail, "T_act"),
		.simulated_s = number(detail, "T"),
		.sequences_s = range_of(json_object_get(remedies, "sequences")),
		.gc_s = range_of(json_object_get(remedies, "gc")),
		.pause_s = number(remedies, "pause_s"),
		.stages = json_is_true(json_object_get(remedies, "stages")),
		.remaining = NAN,
		.slow_steps = NAN,
	};
	ret->facts.sets = ret->sets;
	read_workers(detail, ret);
	if (remedies)
		read_shape(remedies, ret);
	/* In a what-if, other hosts also gain from what the job does to itself: they are not at
	 * fault. */
	if (streq(json_string_value(json_object_get(analysis, "class")), "job"))
		return ret->facts.now_s > 0 && ret->facts.simulated_s > 0;
	if (remedies)
		read_sets(remedies, count(analysis, "pp"), ret);
	else
		read_suspects(json_object_get(analysis, "suspects"), ret);
	return ret->facts.now_s > 0 && ret->facts.simulated_s > 0;
}

void plan_facts_release(struct plan_facts *f)
{
	free(f->forward_s);
	free(f->backward_s);
	free(f->slowdown);
	json_decref(f->hosts);
	json_decref(f->of_worker);
	*f = (struct plan_facts){ .hosts = NULL };
}

json_t *plan_facts_set(const struct plan_facts *f, size_t set)
{
	json_t *hosts = json_array();
	size_t i;

	for (i = 0; i < f->sets[set].n; i++)
		(void)json_array_append(hosts, json_array_get(f->hosts, i));
	return hosts;
}

/* --- without some hosts --- */

static bool is_of(const struct plan_facts *f, size_t worker, const json_t *names)
{
	const char *name = json_string_value(json_array_get(f->of_worker, worker));

	return name && json_has_text(names, name);
}

struct remedies_loss plan_facts_without(const struct plan_facts *f, const json_t *names,
					json_t **ret_found)
{
	const size_t n = json_array_size(f->of_worker);
	CLEANUP(freep) bool *gone = xcalloc(n + 1, sizeof(*gone));
	struct remedies_loss loss = { .after_s = NAN };
	size_t w;

	*ret_found = json_array();
	for (w = 0; w < n; w++) {
		gone[w] = is_of(f, w, names);
		loss.workers += gone[w];
		if (gone[w])
			json_insert_text(*ret_found,
					 json_string_value(json_array_get(f->of_worker, w)));
	}
	if (!f->facts.replicas || f->replicas.dp * f->replicas.pp != n)
		return loss;
	return remedies_without(&f->facts, gone);
}

/* Are they the first `n` of those to be replaced? */
static bool is_set(const struct plan_facts *f, const json_t *names, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!json_has_text(names, json_string_value(json_array_get(f->hosts, i))))
			return false;
	}
	return json_array_size(names) == n;
}

double plan_facts_replaced(const struct plan_facts *f, const json_t *names)
{
	const size_t n = f->replicas.dp * f->replicas.pp;
	CLEANUP(freep) double *slowdown = xcalloc(n + 1, sizeof(*slowdown));
	struct replicas good = f->replicas;
	size_t w, i;

	for (i = 0; i < f->facts.n_sets; i++) {
		if (is_set(f, names, f->sets[i].n))
			return f->facts.now_s - f->facts.simulated_s + f->sets[i].after_s.value;
	}
	if (!f->facts.replicas || json_array_size(f->of_worker) != n)
		return (double)NAN;
	for (w = 0; w < n; w++)
		slowdown[w] = is_of(f, w, names) ? 1 : f->slowdown[w];
	good.slowdown = slowdown;
	return f->facts.now_s - f->facts.simulated_s +
	       replicas_fixed(&f->replicas, f->facts.simulated_s) + replicas_slowest(&good);
}

double plan_facts_gain(const struct plan_facts *f, const char *host)
{
	CLEANUP(json_freep) json_t *one = json_pack("[s]", host);
	double part;

	if (!json_has_text(f->of_worker, host))
		return (double)NAN;
	part = 1 - plan_facts_replaced(f, one) / f->facts.now_s;
	return isnan(part) ? part : fmin(fmax(part, 0), 1);
}
