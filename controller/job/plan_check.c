/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/plan_check.h"

#include <stdlib.h>

#include "controller/job/plan_view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* A cause is gone if its remedy has at most this share of its gain left. */
#define LEFT_MOST 0.5

/* --- hosts --- */

/* Without the host of each worker nothing can be said. */
static bool are_known(const struct plan_facts *f)
{
	size_t i;

	for (i = 0; i < json_array_size(f->of_worker); i++) {
		if (!json_is_string(json_array_get(f->of_worker, i)))
			return false;
	}
	return i > 0;
}

/* Hosts of `f` that are not in `other`, in order. New reference. */
static json_t *hosts_beyond(const struct plan_facts *f, const struct plan_facts *other)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < json_array_size(f->of_worker); i++) {
		const char *name = json_string_value(json_array_get(f->of_worker, i));

		if (!json_has_text(other->of_worker, name))
			json_insert_text(names, name);
	}
	return names;
}

/* Are exactly the hosts of the set gone? */
static bool is_all_of(const struct plan_facts *f, const struct remedies_set *set, const json_t *gone)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		if (!json_has_text(gone, json_string_value(json_array_get(f->hosts, i))))
			return false;
	}
	return json_array_size(gone) == set->n;
}

/* --- the remedy applied --- */

struct comparing {
	const struct plan_check_run *before, *now;
	const json_t *gone; /* hosts from before that are missing now */
	const json_t *come; /* hosts that are new now */
	bool alike;	    /* same number of ranks, replicas, stages and micro-batches */
};

static bool was_dropped(const struct comparing *c, const struct remedy *one)
{
	const struct run_shape *x = &c->before->shape, *y = &c->now->shape;
	const int64_t batch = (int64_t)c->before->facts->replicas.microbatches * x->dp;
	const int64_t left = x->dp - (int64_t)one->count;

	return left > 0 && y->dp == left && y->pp == x->pp && y->ranks * x->dp == x->ranks * left &&
	       json_array_size(c->come) == 0 &&
	       (int64_t)c->now->facts->replicas.microbatches == (batch + left - 1) / left;
}

static double gain_of(const struct remedies *all, enum remedy_kind kind)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (all->list[i].kind == kind)
			return all->list[i].gain_s.value;
	}
	return 0;
}

static bool has_gone(const struct comparing *c, const struct remedy *one)
{
	return c->alike && gain_of(c->now->remedies, one->kind) <= LEFT_MOST * one->gain_s.value;
}

static bool was_applied(const struct comparing *c, const struct remedy *one)
{
	const struct plan_facts *f = c->before->facts;

	/* Less than that is normal variation of steps. */
	if (one->gain_s.value < REMEDIES_TOLERANCE * f->facts.now_s)
		return false;
	switch (one->kind) {
	case REMEDY_REPLACE:
		return c->alike && is_all_of(f, &f->sets[one->set], c->gone);
	case REMEDY_DROP:
		return was_dropped(c, one);
	case REMEDY_SEQUENCES:
	case REMEDY_GC:
	case REMEDY_STAGE:
	case REMEDY_DATA:
		return has_gone(c, one);
	default:
		return false;
	}
}

static bool is_of_hosts(const struct remedy *one)
{
	return one->kind == REMEDY_REPLACE || one->kind == REMEDY_DROP;
}

/* The remedy applied; NULL: none, or the gains of several cannot be separated. */
static const struct remedy *applied(const struct comparing *c)
{
	const struct remedies *all = c->before->remedies;
	const struct remedy *found = NULL;
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (!was_applied(c, &all->list[i]))
			continue;
		if (found)
			return NULL;
		found = &all->list[i];
	}
	/* Different hosts are a change of their own. */
	if (found && !is_of_hosts(found) && json_array_size(c->gone) > 0)
		return NULL;
	return found;
}

/* --- result --- */

static json_t *show(const struct comparing *c, const struct remedy *one,
		    const struct prediction_mean *measured)
{
	const struct plan_facts *f = c->before->facts;
	const double before_s = f->facts.now_s;
	const struct prediction promise = { .before_s = before_s,
					    .after_s = one->after_s,
					    .low_s = before_s - one->gain_s.high,
					    .high_s = before_s - one->gain_s.low };
	CLEANUP(freep) char *deed = plan_view_deed(f, one);
	const char *state = "open";

	if (measured->steps >= PREDICTION_STEPS)
		state = prediction_held(&promise, measured->seconds) ? "held" : "failed";
	return json_pack("{s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:s}",
			 "kind", remedy_kind_names[one->kind], "deed", deed, "hosts",
			 one->kind == REMEDY_REPLACE ? plan_facts_set(f, one->set) : json_array(),
			 "run", (json_int_t)c->before->run, "window", (json_int_t)c->before->window,
			 "before_s", json_seconds(before_s), "promised_s",
			 json_seconds(promise.after_s), "low_s", json_seconds(promise.low_s),
			 "high_s", json_seconds(promise.high_s), "by_run", (json_int_t)c->now->run,
			 "measured_s", json_seconds(measured->seconds), "steps",
			 (json_int_t)measured->steps, "state", state);
}

json_t *plan_check(const struct plan_check_run *before, const struct plan_check_run *now,
		   const struct prediction_mean *measured)
{
	CLEANUP(json_freep) json_t *gone = hosts_beyond(before->facts, now->facts);
	CLEANUP(json_freep) json_t *come = hosts_beyond(now->facts, before->facts);
	const struct comparing c = {
		.before = before,
		.now = now,
		.gone = gone,
		.come = come,
		.alike = run_pace_alike(&before->shape, &now->shape) &&
			 before->facts->replicas.microbatches == now->facts->replicas.microbatches,
	};
	json_t *list = json_array();
	const struct remedy *one;

	if (!are_known(before->facts) || !are_known(now->facts) || measured->steps == 0)
		return list;
	one = applied(&c);
	if (one)
		(void)json_array_append_new(list, show(&c, one, measured));
	return list;
}
