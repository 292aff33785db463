/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of what a probe said on stderr: the last PROBLEM_TEXT_MAX bytes, so
 * that a probe may print as much as it likes there. Pure: no I/O.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/report/report.h"

struct err_tail {
	char bytes[PROBLEM_TEXT_MAX];
	size_t len;
};

/* Add `n` bytes; the oldest ones go when there are too many. */
void err_tail_add(struct err_tail *tail, const char *bytes, size_t n);

/*
 * The tail as text that is fit for JSON and for a terminal (text_clean),
 * without white space at its ends. New memory; NULL when there is nothing.
 */
char *err_tail_text(const struct err_tail *tail);

/* Its last line, at most 300 bytes: the reason a program gives for ending. The same. */
char *err_tail_last_line(const struct err_tail *tail);

/*
 * A copy of `n` bytes as valid UTF-8 of at most `n` bytes: each byte that
 * belongs to no character, and each control character but tab and newline,
 * becomes '?'. Continuation bytes at the start (a character that was cut) go.
 */
char *text_clean(const char *bytes, size_t n) MUST_CHECK;
