/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_fr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_dump.h"
#include "lib/hang/hang_pickle.h"
#include "lib/json/json.h"

enum { ALLOC_LEAST = 16 };

struct hang_fr {
	struct hang_dump *dumps; /* owned */
	size_t n, alloc;
	char (*broken)[HANG_SENTENCE_SIZE]; /* owned; why each one could not be read */
	size_t n_broken;
};

struct hang_fr *hang_fr_new(void)
{
	return xcalloc(1, sizeof(struct hang_fr));
}

void hang_fr_free(struct hang_fr *fr)
{
	size_t i;

	for (i = 0; i < fr->n; i++)
		hang_dump_release(&fr->dumps[i]);
	free(fr->dumps);
	free(fr->broken);
	free(fr);
}

/* Parses bytes in either form. */
static int parse(struct pool *pool, const char *file, const void *bytes, size_t n,
		 const struct hang_value **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *json = NULL;
	int r;

	if (n == 0)
		return err_set(err, ENODATA, "%s: it is empty", file);
	if (hang_pickle_is(bytes, n))
		return hang_pickle_read(pool, bytes, n, file, ret, err);
	if (n > HANG_PICKLE_BYTES_MAX)
		return err_set(err, E2BIG, "%s: more than %d bytes", file, HANG_PICKLE_BYTES_MAX);
	r = json_parse(bytes, n, file, &json, err);
	if (r == 0)
		*ret = hang_value_json(pool, json);
	return r;
}

int hang_fr_add(struct hang_fr *fr, const char *file, const void *bytes, size_t n, struct err *err)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(hang_dump_release) struct hang_dump dump = { .n_groups = 0 };
	const struct hang_value *document = NULL;
	int r;

	if (fr->n >= HANG_RANKS_MAX)
		return err_set(err, E2BIG, "%s: more than %d dumps", file, HANG_RANKS_MAX);
	r = parse(&pool, file, bytes, n, &document, err);
	if (r == 0)
		r = hang_dump_read(&dump, document, file, err);
	if (r < 0)
		return r;
	if (fr->n == fr->alloc) {
		fr->alloc = MAX(fr->alloc * 2, (size_t)ALLOC_LEAST);
		fr->dumps = xrealloc(fr->dumps, fr->alloc, sizeof(*fr->dumps));
	}
	fr->dumps[fr->n++] = dump;
	dump = (struct hang_dump){ .n_groups = 0 };
	return 0;
}

void hang_fr_broken(struct hang_fr *fr, const char *why)
{
	if (fr->n_broken >= HANG_MISSING_MAX)
		return;
	fr->broken = xrealloc(fr->broken, fr->n_broken + 1, sizeof(*fr->broken));
	(void)snprintf(fr->broken[fr->n_broken++], sizeof(*fr->broken), "%s", why);
}

/* --- whose dumps they are ------------------------------------------------------- */

/* Returns true if contents prove a file name wrong. */
static bool find_ranks(struct hang_fr *fr, struct hang_case *c)
{
	struct hang_dump *dump;
	bool wrong = false;
	size_t i;

	for (i = 0; i < fr->n; i++) {
		dump = &fr->dumps[i];
		dump->taken = dump->rank >= 0 ? dump->rank : dump->name_rank;
		if (dump->rank >= 0 && dump->name_rank >= 0 && dump->rank != dump->name_rank) {
			wrong = true;
			hang_case_missing(c,
					  "%s: by its contents it is rank %" PRId64 "'s, whatever "
					  "its name says",
					  dump->file, dump->rank);
		} else if (dump->rank < 0 && dump->name_rank >= 0 &&
			   !hang_dump_may_be(dump, dump->name_rank)) {
			wrong = true;
			dump->taken = -1;
			hang_case_missing(
				c, "%s: its groups are not those of rank %" PRId64 ": left out",
				dump->file, dump->name_rank);
		} else if (dump->taken < 0) {
			hang_case_missing(c,
					  "%s: neither its name nor its contents show its rank: "
					  "left out",
					  dump->file);
		}
	}
	return wrong;
}

/* If file names are unreliable, they cannot replace contents that prove nothing. */
static void drop_named(struct hang_fr *fr, struct hang_case *c)
{
	size_t i;

	for (i = 0; i < fr->n; i++) {
		if (fr->dumps[i].rank >= 0 || fr->dumps[i].taken < 0)
			continue;
		hang_case_missing(c,
				  "%s: its contents do not prove its rank, and file names are "
				  "unreliable here: left out",
				  fr->dumps[i].file);
		fr->dumps[i].taken = -1;
	}
}

/* Of two equal dumps of a rank one is kept; of two that differ none. */
static void drop_twice(struct hang_fr *fr, struct hang_case *c)
{
	CLEANUP(freep)
	struct hang_dump **first = xcalloc(HANG_RANKS_MAX, sizeof(struct hang_dump *));
	CLEANUP(freep) bool *differ = xcalloc(HANG_RANKS_MAX, sizeof(*differ));
	struct hang_dump *dump;
	size_t i;

	for (i = 0; i < fr->n; i++) {
		dump = &fr->dumps[i];
		if (dump->taken < 0)
			continue;
		if (!first[dump->taken]) {
			first[dump->taken] = dump;
			continue;
		}
		if (!hang_dump_equal(first[dump->taken], dump))
			differ[dump->taken] = true;
		dump->taken = -1;
	}
	for (i = 0; i < HANG_RANKS_MAX; i++) {
		if (!differ[i])
			continue;
		hang_case_missing(c,
				  "rank %zu: two dumps of it differ (%s is one): both are left out",
				  i, first[i]->file);
		first[i]->taken = -1;
	}
}

/* --- into the case ------------------------------------------------------------- */

static int put_ops(const struct hang_dump *dump, const uint32_t *groups, struct hang_case *c,
		   struct err *err)
{
	const struct hang_group *group;
	struct hang_op op;
	size_t i;
	int r = 0;

	for (i = 0; i < dump->n_ops && r == 0; i++) {
		op = dump->ops[i];
		op.rank = (uint32_t)dump->taken;
		op.group = groups[op.group];
		if (op.group == HANG_NOBODY)
			continue;
		group = &c->groups[op.group];
		if (op.peer >= 0)
			op.peer = (size_t)op.peer < group->size &&
						  group->ranks[op.peer] != HANG_NOBODY
					  ? group->ranks[op.peer]
					  : HANG_UNKNOWN;
		r = hang_case_op(c, &op, err);
	}
	return r;
}

static int put_group(const struct hang_dump *dump, const struct hang_dump_group *group,
		     struct hang_case *c, uint32_t *ret, struct err *err)
{
	struct hang_position position = {
		.rank = (uint32_t)dump->taken,
		.enqueued = HANG_UNKNOWN,
		.started = HANG_UNKNOWN,
		.completed = HANG_UNKNOWN,
	};
	int r;

	*ret = HANG_NOBODY;
	if (group->size == 0)
		return 0;
	r = hang_case_group(c, group->name, group->desc, group->ranks, group->size, ret, err);
	if (r < 0)
		return r;
	c->groups[*ret].p2p = c->groups[*ret].p2p || group->p2p;
	if (group->has_status) {
		position.enqueued = group->enqueued;
		position.started = group->started;
		position.completed = group->completed;
	}
	position.group = *ret;
	return hang_case_position(c, &position, err);
}

static int put_dump(const struct hang_dump *dump, struct hang_case *c, struct err *err)
{
	CLEANUP(freep) uint32_t *groups = xcalloc(dump->n_groups + 1, sizeof(*groups));
	struct hang_rank *rank = NULL;
	size_t i;
	int r = hang_case_rank(c, dump->taken, &rank, err);

	if (r == 0)
		rank->sources |= HANG_FLIGHT_RECORDER;
	for (i = 0; i < dump->n_groups && r == 0; i++)
		r = put_group(dump, &dump->groups[i], c, &groups[i], err);
	if (r == 0)
		r = put_ops(dump, groups, c, err);
	if (dump->n_ops_left > 0)
		hang_case_missing(c, "rank %" PRId64 ": %zu operations of its dump are left out",
				  dump->taken, dump->n_ops_left);
	return r < 0 ? err_wrap(err, r, "%s", dump->file) : 0;
}

int hang_fr_put(struct hang_fr *fr, struct hang_case *c, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; i < fr->n_broken; i++)
		hang_case_missing(c, "%s", fr->broken[i]);
	if (find_ranks(fr, c))
		drop_named(fr, c);
	drop_twice(fr, c);
	for (i = 0; i < fr->n && r == 0; i++)
		if (fr->dumps[i].taken >= 0)
			r = put_dump(&fr->dumps[i], c, err);
	return r;
}
