/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a probe's stderr: the last PROBLEM_TEXT_MAX bytes, however much it prints. Pure: no
 * I/O.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/report/report.h"

struct err_tail {
	char bytes[PROBLEM_TEXT_MAX];
	size_t len;
};

/* Append `n` bytes; drops the oldest ones if there are too many. */
void err_tail_add(struct err_tail *tail, const char *bytes, size_t n);

/*
 * The tail as text that is safe in JSON and on a terminal (text_clean), trimmed. The caller frees
 * it; NULL if it is empty.
 */
char *err_tail_text(const struct err_tail *tail);

/* As err_tail_text(), but only the last line, at most 300 bytes: usually why a program failed. */
char *err_tail_last_line(const struct err_tail *tail);

/*
 * Copy `n` bytes as valid UTF-8 of at most `n` bytes. Each byte that is part of no character, and
 * each control character except tab and newline, becomes '?'. Continuation bytes at the start (of
 * a character that was cut) are dropped.
 */
char *text_clean(const char *bytes, size_t n) MUST_CHECK;
