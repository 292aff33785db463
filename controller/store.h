/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's memory: one SQLite file. Only store*.c include sqlite3.h;
 * its errors come out as negative errno with a sentence.
 *
 * Writes gather in one transaction that store_commit() makes durable (WAL,
 * synchronous=FULL: after it returns 0 they survive kill -9 and power loss).
 * Nobody may be told that a report was accepted before that. When it fails
 * everything since the last commit is gone, as if it had never been added.
 * Reads see what was added and not yet committed.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/macro.h"

struct err;
struct packed;
struct report;
struct store;
struct verdict;

enum {
	STORE_VERSION = 1,	/* PRAGMA user_version of what this program writes */
	STORE_PAGE_MAX = 1000,	/* most items of one page of a list */
	STORE_ITEMS_MAX = 1000, /* not-pass items kept of one report, worst first */
	STORE_PROFILES_MAX = 8, /* profiles of one host whose newest run is kept */
};

/* A report as it is put in. All borrowed. */
struct store_report {
	const struct report *report;
	const struct verdict *verdict; /* of this report alone */
	const struct verdict *merged;  /* of the host, over its profiles */
	const struct packed *body;
	uint64_t seen_us;
	bool late; /* a newer one is there: history only */
};

/* Where a report stands among those of its host. */
enum store_place {
	PLACE_NEWEST,	 /* nothing newer is there */
	PLACE_LATE,	 /* a newer one was there before it */
	PLACE_DUPLICATE, /* it is there already */
};

/* Open or make the file at `path`, and bring it to STORE_VERSION. -EINVAL when it is no store. */
int store_open(const char *path, struct store **ret_store, struct err *err);
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close, store_closep);

/* --- reports --- */

/* Where (node, boot_id, seq) stands: an enum store_place, or a negative errno. */
int store_place(struct store *s, const struct report *report, struct err *err);

/* Put it into the open transaction. -EEXIST for a duplicate. */
int store_add(struct store *s, const struct store_report *in, struct err *err);

/*
 * The newest run of each profile of the host, as verdicts whose pass items
 * carry only what they are about; at most `max`. Release each. Returns how many.
 */
int store_runs(struct store *s, const char *node, struct verdict *ret_runs, size_t max,
	       struct err *err);

/* Make all that was added durable. On failure it is all taken back. */
int store_commit(struct store *s, struct err *err);

/* Is anything waiting for store_commit()? */
bool store_dirty(const struct store *s);

/* How many hosts are known. */
int store_count_nodes(struct store *s, uint64_t *ret_count, struct err *err);

/* Is this host known? */
int store_has_node(struct store *s, const char *node, bool *ret_known, struct err *err);

/* Hosts by level of their verdict (enum verdict_level, 4 counts). */
int store_count_verdicts(struct store *s, uint64_t ret_counts[static 4], struct err *err);
