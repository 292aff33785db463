/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: a monotonic clock that runs ASSAY_CLOCK_RATE times as fast as the real one (default
 * 1), for a program and its children. Waits are shortened by the same factor, and a deadline
 * passed from one process to another means the same in both. Computation is not faster, so it
 * takes that many times longer by this clock; a rate below 1 acts like a faster machine. The wall
 * clock and the boot time are unchanged.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define SEC_NS 1e9

static double rate = 1;

static void __attribute__((constructor)) start(void)
{
	const char *text = getenv("ASSAY_CLOCK_RATE");
	const double given = text ? strtod(text, NULL) : 1;

	rate = given > 0 ? given : 1;
}

/* The C library function that the one here overrides. */
#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static struct timespec times(const struct timespec *ts, double factor)
{
	const double ns = ((double)ts->tv_sec * SEC_NS + (double)ts->tv_nsec) * factor;
	const time_t s = (time_t)(ns / SEC_NS);

	return (struct timespec){ .tv_sec = s, .tv_nsec = (long)(ns - (double)s * SEC_NS) };
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	const int r = REAL(clock_gettime)(id, ts);

	if (r == 0 &&
	    (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW))
		*ts = times(ts, rate);
	return r;
}

/* Rounds up, so no caller spins until its deadline. */
static int scaled_ms(int ms)
{
	const double scaled = (double)ms / rate;

	return ms <= 0 ? ms : (int)scaled + (scaled > (double)(int)scaled);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	return REAL(poll)(fds, n, scaled_ms(ms));
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec scaled;

	if (timeout)
		scaled = times(timeout, 1 / rate);
	return REAL(ppoll)(fds, n, timeout ? &scaled : NULL, mask);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t id,
			   const struct timespec *deadline)
{
	const struct timespec scaled = times(deadline, id == CLOCK_MONOTONIC ? 1 / rate : 1);

	return REAL(pthread_cond_clockwait)(cond, lock, id, &scaled);
}

int setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	const struct timespec after = { .tv_sec = value->it_value.tv_sec,
					.tv_nsec = value->it_value.tv_usec * 1000 };
	const struct timespec scaled = times(&after, 1 / rate);
	struct itimerval own = *value;

	own.it_value.tv_sec = scaled.tv_sec;
	own.it_value.tv_usec = scaled.tv_nsec / 1000;
	return REAL(setitimer)(which, &own, old);
}
