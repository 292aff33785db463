/* SPDX-License-Identifier: Apache-2.0 */
/* The notices of a fleet while shared findings are decided. Part of decide_shared(). */
#pragma once

#include <stddef.h>

struct deciding;
struct fleet;
struct notice;

/* Borrowed; NULL if there is none. `kind`: enum notice_kind. */
struct notice *decide_notices_find(const struct fleet *f, int kind, const char *key);

/* The same, begun now for that many hosts if there is none; NULL: too many notices. */
struct notice *decide_notices_need(struct deciding *d, int kind, const char *key, size_t hosts);

/* It stands, for `hosts` of `of` hosts. Takes the sentence, even if `notice` is NULL. */
void decide_notices_say(struct notice *notice, size_t hosts, size_t of, char *sentence);

/* Call first: removes ended notices, which were already reported. */
void decide_notices_begin(struct fleet *f);

/* Call last: ends notices that no longer stand. */
void decide_notices_end(struct deciding *d);
