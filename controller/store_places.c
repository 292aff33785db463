/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store_places.h"

#include <stdlib.h>

#include "controller/neighbors.h"
#include "controller/store_sql.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/pool.h"
#include "lib/xalloc.h"

static int add_switch(struct store *s, int64_t id, size_t rail, const char *name, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_SWITCH_ADD);

	bind_int(st, 1, id);
	bind_int(st, 2, (int64_t)rail);
	bind_text(st, 3, name);
	return store_step_done(s, st, "add switch", err);
}

int store_hear(struct store *s, int64_t id, const char *text, struct err *err)
{
	CLEANUP(json_freep) json_t *topology = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	const char *heard[PAIRING_RAILS_MAX] = { NULL };
	size_t rail;
	int r = 0;

	(void)neighbors_heard(topology, heard);
	for (rail = 0; r == 0 && rail < PAIRING_RAILS_MAX; rail++) {
		if (heard[rail])
			r = add_switch(s, id, rail, heard[rail], err);
	}
	return r;
}

int store_forget_switches(struct store *s, struct err *err)
{
	return store_step_done(s, store_statement(s, SQL_SWITCHES_DROP), "drop switches", err);
}

/* The next one: 1 with its number, and its text (new memory, NULL when it cannot be unpacked). */
static int next_unheard(struct store *s, int64_t *ret_id, char **ret_text, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_UNHEARD);
	int r = store_step_row(s, st, "read topology", err);

	if (r == 1) {
		*ret_id = sqlite3_column_int64(st, 2);
		(void)store_unpack_topology(st, ret_text, NULL);
	}
	return r;
}

static int hear_next(struct store *s, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	int64_t id = 0;
	sqlite3_stmt *st;
	int r = next_unheard(s, &id, &text, err);

	if (r <= 0)
		return r;
	r = store_begin(s, err);
	if (r == 0 && text)
		r = store_hear(s, id, text, err);
	if (r < 0)
		return r;
	st = store_statement(s, SQL_TOPOLOGY_HEARD);
	bind_int(st, 1, id);
	r = store_step_done(s, st, "note topology", err);
	return r < 0 ? r : 1;
}

int store_hear_more(struct store *s, uint64_t deadline_us, struct err *err)
{
	int r;

	do {
		r = hear_next(s, err);
	} while (r == 1 && clock_mono_us() < deadline_us);
	return r;
}

int store_unheard(struct store *s, bool *ret_any, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_UNHEARD);
	int r = store_step_row(s, st, "read topology", err);

	if (r >= 0)
		*ret_any = r == 1;
	return r < 0 ? r : 0;
}

int store_switches(struct store *s, const char *digest, struct pool *pool,
		   const char *ret_switch[PAIRING_RAILS_MAX], struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_SWITCHES);
	bool any = false;
	int r;

	bind_text(st, 1, digest);
	while ((r = store_step_row(s, st, "read switches", err)) == 1) {
		const int64_t rail = sqlite3_column_int64(st, 0);
		const char *name = column_text(st, 1);

		if (rail < 0 || rail >= PAIRING_RAILS_MAX || !name)
			continue;
		any = true;
		if (!ret_switch[rail])
			ret_switch[rail] = pool_text(pool, name, strlen(name));
	}
	return r < 0 ? r : any;
}

int store_each_place(struct store *s, const char *swtch,
		     void (*each)(void *context, const char *node, bool below), void *context,
		     struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_PLACES);
	int r;

	bind_text(st, 1, swtch);
	while ((r = store_step_row(s, st, "read hosts", err)) == 1)
		each(context, column_text(st, 0), sqlite3_column_int(st, 1) != 0);
	return r;
}
