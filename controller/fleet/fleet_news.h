/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which incidents, actions and so on have changed since a version of the fleet view (fleet_view.h):
 * keeps the numbers of the latest changes of each kind. Older ones are dropped, and a client with
 * an older version reads the whole list again. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum { FLEET_NEWS_MAX = 256 };

struct fleet_news_entry {
	int64_t number;
	uint64_t version; /* of its latest change */
};

/* One kind. Zero it, and set `from`. */
struct fleet_news {
	struct fleet_news_entry entries[FLEET_NEWS_MAX]; /* oldest change first */
	size_t n;
	uint64_t from; /* all changes after this version are here */
};

/* It changed with that version, which must not decrease. */
void fleet_news_note(struct fleet_news *news, int64_t number, uint64_t version);

/* Something unknown has changed. */
void fleet_news_lose(struct fleet_news *news, uint64_t version);

/* Numbers changed after the version, oldest change first; NULL: unknown. New reference. */
json_t *fleet_news_since(const struct fleet_news *news, uint64_t since);
