/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of a kernel that is seeded late, or never, with fake getrandom() and poll(). */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "tests/unit/test.h"

/* The kernel of a test. */
static struct {
	unsigned not_yet;     /* answers of EAGAIN to come */
	unsigned interrupted; /* and of EINTR before those */
	int code;	      /* what it fails with for good; 0: it does not */
	unsigned asked, polled, insecure;
	int waited_ms; /* that the last poll() may last */
} kernel;

static unsigned char next_byte;

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
	size_t i;

	kernel.asked++;
	kernel.insecure += !(flags & GRND_NONBLOCK);
	errno = kernel.interrupted ? EINTR : kernel.code ? kernel.code : EAGAIN;
	if (kernel.interrupted) {
		kernel.interrupted--;
		return -1;
	}
	if (kernel.code || ((flags & GRND_NONBLOCK) && kernel.not_yet)) {
		kernel.not_yet -= kernel.not_yet > 0;
		return -1;
	}
	for (i = 0; i < length; i++)
		((unsigned char *)bytes)[i] = next_byte++;
	return (ssize_t)length;
}

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	CHECK_EQ(n, 1);
	CHECK_EQ(fds[0].events, POLLIN);
	kernel.polled++;
	kernel.waited_ms = timeout_ms;
	return 0;
}

static uint64_t in_an_hour(void)
{
	return clock_mono_us() + USEC_PER_HOUR;
}

static void a_secret_is_what_the_kernel_gives(void)
{
	unsigned char bytes[3] = { 9, 9, 9 };

	memset(&kernel, 0, sizeof(kernel));
	next_byte = 1;
	CHECK_EQ(random_secret(bytes, sizeof(bytes), 0, NULL), 0);
	CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3);
	CHECK_EQ(kernel.asked, 1);
	CHECK_EQ(kernel.polled, 0);
}

static void a_secret_waits_for_a_kernel_that_is_not_seeded(void)
{
	unsigned char bytes[2] = { 9, 9 };

	memset(&kernel, 0, sizeof(kernel));
	kernel.not_yet = 3;
	next_byte = 5;
	CHECK_EQ(random_secret(bytes, sizeof(bytes), in_an_hour(), NULL), 0);
	CHECK(bytes[0] == 5 && bytes[1] == 6);
	CHECK_EQ(kernel.polled, 3);
	CHECK(kernel.waited_ms > 3599000 && kernel.waited_ms <= 3600000);
}

static void out_of_time_there_is_no_secret_and_it_is_said(void)
{
	unsigned char bytes[2] = { 9, 9 };
	struct err err = ERR_INIT;

	memset(&kernel, 0, sizeof(kernel));
	kernel.not_yet = 1000000;
	CHECK_EQ(random_secret(bytes, sizeof(bytes), 0, &err), -EAGAIN);
	CHECK_HAS(err.msg, "random number generator is not seeded yet");
	CHECK_EQ(kernel.polled, 0);
	CHECK_EQ(random_secret(bytes, sizeof(bytes), clock_mono_us() + 1000, &err), -EAGAIN);
	CHECK(bytes[0] == 9 && bytes[1] == 9);
	CHECK_EQ(kernel.insecure, 0);
}

static void a_secret_survives_signals_and_fails_with_the_kernel(void)
{
	unsigned char bytes[2] = { 9, 9 }, many[RANDOM_SECRET_MAX + 1];
	struct err err = ERR_INIT;

	memset(&kernel, 0, sizeof(kernel));
	kernel.interrupted = 2;
	CHECK_EQ(random_secret(bytes, sizeof(bytes), in_an_hour(), NULL), 0);
	kernel.code = ENOSYS;
	CHECK_EQ(random_secret(bytes, sizeof(bytes), in_an_hour(), &err), -ENOSYS);
	CHECK_HAS(err.msg, "no random numbers");
	kernel.code = 0;
	CHECK_EQ(random_secret(many, sizeof(many), in_an_hour(), &err), -EINVAL);
	CHECK_EQ(random_secret(many, RANDOM_SECRET_MAX, in_an_hour(), &err), 0);
}

static void jitter_never_waits(void)
{
	uint64_t a, b;

	memset(&kernel, 0, sizeof(kernel));
	kernel.not_yet = 2;
	next_byte = 0;
	a = random_u64();
	CHECK_EQ(kernel.insecure, 1); /* what the kernel has by then */
	kernel.code = ENOSYS;
	b = random_u64();
	CHECK(a != b && b != 0);
	CHECK_EQ(kernel.polled, 0);
}

static const struct test tests[] = {
	TEST(a_secret_is_what_the_kernel_gives),
	TEST(a_secret_waits_for_a_kernel_that_is_not_seeded),
	TEST(out_of_time_there_is_no_secret_and_it_is_said),
	TEST(a_secret_survives_signals_and_fails_with_the_kernel),
	TEST(jitter_never_waits),
};

TEST_SUITE(tests);
