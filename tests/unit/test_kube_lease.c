/* SPDX-License-Identifier: Apache-2.0 */
/* The Lease on an in-memory server: its callbacks, and how it ends. */
#include "controller/cluster/kube/kube_lease.h"

#include <stdlib.h>
#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/lease_fake.h"
#include "tests/unit/test.h"

/* A generous limit for things that must happen on their own. */
#define WAIT_US (20 * USEC_PER_SEC)

struct bed {
	sd_event *loop;
	struct kube_fence *fence;
	unsigned gained, lost;
	uint64_t epoch;
	char *why;
};

static void on_gained(void *context, uint64_t epoch)
{
	struct bed *bed = context;

	bed->gained++;
	bed->epoch = epoch;
}

static void on_lost(void *context, const char *why)
{
	struct bed *bed = context;

	bed->lost++;
	free(bed->why);
	bed->why = xstrdup(why);
}

/* A Lease of 1 s is for tests in which it must expire, one of 6 s for those in which it must not. */
static void bed_open(struct bed *bed, const char *seconds)
{
	const struct kube_fence_options options = { NULL, lease_fake(), on_gained, on_lost, bed };
	struct kube_fence_options with_loop = options;
	struct err err = ERR_INIT;

	*bed = (struct bed){ 0 };
	CHECK_EQ(setenv("ASSAY_TEST_LEASE_SECONDS", seconds, 1), 0);
	CHECK_EQ(sd_event_new(&bed->loop), 0);
	with_loop.loop = bed->loop;
	CHECK_EQ(kube_fence_open(&with_loop, &bed->fence, &err), 0);
}

static void bed_close(struct bed *bed)
{
	kube_fence_close(bed->fence);
	sd_event_unref(bed->loop);
	lease_fake_reset();
	free(bed->why);
}

/* Waits for a request. Returns false if none came. */
static bool asked(struct bed *bed)
{
	const uint64_t end_us = clock_mono_us() + WAIT_US;

	while (lease_fake_waiting() == 0 && clock_left_us(end_us) > 0 &&
	       sd_event_get_state(bed->loop) != SD_EVENT_FINISHED)
		(void)sd_event_run(bed->loop, clock_left_us(end_us));
	return lease_fake_waiting() > 0;
}

static void expect(struct bed *bed, const char *request, int fate)
{
	CHECK(asked(bed));
	CHECK_HAS(lease_fake_next(), request);
	CHECK(lease_fake_serve(fate));
}

/* However long that takes. */
static void gain(struct bed *bed)
{
	while (bed->gained == 0 && asked(bed))
		CHECK(lease_fake_serve(FATE_WELL));
	CHECK_EQ(bed->gained, 1);
}

static void another_holds_it(const char *name)
{
	lease_fake_put(KUBE_LEASE_NAME,
		       json_pack("{s:{s:s}, s:{s:s, s:i, s:i}}", "metadata", "name",
				 KUBE_LEASE_NAME, "spec", "holderIdentity", name,
				 "leaseDurationSeconds", 15, "leaseTransitions", 4));
}

static const char *holder(void)
{
	const json_t *spec = json_object_get(lease_fake_lease(KUBE_LEASE_NAME), "spec");

	return json_string_value(json_object_get(spec, "holderIdentity"));
}

static void the_first_gains_it_and_is_told_once(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed, "6");
	CHECK(!kube_fence_holds(bed.fence));
	expect(&bed, "GET /apis/coordination.k8s.io/v1/namespaces/assay/leases/assay-controller",
	       FATE_WELL);
	expect(&bed, "POST /apis/coordination.k8s.io/v1/namespaces/assay/leases", FATE_WELL);
	CHECK(kube_fence_holds(bed.fence));
	CHECK_EQ(bed.gained, 1);
	CHECK_STR(holder(), kube_fence_identity(bed.fence));
	CHECK(kube_fence_other(bed.fence) == NULL);
	expect(&bed, "PUT ", FATE_WELL); /* renewed without a read */
	CHECK_EQ(bed.gained, 1);
	CHECK_EQ(bed.lost, 0);
}

static void who_finds_another_stands_by_and_knows_who(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed, "6");
	another_holds_it("pod-7_x");
	expect(&bed, "GET ", FATE_WELL);
	CHECK(!kube_fence_holds(bed.fence));
	CHECK_STR(kube_fence_other(bed.fence), "pod-7_x");
	expect(&bed, "GET ", FATE_WELL);
	another_holds_it(""); /* it releases it */
	expect(&bed, "GET ", FATE_WELL);
	expect(&bed, "PUT ", FATE_WELL);
	CHECK(kube_fence_holds(bed.fence));
	CHECK(kube_fence_other(bed.fence) == NULL);
	CHECK_EQ(bed.epoch, 5);
	CHECK_EQ(kube_fence_epoch(bed.fence), 5);
}

static int status_at_end(struct bed *bed)
{
	int code = -1;

	return sd_event_get_exit_code(bed->loop, &code) < 0 ? -1 : code;
}

static void who_cannot_renew_it_ends_with_status_1(void)
{
	static const int fates[] = { FATE_LOST, FATE_BUSY, FATE_FORBIDDEN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fates); i++) {
		CLEANUP(bed_close) struct bed bed;

		bed_open(&bed, "1");
		gain(&bed);
		while (bed.lost == 0 && asked(&bed))
			CHECK(lease_fake_serve(fates[i]));
		CHECK_EQ(bed.lost, 1);
		CHECK_HAS(bed.why, "could not be renewed");
		CHECK_EQ(status_at_end(&bed), 1);
		CHECK(!kube_fence_holds(bed.fence));
	}
}

static void whom_nobody_answers_loses_it_in_time(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed, "1");
	gain(&bed);
	CHECK_EQ(sd_event_loop(bed.loop), 1); /* its request is never answered */
	CHECK_EQ(bed.lost, 1);
	CHECK(!kube_fence_holds(bed.fence));
}

static void whose_lease_was_taken_ends_at_once(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed, "6");
	expect(&bed, "GET ", FATE_WELL);
	expect(&bed, "POST ", FATE_WELL);
	another_holds_it("pod-8_y");
	expect(&bed, "PUT ", FATE_WELL);
	expect(&bed, "GET ", FATE_WELL);
	CHECK_EQ(bed.lost, 1);
	CHECK_HAS(bed.why, "pod-8_y");
	CHECK(!kube_fence_holds(bed.fence));
	CHECK_EQ(status_at_end(&bed), 1);
	CHECK_STR(holder(), "pod-8_y");
}

static void with_the_election_off_it_holds_and_asks_nobody(void)
{
	CLEANUP(bed_close) struct bed bed;

	CHECK_EQ(setenv("ASSAY_TEST_NO_ELECTION", "1", 1), 0);
	bed_open(&bed, "6");
	CHECK_EQ(unsetenv("ASSAY_TEST_NO_ELECTION"), 0);
	CHECK(kube_fence_holds(bed.fence));
	while (sd_event_run(bed.loop, 0) > 0)
		;
	CHECK_EQ(bed.gained, 1);
	CHECK_EQ(lease_fake_waiting(), 0);
}

static void after_it_was_given_back_nothing_holds(void)
{
	CLEANUP(bed_close) struct bed bed;

	bed_open(&bed, "6");
	expect(&bed, "GET ", FATE_WELL);
	expect(&bed, "POST ", FATE_WELL);
	kube_fence_yield(bed.fence, NULL); /* without a response it does not wait for ever */
	CHECK_HAS(lease_fake_next(), "PUT ");
	CHECK(!kube_fence_holds(bed.fence));
	CHECK_STR(json_string_value(json_object_get(json_object_get(lease_fake_next_body(), "spec"),
						    "holderIdentity")),
		  "");
}

static const struct test tests[] = {
	TEST(the_first_gains_it_and_is_told_once),
	TEST(who_finds_another_stands_by_and_knows_who),
	TEST(who_cannot_renew_it_ends_with_status_1),
	TEST(whom_nobody_answers_loses_it_in_time),
	TEST(whose_lease_was_taken_ends_at_once),
	TEST(with_the_election_off_it_holds_and_asks_nobody),
	TEST(after_it_was_given_back_nothing_holds),
};

TEST_SUITE(tests);
