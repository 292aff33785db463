/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_topology.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/pack.h"
#include "controller/store/sql/statements.h"
#include "controller/store/store_places.h"
#include "controller/store/store_sql.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology_file.h"

int store_has_topology(struct store *s, const char *digest, bool *ret_known, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	const bool known = db_any(&b, topology_find, .digest = digest);

	if (db_end(&b) == 0)
		*ret_known = known;
	return db_end(&b);
}

static uint64_t count(struct db_batch *b)
{
	struct db_topology_count_row row = { 0 };

	(void)db_one(b, topology_count, &row);
	return row.n;
}

/* Those no longer used by any host go first. */
static int make_room(struct db_batch *b, size_t max)
{
	if (count(b) < max)
		return db_end(b);
	db_add(b, topology_drop);
	db_add(b, switches_drop);
	if (count(b) >= max)
		return err_set(b->err, EDQUOT, "too many topologies: hosts use all %zu", max);
	return db_end(b);
}

int store_add_topology(struct store *s, const struct store_topology *in, size_t max, struct err *err)
{
	CLEANUP(freep) void *memory = NULL;
	struct db_topology_add_row added;
	struct packed body;
	struct db_batch b;
	int r = pack_close(in->text, strlen(in->text), &memory, &body);

	if (r < 0)
		return err_set(err, -r, "store: a topology cannot be packed");
	b = store_write(s, err);
	r = make_room(&b, max);
	if (r == 0 && db_one(&b, topology_add, &added, .digest = in->digest, .seen_us = in->seen_us,
			     .coding = body.coding, .body = { body.bytes, body.length }))
		r = store_hear(s, added.id, in->text, err);
	if (r == 0)
		r = db_end(&b);
	if (r < 0 && r != -EDQUOT)
		store_take_back(s);
	return r;
}

/* A topology while reading. */
struct unpacked {
	int64_t id;
	char *text; /* owned; NULL if it cannot be unpacked */
	int r;	    /* the error, with err set */
	bool found;
	struct err *err;
};

static void unpack(struct unpacked *ret, int64_t coding, const struct db_bytes *bytes)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TOPOLOGY_TEXT_MAX);
	const struct packed body = { (int)coding, bytes->bytes, bytes->length };

	ret->found = true;
	ret->r = pack_open(&body, &text, ret->err);
	if (ret->r == 0)
		ret->text = xstrdup(strbuf_text(&text));
}

static int read_topology(void *context, const void *p)
{
	const struct db_topology_get_row *row = p;

	unpack(context, row->coding, &row->body);
	return 1;
}

int store_topology(struct store *s, const char *digest, char **ret_text, struct err *err)
{
	struct unpacked topology = { .err = err };
	struct db_batch b = store_ask(s, err);

	db_each(&b, topology_get, read_topology, &topology, .digest = digest);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!topology.found)
		return err_set(err, ENOENT, "unknown topology '%.80s'", digest);
	if (topology.r == 0)
		*ret_text = topology.text;
	return topology.r;
}

static int read_unheard(void *context, const void *p)
{
	const struct db_topology_unheard_row *row = p;
	struct unpacked *ret = context;

	ret->id = row->id;
	unpack(ret, row->coding, &row->body);
	return 1;
}

/* Process the next one left by an older version. Returns 1, or 0 at the end. */
static int hear_next(struct store *s, struct err *err)
{
	struct unpacked topology = { 0 };
	CLEANUP(freep) char *text = NULL;
	struct db_batch b = store_ask(s, err);
	int r;

	db_each(&b, topology_unheard, read_unheard, &topology);
	text = topology.text;
	if (db_end(&b) < 0 || !topology.found)
		return db_end(&b);
	b = store_write(s, err);
	r = db_end(&b);
	if (r == 0 && text)
		r = store_hear(s, topology.id, text, err);
	if (r < 0)
		return r;
	db_add(&b, topology_heard, .id = topology.id);
	return db_end(&b) < 0 ? db_end(&b) : 1;
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
	struct db_batch b = store_ask(s, err);
	const bool any = db_any(&b, topology_unheard);

	if (db_end(&b) == 0)
		*ret_any = any;
	return db_end(&b);
}
