/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/report_clock.h"

#include <math.h>

#include "controller/fleet/hosts.h"
#include "controller/store/store.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOON (UINT64_C(1795262400) * USEC_PER_SEC) /* 2026-11-21T12:00:00Z */

static void a_report_was_measured_when_its_age_says(void)
{
	static const struct {
		const char *age;
		uint64_t age_us;
		bool fresh, timed;
	} rows[] = {
		{ NULL, 0, true, false },
		{ "0", 0, true, true },
		{ "12.25", 12250000, true, true },
		{ "960", STORE_STALE_US, true, true },
		{ "960.1", STORE_STALE_US + 100000, false, true },
		{ "172800", 2 * USEC_PER_DAY, false, true },
		/* what says nothing is too old, never new */
		{ "unknown", STORE_STALE_US + USEC_PER_SEC, false, false },
		{ "", STORE_STALE_US + USEC_PER_SEC, false, false },
		{ "-5", STORE_STALE_US + USEC_PER_SEC, false, false },
		{ "nan", STORE_STALE_US + USEC_PER_SEC, false, false },
		{ "1e99", STORE_STALE_US + USEC_PER_SEC, false, false },
		{ "5 s", STORE_STALE_US + USEC_PER_SEC, false, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_clock a = report_clock_of(rows[i].age, NULL, NOON);

		CHECK_EQ(a.measured_us, NOON - rows[i].age_us);
		CHECK_EQ(a.fresh, rows[i].fresh);
		CHECK_EQ(a.timed, rows[i].timed);
		CHECK(isnan(a.skew_s));
	}
	CHECK_EQ(report_clock_of("172800", NULL, 5).measured_us, 0);
}

static void a_clock_that_is_off_is_told_in_words(void)
{
	static const struct {
		const char *time;
		double skew_s;
		const char *words; /* NULL: it is good enough */
	} rows[] = {
		{ NULL, NAN, NULL },
		{ "yesterday", NAN, NULL },
		{ "2026-11-21T12:00:59Z", 59, NULL },
		{ "2026-11-21T12:01:01Z", 61, "the clock of gpu-1 is 61 s ahead of the" },
		{ "2026-11-20T12:00:00Z", -86400, "the clock of gpu-1 is 24 h behind the" },
		{ "2026-11-24T12:00:00Z", 259200, "the clock of gpu-1 is 3 days ahead of" },
	};
	CLEANUP(hosts_release) struct hosts hosts = { 0 };
	size_t i;

	CHECK(host_clock_item(hosts_find(&hosts, "gpu-1")) == NULL);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_clock a = report_clock_of(NULL, rows[i].time, NOON);
		CLEANUP(json_freep) json_t *item = NULL;

		CHECK((isnan(a.skew_s) && isnan(rows[i].skew_s)) || a.skew_s == rows[i].skew_s);
		hosts_need(&hosts, "gpu-1")->skew_s = a.skew_s;
		item = host_clock_item(hosts_find(&hosts, "gpu-1"));
		CHECK_EQ(item != NULL, rows[i].words != NULL);
		if (rows[i].words)
			CHECK_HAS(json_string_value(json_object_get(item, "sentence")),
				  rows[i].words);
	}
	CHECK_EQ(hosts.n, 1);
	hosts_forget(&hosts, "gpu-2");
	CHECK_EQ(hosts.n, 1);
	hosts_forget(&hosts, "gpu-1"); /* where hosts come and go, what is kept of them goes too */
	CHECK(hosts.n == 0 && !hosts_find(&hosts, "gpu-1"));
}

static const struct test tests[] = {
	TEST(a_report_was_measured_when_its_age_says),
	TEST(a_clock_that_is_off_is_told_in_words),
};

TEST_SUITE(tests);
