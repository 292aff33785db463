/* SPDX-License-Identifier: Apache-2.0 */
/* The other calls that return the time, on top of the clock_gettime() of the same library. */
#include <sys/time.h>
#include <time.h>

time_t time(time_t *ret)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;
	int r = clock_gettime(CLOCK_REALTIME, &ts);

	(void)zone;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return r;
}
