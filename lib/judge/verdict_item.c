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

char *verdict_called(const struct judge_inputs *inputs, const char *text)
{
	if (!inputs->parts || !host_parts_may_be_in(text))
		return xstrdup(text);
	return host_parts_words(inputs->parts(inputs->parts_context), text);
}

void verdict_add(struct verdict *v, const struct report *report, const struct judge_inputs *inputs,
		 struct verdict_item item)
{
	if (inputs->parts && item.sentence && host_parts_may_be_in(item.sentence)) {
		CLEANUP(freep) char *sentence = item.sentence;

		item.sentence = verdict_called(inputs, sentence);
	}
	item.sentence = verdict_made(inputs, item.sentence);
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
