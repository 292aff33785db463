/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON objects that come again and again, as the parameters of a check do in
 * the reports of all hosts: each is built once, by its text, and shared. Who
 * shares one must not change it. One thread at a time.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

/* Texts that differ may share a slot: the later one takes it. Longer ones are not kept. */
enum { JMEMO_SLOTS = 256, JMEMO_TEXT_MAX = 1024 };

/* One object, all owned. */
struct jmemo_entry {
	char *text; /* as it was written; NULL: none */
	size_t length;
	json_t *value;
	char *canonical; /* compact, keys in order */
};

/* Zeroes are an empty one. */
struct jmemo {
	struct jmemo_entry entries[JMEMO_SLOTS];
};

/* What was kept of this text, until the next jmemo_keep(); NULL: nothing. */
const struct jmemo_entry *jmemo_find(const struct jmemo *m, const char *text, size_t length);

/* Keep what the text was read as, in place of another: takes a reference. */
void jmemo_keep(struct jmemo *m, const char *text, size_t length, json_t *value);

void jmemo_release(struct jmemo *m);
