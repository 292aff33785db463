/* SPDX-License-Identifier: Apache-2.0 */
/* What agents/assayd/link_watch.h tells, and what of it outlives the program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/link_inside.h"
#include "agents/assayd/watch_pace.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/moment.h"

#define TIME_MAX 1e15 /* microseconds: 31 years */

/* How each word is told of a link; those about the device have samples of their own. */
static const struct {
	int ok, severity;
	const char *code, *note;
} words[] = {
	[WORD_GOOD] = { TRI_YES, SEVERITY_FAIL, NULL, "is up" },
	[WORD_OFF] = { TRI_NO, SEVERITY_INFO, "admin-down", "was taken down by an operator" },
	[WORD_DOWN] = { TRI_NO, SEVERITY_WARN, "link-down", "is down" },
	[WORD_LONG] = { TRI_NO, SEVERITY_FATAL, "link-down", "is down for a minute or longer" },
	[WORD_GONE] = { TRI_NO, SEVERITY_WARN, "device-gone",
			"was removed; if it is not back soon, it is lost" },
	[WORD_LOST] = { TRI_NO, SEVERITY_FATAL, "device-lost", "was removed and is not back" },
};

static uint64_t ago_us(uint64_t then_us, const struct moment *now)
{
	return now->up_us - MIN(then_us, now->up_us);
}

static void stamp_of(uint64_t then_us, const struct moment *now, char ret[static CLOCK_STAMP_SIZE])
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
static char *down_note(const struct link_port *port, enum link_word word, const struct moment *now)
{
	CLEANUP(freep)
	char *link = xasprintf("the link%s%s%s", port->netdev[0] ? " (" : "", port->netdev,
			       port->netdev[0] ? ")" : "");
	char since[CLOCK_STAMP_SIZE];

	stamp_of(port->since_us, now, since);
	if (word == WORD_GOOD && port->outage_us == 0)
		return xasprintf("%s is up", link);
	if (word == WORD_GOOD)
		return xasprintf("%s is up again since %s, after %.1f s", link, since,
				 (double)port->outage_us / 1e6);
	if (word == WORD_OFF && port->state == LINK_DOWN)
		return xasprintf("%s was put up by an operator and has no carrier yet, since %s",
				 link, since);
	return xasprintf("%s %s: %.1f s, since %s", link, words[word].note,
			 (double)ago_us(port->since_us, now) / 1e6, since);
}

static void tell_down(const struct link_port *port, enum link_word word, const struct moment *now,
		      struct report *report)
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
			 const struct moment *now, struct report *report)
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
		s.note = xasprintf("the device is back since %s", since);
	(void)report_add_sample(report, &s);
}

/* So many that the link is to be tested, or no longer. */
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

static void tell_flaps(struct link_port *port, const struct moment *now, struct report *report)
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

static void tell_port(struct link_port *port, const struct moment *now, struct report *report)
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

void link_watch_tell(struct link_watch *w, const struct moment *now, struct report *report)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		tell_port(&w->ports[i], now, report);
}

/* --- from one program to the next ---------------------------------------------- */

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
