/* SPDX-License-Identifier: Apache-2.0 */
/* Stored predictions and advice, and their removal with their job. */
#include "controller/store/store_predictions.h"

#include <math.h>
#include <stdlib.h>

#include "controller/store/store.h"
#include "controller/store/store_advices.h"
#include "controller/store/store_jobs.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOW_US (1000 * USEC_PER_DAY)

static struct store *open_store(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct err err = ERR_INIT;
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, &err), 0);
	CHECK_STR(err.msg, "");
	return s;
}

static int64_t job_of(struct store *s, const char *name)
{
	int64_t id = -1;

	CHECK_EQ(store_need_job(s, name, NOW_US, &id, NULL), 0);
	return id;
}

static int add(struct store *s, int64_t job, const char *class, const char *hosts, int64_t *ret_id)
{
	const struct store_prediction p = { .job = job,
					    .run = 1,
					    .window = 5,
					    .class = class,
					    .hosts = hosts,
					    .ranks = 128,
					    .before_s = 9,
					    .after_s = 8,
					    .low_s = 7.9,
					    .high_s = 8.1,
					    .restart_s = 600,
					    .made_us = NOW_US };

	return store_add_prediction(s, &p, ret_id, NULL);
}

static void check(struct store *s, int64_t id, bool held, uint64_t at_us)
{
	const struct store_prediction p = { .id = id,
					    .state = held ? PREDICTION_HELD : PREDICTION_FAILED,
					    .checked_us = at_us,
					    .by_run = 2,
					    .measured_s = 8.05,
					    .steps = 24,
					    .instead = NULL };

	CHECK_EQ(store_check_prediction(s, &p, NULL), 0);
}

static struct store_trust trust_in(struct store *s, const char *class, uint64_t of)
{
	struct store_trust trust = { 0 };

	CHECK_EQ(store_trust(s, class, of, &trust, NULL), 0);
	return trust;
}

struct seen {
	struct store_prediction last;
	size_t n;
};

static void see(void *context, const struct store_prediction *p)
{
	struct seen *seen = context;

	if (seen->n++ == 0)
		seen->last = *p;
}

static struct seen seen_of(struct store *s, int64_t job)
{
	struct seen seen = { .n = 0 };

	CHECK_EQ(store_predictions(s, job, see, &seen, NULL), 0);
	return seen;
}

static void a_prediction_is_kept_once_and_ends_once(void)
{
	CLEANUP(store_closep) struct store *s = open_store("once");
	const int64_t job = job_of(s, "a");
	int64_t id = 0, again = 0;

	CHECK_EQ(add(s, job, "compute", "[\"gpu-1\"]", &id), 1);
	CHECK_EQ(add(s, job, "compute", "[\"gpu-1\"]", &again), 0);
	CHECK_EQ(again, id);
	CHECK_EQ(add(s, job, "compute", "[\"gpu-2\"]", &again), 1);
	CHECK(again != id);
	CHECK_EQ(seen_of(s, job).n, 2);
	CHECK_EQ(seen_of(s, job).last.id, again);
	CHECK_EQ(seen_of(s, job).last.state, PREDICTION_OPEN);
	CHECK(isnan(seen_of(s, job).last.measured_s));
	check(s, again, true, NOW_US + 1);
	check(s, again, false, NOW_US + 2); /* it has ended */
	CHECK_EQ(seen_of(s, job).last.state, PREDICTION_HELD);
	CHECK_EQ(seen_of(s, job).last.checked_us, NOW_US + 1);
	CHECK_NEAR(seen_of(s, job).last.measured_s, 8.05, 0);
	CHECK_EQ(seen_of(s, job + 1).n, 0);
}

static void trust_is_of_the_last_that_were_checked_of_a_class(void)
{
	CLEANUP(store_closep) struct store *s = open_store("trust");
	const int64_t job = job_of(s, "a");
	CLEANUP(json_freep) json_t *counts = NULL;
	int64_t id = 0;
	uint64_t i;

	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *hosts = xasprintf("[\"gpu-%d\"]", (int)i);

		CHECK_EQ(add(s, job, "compute", hosts, &id), 1);
		if (i < 6)
			check(s, id, i < 4, NOW_US + i); /* four hold, then two fail */
	}
	CHECK_EQ(add(s, job, "link", "[\"gpu-1\"]", &id), 1);
	check(s, id, false, NOW_US);
	CHECK_EQ(trust_in(s, "compute", 10).checked, 6);
	CHECK_EQ(trust_in(s, "compute", 10).held, 4);
	CHECK_EQ(trust_in(s, "compute", 2).checked, 2);
	CHECK_EQ(trust_in(s, "compute", 2).held, 0);
	CHECK_EQ(trust_in(s, "link", 10).checked, 1);
	CHECK_EQ(trust_in(s, "fabric", 10).checked, 0);
	CHECK_EQ(store_count_predictions(s, &counts, NULL), 0);
	CHECK_EQ(json_object_size(counts), 2);
	CHECK_EQ(json_integer_value(json_object_get(json_object_get(counts, "compute"), "held")), 4);
	CHECK_EQ(json_integer_value(json_object_get(json_object_get(counts, "link"), "failed")), 1);
}

struct advised {
	int64_t id;
	uint64_t done_us;
	char *reason;
};

static void take(void *context, const struct store_advice *a)
{
	struct advised *advised = context;

	free(advised->reason);
	*advised = (struct advised){ a->id, a->done_us, xstrdup(a->reason) };
}

static int64_t advise(struct store *s, int64_t job, const char *reason)
{
	const struct store_advice a = { .job = job,
					.run = 1,
					.prediction = 3,
					.kind = 1,
					.exclude = "[]",
					.replacements = "[]",
					.reason = reason,
					.made_us = NOW_US };
	int64_t id = 0;

	CHECK_EQ(store_add_advice(s, &a, &id, NULL), 0);
	return id;
}

static void count(void *context, int64_t job UNUSED)
{
	(*(size_t *)context)++;
}

static void the_newest_advice_of_a_job_is_what_counts(void)
{
	CLEANUP(store_closep) struct store *s = open_store("advice");
	const int64_t job = job_of(s, "a"), other = job_of(s, "b");
	struct advised advised = { .id = 0 };
	int64_t first = advise(s, job, "first"), last = 0;
	bool was = false;
	size_t n = 0;
	int i;

	CHECK_EQ(store_last_advice(s, other, take, &advised, NULL), 0);
	CHECK_EQ(advised.id, 0);
	CHECK_EQ(store_acknowledge_advice(s, first, NOW_US, NULL), 0);
	CHECK_EQ(store_acknowledge_advice(s, first, NOW_US + 1, NULL), 0);
	CHECK_EQ(store_last_advice(s, job, take, &advised, NULL), 0);
	CHECK_EQ(advised.done_us, NOW_US);
	for (i = 0; i < STORE_ADVICES_KEPT; i++)
		last = advise(s, job, "later");
	CHECK_EQ(store_last_advice(s, job, take, &advised, NULL), 0);
	CHECK_EQ(advised.id, last);
	CHECK_STR(advised.reason, "later");
	advised.id = 0;
	CHECK_EQ(store_advice_by_id(s, job, first, take, &advised, NULL), 0);
	CHECK_EQ(advised.id, 0); /* the oldest has made room */
	CHECK_EQ(store_advice_by_id(s, other, last, take, &advised, NULL), 0);
	CHECK_EQ(advised.id, 0); /* that is another job's */
	CHECK_EQ(store_was_advised(s, job, 3, 1, &was, NULL), 0);
	CHECK(was);
	CHECK_EQ(store_was_advised(s, job, 4, 1, &was, NULL), 0);
	CHECK(!was);
	CHECK_EQ(store_jobs_advised(s, 1, count, &n, NULL), 0);
	CHECK_EQ(n, 1);
	free(advised.reason);
}

static void a_job_that_is_forgotten_leaves_its_predictions_and_no_advice(void)
{
	CLEANUP(store_closep) struct store *s = open_store("forgotten");
	const int64_t job = job_of(s, "a");
	struct advised advised = { .id = 0 };
	int64_t id = 0, other = 0, before = advise(s, job, "old");
	int i;

	CHECK_EQ(add(s, job, "compute", "[\"gpu-1\"]", &id), 1);
	check(s, id, true, NOW_US);
	for (i = 0; i < STORE_JOBS_MAX; i++) { /* it makes room for the last of them */
		CLEANUP(freep) char *name = xasprintf("other-%d", i);

		CHECK_EQ(store_need_job(s, name, NOW_US + 1, &other, NULL), 0);
	}
	CHECK_EQ(seen_of(s, job).n, 0);
	CHECK_EQ(store_last_advice(s, job, take, &advised, NULL), 0);
	CHECK_EQ(advised.id, 0);
	CHECK_EQ(trust_in(s, "compute", 10).held, 1); /* of no job any more */
	CHECK(advise(s, other, "new") > before);      /* whoever waits for a newer one sees it */
	CHECK(store_thin_jobs(s, 0, NOW_US + 1, 0, NULL) >= 0);
	CHECK_EQ(trust_in(s, "compute", 10).checked, 0);
	free(advised.reason);
}

static const struct test tests[] = {
	TEST(a_prediction_is_kept_once_and_ends_once),
	TEST(trust_is_of_the_last_that_were_checked_of_a_class),
	TEST(the_newest_advice_of_a_job_is_what_counts),
	TEST(a_job_that_is_forgotten_leaves_its_predictions_and_no_advice),
};

TEST_SUITE(tests);
