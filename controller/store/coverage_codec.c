/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/coverage_codec.h"

#include <ctype.h>
#include <math.h>

#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

static bool fits(const char *text)
{
	return !text || !strpbrk(text, "\t\n");
}

/* By enum verdict_held; lines without a letter give no information. */
static const char held_letters[HELD_STATES] = { '\0', 'f', 'o', 'n' };

static size_t length_of(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Room for all of its items, passed or not. */
static size_t room_of(const struct verdict *v)
{
	size_t room = 1, i;

	for (i = 0; i < v->n_items; i++)
		room += length_of(v->items[i].check) + length_of(v->items[i].subject) +
			length_of(v->items[i].unit) + strlen("\t\t\tn\n");
	return room;
}

static char *put(char *to, const char *text, char end)
{
	to = mempcpy(to, text ? text : "", length_of(text));
	*to++ = end;
	return to;
}

char *coverage_codec_encode(const struct verdict *v)
{
	char *text = xcalloc(room_of(v), 1), *to = text;
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->level != VERDICT_PASS || !fits(item->check) || !fits(item->subject) ||
		    !fits(item->unit))
			continue;
		to = put(to, item->check, '\t');
		to = put(to, item->subject, '\t');
		to = put(to, item->unit, item->held ? '\t' : '\n');
		if (item->held) {
			/* Upper case: measured, but there was nothing to compare it with. */
			*to++ = (char)(item->unjudged ? toupper(held_letters[item->held])
						      : held_letters[item->held]);
			*to++ = '\n';
		}
	}
	return text;
}

size_t coverage_codec_count(const char *text)
{
	size_t n = 0;

	for (text = strchr(text, '\n'); text; text = strchr(text + 1, '\n'))
		n++;
	return n;
}

/* Cut `*text` at the next `end` in its line. Returns the part before it, or NULL if none. */
static char *cut(char **text, char end)
{
	char *part = *text, *found = part ? strpbrk(part, "\t\n") : NULL;

	if (!found || *found != end)
		return NULL;
	*found = '\0';
	*text = found + 1;
	return part;
}

/* Cut `*text` after the unit. Returns false if the line is broken. */
static bool cut_held(char **text, struct verdict_item *item)
{
	const char *held;
	int i;

	item->unit = cut(text, '\n');
	if (item->unit)
		return true;
	item->unit = cut(text, '\t');
	held = item->unit ? cut(text, '\n') : NULL;
	if (!held)
		return false;
	item->unjudged = isupper((unsigned char)held[0]);
	for (i = HELD_UNKNOWN + 1; i < HELD_STATES; i++) {
		if (tolower((unsigned char)held[0]) == held_letters[i] && held[1] == '\0')
			item->held = i;
	}
	return item->held != HELD_UNKNOWN;
}

void coverage_codec_decode(const char *text, struct pool *pool, struct verdict *v)
{
	char *left = pool_text(pool, text, strlen(text));

	while (*left) {
		struct verdict_item item = { .level = VERDICT_PASS,
					     .value = NAN,
					     .expected = NAN,
					     .floor = NAN,
					     .source = SOURCE_SELF };

		item.check = cut(&left, '\t');
		item.subject = item.check ? cut(&left, '\t') : NULL;
		if (!item.subject || !cut_held(&left, &item))
			return;
		v->items[v->n_items++] = item;
	}
}
