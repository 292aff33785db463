/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/map.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"

/* Every entry begins like this. */
struct named {
	char *name;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

void *map_find(const struct map *map, const char *name)
{
	const struct named key = { (char *)(uintptr_t)name };
	void *const *found = tfind(&key, &map->tree, compare);

	return found ? *found : NULL;
}

void *map_need(struct map *map, const char *name, size_t size)
{
	struct named *item = map_find(map, name);

	if (item)
		return item;
	item = xcalloc(1, size);
	item->name = xstrdup(name);
	if (!tsearch(item, &map->tree, compare))
		abort(); /* out of memory */
	map->n++;
	return item;
}

static void item_free(struct named *item, void (*release)(void *item))
{
	if (release)
		release(item);
	free(item->name);
	free(item);
}

void map_drop(struct map *map, const char *name, void (*release)(void *item))
{
	struct named *item = map_find(map, name);

	if (!item)
		return;
	(void)tdelete(item, &map->tree, compare);
	map->n--;
	item_free(item, release);
}

void map_release(struct map *map, void (*release)(void *item))
{
	while (map->tree) {
		struct named *root = *(struct named **)map->tree;

		(void)tdelete(root, &map->tree, compare);
		item_free(root, release);
	}
	map->n = 0;
}

struct walk {
	void (*each)(void *context, void *item);
	void *context;
};

static void walk_one(const void *at, VISIT visit, void *context)
{
	const struct walk *walk = context;

	if (visit == postorder || visit == leaf)
		walk->each(walk->context, *(void *const *)at);
}

void map_each(const struct map *map, void (*each)(void *context, void *item), void *context)
{
	struct walk walk = { each, context };

	twalk_r(map->tree, walk_one, &walk);
}
