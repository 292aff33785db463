/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/link_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/watch_pace.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"

/* In increasing order of severity; those from WORD_GONE on are about the device. */
enum link_word { WORD_GOOD, WORD_OFF, WORD_DOWN, WORD_LONG, WORD_GONE, WORD_LOST };

enum flap_word { FLAPS_NONE, FLAPS_SOME, FLAPS_MANY };

enum link_word link_word(const struct link_port *port, uint64_t now_us);

enum flap_word link_flap_word(size_t flaps);

/* Number of flaps within the window that ends now. */
static size_t link_flaps(const struct link_port *port, uint64_t now_us);

/* Samples of agents/assayd/link_watch.h, and the state that outlives the program. */

#define TIME_MAX 1e15 /* microseconds: 31 years */

/* Sample of each state of a link; those about the device have samples of their own. */
static const struct {
	int ok, severity;
	const char *code, *note;
} words[] = {
	[WORD_GOOD] = { TRI_YES, SEVERITY_FAIL, NULL, "is up" },
	[WORD_OFF] = { TRI_NO, SEVERITY_INFO, "admin-down", "was taken down by an operator" },
	[WORD_DOWN] = { TRI_NO, SEVERITY_WARN, "link-down", "is down" },
	[WORD_LONG] = { TRI_NO, SEVERITY_FATAL, "link-down",
			"has been down for a minute or longer" },
	[WORD_GONE] = { TRI_NO, SEVERITY_WARN, "device-gone",
			"was removed; it counts as lost if it is not back soon" },
	[WORD_LOST] = { TRI_NO, SEVERITY_FATAL, "device-lost", "was removed and is not back" },
};

static uint64_t ago_us(uint64_t then_us, const struct clock_pair *now)
{
	return now->up_us - MIN(then_us, now->up_us);
}

static void stamp_of(uint64_t then_us, const struct clock_pair *now,
		     char ret[static CLOCK_STAMP_SIZE])
{
	clock_stamp(now->real_us - MIN(ago_us(then_us, now), now->real_us), ret);
}

static struct sample sample_of(const char *check, const struct link_port *port, double value,
			       const char *unit)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(port->name);
	s.value = value;
	s.unit = xstrdup(unit);
	return s;
}

static void put_word(struct sample *s, enum link_word word)
{
	s->ok = words[word].ok;
	s->severity = words[word].severity;
	s->code = xstrdup(words[word].code);
}

/* "the link (eth2) is down: 12.3 s, since 2026-..." */
static char *down_note(const struct link_port *port, enum link_word word,
		       const struct clock_pair *now)
{
	CLEANUP(freep)
	char *link = xasprintf("the link%s%s%s", port->netdev[0] ? " (" : "", port->netdev,
			       port->netdev[0] ? ")" : "");
	char since[CLOCK_STAMP_SIZE];

	stamp_of(port->since_us, now, since);
	if (word == WORD_GOOD && port->outage_us == 0)
		return xasprintf("%s is up", link);
	if (word == WORD_GOOD)
		return xasprintf("%s has been up again since %s, after %.1f s", link, since,
				 (double)port->outage_us / 1e6);
	if (word == WORD_OFF && port->state == LINK_DOWN)
		return xasprintf("%s was brought up by an operator and has had no carrier since %s",
				 link, since);
	return xasprintf("%s %s: %.1f s, since %s", link, words[word].note,
			 (double)ago_us(port->since_us, now) / 1e6, since);
}

static void tell_down(const struct link_port *port, enum link_word word,
		      const struct clock_pair *now, struct report *report)
{
	const double down_s = port->state == LINK_DOWN ? (double)ago_us(port->since_us, now) / 1e6
						       : 0;
	struct sample s = sample_of("rnic.down_time", port, down_s, "s");

	put_word(&s, word);
	s.start = (double)(now->real_us - MIN(ago_us(port->since_us, now), now->real_us)) / 1e6;
	s.note = down_note(port, word, now);
	(void)report_add_sample(report, &s);
}

static void tell_removed(const struct link_port *port, enum link_word word,
			 const struct clock_pair *now, struct report *report)
{
	const bool gone = word >= WORD_GONE;
	struct sample s = sample_of("rnic.removed", port, gone, "1");
	char since[CLOCK_STAMP_SIZE];

	stamp_of(port->since_us, now, since);
	put_word(&s, gone ? word : WORD_GOOD);
	if (gone)
		s.note = xasprintf("the device %s: gone for %.1f s, since %s", words[word].note,
				   (double)ago_us(port->since_us, now) / 1e6, since);
	else
		s.note = xasprintf("the device has been back since %s", since);
	(void)report_add_sample(report, &s);
}

/* Sample for too many flaps, which asks for a test of the link, or its end. */
static void tell_flapping(const struct link_port *port, size_t n, bool many, struct report *report)
{
	struct sample s = sample_of("rnic.flapping", port, (double)n, "1");

	s.ok = many ? TRI_NO : TRI_YES;
	s.severity = many ? SEVERITY_WARN : SEVERITY_FAIL;
	s.code = many ? xstrdup("pair-test") : NULL;
	s.note = xasprintf("%zu flaps within 10 min%s", n,
			   many ? ": test the link with a known-good partner" : "");
	(void)report_add_sample(report, &s);
}

static void tell_flaps(struct link_port *port, const struct clock_pair *now, struct report *report)
{
	const size_t n = link_flaps(port, now->up_us);
	const enum flap_word word = link_flap_word(n);
	struct sample s = sample_of("rnic.flaps", port, (double)n, "1");
	char last[CLOCK_STAMP_SIZE] = "";

	s.ok = n == 0 ? TRI_YES : TRI_NO;
	s.severity = n == 0 ? SEVERITY_FAIL : SEVERITY_WARN;
	s.code = n == 0 ? NULL : xstrdup("link-flap");
	if (n > 0)
		stamp_of(port->flaps_us[port->n_flaps - 1], now, last);
	s.note = n == 0 ? xstrdup("no flap within 10 min")
			: xasprintf("went down and came up again %s%zu time%s within 10 min, the "
				    "last at %s",
				    n == LINK_FLAPS_KEPT ? "at least " : "", n, n == 1 ? "" : "s",
				    last);
	(void)report_add_sample(report, &s);
	if (word == FLAPS_MANY || port->flap_word == FLAPS_MANY)
		tell_flapping(port, n, word == FLAPS_MANY, report);
	if (n > 0)
		port->flap_told_us = now->up_us;
	port->flap_word = (int)word;
	port->flap_due_us = WATCH_NEVER;
}

static void tell_port(struct link_port *port, const struct clock_pair *now, struct report *report)
{
	const enum link_word word = link_word(port, now->up_us);

	if (word >= WORD_GONE || port->word >= WORD_GONE)
		tell_removed(port, word, now, report);
	if (port->was_up && word < WORD_GONE) {
		tell_down(port, word, now, report);
		tell_flaps(port, now, report);
	}
	port->word = (int)word;
}

void link_watch_tell(struct link_watch *w, const struct clock_pair *now, struct report *report)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		tell_port(&w->ports[i], now, report);
}

/* --- state across restarts --------------------------------------------------- */

static const char *const state_names[] = { "up", "down", "off", "gone", NULL };
static const char *const word_names[] = { "good", "off", "down", "long", "gone", "lost", NULL };
static const char *const flap_names[] = { "none", "some", "many", NULL };

struct kept {
	char *name, *netdev;
	bool flap_news;
	struct link_port port;
	struct jreals flaps;
};

#define AT(m) offsetof(struct kept, m)
static const struct jfield fields[] = {
	{ "name", J_STRING, AT(name), J_REQUIRED },
	{ "netdev", J_STRING, AT(netdev), J_REQUIRED },
	{ "state", J_ENUM, AT(port.state), J_REQUIRED, .names = state_names },
	{ "since_us", J_U64, AT(port.since_us), J_REQUIRED, .max = TIME_MAX },
	{ "was_up", J_BOOL, AT(port.was_up), J_REQUIRED },
	{ "settling", J_BOOL, AT(port.settling), J_REQUIRED },
	{ "counted", J_BOOL, AT(port.counted), J_REQUIRED },
	{ "downs", J_U64, AT(port.downs), J_REQUIRED },
	{ "outage_us", J_U64, AT(port.outage_us), J_REQUIRED, .max = TIME_MAX },
	{ "flaps_us", J_REALS, AT(flaps), 0, .max = LINK_FLAPS_KEPT },
	{ "flap_news", J_BOOL, AT(flap_news), J_REQUIRED },
	{ "word", J_ENUM, AT(port.word), J_REQUIRED, .names = word_names },
	{ "flap_word", J_ENUM, AT(port.flap_word), J_REQUIRED, .names = flap_names },
	{ "flap_told_us", J_U64, AT(port.flap_told_us), J_REQUIRED, .max = TIME_MAX },
};
#undef AT

static void kept_release(struct kept *k)
{
	free(k->name);
	free(k->netdev);
	free(k->flaps.v);
}

static json_t *encode_port(const struct link_port *port)
{
	CLEANUP(kept_release)
	struct kept k = { .name = xstrdup(port->name),
			  .netdev = xstrdup(port->netdev),
			  .flap_news = port->flap_due_us != WATCH_NEVER,
			  .port = *port };
	size_t i;

	k.flaps.v = xcalloc(LINK_FLAPS_KEPT, sizeof(*k.flaps.v));
	k.flaps.n = port->n_flaps;
	for (i = 0; i < port->n_flaps; i++)
		k.flaps.v[i] = (double)port->flaps_us[i];
	return jval_encode(fields, ARRAY_SIZE(fields), &k);
}

json_t *link_watch_encode(const struct link_watch *w)
{
	json_t *ports = json_array();
	size_t i;

	for (i = 0; i < w->n; i++)
		json_array_append_new(ports, encode_port(&w->ports[i]));
	return ports;
}

static void take_port(struct link_watch *w, const struct jval *row)
{
	CLEANUP(kept_release) struct kept k = { .name = NULL };
	size_t i;

	if (jval_decode(row, fields, ARRAY_SIZE(fields), 0, &k, NULL) < 0 || !k.name[0])
		return;
	(void)snprintf(k.port.name, sizeof(k.port.name), "%.63s", k.name);
	(void)snprintf(k.port.netdev, sizeof(k.port.netdev), "%.15s", k.netdev);
	for (i = 0; i < k.flaps.n; i++)
		k.port.flaps_us[i] = (uint64_t)MAX(0.0, MIN(k.flaps.v[i], TIME_MAX));
	k.port.n_flaps = k.flaps.n;
	k.port.flap_due_us = k.flap_news ? k.port.flap_told_us : WATCH_NEVER;
	w->ports[w->n++] = k.port;
}

void link_watch_decode(struct link_watch *w, const json_t *value)
{
	const struct jval list = jval_root(value, "watch.json");
	size_t i;

	for (i = 0; i < json_array_size(value) && w->n < LINK_PORTS_MAX; i++) {
		const struct jval row = jval_at(&list, i);

		take_port(w, &row);
	}
}

void link_watch_init(struct link_watch *w)
{
	w->n = 0;
}

/* --- flaps ---------------------------------------------------------------------- */

static size_t link_flaps(const struct link_port *port, uint64_t now_us)
{
	size_t n = 0;

	while (n < port->n_flaps && port->flaps_us[port->n_flaps - 1 - n] + LINK_WINDOW_US > now_us)
		n++;
	return n;
}

enum flap_word link_flap_word(size_t flaps)
{
	if (flaps == 0)
		return FLAPS_NONE;
	return flaps < LINK_FLAPS_MANY ? FLAPS_SOME : FLAPS_MANY;
}

static void add_flap(struct link_port *port, uint64_t now_us)
{
	if (port->n_flaps == LINK_FLAPS_KEPT)
		memmove(port->flaps_us, port->flaps_us + 1,
			(--port->n_flaps) * sizeof(*port->flaps_us));
	port->flaps_us[port->n_flaps++] = now_us;
}

/* The first ones are reported at once, further ones as a count per minute. */
static void add_flaps(struct link_port *port, uint64_t n, uint64_t now_us)
{
	uint64_t due_us = now_us, i;

	if (n == 0)
		return;
	for (i = 0; i < MIN(n, (uint64_t)LINK_FLAPS_KEPT); i++)
		add_flap(port, now_us);
	if (port->flap_word == FLAPS_MANY)
		due_us = MAX(now_us, port->flap_told_us + LINK_AGAIN_US);
	port->flap_due_us = MIN(port->flap_due_us, due_us);
}

/* --- states ------------------------------------------------------------------------ */

static struct link_port *find(struct link_watch *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		if (streq(w->ports[i].name, name))
			return &w->ports[i];
	}
	return NULL;
}

static void add(struct link_watch *w, const struct link_seen *seen, uint64_t now_us)
{
	struct link_port *port = &w->ports[w->n];

	if (w->n == LINK_PORTS_MAX || seen->state == LINK_GONE)
		return;
	*port = (struct link_port){
		.state = (int)seen->state,
		.since_us = now_us,
		.was_up = seen->state == LINK_UP,
		.counted = seen->counted,
		.downs = seen->downs,
		.flap_due_us = WATCH_NEVER,
	};
	(void)snprintf(port->name, sizeof(port->name), "%.63s", seen->port);
	(void)snprintf(port->netdev, sizeof(port->netdev), "%.15s", seen->netdev);
	w->n++;
}

/* How often the link went down since the last look, by the kernel's count. */
static uint64_t counted_downs(const struct link_port *port, const struct link_seen *seen)
{
	/* A smaller number means a new device. */
	return port->counted && seen->counted && seen->downs > port->downs
		       ? seen->downs - port->downs
		       : 0;
}

/*
 * Flaps between two looks: how often it came up again. The kernel also counts downs caused by an
 * operator or a driver.
 */
static uint64_t flaps_between(const struct link_port *port, const struct link_seen *seen)
{
	const uint64_t downs = counted_downs(port, seen);

	if (port->state > LINK_DOWN || seen->state > LINK_DOWN || port->settling)
		return 0;
	if (port->state == LINK_UP && seen->state == LINK_UP)
		return downs;
	if (port->state == LINK_UP)
		return downs > 1 ? downs - 1 : 0;
	/* It was down: each further down was preceded by an up. */
	return seen->state == LINK_UP ? downs + 1 : downs;
}

static void change_state(struct link_port *port, enum link_state state, uint64_t now_us)
{
	const bool was_off = port->state == LINK_OFF || port->state == LINK_GONE;

	if (port->state == LINK_DOWN && state == LINK_UP && !port->settling)
		port->outage_us = now_us - MIN(port->since_us, now_us);
	port->settling = state == LINK_DOWN && (was_off || port->settling);
	port->state = (int)state;
	port->since_us = now_us;
}

void link_watch_see(struct link_watch *w, const struct link_seen *seen, uint64_t now_us)
{
	struct link_port *port = find(w, seen->port);
	uint64_t flaps;

	if (!port) {
		add(w, seen, now_us);
		return;
	}
	flaps = flaps_between(port, seen);
	if (flaps && port->state == LINK_UP)
		port->outage_us = 0; /* too short to see */
	if (port->state != (int)seen->state || (flaps && seen->state == LINK_DOWN))
		change_state(port, seen->state, now_us);
	port->was_up |= seen->state == LINK_UP;
	if (port->was_up)
		add_flaps(port, flaps, now_us);
	if (seen->state == LINK_GONE)
		return;
	port->counted = seen->counted;
	port->downs = seen->downs;
	(void)snprintf(port->netdev, sizeof(port->netdev), "%.15s", seen->netdev);
}

void link_watch_forget(struct link_watch *w, const char *name)
{
	struct link_port *port = find(w, name);

	if (!port)
		return;
	w->n--;
	memmove(port, port + 1, (size_t)(&w->ports[w->n] - port) * sizeof(*port));
}

/* --- what to report ------------------------------------------------------------------- */

enum link_word link_word(const struct link_port *port, uint64_t now_us)
{
	const uint64_t for_us = now_us - MIN(port->since_us, now_us);

	switch ((enum link_state)port->state) {
	case LINK_UP:
		return WORD_GOOD;
	case LINK_OFF:
		return WORD_OFF;
	case LINK_GONE:
		return for_us < LINK_LOST_US ? WORD_GONE : WORD_LOST;
	case LINK_DOWN:
		break;
	}
	if (for_us >= LINK_LONG_US)
		return WORD_LONG;
	return port->settling ? WORD_OFF : WORD_DOWN;
}

/* When the word reported last will no longer be right. */
static uint64_t word_due(const struct link_port *port)
{
	const int first = (int)link_word(port, port->since_us);
	const uint64_t later_us =
		port->since_us + (port->state == LINK_GONE ? LINK_LOST_US : LINK_LONG_US);
	const int last = (int)link_word(port, later_us);

	if (!port->was_up && port->state != LINK_GONE && port->word < WORD_GONE)
		return WATCH_NEVER;
	if (port->word == last)
		return WATCH_NEVER;
	return port->word == first ? later_us : port->since_us;
}

static uint64_t flaps_due(const struct link_port *port)
{
	uint64_t due_us = port->flap_due_us;

	if (port->n_flaps == 0)
		return due_us;
	if (port->flap_word == FLAPS_MANY && port->n_flaps >= LINK_FLAPS_MANY)
		return MIN(due_us, port->flaps_us[port->n_flaps - LINK_FLAPS_MANY] + LINK_WINDOW_US);
	if (port->flap_word != FLAPS_NONE)
		return MIN(due_us, port->flaps_us[port->n_flaps - 1] + LINK_WINDOW_US);
	return due_us;
}

uint64_t link_watch_due(const struct link_watch *w)
{
	uint64_t due_us = WATCH_NEVER;
	size_t i;

	for (i = 0; i < w->n; i++) {
		due_us = MIN(due_us, word_due(&w->ports[i]));
		due_us = MIN(due_us, flaps_due(&w->ports[i]));
	}
	return due_us;
}
