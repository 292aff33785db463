/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/words.h"

#include <math.h>
#include <stdio.h>

#include "lib/pairing/view.h"

enum { SUBJECT_SIZE = 128 };

/* "gpu-7", "rail 3 of gpu-7", "switch leaf-2". */
static void name_part(const struct pairing_view *v, const struct pairing_part *part,
		      char ret[static SUBJECT_SIZE])
{
	switch (part->kind) {
	case PART_NODE:
		(void)snprintf(ret, SUBJECT_SIZE, "%s", v->p->nodes[part->node].name);
		return;
	case PART_NIC:
		(void)snprintf(ret, SUBJECT_SIZE, "rail %zu of %s", part->rail,
			       v->p->nodes[part->node].name);
		return;
	case PART_LEAF:
		(void)snprintf(ret, SUBJECT_SIZE, "switch %s", v->leaf_name[part->leaf]);
	}
}

static void name_blamed(const struct pairing_view *v, const struct pairing_blame *b,
			char ret[static SUBJECT_SIZE])
{
	if (b->leaf)
		(void)snprintf(ret, SUBJECT_SIZE, "switch %s", b->leaf);
	else if (b->node == SIZE_MAX)
		(void)snprintf(ret, SUBJECT_SIZE, "the group");
	else if (b->rail >= 0)
		(void)snprintf(ret, SUBJECT_SIZE, "rail %d of %s", b->rail,
			       v->p->nodes[b->node].name);
	else
		(void)snprintf(ret, SUBJECT_SIZE, "%s", v->p->nodes[b->node].name);
}

/* "reaches 52 % of what the others do, with 3 partners". */
static void say_how_slow(const struct pairing_blame *b, char ret[static SUBJECT_SIZE])
{
	const char *s = b->n_partners == 1 ? "" : "s";

	if (b->absent)
		(void)snprintf(ret, SUBJECT_SIZE, "did not arrive, with %zu partner%s",
			       b->n_partners, s);
	else if (isnan(b->ratio))
		(void)snprintf(ret, SUBJECT_SIZE, "is not known");
	else if (b->ratio < 0.01)
		(void)snprintf(ret, SUBJECT_SIZE, "fails, with %zu partner%s", b->n_partners, s);
	else
		(void)snprintf(ret, SUBJECT_SIZE,
			       "reaches %.0f %% of what the others reach, with %zu partner%s",
			       b->ratio * 100, b->n_partners, s);
}

static const char *const by_kind[] = {
	[PAIRING_BLAME_NODE] = "",
	[PAIRING_BLAME_LINK] = ": its NIC or the link to the switch",
	[PAIRING_BLAME_UPLINK] = ": the link to the switch, as the NIC's loopback passed",
	[PAIRING_BLAME_LEAF] = ": the switch, as the nodes below it are all slow",
	[PAIRING_UNDECIDED] = "",
};

static const char *const by_why[] = {
	[PAIRING_WHY_NONE] = "",
	[PAIRING_WHY_FEW] = "; undecided: it needs two partners, one of them good with others",
	[PAIRING_WHY_TWINS] = "; undecided: equally explained by ",
	[PAIRING_WHY_WEAK] = "; undecided: it may be noise",
	[PAIRING_WHY_LEAF] = "; undecided: it may be some of the nodes below it",
	[PAIRING_WHY_MANY] = "; undecided: half of the nodes or more would be bad",
	[PAIRING_WHY_ALIKE] =
		"; undecided: all that ran are alike, so there is nothing to compare with",
	[PAIRING_WHY_ALL_SLOW] =
		" reach on other hosts; undecided: all are slow: check what they have in common",
	[PAIRING_WHY_GONE] = "; undecided: it is gone, and was not tested enough before",
	[PAIRING_WHY_CROSS] =
		"; undecided: no good host was near, and the speed between switches is unknown",
	[PAIRING_WHY_UNMEASURED] = "; undecided: no group with it ran",
};

void pairing_word(const struct pairing_view *v, size_t other, struct pairing_blame *b)
{
	char subject[SUBJECT_SIZE], slow[SUBJECT_SIZE], twin[SUBJECT_SIZE] = "";

	name_blamed(v, b, subject);
	say_how_slow(b, slow);
	if (b->why == PAIRING_WHY_ALL_SLOW)
		(void)snprintf(slow, sizeof(slow), "reaches %.0f %% of what others", b->ratio * 100);
	if (b->why == PAIRING_WHY_WEAK && isnan(b->ratio))
		(void)snprintf(slow, sizeof(slow), "is a little low");
	if (b->why == PAIRING_WHY_TWINS && other != PAIRING_NOBODY)
		name_part(v, &v->parts[other], twin);
	(void)snprintf(b->words, sizeof(b->words), "%.100s %.100s%s%s%.60s", subject, slow,
		       by_kind[b->kind], by_why[b->why], twin);
}
