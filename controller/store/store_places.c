/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_places.h"

#include "controller/pairing/rails.h"
#include "controller/store/store_sql.h"
#include "lib/base/pool.h"
#include "lib/json/json.h"

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

	(void)rails_heard(topology, heard);
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
