/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_fleet.h"

#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

enum { ROOM_FIRST = 16 };

struct store_watch {
	struct store_fleet_changes changes[STORE_FLEET_KINDS];
};

/* --- hosts --- */

struct host_reader {
	store_fleet_host_fn *host;
	void *context;
};

static int read_host(void *context, const void *p)
{
	const struct db_hosts_shown_row *row = p;
	const struct host_reader *reader = context;
	const struct store_fleet_host host = {
		.node = row->node,
		.sku = row->sku,
		.level = store_within(row->verdict, VERDICT_FAIL),
		.seen_us = row->seen_us,
		.incidents = row->open,
	};

	reader->host(reader->context, &host);
	return 0;
}

int store_fleet_hosts(struct store *s, const char *after, size_t limit, store_fleet_host_fn *host,
		      void *context, struct err *err)
{
	struct host_reader reader = { host, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, hosts_shown, read_host, &reader, .after = after, .limit = limit);
	return db_end(&b);
}

int store_fleet_host(struct store *s, enum store_fleet_kind kind, int64_t number,
		     store_fleet_host_fn *host, void *context, struct err *err)
{
	struct host_reader reader = { host, context };
	struct db_batch b = store_ask(s, err);

	if (kind == STORE_FLEET_HOSTS)
		db_each(&b, host_shown, read_host, &reader, .id = number);
	else
		db_each(&b, host_of_incident_shown, read_host, &reader, .id = number);
	return db_end(&b);
}

static int read_sentence(void *context, const void *p)
{
	const struct db_host_sentence_row *row = p;
	char **ret = context;

	*ret = xstrdup(row->sentence);
	return 1;
}

int store_fleet_sentence(struct store *s, const char *node, char **ret_sentence, struct err *err)
{
	CLEANUP(freep) char *sentence = NULL;
	struct db_batch b = store_ask(s, err);

	db_each(&b, host_sentence, read_sentence, &sentence, .node = node);
	if (db_end(&b) == 0)
		*ret_sentence = TAKE(sentence);
	return db_end(&b);
}

/* --- changes --- */

static void note(struct store_fleet_changes *c, int64_t number)
{
	/* Rows are often written twice in succession. */
	if (c->lost || (c->n > 0 && c->numbers[c->n - 1] == number))
		return;
	if (c->n == STORE_FLEET_CHANGES_MAX) {
		c->lost = true;
		return;
	}
	if (c->n == c->room) {
		c->room = c->room ? c->room * 2 : ROOM_FIRST;
		c->numbers = xrealloc(c->numbers, c->room, sizeof(*c->numbers));
	}
	c->numbers[c->n++] = number;
}

/* Called for each row written, most of which are in none of these tables. */
static void on_change(void *context, const char *table, int64_t number)
{
	static const char *const tables[STORE_FLEET_KINDS] = {
		[STORE_FLEET_HOSTS] = "nodes",	   [STORE_FLEET_INCIDENTS] = "incidents",
		[STORE_FLEET_ACTIONS] = "actions", [STORE_FLEET_CAMPAIGNS] = "campaigns",
		[STORE_FLEET_JOBS] = "jobs",	   [STORE_FLEET_INVESTIGATIONS] = "investigations",
	};
	struct store_watch *watch = context;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		if (streq(tables[i], table))
			note(&watch->changes[i], number);
	}
}

void store_fleet_watch(struct store *s, bool wanted)
{
	size_t i;

	if (wanted == (s->watch != NULL))
		return;
	if (wanted) {
		s->watch = xcalloc(1, sizeof(*s->watch));
		db_watch(s->db, on_change, s->watch);
		return;
	}
	db_watch(s->db, NULL, NULL);
	for (i = 0; i < STORE_FLEET_KINDS; i++)
		store_fleet_changes_release(&s->watch->changes[i]);
	free(TAKE(s->watch));
}

struct store_fleet_changes store_fleet_take(struct store *s, enum store_fleet_kind kind)
{
	struct store_fleet_changes taken = { 0 };

	if (s->watch) {
		taken = s->watch->changes[kind];
		s->watch->changes[kind] = (struct store_fleet_changes){ 0 };
	}
	return taken;
}

void store_fleet_changes_release(struct store_fleet_changes *changes)
{
	free(changes->numbers);
	*changes = (struct store_fleet_changes){ 0 };
}
