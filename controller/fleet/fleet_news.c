/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/fleet_news.h"

#include <string.h>

static void drop(struct fleet_news *news, size_t at)
{
	news->n--;
	memmove(&news->entries[at], &news->entries[at + 1],
		(news->n - at) * sizeof(news->entries[0]));
}

void fleet_news_note(struct fleet_news *news, int64_t number, uint64_t version)
{
	size_t i = 0;

	while (i < news->n && news->entries[i].number != number)
		i++;
	if (i < news->n) {
		drop(news, i);
	} else if (news->n == FLEET_NEWS_MAX) {
		news->from = news->entries[0].version;
		drop(news, 0);
	}
	news->entries[news->n++] = (struct fleet_news_entry){ number, version };
}

void fleet_news_lose(struct fleet_news *news, uint64_t version)
{
	news->n = 0;
	news->from = version;
}

json_t *fleet_news_since(const struct fleet_news *news, uint64_t since)
{
	json_t *list;
	size_t i;

	if (since < news->from)
		return json_null();
	list = json_array();
	for (i = 0; i < news->n; i++) {
		if (news->entries[i].version > since)
			(void)json_array_append_new(list, json_integer(news->entries[i].number));
	}
	return list;
}
