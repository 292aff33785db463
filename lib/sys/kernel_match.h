/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a line of the kernel log with the rules of kernel_rules.h. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct kernel_rules;
struct kernel_xid;

enum { KERNEL_CODE_SIZE = 64, KERNEL_SUBJECT_SIZE = 96 };

/* A line that matched. */
struct kernel_match {
	size_t pattern;
	int severity;
	const struct kernel_xid *xid; /* or NULL */
	char code[KERNEL_CODE_SIZE];
	char subject[KERNEL_SUBJECT_SIZE]; /* "pci:0000:1b:00.0", "eth0", "host" */
};

/* True if a pattern matches `text` (one record, printable ASCII); the first of the table counts. */
bool kernel_match_line(const struct kernel_rules *rules, const char *text, struct kernel_match *ret);

/* What such a line means and, for a GPU, what to do, as the beginning of a sentence. New memory. */
char *kernel_match_note(const struct kernel_rules *rules, const struct kernel_match *match);

/*
 * The longest text contained in every match of the extended regular expression, in new memory, or
 * NULL if it is shorter than 3 bytes. Only looks outside of groups, and gives up at an alternation
 * there.
 */
char *kernel_literal(const char *regex);
