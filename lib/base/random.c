/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/sys/file.h"

/* From include/uapi/linux/random.h, since Linux 5.6; older C libraries do not define it. */
#ifndef GRND_INSECURE
#define GRND_INSECURE 0x0004
#endif

/* The golden ratio in 64 bits: spreads neighbouring times far apart. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

uint64_t random_u64(void)
{
	uint64_t value;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) == (ssize_t)sizeof(value) ||
	    getrandom(&value, sizeof(value), GRND_INSECURE) == (ssize_t)sizeof(value))
		return value;
	return (clock_mono_us() ^ clock_real_us() << 20 ^ (uint64_t)getpid() << 44) * SPREAD;
}

static int not_seeded(struct err *err)
{
	return err_set(
		err, EAGAIN,
		"the kernel's random number generator is not seeded yet, so soon after boot");
}

/* /dev/random is readable once the generator is seeded: drivers/char/random.c, random_poll(). */
static int wait_seeded(uint64_t deadline_us, struct err *err)
{
	const uint64_t now_us = clock_mono_us();
	CLEANUP(closep) int fd = -1;
	struct pollfd random = { .events = POLLIN };
	uint64_t left_ms;

	if (now_us >= deadline_us)
		return not_seeded(err);
	left_ms = (deadline_us - now_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC;
	fd = open("/dev/random", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "cannot wait for random numbers: /dev/random");
	random.fd = fd;
	if (poll(&random, 1, (int)MIN(left_ms, (uint64_t)INT_MAX)) < 0 && errno != EINTR)
		return err_errno(err, errno, "cannot wait for random numbers");
	return 0;
}

int random_secret(void *ret_bytes, size_t size, uint64_t deadline_us, struct err *err)
{
	unsigned char bytes[RANDOM_SECRET_MAX];
	int r = 0;

	if (size > sizeof(bytes))
		return err_set(err, EINVAL, "a secret of %zu bytes, more than %d", size,
			       RANDOM_SECRET_MAX);
	while (getrandom(bytes, size, GRND_NONBLOCK) != (ssize_t)size) {
		if (errno != EAGAIN && errno != EINTR)
			return err_errno(err, errno, "no random numbers");
		r = wait_seeded(deadline_us, err);
		if (r < 0)
			return r;
	}
	memcpy(ret_bytes, bytes, size);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int random_token(char *ret, size_t letters, uint64_t deadline_us, struct err *err)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t i;
	int r = random_secret(ret, letters, deadline_us, err);

	if (r < 0)
		return r;
	for (i = 0; i < letters; i++)
		ret[i] = alphabet[(unsigned char)ret[i] & 63];
	ret[i] = '\0';
	return 0;
}
