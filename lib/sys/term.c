/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/term.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/err.h"

enum {
	WIDTH_OF_A_PIPE = 100,
	WIDTH_MIN = 40,
	WIDTH_MAX = 10000,
	HEIGHT_OF_A_PIPE = 24,
	HEIGHT_MIN = 4,
	SCALE_ONE = 5
};

#define COUNT_MAX 1e15 /* smaller integers are printed with every digit */

bool term_wants_colour(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(out)) && !streq(term, "dumb");
}

const char *paint_on(bool colour, enum paint paint)
{
	static const char *const codes[] = {
		[PAINT_GOOD] = "\033[32m",   [PAINT_WARN] = "\033[33m", [PAINT_BAD] = "\033[1;31m",
		[PAINT_UNSURE] = "\033[36m", [PAINT_DIM] = "\033[2m",	[PAINT_BOLD] = "\033[1m",
	};

	return colour ? codes[paint] : "";
}

const char *paint_off(bool colour)
{
	return colour ? "\033[0m" : "";
}

/* Size given by the caller's environment, for a terminal that we cannot ask. */
static unsigned width_of_caller(void)
{
	const char *text = getenv("COLUMNS");
	char *end = NULL;
	unsigned long width = text && *text ? strtoul(text, &end, 10) : 0;

	return end && !*end && width >= WIDTH_MIN && width <= WIDTH_MAX ? (unsigned)width
									: WIDTH_OF_A_PIPE;
}

unsigned term_width(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || size.ws_col < WIDTH_MIN)
		return width_of_caller();
	return size.ws_col;
}

bool term_unread(FILE *out)
{
	struct pollfd p = { .fd = fileno(out), .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

unsigned term_height(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || size.ws_row < HEIGHT_MIN)
		return HEIGHT_OF_A_PIPE;
	return size.ws_row;
}

/* Three significant digits: "71.2", "1.20", "123"; "#" keeps zeros, and "123." loses its dot. */
static void three_digits(double value, char ret_text[static NUMBER_SIZE])
{
	size_t len;

	(void)snprintf(ret_text, NUMBER_SIZE, "%#.3g", value);
	len = strlen(ret_text);
	if (len > 0 && ret_text[len - 1] == '.')
		ret_text[len - 1] = '\0';
}

double number_scale(double like, const char **ret_prefix)
{
	static const struct {
		double factor;
		const char *prefix;
	} scales[] = {
		{ 1e15, "P" },		 { 1e12, "T" }, { 1e9, "G" },  { 1e6, "M" },  { 1e3, "k" },
		[SCALE_ONE] = { 1, "" }, { 1e-3, "m" }, { 1e-6, "u" }, { 1e-9, "n" },
	};
	size_t i = 0;

	/* 0.9995 so that 999.96 does not print as "1e+03". */
	while (i + 1 < ARRAY_SIZE(scales) && fabs(like) < 0.9995 * scales[i].factor)
		i++;
	if (like == 0)
		i = SCALE_ONE;
	*ret_prefix = scales[i].prefix;
	return scales[i].factor;
}

void number_format(double value, const char *unit, char ret_text[static NUMBER_SIZE])
{
	char digits[NUMBER_SIZE];
	const char *prefix;

	if (isnan(value)) {
		(void)snprintf(ret_text, NUMBER_SIZE, "-");
		return;
	}
	if (!unit || streq(unit, "1")) {
		bool whole = fabs(value) < COUNT_MAX && value == floor(value);

		(void)snprintf(ret_text, NUMBER_SIZE, whole ? "%.0f" : "%.4g", value);
		return;
	}
	three_digits(value / number_scale(value, &prefix), digits);
	(void)snprintf(ret_text, NUMBER_SIZE, "%.17s %s%.12s", digits, prefix, unit);
}

int output_parse(const char *text, enum output *ret)
{
	static const char *const names[] = {
		[OUTPUT_TABLE] = "table", [OUTPUT_JSON] = "json", [OUTPUT_KV] = "kv"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (streq(text, names[i])) {
			*ret = (enum output)i;
			return 0;
		}
	}
	return -EINVAL;
}

int output_option(const char *arg, enum output *ret, struct err *err)
{
	if (output_parse(arg, ret) < 0)
		return err_set(err, EINVAL, "-o: '%.40s' is not one of table, json, kv", arg);
	return 0;
}
