/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/link_watch.h"

#include <stdio.h>

#include "agents/assayd/link_inside.h"
#include "agents/assayd/watch_pace.h"

void link_watch_init(struct link_watch *w)
{
	w->n = 0;
}

/* --- flaps ---------------------------------------------------------------------- */

size_t link_flaps(const struct link_port *port, uint64_t now_us)
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

/* The first ones are news, more of them a count a minute. */
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

/* How often the link went down since it was last looked at, as the kernel counted. */
static uint64_t counted_downs(const struct link_port *port, const struct link_seen *seen)
{
	/* A smaller number is a new device. */
	return port->counted && seen->counted && seen->downs > port->downs
		       ? seen->downs - port->downs
		       : 0;
}

/*
 * Flaps between two looks: how often it came up again. What an operator or a
 * driver did in between also counts as a down in the kernel's eyes.
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
	/* It was down: each further down had an up before it. */
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

/* --- what is to be told --------------------------------------------------------------- */

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

/* When the word that was told last is no longer the right one. */
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
