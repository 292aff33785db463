/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/accused.h"

#include <stdio.h>

#include "controller/job/accusers.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)
#define WEEK (7 * USEC_PER_DAY)

static json_t *say(json_t *list, const char *node, uint64_t last_us)
{
	const struct accused_words words = { node, "compute", last_us - USEC_PER_MIN, last_us };

	return accused_note(list, &words);
}

static void a_host_is_there_once_and_keeps_its_acquittal(void)
{
	CLEANUP(json_freep) json_t *list = json_array();
	json_t *entry = say(list, "gpu-17", NOW - USEC_PER_HOUR);

	(void)json_object_set_new(entry, "acquitted", json_stamp(NOW - USEC_PER_MIN));
	CHECK(say(list, "gpu-17", NOW) == entry);
	CHECK_EQ(json_array_size(list), 1);
	CHECK_EQ(accused_stamp(entry, "last"), NOW);
	CHECK_EQ(accused_stamp(entry, "acquitted"), NOW - USEC_PER_MIN);
	CHECK_EQ(accused_stamp(entry, "told"), 0);
	CHECK(accused_find(list, "gpu-18") == NULL);
}

static void what_is_old_is_forgotten_unless_it_was_acquitted_since(void)
{
	CLEANUP(json_freep) json_t *list = json_array();
	CLEANUP(json_freep) json_t *left = NULL;
	CLEANUP(json_freep) json_t *none = accused_recall(NULL, NOW);
	json_t *entry = say(list, "old", NOW - 1000);

	(void)say(list, "older", NOW - USEC_PER_HOUR);
	(void)say(list, "new", NOW + 1000);
	entry = say(list, "acquitted", NOW - USEC_PER_HOUR);
	(void)json_object_set_new(entry, "acquitted", json_stamp(NOW));
	left = accused_recall(list, NOW);
	CHECK_EQ(json_array_size(left), 2);
	CHECK(accused_find(left, "new") && accused_find(left, "acquitted"));
	CHECK_EQ(json_array_size(none), 0);
}

static void the_oldest_makes_room(void)
{
	CLEANUP(json_freep) json_t *list = json_array();
	char name[16];
	unsigned i;

	for (i = 0; i <= ACCUSED_MAX; i++) {
		(void)snprintf(name, sizeof(name), "gpu-%u", i);
		(void)say(list, name, NOW + i * USEC_PER_SEC);
	}
	CHECK_EQ(json_array_size(list), ACCUSED_MAX);
	CHECK(!accused_find(list, "gpu-0") && accused_find(list, "gpu-1"));
	CHECK(accused_find(list, name) != NULL);
}

static void others_are_counted_that_accuse_a_host_lately(void)
{
	CLEANUP(accusers_release) struct accusers all = { 0 };
	CLEANUP(json_freep) json_t *now = json_array();
	CLEANUP(json_freep) json_t *before = json_array();
	struct accusers_of of;

	(void)say(now, "gpu-17", NOW);
	(void)json_object_set_new(say(before, "gpu-17", NOW - WEEK - 1000), "acquitted",
				  json_stamp(NOW - WEEK));
	accusers_set(&all, 1, now);
	accusers_set(&all, 2, now);
	accusers_set(&all, 3, before);
	of = accusers_of(&all, "gpu-17", 1, NOW - WEEK);
	CHECK_EQ(of.jobs, 1); /* not itself, and what the third said is too old */
	CHECK(of.acquitted && !of.told);
	of = accusers_of(&all, "gpu-17", 4, NOW - WEEK);
	CHECK_EQ(of.jobs, 2);
	CHECK(!accusers_of(&all, "gpu-17", 4, NOW - WEEK + 1000).acquitted);
	CHECK_EQ(accusers_of(&all, "gpu-18", 4, 0).jobs, 0);
	(void)json_object_set_new(accused_find(now, "gpu-17"), "told", json_stamp(NOW));
	accusers_set(&all, 2, now); /* instead of what it said */
	of = accusers_of(&all, "gpu-17", 4, NOW - WEEK);
	CHECK_EQ(of.jobs, 2);
	CHECK(of.told);
	accusers_set(&all, 2, NULL);
	CHECK_EQ(accusers_of(&all, "gpu-17", 4, NOW - WEEK).jobs, 1);
}

static const struct test tests[] = {
	TEST(a_host_is_there_once_and_keeps_its_acquittal),
	TEST(what_is_old_is_forgotten_unless_it_was_acquitted_since),
	TEST(the_oldest_makes_room),
	TEST(others_are_counted_that_accuse_a_host_lately),
};

TEST_SUITE(tests);
