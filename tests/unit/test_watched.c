/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/watched.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/xalloc.h"
#include "tests/unit/test.h"

#define SOON_US (20 * USEC_PER_SEC)
#define SHORT_US (20 * USEC_PER_MSEC)

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

static const struct test tests[] = {
	TEST(what_ends_in_time_is_returned),
	TEST(what_does_not_end_is_left_behind),
};

int main(void)
{
	return TEST_MAIN("watched", tests);
}
