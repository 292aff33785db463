/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people, on stderr. Only programs log; lib/ and the pure core never do. One line per
 * event: "message key=value ...". Under systemd (JOURNAL_STREAM is set) each line has its "<N>"
 * priority. Untrusted text cannot control the reader's terminal: utf8_clean_in_place().
 *
 * Data goes to stdout and never through here.
 */
#pragma once

#include <syslog.h>

#include "lib/base/macro.h"

struct err;

/*
 * Sets the name shown before each line (static storage) and the most detailed level shown. Programs
 * call this first: it also makes the three standard descriptors safe (lib/sys/start.h).
 */
void log_init(const char *program, int max_level);

/* One line at `level` (LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG). */
void log_line(int level, const char *fmt, ...) PRINTF(2, 3);

#define log_error(...) log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
