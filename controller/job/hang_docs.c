/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_docs.h"

#include "controller/job/hang_logs.h"
#include "lib/base/err.h"
#include "lib/hang/hang_json.h"
#include "lib/json/json.h"

/* Largest age of a document that is accepted. */
#define SAID_AGE_MAX_S 86400.0

enum { DROPPED_AT_ONCE = 64 }; /* the rest with the next check */

void hang_docs_words_release(struct hang_docs_words *words)
{
	hang_part_release(&words->own);
	hang_part_release(&words->told);
	json_decref(words->logs);
	*words = (struct hang_docs_words){ .logs = NULL };
}

/* What RAS told, as a document of its own; missing parts are reported with the host's. */
static int read_told(const json_t *doc, struct hang_part *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *told = json_copy((json_t *)(uintptr_t)doc);
	struct jval root = jval_root(told, "hang");

	if (json_array_size(json_object_get(doc, "told")) == 0)
		return 0;
	(void)json_object_set(told, "ranks", json_object_get(doc, "told"));
	(void)json_object_del(told, "missing");
	return hang_json_read(&root, ret, err);
}

int hang_docs_read(const json_t *doc, struct hang_docs_words *ret, struct err *err)
{
	CLEANUP(hang_docs_words_release) struct hang_docs_words words = { .logs = NULL };
	struct jval root = jval_root(doc, "hang");
	int r = hang_json_read(&root, &words.own, err);

	if (r == 0)
		r = read_told(doc, &words.told, err);
	if (r < 0)
		return r;
	words.logs = hang_logs_read(doc, words.own.head.node);
	words.bytes = hang_part_bytes(&words.own) + hang_part_bytes(&words.told) +
		      hang_logs_bytes(words.logs);
	*ret = words;
	words = (struct hang_docs_words){ .logs = NULL };
	return 0;
}

static void release_said(void *item)
{
	struct hang_said *said = item;

	hang_docs_words_release(&said->words);
}

static uint64_t before(uint64_t now_us, double seconds)
{
	const uint64_t us = (uint64_t)(MIN(seconds, SAID_AGE_MAX_S) * USEC_PER_SEC);

	return now_us - MIN(now_us, us);
}

/* Same positions, but further on: a different number of positions says nothing about progress. */
static bool has_moved(const struct hang_doc_facts *was, const struct hang_doc_facts *is)
{
	return was->run == is->run && was->positions > 0 && was->positions == is->positions &&
	       was->progress != is->progress;
}

void hang_docs_put(struct hang_docs *d, const char *node, struct hang_docs_words *words,
		   const struct hang_doc_facts *facts, uint64_t now_us)
{
	struct hang_said *said = map_need(&d->hosts, node, sizeof(*said));
	const uint64_t seen_us = before(now_us, facts->age_s);

	if (said->came_us && has_moved(&said->facts, facts))
		said->moved_us = seen_us;
	d->bytes -= said->words.bytes;
	hang_docs_words_release(&said->words);
	said->words = *words;
	*words = (struct hang_docs_words){ .logs = NULL };
	d->bytes += said->words.bytes;
	said->came_us = now_us;
	said->seen_us = seen_us;
	said->facts = *facts;
	d->changed++;
}

size_t hang_docs_bytes(const struct hang_docs *d, const char *node)
{
	const struct hang_said *said = map_find(&d->hosts, node);

	return said ? said->words.bytes : 0;
}

/* --- expiry --- */

struct dropping {
	int64_t run;
	uint64_t now_us;
	const struct hang_said *gone; /* a document to drop */
};

static void find_gone(void *context, void *item)
{
	const struct hang_said *said = item;
	struct dropping *to = context;

	if (to->now_us - MIN(to->now_us, said->came_us) > HANG_DOCS_AGE_US ||
	    (to->run && said->facts.run && said->facts.run != to->run))
		to->gone = said;
}

void hang_docs_drop(struct hang_docs *d, int64_t run, uint64_t now_us)
{
	struct dropping to = { .run = run, .now_us = now_us };
	size_t i;

	for (i = 0; i < DROPPED_AT_ONCE; i++) {
		to.gone = NULL;
		map_each(&d->hosts, find_gone, &to);
		if (!to.gone)
			return;
		d->bytes -= to.gone->words.bytes;
		d->changed++;
		map_drop(&d->hosts, to.gone->name, release_said);
	}
}

/* --- summary --- */

struct looking {
	struct hung_sight sight;
	uint64_t now_us;
};

static void look(void *context, void *item)
{
	const struct hang_said *said = item;
	const struct hang_doc_facts *f = &said->facts;
	struct looking *to = context;
	struct hung_sight *sight = &to->sight;
	const uint64_t since_us = before(said->seen_us, f->still_s);

	if (to->now_us - MIN(to->now_us, said->came_us) > HUNG_FRESH_US)
		return;
	sight->moved_us = MAX(sight->moved_us, said->moved_us);
	sight->traffic |= f->traffic;
	if (!(f->still_s > 0))
		return;
	sight->sure |= f->sure;
	sight->heard_us = MAX(sight->heard_us, said->came_us);
	sight->since_us = sight->since_us ? MIN(sight->since_us, since_us) : since_us;
}

struct hung_sight hang_docs_sight(const struct hang_docs *d, uint64_t now_us)
{
	struct looking to = { .now_us = now_us };

	map_each(&d->hosts, look, &to);
	return to.sight;
}

void hang_docs_release(struct hang_docs *d)
{
	map_release(&d->hosts, release_said);
	*d = (struct hang_docs){ .bytes = 0 };
}
