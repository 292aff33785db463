/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which incidents, actions and so on have changed since a version of the view of the fleet
 * (fleet_view.h): the newest few of each kind by their numbers. Beyond these nothing is known but
 * that there were more: who saw too old a version reads the list anew. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum { FLEET_NEWS_MAX = 256 };

struct fleet_news_entry {
	int64_t number;
	uint64_t version; /* of its newest change */
};

/* Of one kind. Zero it, and say since when by `from`. */
struct fleet_news {
	struct fleet_news_entry entries[FLEET_NEWS_MAX]; /* the oldest change first */
	size_t n;
	uint64_t from; /* all that changed after this version is here */
};

/* It has changed, with that version: not below any before it. */
void fleet_news_note(struct fleet_news *news, int64_t number, uint64_t version);

/* Something has changed, and it is not known what. */
void fleet_news_lose(struct fleet_news *news, uint64_t version);

/* Numbers of those that changed after the version, the first to change first; null: not known. New
 * reference. */
json_t *fleet_news_since(const struct fleet_news *news, uint64_t since);
