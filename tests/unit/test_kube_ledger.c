/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger in a Lease, with conflicts, lost and late answers, garbage, and the kill switch. */
#include "controller/cluster/kube/kube_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "controller/cluster/kube/kube_lease.h"
#include "controller/cluster/ledger.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/lease_fake.h"
#include "tests/unit/test.h"

/* The result of the last call. */
struct said {
	unsigned n;
	int result;
	char *version, *text, *words;
};

struct bed {
	sd_event *loop;
	struct kube_ledger *ledger;
	struct said said;
};

static void on_said(void *context, const struct cluster_answer *answer)
{
	struct said *said = context;

	free(said->version);
	free(said->text);
	free(said->words);
	*said = (struct said){ said->n + 1, (int)answer->result, xstrdup(answer->version),
			       xstrdup(answer->text), xstrdup(answer->words) };
}

static void run(struct bed *bed)
{
	while (sd_event_run(bed->loop, 0) > 0)
		;
}

static void bed_open(struct bed *bed)
{
	struct err err = ERR_INIT;

	*bed = (struct bed){ 0 };
	CHECK_EQ(sd_event_new(&bed->loop), 0);
	CHECK_EQ(kube_ledger_open(bed->loop, lease_fake(), NULL, &bed->ledger, &err), 0);
}

static void bed_close(struct bed *bed)
{
	kube_ledger_close(bed->ledger);
	sd_event_unref(bed->loop);
	lease_fake_reset();
	free(bed->said.version);
	free(bed->said.text);
	free(bed->said.words);
}

/* Serves one request with this fate. */
static void fate(struct bed *bed, int how)
{
	run(bed);
	CHECK(lease_fake_serve(how));
	run(bed);
}

/* Serves all requests successfully until the call is answered. */
static void finish(struct bed *bed)
{
	const unsigned before = bed->said.n;

	run(bed);
	while (bed->said.n == before && lease_fake_serve(FATE_WELL))
		run(bed);
	CHECK_EQ(bed->said.n, before + 1);
}

static void read_it(struct bed *bed)
{
	kube_ledger_read(bed->ledger, &(struct cluster_call){ on_said, &bed->said });
	finish(bed);
}

static void write_it(struct bed *bed, const char *version, const char *text)
{
	kube_ledger_write(bed->ledger, version, text, &(struct cluster_call){ on_said, &bed->said });
}

/* "one" stands in the ledger; its version is in bed->said. */
static void begin(struct bed *bed)
{
	bed_open(bed);
	read_it(bed);
	CHECK_EQ(bed->said.result, CLUSTER_GONE);
	write_it(bed, NULL, "one");
	finish(bed);
	CHECK_EQ(bed->said.result, CLUSTER_DONE);
}

static const char *stored(void)
{
	return lease_fake_annotation(KUBE_LEDGER_NAME, cluster_names_usual.ledger);
}

static void it_is_made_when_there_is_none_and_read_again(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	CHECK_STR(stored(), "one");
	version = xstrdup(bed.said.version);
	read_it(&bed);
	CHECK_STR(bed.said.text, "one");
	CHECK_STR(bed.said.version, version);
	write_it(&bed, version, "two");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE);
	CHECK(!streq(bed.said.version, version));
	CHECK_STR(stored(), "two");
}

static void who_wrote_on_another_version_is_told(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	version = xstrdup(bed.said.version);
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.ledger, "another's");
	write_it(&bed, version, "two");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_CONFLICT);
	CHECK_STR(stored(), "another's");
	write_it(&bed, version, "two"); /* without reading from the server again */
	run(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_CONFLICT);
	write_it(&bed, NULL, "two");
	run(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_CONFLICT);
	CHECK_EQ(lease_fake_waiting(), 0);
}

static void a_write_whose_answer_was_lost_is_found(void)
{
	static const int fates[] = { FATE_ANSWER_LOST, FATE_BROKEN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fates); i++) {
		CLEANUP(bed_close) struct bed bed;

		begin(&bed);
		write_it(&bed, bed.said.version, "two");
		fate(&bed, fates[i]);
		CHECK_EQ(bed.said.n, 2);
		finish(&bed);
		CHECK_EQ(bed.said.result, CLUSTER_DONE);
		CHECK_STR(bed.said.text, "two");
		write_it(&bed, bed.said.version, "three");
		finish(&bed);
		CHECK_EQ(bed.said.result, CLUSTER_DONE);
	}
}

static void a_creation_whose_answer_was_lost_is_found(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed);
	read_it(&bed);
	write_it(&bed, NULL, "one");
	fate(&bed, FATE_ANSWER_LOST);
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE);
	CHECK_STR(bed.said.text, "one");
}

static void what_never_arrived_is_written_on_the_same_version(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	version = xstrdup(bed.said.version);
	write_it(&bed, version, "two");
	fate(&bed, FATE_LOST);
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
	CHECK(bed.said.words[0] != '\0');
	write_it(&bed, version, "three");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE);
	CHECK_STR(stored(), "three");
}

static void what_arrives_late_is_known_as_ours(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	version = xstrdup(bed.said.version);
	write_it(&bed, version, "two");
	fate(&bed, FATE_LATE);
	finish(&bed); /* without a visible effect */
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
	write_it(&bed, version, "three");
	run(&bed);
	lease_fake_late();
	CHECK_STR(stored(), "two");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE);
	CHECK_STR(stored(), "three");
}

static void what_was_lost_is_not_taken_for_a_twins_of_the_same_text(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	version = xstrdup(bed.said.version);
	write_it(&bed, version, "two");
	fate(&bed, FATE_LOST);
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.ledger_writer, "a twin");
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.ledger, "two");
	write_it(&bed, version, "three");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_CONFLICT);
	CHECK_STR(stored(), "two");
}

static void a_twin_that_wrote_the_same_text_is_a_conflict(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	version = xstrdup(bed.said.version);
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.ledger_writer, "a twin");
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.ledger, "two");
	write_it(&bed, version, "two");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_CONFLICT);
	CHECK_STR(lease_fake_annotation(KUBE_LEDGER_NAME, cluster_names_usual.ledger_writer),
		  "a twin");
}

static void who_is_asked_to_wait_is_not_asked_what_came_of_it(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *version = NULL;

	begin(&bed);
	version = xstrdup(bed.said.version);
	write_it(&bed, version, "two");
	fate(&bed, FATE_BUSY);
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
	CHECK_EQ(lease_fake_waiting(), 0);
	write_it(&bed, version, "two");
	fate(&bed, FATE_FORBIDDEN);
	CHECK_EQ(bed.said.result, CLUSTER_REFUSED);
}

static void a_lease_without_a_ledger_gets_one_and_keeps_what_it_has(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed);
	lease_fake_annotate(KUBE_LEDGER_NAME, "team", "x");
	read_it(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_GONE);
	write_it(&bed, NULL, "one");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE);
	CHECK_STR(stored(), "one");
	CHECK_STR(lease_fake_annotation(KUBE_LEDGER_NAME, "team"), "x");
}

static void one_that_was_removed_is_a_conflict_and_then_made_anew(void)
{
	CLEANUP(bed_close) struct bed bed;

	begin(&bed);
	lease_fake_put(KUBE_LEDGER_NAME, NULL);
	write_it(&bed, bed.said.version, "two");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_CONFLICT);
	read_it(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_GONE);
	write_it(&bed, NULL, "two");
	finish(&bed);
	CHECK_STR(stored(), "two");
}

static void garbage_is_handed_on_or_asked_for_again(void)
{
	CLEANUP(bed_close) struct bed bed;

	begin(&bed);
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.ledger, "{\"v\": 9, \xc3\xa4");
	read_it(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE); /* the reader reports the error */
	lease_fake_put(KUBE_LEDGER_NAME, json_pack("[s]", "no object"));
	read_it(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
	CHECK_HAS(bed.said.words, KUBE_LEDGER_NAME);
}

static void a_text_too_long_for_an_annotation_is_refused(void)
{
	CLEANUP(bed_close) struct bed bed;
	CLEANUP(freep) char *text = xcalloc(1, LEDGER_TEXT_MAX + 1);

	begin(&bed);
	memset(text, 'x', LEDGER_TEXT_MAX);
	write_it(&bed, bed.said.version, text);
	run(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_REFUSED);
	CHECK_STR(stored(), "one");
}

static void the_kill_switch_stops_in_words(void)
{
	static const struct {
		const char *value;
		bool stops;
	} rows[] = { { "repairs in row 7", true },
		     { "false", false },
		     { "true", true },
		     { "", false },
		     { "x", true },
		     { NULL, false } };
	CLEANUP(bed_close) struct bed bed;
	size_t i;

	bed_open(&bed);
	CHECK_HAS(kube_ledger_stopped(bed.ledger), "cannot be read");
	read_it(&bed);
	CHECK(kube_ledger_stopped(bed.ledger) == NULL);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.stop, rows[i].value);
		read_it(&bed);
		CHECK_EQ(kube_ledger_stopped(bed.ledger) != NULL, rows[i].stops);
		if (rows[i].stops)
			CHECK_HAS(kube_ledger_stopped(bed.ledger), rows[i].value);
	}
}

static void a_write_keeps_the_kill_switch_and_sees_it(void)
{
	CLEANUP(bed_close) struct bed bed;

	begin(&bed);
	lease_fake_annotate(KUBE_LEDGER_NAME, cluster_names_usual.stop, "now");
	read_it(&bed);
	write_it(&bed, bed.said.version, "two");
	finish(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_DONE);
	CHECK_STR(lease_fake_annotation(KUBE_LEDGER_NAME, cluster_names_usual.stop), "now");
	CHECK_HAS(kube_ledger_stopped(bed.ledger), "now");
}

static void nobody(void *context UNUSED, const char *why UNUSED)
{
}

static void no_epoch(void *context UNUSED, uint64_t epoch UNUSED)
{
}

static void who_does_not_lead_writes_nothing(void)
{
	CLEANUP(bed_close) struct bed bed;
	struct kube_fence *fence = NULL;
	struct kube_fence_options options = { .kube = lease_fake(),
					      .gained = no_epoch,
					      .lost = nobody };

	bed_open(&bed);
	kube_ledger_close(TAKE(bed.ledger));
	options.loop = bed.loop;
	CHECK_EQ(kube_fence_open(&options, &fence, NULL), 0);
	CHECK_EQ(kube_ledger_open(bed.loop, lease_fake(), fence, &bed.ledger, NULL), 0);
	write_it(&bed, NULL, "one");
	run(&bed);
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
	CHECK_HAS(bed.said.words, "is not the leader");
	CHECK(lease_fake_lease(KUBE_LEDGER_NAME) == NULL);
	kube_ledger_close(TAKE(bed.ledger));
	kube_fence_close(fence);
}

static void who_still_waits_at_the_end_is_answered(void)
{
	CLEANUP(bed_close) struct bed bed;
	unsigned i;

	begin(&bed);
	for (i = 0; i < 20; i++) /* more than may wait */
		write_it(&bed, "1", "two");
	CHECK(bed.said.n > 2 && bed.said.n < 22);
	kube_ledger_close(TAKE(bed.ledger));
	CHECK_EQ(bed.said.n, 22);
	CHECK_EQ(bed.said.result, CLUSTER_AGAIN);
}

static const struct test tests[] = {
	TEST(it_is_made_when_there_is_none_and_read_again),
	TEST(who_wrote_on_another_version_is_told),
	TEST(a_write_whose_answer_was_lost_is_found),
	TEST(a_creation_whose_answer_was_lost_is_found),
	TEST(what_never_arrived_is_written_on_the_same_version),
	TEST(what_arrives_late_is_known_as_ours),
	TEST(what_was_lost_is_not_taken_for_a_twins_of_the_same_text),
	TEST(a_twin_that_wrote_the_same_text_is_a_conflict),
	TEST(who_is_asked_to_wait_is_not_asked_what_came_of_it),
	TEST(a_lease_without_a_ledger_gets_one_and_keeps_what_it_has),
	TEST(one_that_was_removed_is_a_conflict_and_then_made_anew),
	TEST(garbage_is_handed_on_or_asked_for_again),
	TEST(a_text_too_long_for_an_annotation_is_refused),
	TEST(the_kill_switch_stops_in_words),
	TEST(a_write_keeps_the_kill_switch_and_sees_it),
	TEST(who_does_not_lead_writes_nothing),
	TEST(who_still_waits_at_the_end_is_answered),
};

TEST_SUITE(tests);
