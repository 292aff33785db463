/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/try_child.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tests/unit/test.h"

enum { LIMIT_S = 30 };

static bool same(const void *arg)
{
	return *(const bool *)arg;
}

static bool crash(const void *arg)
{
	(void)raise(*(const int *)arg);
	return true;
}

static bool hang(const void *arg)
{
	while (arg)
		(void)pause();
	return false;
}

static void an_answer_comes_back(void)
{
	const bool yes = true, no = false;

	CHECK_EQ(try_child(same, &yes, LIMIT_S), 0);
	CHECK_EQ(try_child(same, &no, LIMIT_S), -EINVAL);
}

static void a_crash_stays_in_the_child(void)
{
	const int killed = SIGKILL, aborted = SIGABRT;

	CHECK_EQ(try_child(crash, &killed, LIMIT_S), -EFAULT);
	CHECK_EQ(try_child(crash, &aborted, LIMIT_S), -EFAULT);
}

static void a_hang_ends_though_the_alarm_is_blocked(void)
{
	sigset_t alarm_only, before;

	(void)sigemptyset(&alarm_only);
	(void)sigaddset(&alarm_only, SIGALRM);
	(void)sigprocmask(SIG_BLOCK, &alarm_only, &before);
	CHECK_EQ(try_child(hang, &alarm_only, 1), -ETIMEDOUT);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static const struct test tests[] = {
	TEST(an_answer_comes_back),
	TEST(a_crash_stays_in_the_child),
	TEST(a_hang_ends_though_the_alarm_is_blocked),
};

TEST_SUITE(tests);
