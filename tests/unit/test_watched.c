/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/watched.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define SOON_US (20 * USEC_PER_SEC)
#define SHORT_US (20 * USEC_PER_MSEC)

/* Enough to begin two threads on a busy host. */
#define BUSY_US (USEC_PER_SEC / 2)

/* Work that ends when it is told to, or when nobody can tell it any more. */
struct job {
	int go[2], gone[2]; /* pipes: what it waits for, what closes when it was left */
	int r;
};

static int work(void *context, struct err *err)
{
	struct job *job = context;
	struct pollfd wait = { .fd = job->go[0], .events = POLLIN };

	if (job->go[0] >= 0)
		(void)poll(&wait, 1, clock_left_ms(clock_mono_us() + SOON_US));
	return job->r < 0 ? err_set(err, -job->r, "the work failed") : job->r;
}

static void left(void *context)
{
	struct job *job = context;

	(void)close(job->gone[1]);
}

static void what_ends_in_time_is_returned(void)
{
	struct job job = { .go = { -1, -1 }, .r = 7 };
	struct err err = ERR_INIT;

	CHECK_EQ(watched_run(work, &job, clock_mono_us() + SOON_US, left, &err), 7);
	CHECK_STR(err.msg, "");
	job.r = -EIO;
	CHECK_EQ(watched_run(work, &job, clock_mono_us() + SOON_US, NULL, &err), -EIO);
	CHECK_STR(err.msg, "the work failed");
	CHECK_EQ(watched_run(work, &job, clock_mono_us() + SOON_US, NULL, NULL), -EIO);
}

/* What it had is its own then, until it ends after all. */
static void what_does_not_end_is_left_behind(void)
{
	struct job job = { .r = 0 };
	struct pollfd wait = { .events = POLLIN };
	struct err err = ERR_INIT;

	CHECK_EQ(pipe(job.go), 0);
	CHECK_EQ(pipe(job.gone), 0);
	wait.fd = job.gone[0];
	CHECK_EQ(watched_run(work, &job, clock_mono_us() + SHORT_US, left, &err), -ETIMEDOUT);
	CHECK_STR(err.msg, "");
	CHECK_EQ(poll(&wait, 1, 0), 0);

	CHECK_EQ(write(job.go[1], "", 1), 1);
	CHECK_EQ(poll(&wait, 1, clock_left_ms(clock_mono_us() + SOON_US)), 1);
	CHECK(wait.revents & POLLHUP);
	(void)close(job.go[0]);
	(void)close(job.go[1]);
	(void)close(job.gone[0]);
}

/* One of several: waits until it is told to go on, then says whether anybody still waits for it. */
struct part {
	int go[2], said[2];
	bool waits;
};

static int do_part(void *context, struct err *err)
{
	struct part *part = context;
	struct pollfd wait = { .fd = part->go[0], .events = POLLIN };
	char left;

	if (!part->waits)
		return watched_is_left() ? err_set(err, EPROTO, "left too early") : 5;
	(void)poll(&wait, 1, clock_left_ms(clock_mono_us() + SOON_US));
	left = (char)watched_is_left();
	return write(part->said[1], &left, 1) == 1 ? 0 : -errno;
}

static void all_at_once_end_each_in_its_way(void)
{
	enum { LATE = 1, PARTS = 3 };
	struct part works[PARTS] = { { .waits = false }, { .waits = true }, { .waits = false } };
	struct watched_part parts[PARTS];
	unsigned i;
	char left = 0;

	CHECK_EQ(pipe(works[LATE].go), 0);
	CHECK_EQ(pipe(works[LATE].said), 0);
	for (i = 0; i < PARTS; i++)
		parts[i].context = &works[i];
	watched_run_all(do_part, parts, PARTS, clock_mono_us() + BUSY_US);
	for (i = 0; i < PARTS; i++)
		CHECK_EQ(parts[i].r, i == LATE ? -ETIMEDOUT : 5);
	CHECK_EQ(write(works[LATE].go[1], "", 1), 1);
	CHECK_EQ(read(works[LATE].said[0], &left, 1), 1);
	CHECK(left);
	CHECK(!watched_is_left()); /* this thread is nobody's work */
}

/* What is left is left with all its parts, also those that it waits for still. */
static int wait_for_part(void *context, struct err *err UNUSED)
{
	struct watched_part part = { .context = context };

	watched_run_all(do_part, &part, 1, clock_mono_us() + SOON_US);
	return part.r;
}

static void a_part_of_what_is_left_is_left_too(void)
{
	struct part part = { .waits = true };
	char left = 0;

	CHECK_EQ(pipe(part.go), 0);
	CHECK_EQ(pipe(part.said), 0);
	CHECK_EQ(watched_run(wait_for_part, &part, clock_mono_us() + SHORT_US, NULL, NULL),
		 -ETIMEDOUT);
	CHECK_EQ(write(part.go[1], "", 1), 1);
	CHECK_EQ(read(part.said[0], &left, 1), 1);
	CHECK(left);
}

static const struct test tests[] = {
	TEST(all_at_once_end_each_in_its_way),
	TEST(a_part_of_what_is_left_is_left_too),
	TEST(what_ends_in_time_is_returned),
	TEST(what_does_not_end_is_left_behind),
};

TEST_SUITE(tests);
