/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_places.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/pool.h"
#include "lib/json/json.h"
#include "lib/pairing/rails.h"

int store_hear(struct store *s, int64_t id, const char *text, struct err *err)
{
	CLEANUP(json_freep) json_t *topology = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	const char *heard[PAIRING_RAILS_MAX] = { NULL };
	struct db_batch b = store_ask(s, err);
	size_t rail;

	(void)rails_heard(topology, heard);
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
		if (heard[rail])
			db_add(&b, switch_add, .topology = id, .rail = rail, .name = heard[rail]);
	}
	return db_end(&b);
}

int store_forget_switches(struct store *s, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	db_add(&b, switches_drop);
	return db_end(&b);
}

struct switches {
	const char **names; /* by rail */
	struct pool *pool;
	bool any;
};

static int read_switch(void *context, const void *p)
{
	const struct db_switches_row *row = p;
	struct switches *ret = context;

	if (row->rail < 0 || row->rail >= PAIRING_RAILS_MAX || !row->name)
		return 0;
	ret->any = true;
	if (!ret->names[row->rail])
		ret->names[row->rail] = pool_text(ret->pool, row->name, strlen(row->name));
	return 0;
}

int store_switches(struct store *s, const char *digest, struct pool *pool,
		   const char *ret_switch[PAIRING_RAILS_MAX], struct err *err)
{
	struct switches switches = { .names = ret_switch, .pool = pool };
	struct db_batch b = store_ask(s, err);

	db_each(&b, switches, read_switch, &switches, .digest = digest);
	return db_end(&b) < 0 ? db_end(&b) : switches.any;
}

struct place_reader {
	void (*each)(void *context, const char *node, bool below);
	void *context;
};

static int read_place(void *context, const void *p)
{
	const struct place_reader *reader = context;
	const struct db_places_row *row = p;

	reader->each(reader->context, row->node, row->below != 0);
	return 0;
}

int store_each_place(struct store *s, const char *swtch,
		     void (*each)(void *context, const char *node, bool below), void *context,
		     struct err *err)
{
	struct place_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, places, read_place, &reader, .name = swtch);
	return db_end(&b);
}
