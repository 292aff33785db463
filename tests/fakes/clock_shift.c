/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: shifts the wall clock and the boot time. The file
 * ASSAY_CLOCK_FILE holds their two offsets in microseconds, "REAL BOOT". It is
 * read at each call, so a test can make the clocks jump while a program runs.
 * CLOCK_MONOTONIC, for durations and deadlines, is unchanged.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SEC_US = 1000000, SEC_NS = 1000000000 };

struct shift {
	long long real_us, boot_us;
};

static struct shift read_shift(void)
{
	const char *path = getenv("ASSAY_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct shift s = { 0, 0 };
	char text[80], *at = text;
	ssize_t n;

	if (fd < 0)
		return s;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	s.real_us = strtoll(at, &at, 10);
	s.boot_us = strtoll(at, &at, 10);
	return s;
}

static void add(struct timespec *ts, long long us)
{
	long long ns = (long long)ts->tv_nsec + us % SEC_US * 1000;
	long long s = (long long)ts->tv_sec + us / SEC_US;

	if (ns < 0) {
		ns += SEC_NS;
		s--;
	}
	ts->tv_sec = (time_t)(s + ns / SEC_NS);
	ts->tv_nsec = (long)(ns % SEC_NS);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int (*real)(clockid_t, struct timespec *) =
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	const struct shift shift = read_shift();
	int r = real(id, ts);

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		add(ts, shift.real_us);
	if (r == 0 && id == CLOCK_BOOTTIME)
		add(ts, shift.boot_us);
	return r;
}
