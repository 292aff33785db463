/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/verdict_item.h"

#include <stdlib.h>

#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"

char *verdict_text(const struct judge_inputs *inputs, char *text)
{
	return inputs->pool ? text : xstrdup(text);
}

char *verdict_made(const struct judge_inputs *inputs, char *text)
{
	char *moved;

	if (!inputs->pool || !text)
		return text;
	moved = pool_text(inputs->pool, text, strlen(text));
	free(text);
	return moved;
}

/* The sentence, which it takes, with the names that people have for the parts in it. */
static char *called(const struct judge_inputs *inputs, char *sentence)
{
	char *words;

	if (!sentence || !inputs->parts)
		return sentence;
	words = host_parts_words(inputs->parts, sentence);
	free(sentence);
	return words;
}

void verdict_add(struct verdict *v, const struct report *report, const struct judge_inputs *inputs,
		 struct verdict_item item)
{
	item.sentence = verdict_made(inputs, called(inputs, item.sentence));
	item.profile = verdict_text(inputs, report->profile);
	item.time = verdict_text(inputs, report->time);
	v->items[v->n_items++] = item;
}

bool verdict_item_is_link(const struct verdict_item *item)
{
	const char *dot = item->check ? strrchr(item->check, '.') : NULL;

	return dot && streq(dot, ".link") && item->subject && strchr(item->subject, '^');
}

bool verdict_explained(const struct verdict *v, const struct verdict_item *item)
{
	size_t i;

	for (i = 0; item->link && i < v->n_items; i++) {
		if (verdict_item_is_link(&v->items[i]) && streq(v->items[i].subject, item->link))
			return true;
	}
	return false;
}
