/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth since the last run: one sample per GPU and check, which reports the worst counter and
 * names the others that grew. Lifetime counters are saved across boots, as `ever`:
 * {"SUBJECT/CHECK/NAME": value}, and with ".../told" how much was reported before that counter
 * included it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/gpu_state/gpu_counter_table.h"
#include "probes/gpu_state/gpu_state.h"

#define SECONDS_PER_NS 1e-9

enum { NAME_SIZE = 48, SPAN_SIZE = 48, NAMES_MAX = 320 };

struct growth {
	const struct gpu_counter *counter;
	double amount; /* events or seconds */
	bool known;    /* can be told: there was an earlier reading, or it counts from 0 */
	bool bad;
};

/* All counters of one check. */
struct tally {
	size_t n_known;
	struct growth worst; /* counter == NULL: none grew */
	struct strbuf others;
};

static void name_of(const struct gpu_counter *c, char ret[static NAME_SIZE])
{
	if (c->row->per_link)
		(void)snprintf(ret, NAME_SIZE, "link %u %s", c->link, c->row->name);
	else
		(void)snprintf(ret, NAME_SIZE, "%s", c->row->name);
}

static bool is_beyond(const struct gpu_state *state, const struct gpu_counter_row *row,
		      uint64_t growth)
{
	if (growth == 0 || row->finding == FINDING_NOTE)
		return false;
	if (!row->is_time)
		return counter_per_hour(growth, state->window_s) > row->limit;
	/* If the window is unknown (NAN), this is false. */
	return (double)growth * SECONDS_PER_NS > row->limit * state->window_s;
}

static char *key_of(const struct gpu_reading *gpu, const struct gpu_counter *c)
{
	return xasprintf("%s/%s/%s/%u", gpu->subject, c->row->check, c->row->name, c->link);
}

/* The growth of the same counter of another GPU, if it was read before. */
static uint64_t grew_by(const struct gpu_state *state, const struct gpu_reading *gpu,
			const struct gpu_counter *c)
{
	CLEANUP(freep) char *key = key_of(gpu, c);
	const json_t *was = json_object_get(state->counters.past, key);
	const uint64_t before = (uint64_t)json_integer_value(was);

	return json_is_integer(was) && c->value > before ? c->value - before : 0;
}

/* Also false if there is no other GPU to compare with: a single GPU never stands out. */
static bool stands_out(const struct gpu_state *state, const struct gpu_reading *gpu,
		       const struct gpu_counter *c, uint64_t growth)
{
	double most = -1;
	size_t i, j;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *other = &state->gpus->all[i];

		if (other == gpu || !gpu_is_whole(other) || !streq(other->model, gpu->model))
			continue;
		most = fmax(most, 0);
		for (j = 0; j < other->n_counters; j++) {
			if (other->counters[j].row == c->row && other->counters[j].link == c->link)
				most = fmax(most,
					    (double)grew_by(state, other, &other->counters[j]));
		}
	}
	return most >= 0 && (double)growth > c->row->times * most;
}

static struct growth grow(struct gpu_state *state, const struct gpu_reading *gpu,
			  const struct gpu_counter *c)
{
	CLEANUP(freep) char *key = key_of(gpu, c);
	bool seen = json_object_get(state->counters.past, key) != NULL;
	uint64_t by = counters_take(&state->counters, key, c->value, 64);
	struct growth g = { .counter = c, .known = seen || c->row->of_boot };

	if (!g.known)
		return g;
	g.amount = (double)by * (c->row->is_time ? SECONDS_PER_NS : 1);
	g.bad = is_beyond(state, c->row, by) &&
		(c->row->times <= 0 || stands_out(state, gpu, c, by));
	return g;
}

/* What grow() reported for this field in this run. */
static uint64_t told_of(const struct gpu_state *state, const struct gpu_reading *gpu, unsigned field)
{
	size_t i;

	for (i = 0; i < gpu->n_counters; i++) {
		const struct gpu_counter *c = &gpu->counters[i];
		CLEANUP(freep) char *key = NULL;
		json_int_t was;

		if (c->row->field != field)
			continue;
		key = key_of(gpu, c);
		was = json_integer_value(json_object_get(state->counters.past, key));
		return counter_delta((uint64_t)MAX(was, (json_int_t)0), c->value, 64);
	}
	return 0;
}

/* The value of past `ever` at this key; -1 if there is none. */
static json_int_t ever_of(const struct gpu_state *state, const char *key)
{
	const json_t *was = json_object_get(json_object_get(state->past, "ever"), key);

	return json_is_integer(was) ? MAX(json_integer_value(was), (json_int_t)0) : -1;
}

static void keep_ever(struct gpu_state *state, const char *key, uint64_t value)
{
	(void)json_object_set_new(json_object_get(state->next, "ever"), key,
				  json_integer((json_int_t)value));
}

/*
 * Growth that the counter since driver load has lost. That one restarts at a boot and, without
 * persistence mode, whenever the last program closes the GPU, for example because it died of an
 * error. The two counters need not be updated at the same time, so growth reported from one before
 * the other included it is not reported again.
 */
static struct growth grow_ever(struct gpu_state *state, const struct gpu_reading *gpu,
			       const struct gpu_counter *c)
{
	CLEANUP(freep) char *key = xasprintf("%s/%s/%s", gpu->subject, c->row->check, c->row->name);
	CLEANUP(freep) char *key_told = xasprintf("%s/told", key);
	const json_int_t before = ever_of(state, key);
	const uint64_t told = told_of(state, gpu, c->row->ever_of) +
			      (uint64_t)MAX(ever_of(state, key_told), (json_int_t)0);
	struct growth g = { .counter = c, .known = before >= 0 };
	uint64_t by;

	keep_ever(state, key, c->value);
	if (!g.known)
		return g;
	by = counter_delta((uint64_t)before, c->value, 64);
	keep_ever(state, key_told, told > by ? told - by : 0);
	if (by <= told)
		return g;
	g.amount = (double)(by - told);
	g.bad = c->row->finding != FINDING_NOTE;
	return g;
}

static bool is_worse(const struct growth *a, const struct growth *b)
{
	if (!b->counter || a->bad != b->bad)
		return !b->counter || a->bad;
	if (a->bad && a->counter->row->finding != b->counter->row->finding)
		return a->counter->row->finding > b->counter->row->finding;
	return a->amount > b->amount;
}

static void name_other(struct tally *t, const struct growth *g)
{
	char name[NAME_SIZE];

	name_of(g->counter, name);
	(void)strbuf_printf(&t->others, ", %s +%.3g", name, g->amount);
}

static void add(struct tally *t, const struct growth *g)
{
	t->n_known += g->known;
	if (!g->known || g->amount <= 0)
		return;
	if (!is_worse(g, &t->worst)) {
		name_other(t, g);
		return;
	}
	if (t->worst.counter)
		name_other(t, &t->worst);
	t->worst = *g;
}

static int tell(struct gpu_state *state, const struct gpu_reading *gpu, const char *check,
		const struct tally *t)
{
	const struct gpu_counter_row *row = t->worst.counter ? t->worst.counter->row : NULL;
	struct gpu_words words = { .check = check, .value = t->worst.amount };
	char span[SPAN_SIZE] = "since the driver was loaded", name[NAME_SIZE];

	/*
	 * What was not compared has no sample: null would make the host inconclusive at each boot.
	 */
	if (t->n_known == 0)
		return 0;
	if (isfinite(state->window_s))
		(void)snprintf(span, sizeof(span), "in %.0f s", state->window_s);
	if (!row)
		return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
				"no increase %s (%zu counter%s)", span, t->n_known,
				t->n_known == 1 ? "" : "s");
	name_of(t->worst.counter, name);
	words.code = row->name;
	return gpu_tell(state, gpu->subject, &words, t->worst.bad ? row->finding : FINDING_NOTE,
			"%s grew by %.6g%s %s: %s%s", name, t->worst.amount,
			row->is_time ? " s" : "", span, row->words, strbuf_text(&t->others));
}

static int tell_check(struct gpu_state *state, const struct gpu_reading *gpu, const char *check)
{
	struct tally t = { .others = STRBUF_INIT(NAMES_MAX) };
	size_t i;
	int r;

	for (i = 0; i < gpu->n_counters; i++) {
		struct growth g;

		if (!streq(gpu->counters[i].row->check, check))
			continue;
		g = gpu->counters[i].row->ever_of ? grow_ever(state, gpu, &gpu->counters[i])
						  : grow(state, gpu, &gpu->counters[i]);
		add(&t, &g);
	}
	r = tell(state, gpu, check, &t);
	strbuf_release(&t.others);
	return r;
}

static int tell_gpu(struct gpu_state *state, const struct gpu_reading *gpu)
{
	size_t i;
	int r = 0;

	for (i = 0; i < n_gpu_counter_rows && r == 0; i++) {
		const char *check = gpu_counter_rows[i].check;

		if (i == 0 || !streq(gpu_counter_rows[i - 1].check, check))
			r = tell_check(state, gpu, check);
	}
	return r;
}

static void keep_of(json_t *next, json_t *past, const char *subject)
{
	CLEANUP(freep) char *prefix = xasprintf("%s/", subject);
	const char *key;
	json_t *value;

	json_object_foreach(past, key, value)
	{
		if (starts_with(key, prefix))
			(void)json_object_set(next, key, value);
	}
}

/* The counters of a GPU that was not read are kept until it answers again. */
static void keep_counters(struct gpu_state *state, const struct gpu_reading *gpu)
{
	if (state->counters.past)
		keep_of(state->counters.next, json_object_get(state->past, "counters"),
			gpu->subject);
	keep_of(json_object_get(state->next, "ever"), json_object_get(state->past, "ever"),
		gpu->subject);
}

int gpu_counters(struct gpu_state *state)
{
	size_t i;
	int r = 0;

	(void)json_object_set_new(state->next, "ever", json_object());
	for (i = 0; i < state->gpus->n && r == 0; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		if (gpu_is_whole(gpu))
			r = tell_gpu(state, gpu);
		else
			keep_counters(state, gpu);
	}
	return r;
}
