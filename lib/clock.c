/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/err.h"

#define DURATION_MAX_US (3650 * USEC_PER_DAY)

static const struct {
	const char *suffix;
	uint64_t us;
} units[] = {
	/* Largest first: duration_format() takes the first that fits. */
	{ "d", USEC_PER_DAY }, { "h", USEC_PER_HOUR },	{ "m", USEC_PER_MIN },
	{ "s", USEC_PER_SEC }, { "ms", USEC_PER_MSEC },
};

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		abort(); /* cannot happen with these ids */
	return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_mono_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_real_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_left_us(uint64_t deadline_us)
{
	uint64_t now_us = clock_mono_us();

	return deadline_us > now_us ? deadline_us - now_us : 0;
}

int clock_left_ms(uint64_t deadline_us)
{
	uint64_t left_us = clock_left_us(deadline_us);
	uint64_t left_ms = left_us / USEC_PER_MSEC + (left_us % USEC_PER_MSEC != 0);

	return (int)MIN(left_ms, (uint64_t)INT_MAX);
}

void clock_stamp(uint64_t real_us, char ret_text[static CLOCK_STAMP_SIZE])
{
	time_t seconds = (time_t)(real_us / USEC_PER_SEC);
	unsigned ms = (unsigned)(real_us % USEC_PER_SEC / USEC_PER_MSEC);
	struct tm tm;
	char date[24] = "1970-01-01T00:00:00";

	if (gmtime_r(&seconds, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret_text, CLOCK_STAMP_SIZE, "%s.%03uZ", date, ms);
}

int clock_parse_stamp(const char *text, uint64_t *ret_real_us)
{
	struct tm tm = { 0 };
	const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	uint64_t us = 0, digit_us = USEC_PER_SEC / 10;
	time_t seconds;

	if (!at)
		return -EINVAL;
	if (*at == '.') {
		for (at++; isdigit((unsigned char)*at); at++, digit_us /= 10)
			us += (uint64_t)(*at - '0') * digit_us;
	}
	if (!streq(at, "Z"))
		return -EINVAL;
	seconds = timegm(&tm);
	if (seconds < 0)
		return -EINVAL;
	*ret_real_us = (uint64_t)seconds * USEC_PER_SEC + us;
	return 0;
}

static int bad_duration(const char *text, struct err *err)
{
	return err_set(
		err, EINVAL,
		"'%.40s' is not a duration: want a whole number and ms, s, m, h or d, as in 45s",
		text);
}

int duration_parse(const char *text, uint64_t *ret_us, struct err *err)
{
	char *end = NULL;
	uint64_t n;
	size_t i;

	if (!isdigit((unsigned char)text[0]))
		return bad_duration(text, err);
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return bad_duration(text, err);
	if (n == 0 && *end == '\0') {
		*ret_us = 0;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (!streq(end, units[i].suffix))
			continue;
		if (n > DURATION_MAX_US / units[i].us)
			return err_set(err, EINVAL, "'%.40s' is longer than 10 years", text);
		*ret_us = n * units[i].us;
		return 0;
	}
	return bad_duration(text, err);
}

void duration_format(uint64_t us, char ret_text[static CLOCK_DURATION_SIZE])
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (us >= units[i].us && us % units[i].us == 0) {
			(void)snprintf(ret_text, CLOCK_DURATION_SIZE, "%" PRIu64 "%s",
				       us / units[i].us, units[i].suffix);
			return;
		}
	}
	(void)snprintf(ret_text, CLOCK_DURATION_SIZE, "%" PRIu64 "ms", us / USEC_PER_MSEC);
}
