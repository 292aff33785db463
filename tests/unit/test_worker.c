/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <semaphore.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/accel/worker.h"
#include "tests/unit/test.h"

static sem_t released;
static struct worker *stuck, *cut; /* for ever: their threads may still use them */

static void add_one(struct worker *w, void *context)
{
	int *n = context;

	worker_step(w, "adding");
	*n += 1;
}

static void wait_for_release(struct worker *w, void *context UNUSED)
{
	worker_step(w, "first");
	worker_step(w, "second");
	while (sem_wait(&released) < 0)
		;
}

static void work_is_done_when_it_says_so(void)
{
	struct worker *w = NULL;
	struct err err = ERR_INIT;
	int n = 0, i;

	CHECK_EQ(worker_new(60 * USEC_PER_SEC, &w, &err), 0);
	for (i = 1; i <= 1000; i++) {
		CHECK_EQ(worker_do(w, add_one, &n, &err), 0);
		CHECK_EQ(n, i);
	}
	CHECK(worker_stuck_at(w) == NULL);
	worker_free(w);
	worker_free(NULL);
}

static void a_step_that_takes_too_long_is_named_and_nobody_asks_again(void)
{
	struct err err = ERR_INIT;
	static int n;

	CHECK_EQ(sem_init(&released, 0, 0), 0);
	CHECK_EQ(worker_new(USEC_PER_SEC / 50, &stuck, &err), 0);
	CHECK_EQ(worker_do(stuck, wait_for_release, NULL, &err), -ETIMEDOUT);
	/* On a machine that stands still the first one may be late already. */
	CHECK(worker_stuck_at(stuck) != NULL);
	CHECK(!worker_was_cut(stuck));
	CHECK_EQ(worker_do(stuck, add_one, &n, NULL), -ETIMEDOUT);
	CHECK_EQ(n, 0);
	worker_free(stuck);
	(void)sem_post(&released);
}

/* Each of its steps is quick, and there are too many of them. Says when the first has begun. */
static void step_for_ever(struct worker *w, void *context)
{
	worker_step(w, "again");
	(void)sem_post(context);
	while (sem_trywait(&released) < 0)
		worker_step(w, "again");
}

static void quick_steps_end_with_the_time_of_all(void)
{
	static sem_t begun; /* the thread may still be leaving it */
	struct err err = ERR_INIT;

	CHECK_EQ(sem_init(&released, 0, 0), 0);
	CHECK_EQ(sem_init(&begun, 0, 0), 0);
	CHECK_EQ(worker_new(60 * USEC_PER_SEC, &cut, &err), 0);
	worker_begin(cut, step_for_ever, &begun);
	while (sem_wait(&begun) < 0)
		;
	worker_until(cut, clock_mono_us() + USEC_PER_SEC / 50);
	CHECK_EQ(worker_wait(cut, &err), -ETIMEDOUT);
	CHECK_HAS(err.msg, "when time ran out");
	CHECK_STR(worker_stuck_at(cut), "again");
	CHECK(worker_was_cut(cut));
	worker_free(cut);
	(void)sem_post(&released);
}

static void wait_long(struct worker *w, void *context)
{
	int *n = context;

	worker_long_step(w, "starting", 60 * USEC_PER_SEC);
	while (sem_wait(&released) < 0)
		;
	*n += 1;
}

/* Several work while one is waited for; a step that may be long is none that is late. */
static void workers_work_side_by_side(void)
{
	struct worker *w[2] = { NULL };
	int n[2] = { 0 }, i;

	CHECK_EQ(sem_init(&released, 0, 0), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(worker_new(60 * USEC_PER_SEC, &w[i], NULL), 0);
		worker_begin(w[i], wait_long, &n[i]);
	}
	for (i = 0; i < 2; i++)
		(void)sem_post(&released);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(worker_wait(w[i], NULL), 0);
		CHECK_EQ(n[i], 1);
		worker_free(w[i]);
	}
}

static void wait_briefly(struct worker *w, void *context)
{
	int *n = context;

	worker_step(w, "asking");
	while (sem_wait(&released) < 0)
		;
	worker_step(w, "going on");
	*n += 1;
}

static void what_comes_back_after_all_is_as_good_as_before(void)
{
	struct worker *w = NULL;
	int n = 0;

	CHECK_EQ(sem_init(&released, 0, 0), 0);
	CHECK_EQ(worker_new(USEC_PER_SEC / 50, &w, NULL), 0);
	CHECK_EQ(worker_do(w, wait_briefly, &n, NULL), -ETIMEDOUT);
	CHECK(!worker_came_back(w, clock_mono_us() + USEC_PER_SEC / 50));
	CHECK(worker_stuck_at(w) != NULL);
	(void)sem_post(&released);
	CHECK(worker_came_back(w, clock_mono_us() + 60 * USEC_PER_SEC));
	CHECK_EQ(n, 1);
	CHECK(worker_stuck_at(w) == NULL);
	worker_free(w);
}

static const struct test tests[] = {
	TEST(workers_work_side_by_side),
	TEST(what_comes_back_after_all_is_as_good_as_before),
	TEST(work_is_done_when_it_says_so),
	TEST(a_step_that_takes_too_long_is_named_and_nobody_asks_again),
	TEST(quick_steps_end_with_the_time_of_all),
};

TEST_SUITE(tests);
