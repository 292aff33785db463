/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest/host_identity.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/hosts.h"
#include "controller/fleet/report_clock.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define MINUTE USEC_PER_MIN

/* One report: machine and boot as letters, what the store says of its place, minutes. */
struct step {
	const char *machine, *boot, *sku;
	int place, at_min;
	int identity, place_after;
};

static int note(struct host *host, const struct step *s, bool timed, int *place)
{
	CLEANUP(report_release) struct report r = report_make();
	struct report_clock arrival = { .measured_us = (uint64_t)s->at_min * MINUTE,
					.fresh = true,
					.timed = timed };

	free(r.boot_id);
	r.boot_id = xstrdup(s->boot);
	free(r.sku);
	r.sku = xstrdup(s->sku);
	json_decref(r.env);
	r.env = json_pack("{s:s*}", "machine", s->machine);
	*place = s->place;
	return host_identity_note(host, &r, &arrival, place);
}

static void play(const struct step *steps, size_t n)
{
	CLEANUP(hosts_release) struct hosts hosts = { 0 };
	struct host *host = hosts_need(&hosts, "gpu-1");
	size_t i;

	for (i = 0; i < n; i++) {
		int place;

		CHECK_EQ(note(host, &steps[i], true, &place), steps[i].identity);
		CHECK_EQ(place, steps[i].place_after);
	}
}

enum { NEW = PLACE_NEWEST, LATE = PLACE_LATE };
enum { SAME = HOST_IDENTITY_SAME, REPLACED = HOST_IDENTITY_REPLACED, TWO = HOST_IDENTITY_TWO };

static void a_new_boot_of_another_machine_is_a_replacement(void)
{
	static const struct step steps[] = {
		{ "b:a", "1", "h100", NEW, 100, SAME, NEW },
		{ "b:a", "1", "h100", NEW, 105, SAME, NEW },
		{ "b:a", "2", "h100", NEW, 110, SAME, NEW }, /* a reboot */
		{ "m:x", "3", "h100", NEW, 115, SAME, NEW }, /* a run that is not root's */
		{ "b:a", "3", NULL, NEW, 120, SAME, NEW },   /* no SKU said */
		{ "b:b", "4", "h100", NEW, 125, REPLACED, NEW },
		{ "b:b", "4", "h100", NEW, 130, SAME, NEW },
		{ "b:a", "3", "h100", LATE, 121, SAME, LATE }, /* what the old one had sent before */
		{ "b:b", "5", "h200", NEW, 140, REPLACED, NEW },
		{ NULL, "6", "h200", NEW, 145, SAME, NEW },
		{ "b:c", "7", "h200", NEW, 150, REPLACED, NEW },
	};

	play(steps, ARRAY_SIZE(steps));
}

static void two_that_speak_in_turn_are_two_until_they_have_been_quiet(void)
{
	static const struct step steps[] = {
		{ "b:a", "1", NULL, NEW, 100, SAME, NEW },
		{ "b:b", "2", NULL, NEW, 102, REPLACED, NEW },
		{ "b:a", "1", NULL, LATE, 105, TWO, LATE },
		{ "b:b", "2", NULL, NEW, 107, TWO, NEW },
		{ "b:a", "1", NULL, LATE, 110, TWO, LATE },
		{ "b:b", "2", NULL, NEW, 165, TWO, NEW },
		{ "b:b", "2", NULL, NEW, 171, SAME, NEW }, /* the other has been quiet for an hour */
	};
	/* A clone of everything but the boot. */
	static const struct step clone[] = {
		{ "m:x", "1", NULL, NEW, 100, SAME, NEW },
		{ "m:x", "2", NULL, NEW, 102, SAME, NEW },
		{ "m:x", "1", NULL, LATE, 103, TWO, LATE },
	};

	play(steps, ARRAY_SIZE(steps));
	play(clone, ARRAY_SIZE(clone));
}

static void the_one_that_goes_on_alone_is_the_host_again(void)
{
	static const struct step steps[] = {
		{ "b:a", "1", NULL, NEW, 100, SAME, NEW },
		{ "b:b", "2", NULL, NEW, 102, REPLACED, NEW }, /* and then never again */
		{ "b:a", "1", NULL, LATE, 105, TWO, LATE },
		{ "b:a", "1", NULL, LATE, 160, TWO, LATE },
		{ "b:a", "1", NULL, LATE, 163, TWO, NEW }, /* the host; two until 220 */
		{ "b:a", "1", NULL, NEW, 219, TWO, NEW },
		{ "b:a", "1", NULL, NEW, 221, SAME, NEW },
	};

	play(steps, ARRAY_SIZE(steps));
}

static void reports_that_do_not_say_how_old_they_are_prove_nothing(void)
{
	static const struct step steps[] = {
		{ "b:a", "1", NULL, NEW, 100, SAME, NEW },
		{ "b:a", "2", NULL, NEW, 102, SAME, NEW },
		{ "b:a", "1", NULL, LATE, 300, SAME, LATE },
	};
	CLEANUP(hosts_release) struct hosts hosts = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		int place;

		CHECK_EQ(note(hosts_need(&hosts, "gpu-1"), &steps[i], false, &place), SAME);
		CHECK_EQ(place, steps[i].place);
	}
}

static void what_the_store_knows_goes_on_after_a_start(void)
{
	static const struct step other = { "b:b", "9", NULL, NEW, 100, REPLACED, NEW };
	static const struct step early = { "b:a", "8", NULL, LATE, 100, TWO, LATE };
	CLEANUP(json_freep)
	json_t *node = json_pack("{s:s, s:s, s:s, s:{s:s}}", "seen", "1970-01-01T01:30:00Z",
				 "boot_id", "1", "sku", "h100", "env", "machine", "b:a");
	CLEANUP(hosts_release) struct hosts hosts = { 0 };
	struct host *host = hosts_need(&hosts, "gpu-1");
	int place;

	host_identity_recall(host, node, false);
	CHECK(!host_identity_two(host, 0));
	CHECK_EQ(note(host, &other, true, &place), REPLACED);
	host = hosts_need(&hosts, "gpu-2");
	host_identity_recall(host, node, false);
	CHECK_EQ(note(host, &early, true, &place), TWO);
	host = hosts_need(&hosts, "gpu-3");
	host_identity_recall(host, node, true);
	CHECK(host_identity_two(host, 149 * MINUTE));
	CHECK(!host_identity_two(host, 151 * MINUTE));
	CHECK(!host_identity_two(NULL, 0));
}

static void the_sentences_name_the_host_and_what_to_do(void)
{
	CLEANUP(hosts_release) struct hosts hosts = { 0 };
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(verdict_release) struct verdict v = { 0 };
	CLEANUP(freep) char *replaced = NULL;
	struct host *host = hosts_need(&hosts, "gpu-1");

	(void)snprintf(host->machine, sizeof(host->machine), "b:0123456789abcdef");
	host_identity_verdict(host, &r, &v);
	CHECK_EQ(v.level, VERDICT_INCONCLUSIVE);
	CHECK_HAS(v.sentence, "two machines report as gpu-1: give each its own name");
	replaced = host_identity_replaced_sentence(host);
	CHECK_HAS(replaced, "gpu-1 is another machine now (b:0123456789abcdef, no SKU)");
}

static const struct test tests[] = {
	TEST(a_new_boot_of_another_machine_is_a_replacement),
	TEST(two_that_speak_in_turn_are_two_until_they_have_been_quiet),
	TEST(the_one_that_goes_on_alone_is_the_host_again),
	TEST(reports_that_do_not_say_how_old_they_are_prove_nothing),
	TEST(what_the_store_knows_goes_on_after_a_start),
	TEST(the_sentences_name_the_host_and_what_to_do),
};

TEST_SUITE(tests);
