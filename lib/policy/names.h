/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as small numbers, so that counting by rack or by job is an array and
 * not a search. A number belongs to its name while anyone holds it and is then
 * given to another name. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum { NAME_NONE = -1 };

struct name;

struct names {
	struct name **items; /* by number; those that nobody holds are free */
	size_t n;	     /* numbers ever given: every number is below it */
	size_t room;
	void *tree; /* of struct name, by text */
	int spare;  /* the first free number, plus one; 0: none */
};

/* The number of `text`, held once more; NAME_NONE for NULL. */
int names_hold(struct names *names, const char *text);

/* Held once less; NAME_NONE is nothing. */
void names_drop(struct names *names, int number);

/* The number of a text that someone holds, or NAME_NONE. */
int names_find(const struct names *names, const char *text);

/* Borrowed; NULL for NAME_NONE. */
const char *names_text(const struct names *names, int number);

void names_release(struct names *names);
