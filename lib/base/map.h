/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from names to structs of the caller. The struct begins with `char *name`; the map allocates
 * it zeroed, sets its name, and frees both. Lookups allocate nothing. O(log n).
 */
#pragma once

#include <stddef.h>

/* Zero it before its first use. */
struct map {
	void *tree;
	size_t n;
};

/* Returns NULL if there is none. */
void *map_find(const struct map *map, const char *name);

/* Returns the existing entry, or a new one of `size` bytes. */
void *map_need(struct map *map, const char *name, size_t size);

/* `release` frees what the entry owns besides its name; may be NULL. */
void map_drop(struct map *map, const char *name, void (*release)(void *item));
void map_release(struct map *map, void (*release)(void *item));

/* In the order of the names. `each` must not add or remove entries. */
void map_each(const struct map *map, void (*each)(void *context, void *item), void *context);
