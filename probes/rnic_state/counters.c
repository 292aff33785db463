/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth since the last run: one sample per port and check, which reports the worst counter and
 * names the others that grew.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/rnic_state/counter_table.h"
#include "probes/rnic_state/fec.h"
#include "probes/rnic_state/mlx5_register.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/reading.h"
#include "probes/rnic_state/rnic_state.h"

#define RATE_SHOWN 0.1 /* per second */

enum { NAMES_MAX = 320, SPAN_SIZE = 48 };

/* "in 300 s", or a substitute if the time is unknown. */
static void say_span(const struct rnic_state *state, char ret[static SPAN_SIZE])
{
	if (isfinite(state->window_s))
		(void)snprintf(ret, SPAN_SIZE, "in %.0f s", state->window_s);
	else
		(void)snprintf(ret, SPAN_SIZE, "since the last run");
}

static int emit_none(struct rnic_state *state, const char *check, const struct port *port,
		     const struct tally *t)
{
	struct sample s = finding_sample(check, port->subject, 0);
	char span[SPAN_SIZE];

	say_span(state, span);
	if (!t->stopped)
		return rnic_emit(state, &s, FINDING_GOOD, "no increase %s (%zu counter%s)", span,
				 t->n, t->n == 1 ? "" : "s");
	s.code = xstrdup(t->stopped->name);
	return rnic_emit(
		state, &s, FINDING_NOTE,
		"%s is at its maximum and useless until it is reset; nothing else increased",
		t->stopped->name);
}

static int emit_grown(struct rnic_state *state, const struct port *port, const struct readings *all,
		      const struct tally *t)
{
	const struct reading *worst = t->worst;
	const struct counter_row *row = worst->row;
	bool is_time = streq(row->check, "rnic.pause_time");
	struct sample s = finding_sample(row->check, port->subject,
					 (double)worst->growth * (is_time ? 1e-6 : 1));
	CLEANUP(strbuf_release) struct strbuf others = STRBUF_INIT(NAMES_MAX);
	char span[SPAN_SIZE], rate[SPAN_SIZE] = "";

	say_span(state, span);
	/* NAN is no rate, and a few events make none. */
	if ((double)worst->growth / state->window_s >= RATE_SHOWN)
		(void)snprintf(rate, sizeof(rate), " (%.3g/s)",
			       (double)worst->growth / state->window_s);
	readings_name_others(all, worst, &others);
	s.code = xstrdup(worst->name);
	return rnic_emit(state, &s, worst->bad ? row->finding : FINDING_NOTE,
			 "%s grew by %" PRIu64 " %s%s: %s%s", worst->name, worst->growth, span,
			 rate, row->words, strbuf_text(&others));
}

static int emit_check(struct rnic_state *state, const char *check, const struct port *port,
		      const struct readings *all)
{
	struct tally t = readings_tally(all, check);

	/*
	 * What was not compared has no sample: null would make the host inconclusive at each boot.
	 */
	if (t.n_known == 0)
		return 0;
	return t.worst ? emit_grown(state, port, all, &t) : emit_none(state, check, port, &t);
}

/* --- counters that are gone ---------------------------------------------------------- */

/* Count and name them; `ret_own`: some were the RNIC's own, not the network device's. */
static size_t find_gone(const struct rnic_state *state, const struct port *port,
			struct strbuf *names, bool *ret_own)
{
	CLEANUP(freep) char *prefix = xasprintf("%s/", port->subject);
	json_t *past = state->counters.past ? json_object_get(state->past, "counters") : NULL;
	json_t *value;
	const char *key;
	size_t n = 0;

	json_object_foreach(past, key, value)
	{
		const char *name = key + strlen(prefix);

		if (!starts_with(key, prefix) || json_object_get(state->counters.next, key))
			continue;
		*ret_own = *ret_own || starts_with(name, counter_place_names[PLACE_PORT]) ||
			   starts_with(name, counter_place_names[PLACE_HW]);
		(void)strbuf_printf(names, "%s%s", n++ ? ", " : "", name);
	}
	return n;
}

/* Why some checks may have no sample. */
static const char *say_first(const struct readings *all)
{
	size_t n_new = 0, n_early = 0, i;

	for (i = 0; i < all->n; i++) {
		n_early += all->all[i].early;
		n_new += !all->all[i].known;
	}
	if (n_early)
		return ", some of them before the RNIC restarted its counters: the next run will "
		       "show the increase";
	return n_new == all->n
		       ? ", the first reading since boot: the next run will show the increase"
		       : "";
}

static int emit_count(struct rnic_state *state, const struct port *port, const struct readings *all)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	struct sample s = finding_sample("rnic.counters", port->subject, (double)all->n);
	bool own = false;
	size_t n = find_gone(state, port, &names, &own);

	if (n == 0 && all->n == 0)
		return rnic_emit(state, &s, FINDING_NOTE, "the port has no counters");
	if (n == 0)
		return rnic_emit(state, &s, FINDING_GOOD, "%zu counters read%s", all->n,
				 say_first(all));
	s.code = xstrdup("counters-gone");
	return rnic_emit(state, &s, own ? FINDING_WARN : FINDING_NOTE,
			 "%zu counters of the last run can no longer be read%s: %s", n,
			 own ? "" : " (is the network device in another namespace?)",
			 strbuf_text(&names));
}

/* --- one port ------------------------------------------------------------------------ */

static int tell_port(struct rnic_state *state, const struct port *port, struct readings *all,
		     const struct nic_stats *stats)
{
	size_t i;
	int r;

	readings_judge(state, port, all);
	r = rnic_fec(state, port, stats);
	for (i = 0; i < n_counter_rows && r == 0; i++) {
		const char *check = counter_rows[i].check;

		if (i == 0 || !streq(counter_rows[i - 1].check, check))
			r = emit_check(state, check, port, all);
	}
	return r == 0 ? emit_count(state, port, all) : r;
}

int rnic_counters(struct rnic_state *state)
{
	size_t i;
	int r = 0;

	for (i = 0; i < state->ports->n && r == 0; i++) {
		CLEANUP(readings_release) struct readings all = { 0 };
		CLEANUP(nic_stats_release) struct nic_stats stats = { 0 };
		const struct port *port = &state->ports->all[i];

		if (port->netdev[0])
			(void)state->nic->stats(state->nic->context, port->netdev, &stats);
		else if (mlx5_register_is_of(port) && clock_mono_us() < state->deadline_us)
			(void)mlx5_register_wire(state->nic, port, &stats);
		readings_take(port, &stats, &all);
		r = tell_port(state, port, &all, &stats);
	}
	return r;
}
