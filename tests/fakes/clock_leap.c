/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: days in minutes. All clocks of the program run ASSAY_CLOCK_SPEED (50) times as fast
 * from its start on, and leap on request. The file ASSAY_CLOCK_LEAP holds 16 bytes, which are
 * mapped: the microseconds to add to all clocks, written by the test, and the monotonic time of
 * the start in nanoseconds, written by the program. Timers (timerfd, used by event loops) follow
 * these clocks.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { SEC_NS = 1000000000, USEC_NS = 1000, SPEED = 50, FDS_MAX = 1024 };

static _Atomic int64_t none[2], *shared = none; /* total leap, in us; the start, in ns */
static int64_t start_ns, speed = SPEED;

static int64_t to_ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * SEC_NS + ts->tv_nsec;
}

static struct timespec from_ns(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SEC_NS, .tv_nsec = ns % SEC_NS };
}

static int64_t read_ns(clockid_t id)
{
	int (*real)(clockid_t, struct timespec *) =
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	struct timespec ts = { 0 };

	(void)real(id, &ts);
	return to_ns(&ts);
}

static void __attribute__((constructor)) start(void)
{
	const char *path = getenv("ASSAY_CLOCK_LEAP"), *text = getenv("ASSAY_CLOCK_SPEED");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	start_ns = read_ns(CLOCK_MONOTONIC);
	speed = text && strtol(text, NULL, 10) > 0 ? strtol(text, NULL, 10) : SPEED;
	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(none), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map == MAP_FAILED)
		return;
	shared = map;
	atomic_store(&shared[1], start_ns);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t gone_ns = start_ns ? read_ns(CLOCK_MONOTONIC) - start_ns : 0;

	*ts = from_ns(read_ns(id));
	if (id != CLOCK_PROCESS_CPUTIME_ID && id != CLOCK_THREAD_CPUTIME_ID)
		*ts = from_ns(to_ns(ts) + gone_ns * (speed - 1) + atomic_load(&shared[0]) * USEC_NS);
	return 0;
}

/* The clock of a timer, by its descriptor. */
static clockid_t clock_of[FDS_MAX];

int timerfd_create(int id, int flags)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "timerfd_create");
	int fd = real(id, flags);

	if (fd >= 0 && fd < FDS_MAX)
		clock_of[fd] = id;
	return fd;
}

/* Turns an absolute time into a relative one. */
int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
	int (*real)(int, int, const struct itimerspec *, struct itimerspec *) =
		(int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(
			RTLD_NEXT, "timerfd_settime");
	struct itimerspec sooner = *value;
	struct timespec now;
	int64_t left = to_ns(&value->it_value);

	if (left == 0 || fd >= FDS_MAX)
		return real(fd, flags, value, old);
	if (flags & TFD_TIMER_ABSTIME) {
		(void)clock_gettime(clock_of[fd], &now);
		left -= to_ns(&now);
	}
	left /= speed;
	sooner.it_value = from_ns(left > 0 ? left : 1);
	return real(fd, 0, &sooner, old);
}
