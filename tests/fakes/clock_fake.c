/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: a simulated monotonic clock. Reading it advances it by a
 * microsecond, a pause (ppoll() of nothing) by the time asked for, and neither
 * takes real time. With gpu_fake_*.c a measurement of seconds takes
 * milliseconds and finds the same numbers on a loaded machine.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SEC_NS = 1000000000, LOOK_NS = 1000 };

static _Atomic int64_t passed_ns; /* since the start */
static int64_t start_ns;

static int real_gettime(clockid_t id, struct timespec *ts)
{
	int (*real)(clockid_t, struct timespec *) =
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");

	return real(id, ts);
}

static int64_t to_ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * SEC_NS + ts->tv_nsec;
}

static struct timespec from_ns(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SEC_NS, .tv_nsec = ns % SEC_NS };
}

static long patience(void)
{
	const char *text = getenv("ASSAY_FAKE_PATIENCE");

	return text ? strtol(text, NULL, 10) : 10;
}

static void __attribute__((constructor)) start(void)
{
	struct timespec now = { 0 };

	(void)real_gettime(CLOCK_MONOTONIC, &now);
	start_ns = to_ns(&now);
}

/* Called by fakes whose work takes simulated time (gpu_fake_clock.c). */
void clock_fake_pass(int64_t ns);
void clock_fake_pass(int64_t ns)
{
	(void)atomic_fetch_add(&passed_ns, ns);
}

/* Prints the simulated run time of the process if the test asks (clock=1 in gpu_fake.h). */
static void tell_end(void)
{
	const char *text = getenv("ASSAY_FAKE_GPUS");
	char line[80];
	int n;

	if (!text || !strstr(text, "clock=1"))
		return;
	n = snprintf(line, sizeof(line), "fake GPUs: used for %.3f s\n",
		     (double)atomic_load(&passed_ns) / SEC_NS);
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

static void __attribute__((destructor)) end(void)
{
	tell_end();
}

/* Runs no destructors. */
void _exit(int status)
{
	void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");

	tell_end();
	real(status);
	abort(); /* not reached, but the compiler cannot know */
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC || !start_ns)
		return real_gettime(id, ts);
	*ts = from_ns(start_ns + atomic_fetch_add(&passed_ns, LOOK_NS));
	return 0;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))dlsym(
			RTLD_NEXT, "ppoll");

	if (n || !timeout)
		return real(fds, n, timeout, mask);
	(void)atomic_fetch_add(&passed_ns, to_ns(timeout));
	return 0;
}

/*
 * A wait for another thread takes real time, with ten times the timeout,
 * because that thread computes on a machine that may be loaded.
 * ASSAY_FAKE_PATIENCE=1 if that thread never answers.
 */
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t id,
			   const struct timespec *deadline)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *) =
		(int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			 const struct timespec *))dlsym(RTLD_NEXT, "pthread_cond_clockwait");
	struct timespec now, until;

	(void)clock_gettime(id, &now);
	(void)real_gettime(id, &until);
	until = from_ns(to_ns(&until) + (to_ns(deadline) - to_ns(&now)) * patience());
	return real(cond, lock, id, &until);
}

/* The alarm that ends a probe over its budget uses real time too. */
int setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	int (*real)(__itimer_which_t, const struct itimerval *, struct itimerval *) =
		(int (*)(__itimer_which_t, const struct itimerval *, struct itimerval *))dlsym(
			RTLD_NEXT, "setitimer");
	struct itimerval longer = *value;

	longer.it_value.tv_sec *= patience();
	longer.it_value.tv_usec *= patience();
	longer.it_value.tv_sec += longer.it_value.tv_usec / 1000000;
	longer.it_value.tv_usec %= 1000000;
	return real(which, &longer, old);
}
