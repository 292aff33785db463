/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/alerts/alert_book.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static void row_release(void *item)
{
	struct alert_row *row = item;

	free(row->sentence);
}

static enum alert_kind kind_of(const char *labels)
{
	CLEANUP(json_freep) json_t *value = json_loads(labels, 0, NULL);

	return alert_kind_of(value);
}

void alert_book_load(struct alert_book *book, const char *labels, const char *sentence,
		     uint64_t since_us, bool ended)
{
	struct alert_row *row = map_need(&book->map, labels, sizeof(*row));

	free(row->sentence);
	row->sentence = xstrdup(sentence ? sentence : "");
	row->kind = kind_of(labels);
	row->state = ALERT_ROW_KEPT;
	row->since_us = since_us;
	row->ended = ended;
	row->stored = row->may_know = true;
}

/* --- finished rows --- */

struct gone {
	const char **names;
	size_t n;
};

static void find_gone(void *context, void *item)
{
	const struct alert_row *row = item;
	struct gone *gone = context;

	if (row->state == ALERT_ROW_NEW && row->ended && !row->stored)
		gone->names[gone->n++] = row->name;
}

static void sweep(struct alert_book *book)
{
	struct gone gone = { xcalloc(book->map.n + 1, sizeof(*gone.names)), 0 };

	map_each(&book->map, find_gone, &gone);
	while (gone.n > 0)
		map_drop(&book->map, gone.names[--gone.n], row_release);
	free(gone.names);
}

/* --- current alerts --- */

struct meeting {
	struct alert_book *book;
	const struct alert_set *set;
	uint64_t real_us, mono_us;
};

/* It is over. That is not sent if the Alertmanager cannot know of it. */
static void end_row(struct alert_row *row, uint64_t mono_us)
{
	row->ended = true;
	row->waits_us = mono_us;
	if (!row->stored)
		return;
	row->state = row->may_know || row->sent ? ALERT_ROW_NEW : ALERT_ROW_DROP;
}

static void meet_row(void *context, void *item)
{
	const struct meeting *m = context;
	struct alert_row *row = item;

	row->open = map_find(&m->set->map, row->name);
	row->unsure = !alert_set_knows(m->set, row->kind);
	if (!row->open && !row->ended && !row->unsure)
		end_row(row, m->mono_us);
	if (row->ended && row->waits_us == 0)
		row->waits_us = m->mono_us; /* since before the start */
}

/* It is current, or again: send it anew. */
static void meet_alert(void *context, void *item)
{
	const struct meeting *m = context;
	struct alert *a = item;
	struct alert_row *row = map_find(&m->book->map, a->name);
	const char *sentence = json_string_value(json_object_get(a->annotations, "sentence"));

	if (row && !row->ended) {
		row->open = a;
		return;
	}
	if (!row) {
		row = map_need(&m->book->map, a->name, sizeof(*row));
		row->sentence = xstrdup(sentence ? sentence : "");
		row->kind = a->kind;
	}
	row->state = ALERT_ROW_NEW;
	row->since_us = a->since_us ? MIN(a->since_us, m->real_us) : m->real_us;
	row->open = a;
	row->ended = false;
	row->told_us = 0;
	row->waits_us = m->mono_us;
}

void alert_book_meet(struct alert_book *book, const struct alert_set *set, uint64_t real_us,
		     uint64_t mono_us)
{
	struct meeting m = { book, set, real_us, mono_us };

	map_each(&book->map, meet_row, &m);
	sweep(book);
	map_each(&set->map, meet_alert, &m);
}

/* --- in the store --- */

struct keeping {
	int (*keep)(void *context, const struct alert_row *row);
	void *context;
	bool kept;
	int r;
};

static void keep_row(void *context, void *item)
{
	struct keeping *k = context;
	struct alert_row *row = item;

	if (k->r < 0 || (row->state != ALERT_ROW_NEW && row->state != ALERT_ROW_DROP))
		return;
	k->r = k->keep(k->context, row);
	if (k->r < 0)
		return;
	k->kept = row->stored = true;
	row->state = row->state == ALERT_ROW_NEW ? ALERT_ROW_PUT : ALERT_ROW_DROPPED;
}

int alert_book_keep(struct alert_book *book,
		    int (*keep)(void *context, const struct alert_row *row), void *context)
{
	struct keeping k = { .keep = keep, .context = context };

	map_each(&book->map, keep_row, &k);
	book->unkept |= k.kept;
	return MIN(k.r, 0);
}

static void commit_row(void *context UNUSED, void *item)
{
	struct alert_row *row = item;

	if (row->state == ALERT_ROW_PUT)
		row->state = ALERT_ROW_KEPT;
	if (row->state != ALERT_ROW_DROPPED)
		return;
	row->state = ALERT_ROW_NEW; /* and `ended`: it is deleted */
	row->stored = false;
}

bool alert_book_committed(struct alert_book *book)
{
	if (!book->unkept)
		return false;
	book->unkept = false;
	map_each(&book->map, commit_row, NULL);
	sweep(book);
	return true;
}

static void fail_row(void *context UNUSED, void *item)
{
	struct alert_row *row = item;

	if (row->state == ALERT_ROW_PUT)
		row->state = ALERT_ROW_NEW;
	else if (row->state == ALERT_ROW_DROPPED)
		row->state = ALERT_ROW_DROP;
}

void alert_book_failed(struct alert_book *book)
{
	book->unkept = false;
	map_each(&book->map, fail_row, NULL);
}

/* --- sending --- */

enum stage { STAGE_FIRST, STAGE_END, STAGE_REPEAT, STAGE_SOON, STAGES };

struct taking {
	struct alert_book *book;
	uint64_t now_us;
	size_t most;
	enum stage stage;
};

static bool is_wanted(const struct alert_row *row, const struct taking *t)
{
	const uint64_t age_us = t->now_us - MIN(t->now_us, row->told_us);

	if (row->state != ALERT_ROW_KEPT || row->sent ||
	    (row->refused_us && t->now_us - row->refused_us < ALERT_REFUSED_US))
		return false;
	switch (t->stage) {
	case STAGE_FIRST:
		return !row->ended && row->told_us == 0;
	case STAGE_END:
		return row->ended && !row->unsure;
	case STAGE_REPEAT:
		return !row->ended && age_us >= ALERT_REPEAT_US;
	default:
		return !row->ended && age_us >= ALERT_REPEAT_EARLY_US;
	}
}

static void take_row(void *context, void *item)
{
	const struct taking *t = context;
	struct alert_row *row = item;

	if (t->book->n >= t->most || !is_wanted(row, t))
		return;
	row->sent = true;
	row->sent_end = row->ended;
	row->knew = row->may_know;
	row->may_know = true;
	t->book->batch[t->book->n++] = row;
}

size_t alert_book_take(struct alert_book *book, uint64_t mono_us)
{
	struct taking t = { book, mono_us, book->most ? book->most : ALERT_BATCH_MAX, STAGE_FIRST };
	bool repeats = false;

	book->n = 0;
	for (t.stage = STAGE_FIRST; t.stage < STAGES; t.stage++) {
		const size_t before = book->n;

		if (t.stage == STAGE_END && book->n > 0)
			break; /* send no ends before all current alerts were sent */
		if (t.stage == STAGE_SOON && !repeats)
			break;
		map_each(&book->map, take_row, &t);
		repeats = t.stage == STAGE_REPEAT && book->n > before;
	}
	return book->n;
}

static void row_taken(struct alert_row *row, uint64_t now_us)
{
	row->refused_us = 0;
	if (!row->sent_end) {
		row->told_us = now_us;
		if (!row->ended)
			row->waits_us = 0;
		return;
	}
	row->may_know = false;
	if (row->ended)
		row->state = ALERT_ROW_DROP;
}

/* It must not block others. */
static void row_refused(struct alert_row *row, uint64_t now_us)
{
	row->refused_us = now_us;
	if (row->ended && row->sent_end)
		row->state = ALERT_ROW_DROP;
}

size_t alert_book_answer(struct alert_book *book, enum alert_result result, uint64_t mono_us)
{
	const size_t n = book->n;
	size_t i;

	for (i = 0; i < n; i++) {
		struct alert_row *row = book->batch[i];

		row->sent = false;
		if (result == ALERT_TAKEN)
			row_taken(row, mono_us);
		else if (result == ALERT_REFUSED && n == 1)
			row_refused(row, mono_us);
		else if (result == ALERT_UNSENT)
			row->may_know = row->knew;
		/* It ended while in flight to an Alertmanager that never received it. */
		if (row->ended && !row->may_know)
			row->state = ALERT_ROW_DROP;
	}
	if (result == ALERT_REFUSED)
		book->most = MAX(n / 2, (size_t)1);
	else if (result == ALERT_TAKEN && book->most)
		book->most = MIN(book->most * 2, (size_t)ALERT_BATCH_MAX);
	book->n = 0;
	return result == ALERT_TAKEN ? n : 0;
}

/* --- queries --- */

struct waiting_found {
	size_t n;
	uint64_t since_us;
};

static void count_waiting(void *context, void *item)
{
	const struct alert_row *row = item;
	struct waiting_found *found = context;

	if (!row->waits_us || row->state == ALERT_ROW_DROP || row->state == ALERT_ROW_DROPPED)
		return;
	found->since_us = found->n++ ? MIN(found->since_us, row->waits_us) : row->waits_us;
}

size_t alert_book_waiting(const struct alert_book *book, uint64_t *ret_since_us)
{
	struct waiting_found found = { 0, 0 };

	map_each(&book->map, count_waiting, &found);
	*ret_since_us = found.since_us;
	return found.n;
}

bool alert_book_tells(const struct alert_book *book, const char *labels)
{
	const struct alert_row *row = map_find(&book->map, labels);

	return row && !row->ended;
}

void alert_book_release(struct alert_book *book)
{
	map_release(&book->map, row_release);
	*book = (struct alert_book){ .n = 0 };
}
