/* SPDX-License-Identifier: Apache-2.0 */
/* The stored state of a job's beats is restored unchanged, and foreign data does no harm. */
#include "controller/job/beats_kept.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define T0 (1000000 * USEC_PER_SEC)

static const struct standstill well = { .run = 3,
					.step = 1204,
					.advanced_us = T0,
					.step_s = 8.3,
					.spread_s = 0.3,
					.first_s = 8.1,
					.first_spread_s = 0.2,
					.pause_s = 600 };

static void what_is_kept_comes_back(void)
{
	unsigned i;

	for (i = 0; i < 4; i++) {
		const struct beats_kept kept = { .told = i % 2, .ended = i / 2 };
		json_t *json = beats_kept_of(&well, &kept);
		struct beats_kept back;
		struct standstill s;

		CHECK(beats_kept_read(json, &s, &back));
		CHECK_EQ(s.run, 3);
		CHECK_EQ(s.step, 1204);
		CHECK_EQ(s.advanced_us, T0);
		CHECK_NEAR(s.step_s, 8.3, 1e-9);
		CHECK_NEAR(s.spread_s, 0.3, 1e-9);
		CHECK_NEAR(s.first_s, 8.1, 1e-9);
		CHECK_NEAR(s.first_spread_s, 0.2, 1e-9);
		CHECK_NEAR(s.pause_s, 600, 1e-9);
		CHECK_EQ(back.told, kept.told);
		CHECK_EQ(back.ended, kept.ended);
		CHECK(!beats_kept_differ(&s, &well));
		json_decref(json);
	}
}

static void what_cannot_be_is_not_taken(void)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = {
		{ "{}", false },
		{ "[]", false },
		{ "{\"run\": 0, \"step\": 1}", false },
		{ "{\"run\": 1, \"step\": -1}", false },
		{ "{\"run\": 1, \"step\": 1000000000001}", false },
		{ "{\"run\": \"1\", \"step\": 1}", false },
		{ "{\"run\": 1, \"step\": 0, \"step_s\": -3, \"pause_s\": 1e300, \"first_s\": "
		  "\"x\"}",
		  true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = json_loads(rows[i].text, 0, NULL);
		struct beats_kept kept;
		struct standstill s;

		CHECK_EQ(beats_kept_read(json, &s, &kept), rows[i].ok);
		CHECK(s.step_s >= 0 && s.step_s <= 0 && s.pause_s <= 0 && s.first_s <= 0);
		CHECK(!kept.told && !kept.ended);
		json_decref(json);
	}
}

static void it_is_kept_again_for_what_must_not_be_lost_alone(void)
{
	struct standstill s = well;

	s.step++;
	s.step_s = 9;
	s.pause_s = 700;
	CHECK(!beats_kept_differ(&s, &well));
	s.pause_s = 751;
	CHECK(beats_kept_differ(&s, &well));
	s = well;
	s.run++;
	CHECK(beats_kept_differ(&s, &well));
	s = well;
	s.first_s = 0;
	CHECK(beats_kept_differ(&well, &s));
	s = well;
	s.step_s = 0;
	CHECK(beats_kept_differ(&well, &s));
	CHECK(beats_kept_differ(&well, &(struct standstill){ 0 }));
}

static const struct test tests[] = {
	TEST(what_is_kept_comes_back),
	TEST(what_cannot_be_is_not_taken),
	TEST(it_is_kept_again_for_what_must_not_be_lost_alone),
};

TEST_SUITE(tests);
