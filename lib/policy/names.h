/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as small numbers, so that counting by rack or job uses an array instead of a search. A
 * number belongs to its name while anyone holds it, and is then reused. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum { NAME_NONE = -1 };

struct name;

struct names {
	struct name **items; /* by number; unused ones are free */
	size_t n;	     /* numbers ever given: every number is below it */
	size_t room;
	void *tree; /* of struct name, by text */
	int spare;  /* the first free number, plus one; 0: none */
};

/* Adds a reference to `text` and returns its number; NAME_NONE for NULL. */
int names_hold(struct names *names, const char *text);

/* Drops a reference; ignores NAME_NONE. */
void names_drop(struct names *names, int number);

/* The number of a text that is held, or NAME_NONE. */
int names_find(const struct names *names, const char *text);

/* Borrowed; NULL for NAME_NONE. */
const char *names_text(const struct names *names, int number);

void names_release(struct names *names);
