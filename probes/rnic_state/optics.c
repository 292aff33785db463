/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules in the cages: optical power, bias, temperature and voltage compared with the module's
 * own limits. Beyond an alarm limit is a warning, beyond a warning limit a note. If a port is down,
 * optical values say nothing and are reported as facts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_state/mlx5_register.h"
#include "probes/rnic_state/module.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/rnic_state.h"

enum { LANES_TEXT_MAX = 256, LIMITS_TEXT_SIZE = 80, ALARMS = FLAG_HIGH_ALARM | FLAG_LOW_ALARM };

static const char *const flag_words[] = { "above its alarm limit", "below its alarm limit",
					  "above its warning limit", "below its warning limit" };

/* The name of the first limit exceeded; "" if none. */
static const char *say_beyond(unsigned beyond)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flag_words); i++) {
		if (beyond >> i & 1)
			return flag_words[i];
	}
	return "";
}

static enum finding finding_of(const struct port *port, unsigned beyond, bool by_light)
{
	if (by_light && !port->active)
		return FINDING_NOTE;
	if (beyond & ALARMS)
		return FINDING_WARN;
	return beyond ? FINDING_INFO : FINDING_GOOD;
}

/* "; alarm below 0.1 and above 3.0"; "" if the module has no limits. */
static void say_limits(double low, double high, char ret[static LIMITS_TEXT_SIZE])
{
	ret[0] = '\0';
	if (high > low)
		(void)snprintf(ret, LIMITS_TEXT_SIZE, "; alarm below %.1f and above %.1f", low,
			       high);
}

/* --- values per module ------------------------------------------------------------------ */

static int emit_one(struct rnic_state *state, const struct port *port, const char *check,
		    const char *unit, const struct module_value *v,
		    const struct module_limits *limits)
{
	unsigned beyond = module_beyond(v, limits);
	char words[LIMITS_TEXT_SIZE];
	struct sample s;

	if (isnan(v->value))
		return 0;
	s = finding_sample(check, port->subject, v->value);
	if (beyond)
		s.code = xstrdup(beyond & ALARMS ? "alarm" : "warning");
	say_limits(limits->low_alarm, limits->high_alarm, words);
	return rnic_emit(state, &s, finding_of(port, beyond, false), "%.1f %s%s%s%s", v->value,
			 unit, beyond ? ", " : "", say_beyond(beyond), words);
}

/* --- values per lane -------------------------------------------------------------------- */

static const struct {
	const char *check, *what, *unit;
	bool is_power;
} monitors[MONITORS] = {
	[MONITOR_RX_POWER] = { "rnic.rx_power", "received", "dBm", true },
	[MONITOR_TX_POWER] = { "rnic.tx_power", "sent", "dBm", true },
	[MONITOR_TX_BIAS] = { "rnic.tx_bias", "laser bias", "mA", false },
};

/* An unknown limit stays NAN. */
static double shown(enum module_monitor k, double value)
{
	return monitors[k].is_power && !isnan(value) ? module_dbm(value) : value;
}

/* 2 beyond an alarm limit, 1 beyond a warning limit, 0 within the limits. */
static int rank_of(const struct module *m, enum module_monitor k, unsigned lane)
{
	unsigned beyond = module_beyond(&m->lanes[lane].monitors[k], &m->limits[k]);

	return beyond & ALARMS ? 2 : beyond != 0;
}

/* The worst lane; among equals, that with the lowest value. -1 if none is measured. */
static int worst_lane(const struct module *m, enum module_monitor k)
{
	double lowest = NAN;
	int worst = -1, worst_rank = -1;
	unsigned i;

	for (i = 0; i < m->n_lanes; i++) {
		double value = m->lanes[i].monitors[k].value;
		int rank = rank_of(m, k, i);

		if (isnan(value) || rank < worst_rank || (rank == worst_rank && value >= lowest))
			continue;
		worst = (int)i;
		worst_rank = rank;
		lowest = value;
	}
	return worst;
}

/* List the lanes as "-1.9 -2.0 -4.2 -2.1", and set minimum and maximum of the sample. */
static void list_lanes(const struct module *m, enum module_monitor k, struct sample *s,
		       struct strbuf *to)
{
	unsigned i;

	for (i = 0; i < m->n_lanes; i++) {
		double value = m->lanes[i].monitors[k].value;

		(void)strbuf_printf(to, i ? " " : "");
		if (isnan(value)) {
			(void)strbuf_puts(to, "-");
			continue;
		}
		value = shown(k, value);
		(void)strbuf_printf(to, "%.1f", value);
		s->n++;
		s->min = isnan(s->min) ? value : MIN(s->min, value);
		s->max = isnan(s->max) ? value : MAX(s->max, value);
	}
}

static int emit_lanes(struct rnic_state *state, const struct port *port, const struct module *m,
		      enum module_monitor k)
{
	CLEANUP(strbuf_release) struct strbuf lanes = STRBUF_INIT(LANES_TEXT_MAX);
	int worst = worst_lane(m, k);
	const struct module_limits *limits = &m->limits[k];
	const struct module_value *v;
	char mw[32] = "", words[LIMITS_TEXT_SIZE];
	unsigned beyond;
	struct sample s;

	if (worst < 0)
		return 0;
	v = &m->lanes[worst].monitors[k];
	beyond = module_beyond(v, limits);
	s = finding_sample(monitors[k].check, port->subject, shown(k, v->value));
	list_lanes(m, k, &s, &lanes);
	if (monitors[k].is_power)
		(void)snprintf(mw, sizeof(mw), " (%.3g mW)", v->value);
	if (beyond)
		s.code = xstrdup(beyond & ALARMS ? "alarm" : "warning");
	say_limits(shown(k, limits->low_alarm), shown(k, limits->high_alarm), words);
	return rnic_emit(state, &s, finding_of(port, beyond, true),
			 "lane %d: %s %.1f %s%s%s%s; all lanes %s%s", worst + 1, monitors[k].what,
			 shown(k, v->value), monitors[k].unit, mw, beyond ? ", " : "",
			 say_beyond(beyond), strbuf_text(&lanes), words);
}

static int emit_faults(struct rnic_state *state, const struct port *port, const struct module *m)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(LANES_TEXT_MAX);
	struct sample s = finding_sample("rnic.lanes", port->subject, 0);
	bool by_light = true;
	unsigned i;

	for (i = 0; i < m->n_lanes; i++) {
		const struct module_lane *lane = &m->lanes[i];
		const char *what = lane->tx_fault ? "its laser failed"
				   : lane->rx_los ? "no light received"
				   : lane->rx_lol ? "no clock can be recovered from the signal"
						  : NULL;

		if (!what)
			continue;
		by_light = by_light && !lane->tx_fault;
		s.value += 1;
		(void)strbuf_printf(&words, "%slane %u: %s", words.len ? ", " : "", i + 1, what);
	}
	if (!words.len)
		return rnic_emit(state, &s, FINDING_GOOD, "no fault on %u lanes", m->n_lanes);
	s.code = xstrdup("lane-fault");
	return rnic_emit(state, &s, finding_of(port, FLAG_LOW_ALARM, by_light), "%s",
			 strbuf_text(&words));
}

/* --- one port ----------------------------------------------------------------------------------- */

static bool read_part(const struct rnic_state *state, const struct port *port,
		      struct module_image *image, enum module_part part)
{
	const struct module_place *place = &module_places[part];
	uint8_t *bytes = image->bytes[part];
	int r;

	/* The network device of an InfiniBand port, if any, cannot access the module. */
	if (mlx5_register_is_of(port))
		r = mlx5_register_module(state->nic, port, place, bytes);
	else
		r = state->nic->module(state->nic->context, port->netdev, place, bytes);
	image->there[part] = r == 0;
	return r == 0;
}

static int read_module(const struct rnic_state *state, const struct port *port, struct module *ret)
{
	CLEANUP(freep) struct module_image *image = xcalloc(1, sizeof(*image));
	enum module_part wanted[PARTS + 1];
	size_t i;

	if (!read_part(state, port, image, PART_LOWER))
		return -1;
	if (module_kind(image) != MODULE_SFF8472)
		(void)read_part(state, port, image, PART_PAGE_0);
	module_wants(image, wanted);
	for (i = 0; wanted[i] != PARTS; i++)
		(void)read_part(state, port, image, wanted[i]);
	return module_decode(image, ret);
}

/* Has the module latched any flag since it was last read? */
static bool has_flags(const struct module *m)
{
	unsigned flags = m->temperature.flags | m->voltage.flags, i, k;

	for (i = 0; i < m->n_lanes; i++) {
		const struct module_lane *lane = &m->lanes[i];

		for (k = 0; k < MONITORS; k++)
			flags |= lane->monitors[k].flags;
		if (lane->rx_los || lane->rx_lol || lane->tx_fault)
			return true;
	}
	return flags != 0;
}

/*
 * Flags are latched until read. At the first reading in a boot they date from before the link was
 * up, so read again: what persists is set again.
 */
static int look_at(const struct rnic_state *state, const struct port *port, struct module *ret)
{
	int r = read_module(state, port, ret);

	return r == 0 && !state->same_boot && has_flags(ret) ? read_module(state, port, ret) : r;
}

static int emit_identity(struct rnic_state *state, const struct port *port, const struct module *m)
{
	struct sample s = finding_sample("rnic.module_type", port->subject, 1);
	CLEANUP(freep) char *text = xasprintf("%s %s", m->vendor, m->part);

	s.params = json_pack("{s:s}", "setting", text);
	return rnic_emit(state, &s, FINDING_NOTE, "%s, serial %s, %s%s", text, m->serial,
			 module_kind_names[m->kind], m->copper ? ", copper" : "");
}

static int tell_module(struct rnic_state *state, const struct port *port, const struct module *m)
{
	unsigned k;
	int r = emit_identity(state, port, m);

	if (r == 0)
		r = emit_one(state, port, "rnic.module_temperature", "C", &m->temperature,
			     &m->temperature_limits);
	if (r == 0)
		r = emit_one(state, port, "rnic.module_voltage", "V", &m->voltage,
			     &m->voltage_limits);
	for (k = 0; k < MONITORS && r == 0; k++)
		r = emit_lanes(state, port, m, (enum module_monitor)k);
	return r == 0 && m->n_lanes ? emit_faults(state, port, m) : r;
}

int rnic_optics(struct rnic_state *state)
{
	size_t i;
	int r = 0;

	for (i = 0; i < state->ports->n && r == 0; i++) {
		const struct port *port = &state->ports->all[i];
		struct module m;

		/* A module's bus is slow; what there is no time for is left to the next run. */
		if ((!port->netdev[0] && !mlx5_register_is_of(port)) ||
		    clock_mono_us() >= state->deadline_us)
			continue;
		if (look_at(state, port, &m) == 0)
			r = tell_module(state, port, &m);
	}
	return r;
}
