/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for people, on stderr. Only programs log; lib/ and the pure core never
 * do. One line an event: "message key=value ...". Under systemd (JOURNAL_STREAM
 * is set) each line carries its "<N>" priority. What strangers wrote cannot drive
 * the terminal of who reads it: utf8_clean_in_place().
 *
 * Data goes to stdout and never through here.
 */
#pragma once

#include <syslog.h>

#include "lib/base/macro.h"

struct err;

/*
 * Name shown before each line (static storage) and the most detailed level shown.
 * What a program calls first: it makes the three standard descriptors safe too (lib/sys/start.h).
 */
void log_init(const char *program, int max_level);

/* One line at `level` (LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG). */
void log_line(int level, const char *fmt, ...) PRINTF(2, 3);

#define log_error(...) log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
