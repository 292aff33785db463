/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/err.h"

#define DURATION_MAX_US (3650 * USEC_PER_DAY)
#define STAMP_MAX_US (UINT64_C(253402300799) * USEC_PER_SEC) /* 9999-12-31T23:59:59Z */

static const struct {
	const char *suffix;
	uint64_t us;
} units[] = {
	/* largest first: duration_format() takes the first that divides */
	{ "d", USEC_PER_DAY }, { "h", USEC_PER_HOUR },	{ "m", USEC_PER_MIN },
	{ "s", USEC_PER_SEC }, { "ms", USEC_PER_MSEC },
};

void clock_stamp(uint64_t real_us, char ret_text[static CLOCK_STAMP_SIZE])
{
	time_t seconds = (time_t)(real_us / USEC_PER_SEC);
	unsigned ms = (unsigned)(real_us % USEC_PER_SEC / USEC_PER_MSEC);
	struct tm tm;
	char date[24];

	/* RFC 3339 ends with the year 9999: show its last second. */
	if (real_us > STAMP_MAX_US) {
		seconds = STAMP_MAX_US / USEC_PER_SEC;
		ms = 999;
	}
	if (!gmtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		abort(); /* cannot happen within these years */
	(void)snprintf(ret_text, CLOCK_STAMP_SIZE, "%s.%03uZ", date, ms);
}

void duration_until(uint64_t real_us, uint64_t now_us, char ret_text[static CLOCK_STAMP_SIZE])
{
	char stamp[CLOCK_STAMP_SIZE]; /* 2026-11-21T06:23:07.000Z */
	const bool later = real_us >= now_us;
	const uint64_t away_us = later ? real_us - now_us : now_us - real_us;

	clock_stamp(real_us, stamp);
	if (later && away_us < 2 * USEC_PER_MIN)
		(void)snprintf(ret_text, CLOCK_STAMP_SIZE, "%.8sZ", stamp + 11);
	else if (later && away_us < USEC_PER_DAY)
		(void)snprintf(ret_text, CLOCK_STAMP_SIZE, "%.5sZ", stamp + 11);
	else
		(void)snprintf(ret_text, CLOCK_STAMP_SIZE, "%.10s %.5sZ", stamp, stamp + 11);
}

/* Fraction of a second at `*at` (after the point) in microseconds; moves past it. */
static uint64_t parse_fraction(const char **at)
{
	uint64_t us = 0, digit_us = USEC_PER_SEC / 10;

	for (; isdigit((unsigned char)**at); (*at)++, digit_us /= 10)
		us += (uint64_t)(**at - '0') * digit_us;
	return us;
}

int clock_parse_stamp(const char *text, uint64_t *ret_real_us)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	const char *at = text + sizeof(shape) - 1;
	struct tm tm = { 0 }, back;
	uint64_t us = 0;
	time_t seconds;
	size_t i;

	for (i = 0; shape[i]; i++) {
		if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
			return -EINVAL;
	}
	if (strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) != at)
		return -EINVAL;
	if (at[0] == '.' && isdigit((unsigned char)at[1])) {
		at++;
		us = parse_fraction(&at);
	}
	back = tm;
	seconds = timegm(&back); /* normalises dates that do not exist, such as 31 February */
	if (!streq(at, "Z") || seconds < 0 || back.tm_mday != tm.tm_mday || back.tm_sec != tm.tm_sec)
		return -EINVAL;
	*ret_real_us = (uint64_t)seconds * USEC_PER_SEC + us;
	return 0;
}

static int bad_duration(const char *text, struct err *err)
{
	return err_set(
		err,
		EINVAL, "'%.40s' is not a duration: expected a whole number with ms, s, m, h or d, such as 45s",
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
