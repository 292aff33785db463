/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/watch_pace.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"
#include "tests/unit/watch_fixture.h"

#define PORT "mlx5_0:1"
#define T0 (10000 * SEC)

/*
 * A story of one port, each step at so many seconds: what is seen of it (and
 * how often the kernel saw it go down), and what a report made then says.
 * Words: "ok", "info", "warn", "fatal", "-" for no sample.
 */
struct step {
	double at_s;
	int see; /* enum link_state, or TELL */
	uint64_t downs;
	/* of TELL: since when there was something to tell, in seconds (-1: nothing), and the samples */
	double due_s;
	const char *down, *removed, *flapping;
	double flaps;
};

enum { TELL = -1 };

static const char *word_of(const struct report *report, const char *check)
{
	const struct sample *s = watch_sample(report, check, PORT);

	if (!s)
		return "-";
	if (s->ok != TRI_NO)
		return s->ok == TRI_YES ? "ok" : "?";
	return severity_names[s->severity];
}

static uint64_t us(double s)
{
	return T0 + (uint64_t)(s * 1e6);
}

static void check_report(struct link_watch *w, const struct step *step)
{
	const uint64_t due_us = link_watch_due(w);
	CLEANUP(report_release) struct report report = watch_report(NULL, w, us(step->at_s));
	const struct sample *flaps = watch_sample(&report, "rnic.flaps", PORT);

	if (step->due_s < 0)
		CHECK(due_us == WATCH_NEVER);
	else
		CHECK_EQ(due_us, us(step->due_s));
	CHECK_STR(word_of(&report, "rnic.down_time"), step->down);
	CHECK_STR(word_of(&report, "rnic.removed"), step->removed);
	CHECK_STR(word_of(&report, "rnic.flapping"), step->flapping);
	CHECK_NEAR(flaps ? flaps->value : -1, step->flaps, 0);
}

static void play(const struct step *steps, size_t n)
{
	CLEANUP(freep) struct link_watch *w = xcalloc(1, sizeof(*w));
	size_t i;

	link_watch_init(w);
	for (i = 0; i < n; i++) {
		if (steps[i].see == TELL)
			check_report(w, &steps[i]);
		else
			watch_see(w, (enum link_state)steps[i].see, steps[i].downs,
				  us(steps[i].at_s));
	}
}

#define PLAY(...)                                                    \
	do {                                                         \
		static const struct step story_[] = { __VA_ARGS__ }; \
		play(story_, ARRAY_SIZE(story_));                    \
	} while (0)

static void a_link_that_stays_down_for_a_minute_is_fatal(void)
{
	PLAY({ 0, LINK_UP, 0, 0, 0, 0, 0, 0 }, { 1, TELL, 0, -1, "ok", "-", "-", 0 },
	     { 5, LINK_DOWN, 1, 0, 0, 0, 0, 0 }, { 6, TELL, 0, 5, "warn", "-", "-", 0 },
	     { 64.9, TELL, 0, 65, "warn", "-", "-", 0 }, { 65, TELL, 0, 65, "fatal", "-", "-", 0 },
	     { 500, TELL, 0, -1, "fatal", "-", "-", 0 }, { 700, LINK_UP, 1, 0, 0, 0, 0, 0 },
	     { 701, TELL, 0, 700, "ok", "-", "-", 1 },
	     { 1300, TELL, 0, 700 + 600, "ok", "-", "-", 0 },
	     { 1301, TELL, 0, -1, "ok", "-", "-", 0 });
}

static void three_flaps_in_ten_minutes_ask_for_a_pair_test(void)
{
	PLAY({ 0, LINK_UP, 7, 0, 0, 0, 0, 0 }, { 1, LINK_DOWN, 8, 0, 0, 0, 0, 0 },
	     { 2, LINK_UP, 8, 0, 0, 0, 0, 0 }, { 3, TELL, 0, 2, "ok", "-", "-", 1 },
	     { 100, LINK_DOWN, 9, 0, 0, 0, 0, 0 }, { 101, LINK_UP, 9, 0, 0, 0, 0, 0 },
	     { 102, TELL, 0, 101, "ok", "-", "-", 2 }, { 200, LINK_DOWN, 10, 0, 0, 0, 0, 0 },
	     { 201, LINK_UP, 10, 0, 0, 0, 0, 0 }, { 202, TELL, 0, 201, "ok", "-", "warn", 3 },
	     /* The first leaves the window: two are left, then one, then none. */
	     { 602, TELL, 0, 602, "ok", "-", "ok", 2 }, { 603, TELL, 0, 801, "ok", "-", "-", 2 },
	     { 801, TELL, 0, 801, "ok", "-", "-", 0 }, { 802, TELL, 0, -1, "ok", "-", "-", 0 });
}

static void a_port_that_goes_on_flapping_is_counted_by_the_minute(void)
{
	PLAY({ 0, LINK_UP, 0, 0, 0, 0, 0, 0 }, { 1, LINK_UP, 5, 0, 0, 0, 0, 0 },
	     { 2, TELL, 0, 1, "ok", "-", "warn", 5 }, { 3, LINK_UP, 6, 0, 0, 0, 0, 0 },
	     { 4, LINK_UP, 9, 0, 0, 0, 0, 0 }, { 62, TELL, 0, 62, "ok", "-", "warn", 9 },
	     { 63, LINK_UP, 9, 0, 0, 0, 0, 0 }, { 64, TELL, 0, 604, "ok", "-", "warn", 9 });
}

/* The kernel's counter finds what was over before it was told of. */
static void flaps_too_short_to_see_are_counted(void)
{
	PLAY({ 0, LINK_UP, 3, 0, 0, 0, 0, 0 }, { 1, LINK_UP, 4, 0, 0, 0, 0, 0 },
	     { 2, TELL, 0, 1, "ok", "-", "-", 1 },
	     /* Down, up, down: one flap and down. */
	     { 3, LINK_DOWN, 6, 0, 0, 0, 0, 0 }, { 4, TELL, 0, 3, "warn", "-", "-", 2 },
	     /* Up and down again while down: the minute begins anew. */
	     { 50, LINK_DOWN, 7, 0, 0, 0, 0, 0 }, { 51, TELL, 0, 50, "warn", "-", "warn", 3 },
	     { 70, TELL, 0, 110, "warn", "-", "warn", 3 },
	     { 110, TELL, 0, 110, "fatal", "-", "warn", 3 });
	/* A counter that begins anew is another device's. */
	PLAY({ 0, LINK_UP, 300, 0, 0, 0, 0, 0 }, { 1, LINK_UP, 0, 0, 0, 0, 0, 0 },
	     { 2, TELL, 0, -1, "ok", "-", "-", 0 });
}

static void what_an_operator_does_is_no_fault(void)
{
	PLAY({ 0, LINK_UP, 0, 0, 0, 0, 0, 0 }, { 5, LINK_OFF, 1, 0, 0, 0, 0, 0 },
	     { 6, TELL, 0, 5, "info", "-", "-", 0 }, { 500, TELL, 0, -1, "info", "-", "-", 0 },
	     /* Put up: it needs a while. */
	     { 501, LINK_DOWN, 1, 0, 0, 0, 0, 0 }, { 502, TELL, 0, 561, "info", "-", "-", 0 },
	     { 510, LINK_UP, 1, 0, 0, 0, 0, 0 }, { 511, TELL, 0, 510, "ok", "-", "-", 0 },
	     { 512, TELL, 0, -1, "ok", "-", "-", 0 });
	/* Put up, and no carrier comes. */
	PLAY({ 0, LINK_UP, 0, 0, 0, 0, 0, 0 }, { 5, LINK_OFF, 1, 0, 0, 0, 0, 0 },
	     { 6, LINK_DOWN, 1, 0, 0, 0, 0, 0 }, { 7, TELL, 0, 6, "info", "-", "-", 0 },
	     { 66, TELL, 0, 66, "fatal", "-", "-", 0 });
	/* A link that was down is taken down: nothing to blame any more. */
	PLAY({ 0, LINK_UP, 0, 0, 0, 0, 0, 0 }, { 5, LINK_DOWN, 1, 0, 0, 0, 0, 0 },
	     { 6, TELL, 0, 5, "warn", "-", "-", 0 }, { 7, LINK_OFF, 1, 0, 0, 0, 0, 0 },
	     { 8, TELL, 0, 7, "info", "-", "-", 0 }, { 500, TELL, 0, -1, "info", "-", "-", 0 });
}

static void a_device_that_is_removed_is_lost_unless_it_comes_back(void)
{
	PLAY({ 0, LINK_UP, 0, 0, 0, 0, 0, 0 }, { 5, LINK_GONE, 0, 0, 0, 0, 0, 0 },
	     { 6, TELL, 0, 5, "-", "warn", "-", -1 }, { 35, TELL, 0, 35, "-", "fatal", "-", -1 },
	     { 900, TELL, 0, -1, "-", "fatal", "-", -1 }, { 901, LINK_UP, 0, 0, 0, 0, 0, 0 },
	     { 902, TELL, 0, 901, "ok", "ok", "-", 0 }, { 903, TELL, 0, -1, "ok", "-", "-", 0 });
	/* A driver that is loaded anew: down and up of its own are no flap. */
	PLAY({ 0, LINK_UP, 4, 0, 0, 0, 0, 0 }, { 5, LINK_OFF, 5, 0, 0, 0, 0, 0 },
	     { 5, LINK_GONE, 0, 0, 0, 0, 0, 0 }, { 6, TELL, 0, 5, "-", "warn", "-", -1 },
	     { 15, LINK_OFF, 0, 0, 0, 0, 0, 0 }, { 16, LINK_DOWN, 1, 0, 0, 0, 0, 0 },
	     { 20, LINK_UP, 1, 0, 0, 0, 0, 0 }, { 21, TELL, 0, 20, "ok", "ok", "-", 0 },
	     { 22, TELL, 0, -1, "ok", "-", "-", 0 });
}

static void a_port_without_a_cable_is_nobodys_fault(void)
{
	PLAY({ 0, LINK_DOWN, 0, 0, 0, 0, 0, 0 }, { 500, TELL, 0, -1, "-", "-", "-", -1 },
	     { 501, LINK_OFF, 0, 0, 0, 0, 0, 0 }, { 502, LINK_DOWN, 1, 0, 0, 0, 0, 0 },
	     { 900, TELL, 0, -1, "-", "-", "-", -1 },
	     /* Its removal is told all the same; back, it is as before. */
	     { 901, LINK_GONE, 0, 0, 0, 0, 0, 0 }, { 902, TELL, 0, 901, "-", "warn", "-", -1 },
	     { 903, LINK_DOWN, 0, 0, 0, 0, 0, 0 }, { 904, TELL, 0, 903, "-", "ok", "-", -1 },
	     { 2000, TELL, 0, -1, "-", "-", "-", -1 }, { 2001, LINK_UP, 0, 0, 0, 0, 0, 0 },
	     { 2002, TELL, 0, 2001, "ok", "-", "-", 0 });
}

static void the_sentences_name_the_port_the_time_and_the_length(void)
{
	CLEANUP(freep) struct link_watch *w = xcalloc(1, sizeof(*w));
	struct report report;

	link_watch_init(w);
	watch_see(w, LINK_UP, 0, 100 * SEC);
	watch_see(w, LINK_DOWN, 1, 200 * SEC);
	report = watch_report(NULL, w, 212 * SEC + 300000);
	CHECK_STR(watch_sample(&report, "rnic.down_time", PORT)->note,
		  "the link (eth2) is down: 12.3 s, since 1970-01-12T13:50:00.000Z");
	CHECK_NEAR(watch_sample(&report, "rnic.down_time", PORT)->value, 12.3, 1e-9);
	CHECK_STR(watch_sample(&report, "rnic.down_time", PORT)->code, "link-down");
	report_release(&report);
	watch_see(w, LINK_UP, 1, 215 * SEC);
	report = watch_report(NULL, w, 216 * SEC);
	CHECK_STR(watch_sample(&report, "rnic.down_time", PORT)->note,
		  "the link (eth2) has been up again since 1970-01-12T13:50:15.000Z, after 15.0 s");
	CHECK_STR(watch_sample(&report, "rnic.flaps", PORT)->note,
		  "went down and came up again 1 time within 10 min, the last at "
		  "1970-01-12T13:50:15.000Z");
	report_release(&report);
	watch_see(w, LINK_OFF, 1, 220 * SEC);
	report = watch_report(NULL, w, 221 * SEC);
	CHECK_STR(watch_sample(&report, "rnic.down_time", PORT)->note,
		  "the link (eth2) was taken down by an operator: 1.0 s, since "
		  "1970-01-12T13:50:20.000Z");
	report_release(&report);
	watch_see(w, LINK_GONE, 0, 300 * SEC);
	report = watch_report(NULL, w, 340 * SEC);
	CHECK_STR(watch_sample(&report, "rnic.removed", PORT)->note,
		  "the device was removed and is not back: gone for 40.0 s, since "
		  "1970-01-12T13:51:40.000Z");
	CHECK_STR(watch_sample(&report, "rnic.removed", PORT)->code, "device-lost");
	report_release(&report);
}

static void many_ports_are_bounded(void)
{
	CLEANUP(freep) struct link_watch *w = xcalloc(1, sizeof(*w));
	CLEANUP(report_release) struct report report = { .seq = 0 };
	unsigned i;

	link_watch_init(w);
	for (i = 0; i < 2 * LINK_PORTS_MAX; i++) {
		char name[LINK_NAME_SIZE];
		struct link_seen seen = { .port = name, .netdev = "", .state = LINK_UP };

		(void)snprintf(name, sizeof(name), "mlx5_%u:1", i);
		link_watch_see(w, &seen, T0);
		seen.state = LINK_DOWN;
		link_watch_see(w, &seen, T0 + SEC);
	}
	CHECK_EQ(w->n, LINK_PORTS_MAX);
	report = watch_report(NULL, w, T0 + 2 * SEC);
	CHECK_EQ(report.n_samples, 2 * LINK_PORTS_MAX);
	link_watch_forget(w, "mlx5_3:1");
	link_watch_forget(w, "no such port");
	CHECK_EQ(w->n, LINK_PORTS_MAX - 1);
	CHECK_STR(w->ports[2].name, "mlx5_2:1");
	CHECK_STR(w->ports[3].name, "mlx5_4:1");
	CHECK_STR(w->ports[LINK_PORTS_MAX - 2].name, "mlx5_255:1");
}

/* A program that ends and begins again tells nothing twice and misses no flap. */
static void what_is_known_outlives_the_program(void)
{
	CLEANUP(freep) struct link_watch *w = xcalloc(2, sizeof(*w));
	struct link_watch *again = &w[1];
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(json_freep) json_t *twice = NULL;
	struct report report;

	link_watch_init(&w[0]);
	link_watch_init(again);
	watch_see(&w[0], LINK_UP, 1, T0);
	watch_see(&w[0], LINK_DOWN, 2, T0 + SEC);
	watch_see(&w[0], LINK_UP, 2, T0 + 2 * SEC);
	value = link_watch_encode(&w[0]);
	link_watch_decode(again, value);
	twice = link_watch_encode(again);
	CHECK(json_equal(value, twice));
	CHECK(link_watch_due(again) != WATCH_NEVER);
	report = watch_report(NULL, again, T0 + 3 * SEC);
	report_release(&report);
	CHECK_EQ(link_watch_due(again), T0 + 2 * SEC + LINK_WINDOW_US);
	json_decref(value);
	value = link_watch_encode(again);
	link_watch_init(&w[0]);
	link_watch_decode(&w[0], value);
	CHECK_EQ(link_watch_due(&w[0]), T0 + 2 * SEC + LINK_WINDOW_US);
	/* Meanwhile it went down and came back. */
	watch_see(&w[0], LINK_UP, 3, T0 + 50 * SEC);
	CHECK_EQ(link_watch_due(&w[0]), T0 + 50 * SEC);
	report = watch_report(NULL, &w[0], T0 + 51 * SEC);
	CHECK_NEAR(watch_sample(&report, "rnic.flaps", PORT)->value, 2, 0);
	report_release(&report);
}

static void a_spoilt_state_is_left_out(void)
{
	static const char *const rows[] = {
		"null",
		"{}",
		"[7, null, [], {}]",
		"[{\"name\":\"a\",\"netdev\":\"b\",\"state\":\"odd\"}]",
		"[{\"name\":\"a\",\"netdev\":\"b\",\"state\":\"up\",\"since_us\":-1}]",
	};
	CLEANUP(freep) struct link_watch *w = xcalloc(1, sizeof(*w));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *value = json_loads(rows[i], JSON_DECODE_ANY, NULL);

		link_watch_init(w);
		link_watch_decode(w, value);
		CHECK_EQ(w->n, 0);
	}
}

static const struct test tests[] = {
	TEST(a_link_that_stays_down_for_a_minute_is_fatal),
	TEST(three_flaps_in_ten_minutes_ask_for_a_pair_test),
	TEST(a_port_that_goes_on_flapping_is_counted_by_the_minute),
	TEST(flaps_too_short_to_see_are_counted),
	TEST(what_an_operator_does_is_no_fault),
	TEST(a_device_that_is_removed_is_lost_unless_it_comes_back),
	TEST(a_port_without_a_cable_is_nobodys_fault),
	TEST(the_sentences_name_the_port_the_time_and_the_length),
	TEST(many_ports_are_bounded),
	TEST(what_is_known_outlives_the_program),
	TEST(a_spoilt_state_is_left_out),
};

TEST_SUITE(tests);
