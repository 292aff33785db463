/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run_list.h"

#include <math.h>
#include <stdio.h>

#include "lib/judge/verdict.h"
#include "lib/xalloc.h"

static bool fits(const char *text)
{
	return !text || !strpbrk(text, "\t\n");
}

char *run_list_encode(const struct verdict *v)
{
	char *text = NULL;
	size_t length = 0, i;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return xstrdup("");
	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->level == VERDICT_PASS && fits(item->check) && fits(item->subject) &&
		    fits(item->unit))
			(void)fprintf(out, "%s\t%s\t%s\n", item->check, item->subject,
				      item->unit ? item->unit : "");
	}
	if (fclose(out) != 0) {
		free(text);
		return xstrdup("");
	}
	return text;
}

size_t run_list_count(const char *text)
{
	size_t n = 0;

	for (text = strchr(text, '\n'); text; text = strchr(text + 1, '\n'))
		n++;
	return n;
}

/* Cut `*text` at the next `end`: the part before it, or NULL when there is none. */
static char *cut(const char **text, char end)
{
	const char *found = strchr(*text, end), *line = strchr(*text, '\n');
	char *part;

	if (!found || (line && found > line))
		return NULL;
	part = xstrndup(*text, (size_t)(found - *text));
	*text = found + 1;
	return part;
}

void run_list_decode(const char *text, struct verdict *v)
{
	while (*text) {
		struct verdict_item item = { .level = VERDICT_PASS,
					     .value = NAN,
					     .expected = NAN,
					     .floor = NAN,
					     .source = SOURCE_SELF };

		item.check = cut(&text, '\t');
		item.subject = item.check ? cut(&text, '\t') : NULL;
		item.unit = item.subject ? cut(&text, '\n') : NULL;
		if (!item.unit) {
			verdict_item_release(&item);
			return;
		}
		v->items[v->n_items++] = item;
	}
}
