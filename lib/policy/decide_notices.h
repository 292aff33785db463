/* SPDX-License-Identifier: Apache-2.0 */
/* The notices of a fleet while it is decided what hosts share. Part of decide_shared(). */
#pragma once

#include <stddef.h>

struct deciding;
struct fleet;
struct notice;

/* Borrowed; NULL: there is none. `kind` is of enum notice_kind. */
struct notice *decide_notices_find(const struct fleet *f, int kind, const char *key);

/* Likewise, begun now for so many hosts if there is none; NULL: there are too many. */
struct notice *decide_notices_need(struct deciding *d, int kind, const char *key, size_t hosts);

/* It stands: so many hosts of so many. Takes the sentence, also where `notice` is NULL. */
void decide_notices_say(struct notice *notice, size_t hosts, size_t of, char *sentence);

/* Before all others: ended ones, which were told once, go. */
void decide_notices_begin(struct fleet *f);

/* After all others: what does not stand has ended. */
void decide_notices_end(struct deciding *d);
