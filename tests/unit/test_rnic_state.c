/* SPDX-License-Identifier: Apache-2.0 */
/* The table of counters, rates over windows, and counters that only ethtool has. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/rnic_ports.h"
#include "probes/rnic_state/counter_table.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/reading.h"
#include "probes/rnic_state/window.h"
#include "tests/unit/rnic_fixture.h"
#include "tests/unit/test.h"

/* --- the table -------------------------------------------------------------------------- */

static bool is_described(const char *check)
{
	size_t i;

	for (i = 0; i < rnic_n_checks; i++) {
		if (streq(rnic_checks[i].name, check))
			return true;
	}
	return false;
}

static void every_row_is_whole(void)
{
	size_t i;

	for (i = 0; i < n_counter_rows; i++) {
		const struct counter_row *row = &counter_rows[i];

		CHECK(is_described(row->check));
		CHECK(row->name[0] && row->words[0] && row->source[0]);
		CHECK(row->bits == 64 || row->bits == 32 || row->bits <= BITS_STOP);
		CHECK((row->limit > 0) == (row->within_s > 0));
		/* No counter condemns a host by itself: DESIGN, judging. */
		CHECK(row->finding <= FINDING_WARN && row->finding != FINDING_GOOD);
	}
}

/* One sample a check: its rows stand together. */
static void the_rows_of_a_check_stand_together_and_name_a_counter_once(void)
{
	size_t i, k;

	for (i = 0; i < n_counter_rows; i++) {
		const struct counter_row *a = &counter_rows[i];

		for (k = i + 1; k < n_counter_rows; k++) {
			const struct counter_row *b = &counter_rows[k];

			CHECK(!streq(a->check, b->check) || streq(b[-1].check, a->check));
			CHECK(a->place != b->place || !streq(a->name, b->name));
		}
	}
}

static void names_fit_with_digits_in_place_of_the_mark(void)
{
	CHECK(counter_fits("rx_prio#_pause", "rx_prio3_pause"));
	CHECK(counter_fits("rx_err_lane_#_phy", "rx_err_lane_15_phy"));
	CHECK(!counter_fits("rx_prio#_pause", "rx_prio_pause"));
	CHECK(!counter_fits("rx_prio#_pause", "rx_prio123_pause"));
	CHECK(!counter_fits("rx_prio#_pause", "rx_prio3_pause_duration"));
	CHECK(!counter_fits("rx_prio#_pause", "rx_prio3_paus"));
	CHECK(!counter_fits("a", ""));
	CHECK(!counter_fits("#", ""));
	CHECK(counter_fits("", ""));
	CHECK_STR(counter_find(PLACE_ETHTOOL, "tx_prio0_pause_duration")->check, "rnic.pause_time");
	CHECK(!counter_find(PLACE_HW, "tx_prio0_pause_duration"));
	CHECK(!counter_find(PLACE_HW, "rx_write_requests"));
}

/* --- windows ----------------------------------------------------------------------------- */

static void a_full_window_is_judged_by_its_rate(void)
{
	struct window w = { 0 };

	CHECK(!window_add(&w, 300, 300, 1, 1));
	CHECK(window_add(&w, 301, 300, 1, 1));
	CHECK(!window_add(&w, 0, 300, 1, 1));
	CHECK(window_is_empty(&w));
}

static void a_window_that_is_not_full_is_bad_only_when_all_came(void)
{
	struct window w = { 0 };

	CHECK(!window_add(&w, 100, 60, 120, 3600));
	CHECK(!window_add(&w, 20, 60, 120, 3600));
	CHECK(window_add(&w, 1, 60, 120, 3600));
	/* and what the hour was holds until the next is full */
	CHECK(window_add(&w, 0, 3600 - 180, 120, 3600));
	CHECK(window_add(&w, 0, 3599, 120, 3600));
	CHECK(!window_add(&w, 0, 1, 120, 3600));
}

static void a_time_that_is_not_known_judges_nothing(void)
{
	struct window w = { .sum = 5, .age_s = 7 };

	CHECK(!window_add(&w, 1e9, NAN, 1, 1));
	CHECK(!window_add(&w, 1e9, -1, 1, 1));
	CHECK_NEAR(w.sum, 5, 0);
	CHECK(!window_add(&w, 1e9, 0, 1e9 + 6, 60));
	CHECK_NEAR(w.sum, 1e9 + 5, 0);
}

/* --- text ---------------------------------------------------------------------------------- */

static void rates_are_read(void)
{
	static const struct {
		const char *text;
		double rate;
		unsigned lanes;
	} cases[] = {
		{ "400 Gb/sec (4X NDR)", 400e9, 4 },
		{ "2.5 Gb/sec (1X SDR)", 2.5e9, 1 },
		{ "10 Gb/sec", 10e9, 0 },
		{ "", 0, 0 },
		{ "fast", 0, 0 },
		{ "-1 Gb/sec (4X NDR)", 0, 0 },
		{ "400 Gb/sec (99999999999999999999X NDR)", 400e9, 0 },
		{ "400 Gb/sec (", 400e9, 0 },
	};
	unsigned lanes = 7;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_NEAR(port_rate(cases[i].text, &lanes), cases[i].rate, 1);
		CHECK_EQ(lanes, cases[i].lanes);
	}
}

static void devices_are_found_in_a_list(void)
{
	CHECK(port_listed("mlx5_0,mlx5_1", "mlx5_1"));
	CHECK(port_listed("mlx5_1", "mlx5_1"));
	CHECK(!port_listed("mlx5_10,mlx5_11", "mlx5_1"));
	CHECK(!port_listed("", "mlx5_1"));
	CHECK(!port_listed(",,", "mlx5_1"));
	CHECK(!port_listed(NULL, "mlx5_1"));
}

static void the_fastest_mode_is_found(void)
{
	const uint32_t none[4] = { 0 }, only_autoneg[4] = { 1 << 6 };
	/* 100000baseKR4 (36), 400000baseKR8 (69), 400000baseCR4 (89) */
	const uint32_t fast[4] = { 0, 1 << 4, 1 << 5 | 1 << 25, 0 };

	CHECK_NEAR(nic_fastest_mode(none, 4), 0, 0);
	CHECK_NEAR(nic_fastest_mode(only_autoneg, 4), 0, 0);
	CHECK_NEAR(nic_fastest_mode(fast, 4), 400e9, 1);
	CHECK_NEAR(nic_fastest_mode(fast, 2), 100e9, 1);
	CHECK_NEAR(nic_fastest_mode(fast, 0), 0, 0);
}

/* The first and the last of each speed that needs a word of its own: an index off by one tells
 * another. */
static void a_mode_has_the_speed_of_its_name(void)
{
	static const struct {
		unsigned bit;
		double rate;
	} cases[] = {
		{ 93, 800e9 },	 /* 800000baseCR8 */
		{ 98, 800e9 },	 /* 800000baseVR8 */
		{ 99, 10e6 },	 /* 10baseT1S */
		{ 102, 10e6 },	 /* 10baseT1BRR */
		{ 103, 200e9 },	 /* 200000baseCR */
		{ 108, 200e9 },	 /* 200000baseVR */
		{ 109, 400e9 },	 /* 400000baseCR2 */
		{ 114, 400e9 },	 /* 400000baseVR2 */
		{ 115, 800e9 },	 /* 800000baseCR4 */
		{ 120, 800e9 },	 /* 800000baseVR4 */
		{ 121, 1600e9 }, /* 1600000baseCR8 */
		{ 124, 1600e9 }, /* 1600000baseDR8_2 */
		{ 125, 0 },	 /* not known yet */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t bits[4] = { 0 };

		bits[cases[i].bit / 32] = UINT32_C(1) << cases[i].bit % 32;
		CHECK_NEAR(nic_fastest_mode(bits, ARRAY_SIZE(bits)), cases[i].rate, 1);
	}
}

/* --- a port whose network device counts ----------------------------------------------------- */

static void what_only_ethtool_tells_is_compared_between_runs(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	fixture_open(&f);
	fixture_stat(&f, "rx_prio3_pause_duration", 1000);
	fixture_stat(&f, "tx_prio3_pause_duration", 1000);
	fixture_stat(&f, "rx_prio3_pause", 10);
	fixture_stat(&f, "rx_pci_signal_integrity", 0);
	fixture_stat(&f, "unknown_counter", 5);
	fixture_run(&f, rnic_counters, 100);
	CHECK_EQ(f.n_samples, 1); /* rnic.counters */

	/* 1 % of 100 s are 1,000,000 us. */
	fixture_stat(&f, "rx_prio3_pause_duration", 1000 + 1000000);
	fixture_stat(&f, "tx_prio3_pause_duration", 1000 + 1000001);
	fixture_stat(&f, "rx_prio3_pause", 12);
	fixture_stat(&f, "unknown_counter", 500);
	fixture_run(&f, rnic_counters, 200);
	s = fixture_find(&f, "rnic.pause_time");
	CHECK_STR(s->code, "tx_prio3_pause_duration");
	CHECK_NEAR(s->value, 1.000001, 1e-9);
	CHECK_EQ(s->severity, SEVERITY_WARN);
	CHECK_EQ(s->ok, TRI_NO);
	CHECK_HAS(s->note, "rx_prio3_pause_duration +1000000");
	s = fixture_find(&f, "rnic.pauses");
	CHECK_STR(s->code, "rx_prio3_pause");
	CHECK_EQ(s->ok, TRI_UNKNOWN);
	CHECK_EQ(fixture_find(&f, "rnic.host_side")->ok, TRI_YES);
	fixture_close(&f);
}

static void errors_after_correction_are_a_rate_of_enough_bits(void)
{
	static const struct {
		uint64_t bits, wrong;
		enum tristate ok;
	} cases[] = {
		{ 1000000, 50, TRI_UNKNOWN },		 /* too few bits to tell */
		{ UINT64_C(4000000000000), 1, TRI_YES }, /* 2.5e-13 */
		{ UINT64_C(4000000000000), 5, TRI_NO },	 /* 1.25e-12 */
		{ UINT64_C(100000000000000), 0, TRI_YES },
	};
	size_t i;

	/* IPoIB of mlx5 counts what the wire does as an Ethernet device does. */
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const size_t c = i / 2;
		struct rnic_fixture f;

		fixture_open(&f);
		f.port.ethernet = i % 2;
		fixture_stat(&f, "rx_bits_phy", 77);
		fixture_stat(&f, "rx_corrected_bits_phy", 0);
		fixture_stat(&f, "rx_pcs_symbol_err_phy", 3);
		fixture_run(&f, rnic_counters, 100);
		CHECK_EQ(f.n_samples, 1); /* rnic.counters */
		fixture_stat(&f, "rx_bits_phy", 77 + cases[c].bits);
		fixture_stat(&f, "rx_corrected_bits_phy", 4000);
		fixture_stat(&f, "rx_pcs_symbol_err_phy", 3 + cases[c].wrong);
		fixture_run(&f, rnic_counters, 400);
		if (cases[c].ok == TRI_UNKNOWN)
			CHECK_EQ(f.n_samples, 1);
		else
			CHECK_EQ(fixture_find(&f, "rnic.fec")->ok, cases[c].ok);
		fixture_close(&f);
	}
}

static void a_port_below_what_its_device_can_is_told(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	fixture_open(&f);
	f.link.fastest = 400e9;
	fixture_run(&f, rnic_links, 100);
	CHECK_EQ(fixture_find(&f, "rnic.rate")->ok, TRI_YES);
	f.link.fastest = 800e9;
	fixture_run(&f, rnic_links, 200);
	s = fixture_find(&f, "rnic.rate");
	CHECK_EQ(s->severity, SEVERITY_INFO);
	CHECK_HAS(s->note, "is capable of 800 Gb/s");
	fixture_close(&f);
}

static void more_counters_than_anybody_has_are_cut(void)
{
	struct readings all;
	struct port port = { .device = "none", .number = 1 };
	struct nic_stats stats = { .n = READINGS_MAX + 100 };
	size_t i;

	stats.names = xcalloc(stats.n, sizeof(*stats.names));
	stats.values = xcalloc(stats.n, sizeof(*stats.values));
	for (i = 0; i < stats.n; i++)
		(void)snprintf(stats.names[i], sizeof(stats.names[i]), "rx_prio%zu_pause", i % 100);
	readings_take(&port, &stats, &all);
	CHECK_EQ(all.n, READINGS_MAX);
	readings_release(&all);
	nic_stats_release(&stats);
}

static const struct test tests[] = {
	TEST(every_row_is_whole),
	TEST(the_rows_of_a_check_stand_together_and_name_a_counter_once),
	TEST(names_fit_with_digits_in_place_of_the_mark),
	TEST(a_full_window_is_judged_by_its_rate),
	TEST(a_window_that_is_not_full_is_bad_only_when_all_came),
	TEST(a_time_that_is_not_known_judges_nothing),
	TEST(rates_are_read),
	TEST(devices_are_found_in_a_list),
	TEST(the_fastest_mode_is_found),
	TEST(a_mode_has_the_speed_of_its_name),
	TEST(what_only_ethtool_tells_is_compared_between_runs),
	TEST(errors_after_correction_are_a_rate_of_enough_bits),
	TEST(a_port_below_what_its_device_can_is_told),
	TEST(more_counters_than_anybody_has_are_cut),
};

TEST_SUITE(tests);
