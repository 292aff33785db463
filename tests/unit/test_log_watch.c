/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/watch_pace.h"
#include "lib/base/xalloc.h"
#include "lib/sys/kmsg.h"
#include "tests/unit/test.h"
#include "tests/unit/watch_fixture.h"

#define T0 (10000 * SEC)

static const struct sample *of_device(const struct report *report, const char *subject)
{
	return watch_sample(report, LOG_CHECK, subject);
}

/* The value of the one sample of dev1 in a report that is made now; -1: it is not in it. */
static double tell(struct log_watch *w, uint64_t now_us, int *ret_ok)
{
	CLEANUP(report_release) struct report report = watch_report(w, NULL, now_us);
	const struct sample *s = of_device(&report, "dev1");

	*ret_ok = s ? s->ok : TRI_UNKNOWN;
	return s ? s->value : -1;
}

static void a_line_is_told_at_once_then_by_the_minute_then_as_over(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	int i, ok;

	watch_rules(&rules);
	log_watch_init(&w);
	CHECK(log_watch_due(&w) == WATCH_NEVER);
	watch_say(&w, &rules, "all is well", T0);
	CHECK(log_watch_due(&w) == WATCH_NEVER);
	watch_say(&w, &rules, "bad dev1", T0);
	CHECK_EQ(log_watch_due(&w), T0);
	CHECK_NEAR(tell(&w, T0 + 1 * SEC, &ok), 1, 0);
	CHECK_EQ(ok, TRI_NO);
	for (i = 0; i < 50; i++)
		watch_say(&w, &rules, "bad dev1", T0 + 2 * SEC);
	CHECK_EQ(log_watch_due(&w), T0 + 61 * SEC);
	CHECK_NEAR(tell(&w, T0 + 61 * SEC, &ok), 50, 0);
	/* Something else is told meanwhile: still there, with nothing new. */
	CHECK_NEAR(tell(&w, T0 + 100 * SEC, &ok), 0, 0);
	CHECK_EQ(ok, TRI_NO);
	CHECK_EQ(log_watch_due(&w), T0 + 2 * SEC + LOG_HOLD_US);
	CHECK_NEAR(tell(&w, T0 + 2 * SEC + LOG_HOLD_US, &ok), 0, 0);
	CHECK_EQ(ok, TRI_YES);
	CHECK_EQ(w.n, 0);
	CHECK(log_watch_due(&w) == WATCH_NEVER);
	CHECK_NEAR(tell(&w, T0 + MIN_US + LOG_HOLD_US, &ok), -1, 0);
}

static void the_sentence_has_the_count_the_time_and_the_first_line(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	CLEANUP(report_release) struct report report = { .seq = 0 };
	const struct sample *s;

	watch_rules(&rules);
	log_watch_init(&w);
	watch_say(&w, &rules, "bad dev1: first", 500 * SEC);
	watch_say(&w, &rules, "bad dev1: second", 502 * SEC);
	watch_say(&w, &rules, "dead dev2", 503 * SEC);
	report = watch_report(&w, NULL, 504 * SEC);
	s = of_device(&report, "dev1");
	CHECK_STR(s->note,
		  "a device is bad. 2 lines since 1970-01-12T13:55:00.000Z, the first: bad "
		  "dev1: first");
	CHECK_EQ(s->severity, SEVERITY_WARN);
	CHECK_STR(s->code, "bad");
	CHECK_STR(json_string_value(json_object_get(s->params, "pattern")), "bad");
	CHECK_NEAR(s->start, 1000500, 0);
	s = of_device(&report, "dev2");
	CHECK_EQ(s->severity, SEVERITY_FATAL);
	CHECK_HAS(s->note, "a device is dead. 1 line since ");
	CHECK_HAS(s->note, "it counts until a reboot");
	s = watch_sample(&report, "host.watch", "kernel-log");
	CHECK_STR(s->note, "new lines in the kernel log: 3");
	CHECK_NEAR(s->value, 3, 0);
	CHECK_EQ(s->ok, TRI_YES);
}

static void a_fatal_line_stands_until_somebody_says_otherwise(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	int ok;

	watch_rules(&rules);
	log_watch_init(&w);
	watch_say(&w, &rules, "dead dev1", T0);
	(void)tell(&w, T0 + SEC, &ok);
	CHECK(log_watch_due(&w) == WATCH_NEVER);
	CHECK_NEAR(tell(&w, T0 + 100 * LOG_HOLD_US, &ok), 0, 0);
	CHECK_EQ(ok, TRI_NO);
	log_watch_forget(&w);
	CHECK_EQ(log_watch_due(&w), 0);
	CHECK_NEAR(tell(&w, T0 + 100 * LOG_HOLD_US + SEC, &ok), -1, 0);
	CHECK(log_watch_due(&w) == WATCH_NEVER);
}

/* What was logged before anybody looked: news is what is recent, or fatal. */
static void old_lines_are_no_news(void)
{
	static const struct {
		const char *text;
		uint64_t ago_us;
		bool told;
	} rows[] = {
		{ "bad dev1", 0, true },
		{ "bad dev1", LOG_HOLD_US - SEC, true },
		{ "bad dev1", LOG_HOLD_US, false },
		{ "bad dev1", T0, false },
		{ "dead dev1", 0, true },
		{ "dead dev1", T0, true },
	};
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	size_t i;

	watch_rules(&rules);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct kmsg_record record = { .sequence = 7,
						    .time_us = T0 - rows[i].ago_us,
						    .text = rows[i].text };
		CLEANUP(log_watch_release) struct log_watch w;

		log_watch_init(&w);
		log_watch_record(&w, &rules, &record, true, T0);
		CHECK_EQ(w.n, rows[i].told);
		CHECK_EQ(w.next_sequence, 8);
		CHECK_EQ(w.lost, 0);
		if (w.n)
			CHECK_EQ(w.kinds[0].since_us, T0 - rows[i].ago_us);
	}
}

static void only_the_kernel_speaks_for_itself(void)
{
	const struct kmsg_record record = { .facility = 3, .sequence = 0, .text = "dead dev1" };
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;

	watch_rules(&rules);
	log_watch_init(&w);
	log_watch_record(&w, &rules, &record, false, T0);
	CHECK_EQ(w.n, 0);
	CHECK_EQ(w.lines, 1);
	CHECK_EQ(w.next_sequence, 1);
}

static void lines_that_were_lost_are_counted_and_told_by_the_minute(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	CLEANUP(report_release) struct report report = { .seq = 0 };
	const struct sample *s;

	watch_rules(&rules);
	log_watch_init(&w);
	w.next_sequence = 10;
	watch_say(&w, &rules, "a", T0);
	CHECK_EQ(w.lost, 0);
	log_watch_record(&w, &rules, &(struct kmsg_record){ .sequence = 99, .text = "b" }, false,
			 T0);
	CHECK_EQ(log_watch_due(&w), T0);
	report = watch_report(&w, NULL, T0 + SEC);
	s = watch_sample(&report, "host.watch", "kernel-log");
	CHECK_STR(s->note,
		  "new lines in the kernel log: 2; 88 were overwritten before they were read");
	CHECK_STR(s->code, "overrun");
	CHECK_EQ(s->ok, TRI_UNKNOWN);
	/* The same record again, and the next loss. */
	log_watch_record(&w, &rules, &(struct kmsg_record){ .sequence = 99, .text = "b" }, false,
			 T0 + 2 * SEC);
	CHECK_EQ(w.lines, 0);
	CHECK(log_watch_due(&w) == WATCH_NEVER);
	log_watch_record(&w, &rules, &(struct kmsg_record){ .sequence = 101, .text = "c" }, false,
			 T0 + 2 * SEC);
	CHECK_EQ(log_watch_due(&w), T0 + 61 * SEC);
}

/* More kinds than can be told apart: bounded, all counted, and no fatal one among them is lost. */
static void a_storm_of_kinds_is_bounded_and_hides_nothing_fatal(void)
{
	enum { LINES = 100000 };
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	CLEANUP(report_release) struct report report = { .seq = 0 };
	double sum = 0;
	size_t i;

	watch_rules(&rules);
	log_watch_init(&w);
	for (i = 0; i < LINES; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "bad dev%zu", i % 1000);
		watch_say(&w, &rules, i == LINES / 2 ? "dead dev7" : text, T0 + i);
	}
	CHECK_EQ(w.n, LOG_KINDS_MAX);
	sum = (double)w.untold;
	report = watch_report(&w, NULL, T0 + SEC);
	for (i = 0; i < report.n_samples; i++) {
		if (streq(report.samples[i].check, LOG_CHECK))
			sum += report.samples[i].value;
	}
	CHECK_NEAR(sum, LINES, 0);
	CHECK_EQ(report.n_samples, LOG_KINDS_MAX + 1);
	CHECK_HAS(watch_sample(&report, "host.watch", "kernel-log")->note,
		  "are of kinds left out because there are too many");
	for (i = 0; i < report.n_samples && report.samples[i].severity != SEVERITY_FATAL; i++)
		;
	CHECK(i < report.n_samples);
}

static void a_storm_of_one_kind_is_one_sample(void)
{
	enum { LINES = 100000 };
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	int i, ok;

	watch_rules(&rules);
	log_watch_init(&w);
	for (i = 0; i < LINES; i++)
		watch_say(&w, &rules, "bad dev1", T0);
	CHECK_EQ(w.n, 1);
	CHECK_NEAR(tell(&w, T0 + SEC, &ok), LINES, 0);
}

static void what_is_known_outlives_the_program(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules;
	CLEANUP(log_watch_release) struct log_watch w;
	CLEANUP(log_watch_release) struct log_watch again;
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(json_freep) json_t *twice = NULL;
	int ok;

	watch_rules(&rules);
	log_watch_init(&w);
	log_watch_init(&again);
	watch_say(&w, &rules, "bad dev1", T0);
	watch_say(&w, &rules, "dead dev2", T0);
	(void)tell(&w, T0 + SEC, &ok);
	watch_say(&w, &rules, "bad dev1", T0 + 2 * SEC);
	value = log_watch_encode(&w);
	log_watch_decode(&again, value);
	twice = log_watch_encode(&again);
	CHECK(json_equal(value, twice));
	CHECK_EQ(again.next_sequence, 3);
	CHECK_EQ(log_watch_due(&again), T0 + 61 * SEC);
	/* A line that was read before is not counted again. */
	log_watch_record(&again, &rules, &(struct kmsg_record){ .sequence = 2, .text = "bad dev1" },
			 true, T0 + 3 * SEC);
	CHECK_NEAR(tell(&again, T0 + 61 * SEC, &ok), 1, 0);
}

static void a_spoilt_state_is_left_out(void)
{
	static const struct {
		const char *text;
		size_t n;
		uint64_t next;
	} rows[] = {
		{ "null", 0, 0 },
		{ "[]", 0, 0 },
		{ "{\"next\":-1,\"kinds\":7}", 0, 0 },
		{ "{\"next\":\"x\",\"kinds\":[7,{},{\"pattern\":\"p\"}]}", 0, 0 },
		{ "{\"next\":5,\"kinds\":[{\"pattern\":\"p\",\"code\":\"c\",\"subject\":\"s\","
		  "\"note\":\"n\",\"first\":\"f\",\"severity\":\"warn\",\"since_us\":1,"
		  "\"last_us\":2,\"told_us\":3,\"count\":4,\"fresh\":0}]}",
		  1, 5 },
		{ "{\"next\":5,\"kinds\":[{\"pattern\":\"p\",\"code\":\"c\",\"subject\":\"s\","
		  "\"note\":\"n\",\"first\":\"f\",\"severity\":\"warn\",\"since_us\":1,"
		  "\"last_us\":9000000000000000000,\"told_us\":3,\"count\":4,\"fresh\":0}]}",
		  0, 5 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *value = json_loads(rows[i].text, JSON_DECODE_ANY, NULL);
		CLEANUP(log_watch_release) struct log_watch w;

		log_watch_init(&w);
		log_watch_decode(&w, value);
		CHECK_EQ(w.n, rows[i].n);
		CHECK_EQ(w.next_sequence, rows[i].next);
	}
}

static const struct test tests[] = {
	TEST(a_line_is_told_at_once_then_by_the_minute_then_as_over),
	TEST(the_sentence_has_the_count_the_time_and_the_first_line),
	TEST(a_fatal_line_stands_until_somebody_says_otherwise),
	TEST(old_lines_are_no_news),
	TEST(only_the_kernel_speaks_for_itself),
	TEST(lines_that_were_lost_are_counted_and_told_by_the_minute),
	TEST(a_storm_of_kinds_is_bounded_and_hides_nothing_fatal),
	TEST(a_storm_of_one_kind_is_one_sample),
	TEST(what_is_known_outlives_the_program),
	TEST(a_spoilt_state_is_left_out),
};

TEST_SUITE(tests);
