/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things by name. Each is a struct of the caller's that begins with `char *name`; the map makes it,
 * zeroed, gives it its name, and frees both. Looking one up allocates nothing. O(log n).
 */
#pragma once

#include <stddef.h>

/* Zero it before its first use. */
struct map {
	void *tree;
	size_t n;
};

/* NULL: there is none. */
void *map_find(const struct map *map, const char *name);

/* The one that is there, or a new one of `size` bytes. */
void *map_need(struct map *map, const char *name, size_t size);

/* `release` frees what the thing holds besides its name; NULL: nothing. */
void map_drop(struct map *map, const char *name, void (*release)(void *item));
void map_release(struct map *map, void (*release)(void *item));

/* In the order of their names; none may come or go meanwhile. */
void map_each(const struct map *map, void (*each)(void *context, void *item), void *context);
