/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/sys/start.h"

enum { LOG_LINE_SIZE = 2048 };

static const char *log_program = "assay";
static int log_max_level = LOG_INFO;
static bool log_prefixed;

void log_init(const char *program, int max_level)
{
	start_program();
	log_program = program;
	log_max_level = max_level;
	log_prefixed = getenv("JOURNAL_STREAM") != NULL;
}

void log_line(int level, const char *fmt, ...)
{
	char text[LOG_LINE_SIZE];
	va_list ap;

	if (level > log_max_level)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)utf8_clean_in_place(text);
	if (log_prefixed)
		(void)fprintf(stderr, "<%d>%s\n", level, text);
	else
		(void)fprintf(stderr, "%s: %s\n", log_program, text);
}
