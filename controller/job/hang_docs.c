/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_docs.h"

#include <stdlib.h>

/* Older than this nothing can have been said to be. */
#define SAID_AGE_MAX_S 86400.0

enum { DROPPED_AT_ONCE = 64 }; /* the rest with the next look */

static void release_said(void *item)
{
	struct hang_said *said = item;

	free(said->text);
}

static uint64_t before(uint64_t now_us, double seconds)
{
	const uint64_t us = (uint64_t)(MIN(seconds, SAID_AGE_MAX_S) * USEC_PER_SEC);

	return now_us - MIN(now_us, us);
}

/* The same positions as before, and further: other ones say nothing of how far they are. */
static bool has_moved(const struct hang_doc_facts *was, const struct hang_doc_facts *is)
{
	return was->run == is->run && was->positions > 0 && was->positions == is->positions &&
	       was->progress != is->progress;
}

void hang_docs_put(struct hang_docs *d, const char *node, struct hang_docs_new *doc, uint64_t now_us)
{
	struct hang_said *said = map_need(&d->hosts, node, sizeof(*said));
	const struct hang_doc_facts *facts = &doc->facts;
	const uint64_t seen_us = before(now_us, facts->age_s);

	if (said->text && has_moved(&said->facts, facts))
		said->moved_us = seen_us;
	d->bytes -= said->length;
	free(said->text);
	said->text = TAKE(doc->text);
	said->length = strlen(said->text);
	d->bytes += said->length;
	said->came_us = now_us;
	said->seen_us = seen_us;
	said->facts = *facts;
	d->changed++;
}

size_t hang_docs_bytes(const struct hang_docs *d, const char *node)
{
	const struct hang_said *said = map_find(&d->hosts, node);

	return said ? said->length : 0;
}

/* --- what goes --- */

struct dropping {
	int64_t run;
	uint64_t now_us;
	const struct hang_said *gone; /* one of those */
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
		d->bytes -= to.gone->length;
		d->changed++;
		map_drop(&d->hosts, to.gone->name, release_said);
	}
}

/* --- what they come to --- */

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
