/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the ports ever seen on this host are present, up, and as fast as they can be. What is
 * known about a port is kept for good, across boots: {"SUBJECT": {active, rate, down_since}}.
 */
#include <math.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"
#include "lib/sys/sysfs.h"
#include "probes/harness/known.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/reading.h"
#include "probes/rnic_state/rnic_parts.h"
#include "probes/rnic_state/rnic_state.h"

/* A port that is down for longer is a failure by itself. */
#define DOWN_FATAL_S 60.0
/* Rates are printed with at most one decimal. */
#define RATE_SLACK 0.99
#define BITS_PER_BYTE 8.0

enum { NAMES_MAX = 512 };

/* --- ports that are gone -------------------------------------------------------------- */

/*
 * Why ports may be missing without being lost, or NULL. Devices bound to a single network namespace
 * move into the container that takes one, and a bond makes one device out of two. (host-state
 * reports a lost PCI function.)
 */
static const char *may_be_elsewhere(const struct ports *ports)
{
	size_t i;

	if (ports_may_move())
		return "it may be in another namespace";
	for (i = 0; i < ports->n; i++) {
		if (strstr(ports->all[i].device, "bond"))
			return "it may be part of a bond";
	}
	return NULL;
}

static void know_all(const struct ports *ports, struct known *now)
{
	size_t i;

	for (i = 0; i < ports->n; i++) {
		(void)snprintf(now[i].id, sizeof(now[i].id), "%s", ports->all[i].subject);
		(void)snprintf(now[i].model, sizeof(now[i].model), "%.31s", ports->all[i].model);
	}
}

/* Keep what is known about ports while they are missing. */
static void remember(struct rnic_state *state, const struct known *lost, size_t n)
{
	json_t *past = json_object_get(state->past, "ports");
	json_t *next = json_object_get(state->next, "ports");
	size_t i;

	for (i = 0; i < n; i++) {
		json_t *was = json_object_get(past, lost[i].id);

		if (was)
			(void)json_object_set(next, lost[i].id, was);
	}
}

static int emit_lost(struct rnic_state *state, const struct known *lost, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	CLEANUP(freep) char *dir = paths_state();
	const char *elsewhere = may_be_elsewhere(state->ports);
	struct sample s = finding_sample("rnic.lost", "host", (double)n);
	size_t i;

	if (n == 0)
		return rnic_emit(state, &s, FINDING_GOOD,
				 "all %zu RDMA ports ever seen here are present", state->ports->n);
	for (i = 0; i < n; i++)
		(void)strbuf_printf(&names, "%s%s (%s)", i ? ", " : "", lost[i].id, lost[i].model);
	s.code = xstrdup("device-lost");
	if (elsewhere)
		return rnic_emit(state, &s, FINDING_NOTE,
				 "seen in an earlier run but absent now: %s; %s",
				 strbuf_text(&names), elsewhere);
	return rnic_emit(state, &s, FINDING_FATAL,
			 "lost, seen in an earlier run but absent now: %s; if it was removed on "
			 "purpose, delete %s/probe/rnic-state.json",
			 strbuf_text(&names), dir);
}

/* Forget what an operator told us to ignore. Returns the number left. */
static size_t forget_excluded(const struct rnic_state *state, struct known *lost, size_t n)
{
	size_t left = 0, i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *device = xstrndup(lost[i].id, strcspn(lost[i].id, ":"));

		if (!port_listed(state->exclude, device))
			lost[left++] = lost[i];
	}
	return left;
}

static int check_lost(struct rnic_state *state)
{
	CLEANUP(freep) struct known *now = xcalloc(PORTS_MAX + 1, sizeof(*now));
	CLEANUP(freep) struct known *lost = xcalloc(KNOWN_MAX, sizeof(*lost));
	size_t n;

	know_all(state->ports, now);
	n = known_lost(json_object_get(state->past, "known"), now, state->ports->n, lost, KNOWN_MAX);
	n = forget_excluded(state, lost, n);
	(void)json_object_set_new(state->next, "known", known_encode(now, state->ports->n, lost, n));
	remember(state, lost, n);
	return emit_lost(state, lost, n);
}

/* --- ports that are down --------------------------------------------------------------- */

/* When it went down, in uptime of this boot; now, if it was not down before. */
static double down_since(const struct rnic_state *state, const struct port *port, const json_t *was)
{
	const json_t *before = json_object_get(was, "down_since");

	if (state->same_boot && json_is_number(before) && !link_went_down(state, port))
		return json_number_value(before);
	return state->uptime_s;
}

/*
 * Did an operator switch it off? (include/uapi/linux/if.h, IFF_UP.) Not without a network device,
 * nor on InfiniBand, where that is IPoIB, which may be off permanently while the port works.
 */
static bool is_taken_down(const struct port *port)
{
	uint64_t flags;

	return port->ethernet && port->netdev[0] &&
	       sys_u64(&flags, "/sys/class/net/%s/flags", port->netdev) && !(flags & IFF_UP);
}

static struct sample port_sample(const struct rnic_state *state, const struct port *port,
				 double active)
{
	struct sample s = finding_sample("rnic.port", port->subject, active);

	s.parts = rnic_parts(state, port);
	return s;
}

static int emit_down(struct rnic_state *state, const struct port *port, const json_t *was,
		     json_t *next)
{
	struct sample s = port_sample(state, port, 0);
	double since = down_since(state, port, was);
	double down_s = state->uptime_s - since;

	if (isfinite(since))
		(void)json_object_set_new(next, "down_since", json_real(since));
	if (!json_is_true(json_object_get(was, "active")))
		return rnic_emit(state, &s, FINDING_NOTE,
				 "%s (%s), and never seen active on this host", port->state,
				 port->phys_state);
	if (port->phys_up) {
		s.code = xstrdup("port-inactive");
		return rnic_emit(state, &s, FINDING_WARN,
				 "%s though the link is up: no subnet manager, or no address",
				 port->state);
	}
	if (is_taken_down(port)) {
		s.code = xstrdup("taken-down");
		return rnic_emit(state, &s, FINDING_WARN,
				 "taken down by an operator: ip link set %s up", port->netdev);
	}
	s.code = xstrdup("link-down");
	if (down_s >= DOWN_FATAL_S)
		return rnic_emit(state, &s, FINDING_FATAL,
				 "the link has been down (%s) for at least %.0f s: check cable, "
				 "module and switch port",
				 port->phys_state, down_s);
	return rnic_emit(state, &s, FINDING_WARN, "the link is down (%s)", port->phys_state);
}

static int check_port(struct rnic_state *state, const struct port *port, const json_t *was,
		      json_t *next)
{
	struct sample s;

	(void)json_object_set_new(
		next, "active",
		json_boolean(port->active || json_is_true(json_object_get(was, "active"))));
	if (!port->active)
		return emit_down(state, port, was, next);
	s = port_sample(state, port, 1);
	return rnic_emit(state, &s, FINDING_GOOD, "%s, %s, %s%s%s", port->state, port->phys_state,
			 port->rate, port->netdev[0] ? ", " : "", port->netdev);
}

/* --- slower than possible ------------------------------------------------------------- */

/* In bit/s: the port's best so far, its device's maximum, and the best port of its model. */
struct capability {
	double best, device, others;
};

static int emit_rate(struct rnic_state *state, const struct port *port, double rate,
		     const struct capability *can)
{
	struct sample s = finding_sample("rnic.rate", port->subject, rate / BITS_PER_BYTE);
	double most = MAX(can->device, can->others);

	if (port->software)
		s.params = json_pack("{s:b}", "nominal", true);
	if (rate >= RATE_SLACK * MAX(can->best, most))
		return rnic_emit(state, &s, FINDING_GOOD, "%s%s", port->rate,
				 port->software ? ", nominal" : "");
	s.code = xstrdup("rate-low");
	if (rate < RATE_SLACK * can->best)
		return rnic_emit(
			state, &s, FINDING_WARN,
			"%s, but used to run at %g Gb/s: lanes or speed were lost, check cable "
			"and module",
			port->rate, can->best / 1e9);
	if (rate < RATE_SLACK * can->others)
		return rnic_emit(state, &s, FINDING_INFO,
				 "%s, but others of its model run at %g Gb/s", port->rate,
				 can->others / 1e9);
	return rnic_emit(state, &s, FINDING_INFO, "%s, but is capable of %g Gb/s", port->rate,
			 can->device / 1e9);
}

/* The fastest active port of the same model. */
static double others_rate(const struct ports *ports, const struct port *port)
{
	double fastest = 0;
	unsigned lanes;
	size_t i;

	for (i = 0; i < ports->n; i++) {
		const struct port *other = &ports->all[i];

		if (other->active && streq(other->model, port->model))
			fastest = MAX(fastest, port_rate(other->rate, &lanes));
	}
	return fastest;
}

static int check_rate(struct rnic_state *state, const struct port *port, const json_t *was,
		      json_t *next)
{
	struct capability can = { .best = json_number_value(json_object_get(was, "rate")) };
	struct nic_link link = { 0 };
	unsigned lanes;
	double rate = port_rate(port->rate, &lanes);

	if (rate > 0 && port->active)
		can.best = MAX(can.best, rate);
	if (can.best > 0)
		(void)json_object_set_new(next, "rate", json_real(can.best));
	if (rate <= 0 || !port->active)
		return 0;
	/* The rate of Soft-RoCE is only nominal. */
	if (!port->software) {
		can.others = others_rate(state->ports, port);
		if (port->netdev[0])
			(void)state->nic->link(state->nic->context, port->netdev, &link);
		can.device = link.fastest;
	}
	return emit_rate(state, port, rate, &can);
}

/* --- everything ----------------------------------------------------------------------- */

int rnic_links(struct rnic_state *state)
{
	json_t *next = json_object();
	size_t i;
	int r;

	(void)json_object_set_new(state->next, "ports", next);
	r = check_lost(state);
	for (i = 0; i < state->ports->n && r == 0; i++) {
		const struct port *port = &state->ports->all[i];
		const json_t *was =
			json_object_get(json_object_get(state->past, "ports"), port->subject);
		json_t *one = json_object();

		(void)json_object_set_new(next, port->subject, one);
		r = check_port(state, port, was, one);
		if (r == 0)
			r = check_rate(state, port, was, one);
	}
	return r;
}
