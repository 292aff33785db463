/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

enum { MANY = 1000 };

struct thing {
	char *name;
	unsigned number;
	char *more;
};

static void release(void *item)
{
	struct thing *thing = item;

	free(thing->more);
}

static struct thing *need(struct map *map, unsigned number)
{
	char name[16];
	struct thing *thing;

	(void)snprintf(name, sizeof(name), "n%03u", number);
	thing = map_need(map, name, sizeof(*thing));
	CHECK_STR(thing->name, name);
	return thing;
}

static void a_thing_is_made_once_and_found_by_its_name(void)
{
	struct map map = { 0 };
	struct thing *thing = need(&map, 7);

	CHECK_EQ(thing->number, 0);
	thing->number = 42;
	CHECK(need(&map, 7) == thing);
	CHECK(map_find(&map, "n007") == thing);
	CHECK(map_find(&map, "n008") == NULL);
	CHECK_EQ(map.n, 1);
	map_release(&map, NULL);
	CHECK(map_find(&map, "n007") == NULL);
	CHECK_EQ(map.n, 0);
}

struct seen {
	unsigned n;
	const char *last;
};

static void see(void *context, void *item)
{
	struct seen *seen = context;
	const struct thing *thing = item;

	CHECK(!seen->last || strcmp(seen->last, thing->name) < 0);
	seen->last = thing->name;
	seen->n++;
}

static void each_is_seen_once_in_the_order_of_names(void)
{
	struct map map = { 0 };
	struct seen seen = { 0 };
	unsigned i;

	for (i = 0; i < MANY; i++)
		need(&map, i * 7919 % MANY)->more = xstrdup("more");
	CHECK_EQ(map.n, MANY);
	for (i = 0; i < MANY; i += 2) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%03u", i);
		map_drop(&map, name, release);
		map_drop(&map, name, release); /* there is none any more */
	}
	map_each(&map, see, &seen);
	CHECK_EQ(seen.n, MANY / 2);
	CHECK_EQ(map.n, MANY / 2);
	map_release(&map, release);
	map_each(&map, see, &seen);
	CHECK_EQ(seen.n, MANY / 2);
}

static const struct test tests[] = {
	TEST(a_thing_is_made_once_and_found_by_its_name),
	TEST(each_is_seen_once_in_the_order_of_names),
};

TEST_SUITE(tests);
