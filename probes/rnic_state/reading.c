/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/reading.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/rnic_state/counter_table.h"
#include "probes/rnic_state/rnic_state.h"
#include "probes/rnic_state/window.h"

#define MS_PER_SECOND 1000.0
#define COUNTER_KEY "%s/%s/%s" /* port, place, counter */

/* --- reading -------------------------------------------------------------------------- */

static void add(struct readings *to, const struct counter_row *row, const char *name, uint64_t value)
{
	struct reading *r = &to->all[to->n];

	if (to->n == READINGS_MAX)
		return;
	*r = (struct reading){ .row = row, .value = value };
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
	to->n++;
}

static bool read_file(const struct port *port, const struct counter_row *row, uint64_t *ret)
{
	switch (row->place) {
	case PLACE_PORT:
	case PLACE_HW:
		return sys_u64(ret, "/sys/class/infiniband/%s/ports/%u/%s/%s", port->device,
			       port->number, counter_place_names[row->place], row->name);
	case PLACE_NETDEV:
		return port->netdev[0] &&
		       (sys_u64(ret, "/sys/class/net/%s/%s", port->netdev, row->name) ||
			sys_u64(ret, "/sys/class/net/%s/statistics/%s", port->netdev, row->name));
	case PLACE_ETHTOOL:
	case PLACES:
		break;
	}
	return false;
}

static void take_stats(const struct nic_stats *stats, const struct counter_row *row,
		       struct readings *ret)
{
	size_t i;

	for (i = 0; i < stats->n; i++) {
		if (counter_fits(row->name, stats->names[i]))
			add(ret, row, stats->names[i], stats->values[i]);
	}
}

void readings_take(const struct port *port, const struct nic_stats *stats, struct readings *ret)
{
	size_t i;

	*ret = (struct readings){ .all = xcalloc(READINGS_MAX + 1, sizeof(struct reading)) };
	for (i = 0; i < n_counter_rows; i++) {
		const struct counter_row *row = &counter_rows[i];
		uint64_t value = 0;

		if (row->place == PLACE_ETHTOOL)
			take_stats(stats, row, ret);
		else if (read_file(port, row, &value))
			add(ret, row, row->name, value);
	}
}

void readings_release(struct readings *readings)
{
	free(readings->all);
	*readings = (struct readings){ .all = NULL };
}

/* --- comparing ------------------------------------------------------------------------- */

static char *key_of(const struct port *port, const struct reading *r)
{
	return xasprintf(COUNTER_KEY, port->subject, counter_place_names[r->row->place], r->name);
}

static struct window load_window(const struct rnic_state *state, const char *key)
{
	const json_t *kept = json_object_get(json_object_get(state->past, "windows"), key);
	double sum = json_number_value(json_array_get(kept, 0));
	double age_s = json_number_value(json_array_get(kept, 1));

	if (!state->same_boot || !(sum >= 0) || !(age_s >= 0))
		return (struct window){ 0 };
	return (struct window){ sum, age_s, json_is_true(json_array_get(kept, 2)) };
}

static void save_window(struct rnic_state *state, const char *key, const struct window *w)
{
	json_t *windows = json_object_get(state->next, "windows");

	if (window_is_empty(w))
		return;
	if (!windows) {
		windows = json_object();
		(void)json_object_set_new(state->next, "windows", windows);
	}
	(void)json_object_set_new(windows, key, json_pack("[f, f, b]", w->sum, w->age_s, w->bad));
}

static bool too_much(struct rnic_state *state, const struct counter_row *row, const char *key,
		     uint64_t growth)
{
	struct window w;
	bool bad;

	if (row->within_s <= 0)
		return growth > 0;
	w = load_window(state, key);
	bad = window_add(&w, (double)growth, state->window_s, row->limit, row->within_s);
	save_window(state, key, &w);
	return bad;
}

/* Narrow counters do not wrap: PortCounters saturate at all ones. */
static bool has_stopped(const struct reading *r)
{
	return r->row->bits <= BITS_STOP && r->value == (UINT64_C(1) << r->row->bits) - 1;
}

static void judge(struct rnic_state *state, const struct port *port, struct reading *r,
		  bool hw_is_early)
{
	CLEANUP(freep) char *key = key_of(port, r);
	json_t *before = json_object_get(state->counters.past, key);

	r->known = json_is_integer(before);
	r->early = r->known && hw_is_early && r->row->place == PLACE_HW;
	r->stopped = has_stopped(r);
	if (r->early) {
		r->known = false;
		(void)json_object_set(state->counters.next, key, before);
		return;
	}
	r->growth = counters_take(&state->counters, key, r->value, r->row->bits);
	if (!r->known)
		r->growth = 0;
	else
		r->bad = too_much(state, r->row, key, r->growth);
}

void readings_judge(struct rnic_state *state, const struct port *port, struct readings *readings)
{
	uint64_t lifespan_ms = 0;
	bool early;
	size_t i;

	(void)sys_u64(&lifespan_ms, "/sys/class/infiniband/%s/ports/%u/hw_counters/lifespan",
		      port->device, port->number);
	early = state->window_s * MS_PER_SECOND < (double)lifespan_ms;
	for (i = 0; i < readings->n; i++)
		judge(state, port, &readings->all[i], early);
}

/* --- reporting -------------------------------------------------------------------------- */

static bool is_worse(const struct reading *a, const struct reading *b)
{
	if (!b || a->bad != b->bad)
		return !b || a->bad;
	if (a->bad && a->row->finding != b->row->finding)
		return a->row->finding > b->row->finding;
	return a->growth > b->growth;
}

struct tally readings_tally(const struct readings *readings, const char *check)
{
	struct tally t = { 0 };
	size_t i;

	for (i = 0; i < readings->n; i++) {
		const struct reading *r = &readings->all[i];

		if (!streq(r->row->check, check))
			continue;
		t.n++;
		t.n_known += r->known;
		if (r->stopped)
			t.stopped = r;
		if ((r->growth > 0 || r->bad) && is_worse(r, t.worst))
			t.worst = r;
	}
	return t;
}

void readings_name_others(const struct readings *readings, const struct reading *worst,
			  struct strbuf *to)
{
	const char *before = "; also ";
	size_t i;

	for (i = 0; i < readings->n; i++) {
		const struct reading *r = &readings->all[i];

		if (r == worst || r->growth == 0 || !streq(r->row->check, worst->row->check))
			continue;
		(void)strbuf_printf(to, "%s%s +%" PRIu64, before, r->name, r->growth);
		before = ", ";
	}
}

bool counter_growth(const struct rnic_state *state, const struct port *port, const char *name,
		    uint64_t *ret)
{
	CLEANUP(freep)
	char *key = xasprintf(COUNTER_KEY, port->subject, counter_place_names[PLACE_HW], name);
	const struct counter_row *row = counter_find(PLACE_HW, name);
	json_t *before = json_object_get(state->counters.past, key);
	json_t *now = json_object_get(state->counters.next, key);

	if (!row || !json_is_integer(before) || !json_is_integer(now))
		return false;
	*ret = counter_delta((uint64_t)json_integer_value(before),
			     (uint64_t)json_integer_value(now), row->bits);
	return true;
}

bool link_went_down(const struct rnic_state *state, const struct port *port)
{
	size_t i;

	for (i = 0; i < n_counter_rows; i++) {
		const struct counter_row *row = &counter_rows[i];
		CLEANUP(freep)
		char *key = xasprintf(COUNTER_KEY, port->subject, counter_place_names[row->place],
				      row->name);
		json_t *before = json_object_get(state->counters.past, key);
		json_t *now = json_object_get(state->counters.next, key);

		if (streq(row->check, "rnic.link_downs") && before && now &&
		    !json_equal(before, now))
			return true;
	}
	return false;
}
