/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hours of a host with random events, reported like assayd does: never more
 * than WATCH_PER_MINUTE reports in 60 s, the numbers of all reports match the
 * events, nothing waits for long, and once all is quiet nothing is left to
 * report.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/watch_pace.h"
#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"
#include "tests/unit/watch_fixture.h"

#define T0 (10000 * SEC)
#define HOUR_US (60 * MIN_US)

enum { FLAPS_MAX = 100000, REPORTS_MAX = 10000, DEVICES = 5 };

/* Past the minute between counts and the minute of the pace, and its last second. */
#define WAIT_MAX_US (2 * MIN_US + 2 * WATCH_TOGETHER_US)

struct host {
	struct random random;
	struct kernel_rules rules;
	struct log_watch log;
	struct link_watch links;
	struct watch_pace pace;
	uint64_t now_us;
	/* What happened. */
	uint64_t lines;
	uint64_t flaps_us[FLAPS_MAX];
	size_t n_flaps;
	uint64_t downs;
	enum link_state state;
	uint64_t oldest_us; /* a line that no report has told yet; 0: none */
	/* What was told. */
	double told_lines;
	uint64_t reports_us[REPORTS_MAX];
	size_t n_reports;
};

static size_t flaps_in_window(const struct host *h)
{
	size_t n = 0, i;

	for (i = h->n_flaps; i-- > 0 && h->flaps_us[i] + LINK_WINDOW_US > h->now_us;)
		n++;
	return n;
}

static uint64_t due_us(const struct host *h)
{
	return watch_pace_due(&h->pace, MIN(log_watch_due(&h->log), link_watch_due(&h->links)));
}

static void check_report(struct host *h, const struct report *report)
{
	const struct sample *flaps = watch_sample(report, "rnic.flaps", "mlx5_0:1");
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		if (streq(report->samples[i].check, LOG_CHECK))
			h->told_lines += report->samples[i].value;
	}
	if (flaps)
		CHECK_EQ(flaps->value, MIN(flaps_in_window(h), (size_t)LINK_FLAPS_KEPT));
	h->reports_us[h->n_reports++] = h->now_us;
	i = h->n_reports;
	if (i > WATCH_PER_MINUTE)
		CHECK(h->now_us - h->reports_us[i - 1 - WATCH_PER_MINUTE] > MIN_US);
	if (h->oldest_us)
		CHECK(h->now_us - h->oldest_us <= WAIT_MAX_US);
	h->oldest_us = 0;
}

/* Go to `until_us`, making each report when it is due. */
static void go(struct host *h, uint64_t until_us)
{
	while (due_us(h) <= until_us && h->n_reports < REPORTS_MAX) {
		struct report report;

		h->now_us = MAX(due_us(h), h->now_us);
		watch_pace_told(&h->pace, h->now_us);
		report = watch_report(&h->log, &h->links, h->now_us);
		check_report(h, &report);
		report_release(&report);
	}
	h->now_us = until_us;
}

static void say(struct host *h)
{
	const size_t n = random_below(&h->random, 4) ? 1 : random_below(&h->random, 200);
	char text[64];
	size_t i;

	(void)snprintf(text, sizeof(text), "%s dev%zu",
		       random_below(&h->random, 10) ? "bad" : "dead",
		       random_below(&h->random, DEVICES));
	for (i = 0; i < n; i++)
		watch_say(&h->log, &h->rules, text, h->now_us);
	h->lines += n;
	if (n && !h->oldest_us)
		h->oldest_us = h->now_us;
}

static void flap(struct host *h)
{
	if (h->n_flaps < FLAPS_MAX)
		h->flaps_us[h->n_flaps++] = h->now_us;
}

/* The kernel counts each down and tells of the state in the end. */
static void change(struct host *h, bool up)
{
	const size_t more = random_below(&h->random, 3);
	size_t i;

	for (i = 0; i < more; i++)
		flap(h);
	h->downs += more;
	if (h->state == LINK_UP && !up)
		h->downs++;
	if (h->state == LINK_DOWN && up)
		flap(h);
	h->state = up ? LINK_UP : LINK_DOWN;
	watch_see(&h->links, h->state, h->downs, h->now_us);
}

static void start(struct host *h, uint64_t seed)
{
	*h = (struct host){ .random = random_seeded(seed), .now_us = T0, .state = LINK_UP };
	watch_rules(&h->rules);
	log_watch_init(&h->log);
	link_watch_init(&h->links);
	watch_see(&h->links, LINK_UP, 0, T0);
}

/* Bursts and lulls: the mean time between events goes from milliseconds to minutes. */
static void live(struct host *h, uint64_t for_us)
{
	const uint64_t end_us = h->now_us + for_us;
	double mean_us = 1e6;

	while (h->now_us < end_us) {
		if (random_below(&h->random, 50) == 0)
			mean_us = 1e3 * pow(10, 5 * random_unit(&h->random));
		go(h, h->now_us + 1 + (uint64_t)(-log(random_unit(&h->random)) * mean_us));
		if (random_below(&h->random, 2))
			say(h);
		else
			change(h, random_below(&h->random, 2));
	}
}

static double fresh_lines(const struct host *h)
{
	double n = 0;
	size_t i;

	for (i = 0; i < h->log.n; i++)
		n += (double)h->log.kinds[i].fresh;
	return n;
}

static void the_numbers_agree_and_reports_are_few(void)
{
	const uint64_t seeds = test_full() ? 200 : 6;
	CLEANUP(freep) struct host *h = xcalloc(1, sizeof(*h));
	uint64_t seed;

	for (seed = 1; seed <= seeds; seed++) {
		start(h, seed);
		live(h, 2 * HOUR_US);
		CHECK(h->n_reports > 10);
		CHECK_NEAR(h->told_lines + fresh_lines(h), (double)h->lines, 0);
		/* Quiet: all that is left to tell is told, then nothing any more. */
		change(h, true);
		go(h, h->now_us + HOUR_US);
		CHECK_NEAR(h->told_lines, (double)h->lines, 0);
		CHECK(due_us(h) == WATCH_NEVER);
		log_watch_release(&h->log);
		kernel_rules_release(&h->rules);
	}
}

/* Killed at any time and begun again from what was kept with the last report. */
static void nothing_is_told_twice_or_lost_by_a_restart(void)
{
	CLEANUP(freep) struct host *h = xcalloc(1, sizeof(*h));
	unsigned i;

	start(h, 7);
	for (i = 0; i < 50; i++) {
		CLEANUP(json_freep) json_t *log = NULL;
		CLEANUP(json_freep) json_t *links = NULL;

		live(h, MIN_US);
		log = log_watch_encode(&h->log);
		links = link_watch_encode(&h->links);
		log_watch_release(&h->log);
		link_watch_init(&h->links);
		log_watch_decode(&h->log, log);
		link_watch_decode(&h->links, links);
		watch_see(&h->links, h->state, h->downs, h->now_us);
	}
	change(h, true);
	go(h, h->now_us + HOUR_US);
	CHECK_NEAR(h->told_lines, (double)h->lines, 0);
	CHECK(due_us(h) == WATCH_NEVER);
	log_watch_release(&h->log);
	kernel_rules_release(&h->rules);
}

static const struct test tests[] = {
	TEST(the_numbers_agree_and_reports_are_few),
	TEST(nothing_is_told_twice_or_lost_by_a_restart),
};

TEST_SUITE(tests);
