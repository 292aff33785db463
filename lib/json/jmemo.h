/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares JSON objects that occur again and again, like the params of a check in the reports of all
 * hosts: each is built once per text. Shared objects must not be changed. Not thread-safe.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

/* Different texts may share a slot; the later one replaces the other. Longer ones are not kept. */
enum { JMEMO_SLOTS = 256, JMEMO_TEXT_MAX = 1024 };

/* One object; owns all its members. */
struct jmemo_entry {
	char *text; /* as it was written; NULL: empty slot */
	size_t length;
	json_t *value;
	char *canonical; /* compact, with sorted keys */
};

/* Zeroed: empty. */
struct jmemo {
	struct jmemo_entry entries[JMEMO_SLOTS];
};

/* The entry for this text, valid until the next jmemo_keep(); NULL if there is none. */
const struct jmemo_entry *jmemo_find(const struct jmemo *m, const char *text, size_t length);

/* Stores the value read from the text, replacing another one: takes a reference. */
void jmemo_keep(struct jmemo *m, const char *text, size_t length, json_t *value);

void jmemo_release(struct jmemo *m);
