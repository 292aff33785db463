/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/bad_run.h"

#include <math.h>

#include "lib/judge/reference.h"
#include "lib/judge/verdict_item.h"
#include "lib/policy/windows.h"

enum {
	FLEET = 1 << SOURCE_FLEET,
	FILE_ = 1 << SOURCE_SKU,
	PEERS = 1 << SOURCE_PEERS,
	HISTORY = 1 << SOURCE_HISTORY
};

/*
 * Three quarters of the 10 % that slow hosts lose: good ones vary by 5 % with boots and hot hours.
 */
#define DROP_ALONE 0.075

/* The ratio of value to expected, less than 1 on the bad side. */
static double part_of(const struct verdict_item *item)
{
	return item->floor > item->expected ? item->expected / item->value
					    : item->value / item->expected;
}

bool bad_run_by_file_alone(const struct verdict_item *item)
{
	return item->low_by == FILE_;
}

int bad_run_blames(const struct verdict_item *item)
{
	if (bad_run_by_file_alone(item))
		return SOURCE_SKU;
	return item->source == SOURCE_SKU && item->low_by != FILE_ && item->low_by ? SOURCE_PEERS
										   : item->source;
}

bool bad_run_by_peers_alone(const struct verdict_item *item)
{
	return item->low_by == PEERS && part_of(item) >= REFERENCE_BROKEN;
}

/* A host as a whole has a limit of its own: self_baseline.h. */
static bool is_bad_part(const struct verdict *v, const struct verdict_item *item)
{
	if (item->level < VERDICT_WARN)
		return false;
	if (item->low_by == 0)
		return true;
	/* If others pass it, its own history alone must show more than the least slack. */
	if (item->usual == USUAL_DROPPED)
		return item->low_by != HISTORY || item->known_by == HISTORY ||
		       streq(item->subject, v->node) || part_of(item) < 1 - DROP_ALONE;
	if (item->known_by & FLEET)
		return item->low_by & FLEET;
	/* One says low and another passes it: two of three do not agree. */
	return !bad_run_by_peers_alone(item) &&
	       (item->level == VERDICT_FAIL || item->low_by == item->known_by);
}

bool bad_run(const struct verdict *v, size_t i)
{
	const struct verdict_item *item = &v->items[i];
	bool any = false;
	size_t j;

	if (!verdict_item_is_link(item))
		return is_bad_part(v, item);
	for (j = 0; j < v->n_items; j++) {
		const struct verdict_item *cell = &v->items[j];

		if (cell->level < VERDICT_WARN || !streq(cell->link, item->subject))
			continue;
		any = true;
		if (is_bad_part(v, cell))
			return true;
	}
	/* No cell is blamed by itself, but their group is. */
	return !any && item->level >= VERDICT_WARN;
}

static bool is_alike(const struct verdict_item *a, const struct verdict_item *b)
{
	return b->level != VERDICT_INCONCLUSIVE && streq(a->check, b->check) &&
	       streq(a->subject, b->subject);
}

bool bad_run_speaks(const struct verdict *v, size_t i)
{
	const struct verdict_item *item = &v->items[i];
	const bool bad = bad_run(v, i);
	size_t j;

	if (item->level == VERDICT_INCONCLUSIVE)
		return false;
	for (j = 0; j < i; j++) {
		if (is_alike(item, &v->items[j]) && (!bad || bad_run(v, j)))
			return false;
	}
	/*
	 * Worst items come first, but one that is usual in the fleet may precede one that is not.
	 */
	for (j = i + 1; !bad && j < v->n_items && v->items[j].level >= VERDICT_WARN; j++) {
		if (is_alike(item, &v->items[j]) && bad_run(v, j))
			return false;
	}
	return true;
}

bool bad_run_is_born(const struct verdict_item *item, bool born)
{
	const struct family *family = family_find(item->check, item->unit);

	if (!family->compared)
		return born;
	if (family->alike && item->low_by & FLEET)
		return false;
	if (item->usual == USUAL_UNKNOWN)
		return born ||
		       part_of(item) >= (family->silicon ? REFERENCE_BROKEN : REFERENCE_FAR);
	return item->usual == USUAL_KEPT;
}

/* A part that no reference finds low scores as low as possible. */
static double score_of(const struct bad_run_facts *facts)
{
	return isnan(facts->score) ? 0 : fmin(facts->score, 1 / facts->score);
}

struct bad_run_proof bad_run_proof(const struct bad_run_facts *facts, uint64_t k, uint64_t n)
{
	const struct family *family = family_find(facts->check, NULL);
	const bool half = facts->parts_bad > 1 && facts->parts_bad * 2 >= facts->parts;

	const bool born = family->silicon && facts->born && !half && facts->parts > 1;
	struct bad_run_proof proof = { (unsigned)MIN(k, (uint64_t)WINDOWS_MAX),
				       (unsigned)MIN(n, (uint64_t)WINDOWS_MAX) };

	if (born && !facts->deep && score_of(facts) >= REFERENCE_BROKEN)
		proof.k = proof.n = MAX(proof.n, (unsigned)BAD_RUN_BORN);
	else if (!born && family->compared && proof.k > 1 &&
		 (half || score_of(facts) >= BAD_RUN_DISTURBED))
		proof = (struct bad_run_proof){ MIN(proof.k + 1, (unsigned)WINDOWS_MAX),
						MIN(proof.n + 1, (unsigned)WINDOWS_MAX) };
	return proof;
}

bool bad_run_is_event(const char *check)
{
	const struct family *family = family_find(check, NULL);

	return !family->compared && !family->count;
}
