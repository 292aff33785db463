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

#include "controller/windows.h"
#include "lib/duration.h"
#include "lib/macro.h"

struct err;
struct packed;
struct report;
struct store;
struct verdict;

/* A host that nothing came from for so long is not judged: three passive runs. */
#define STORE_STALE_US (16 * USEC_PER_MIN)

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

/* Forget all that was added since the last commit. */
void store_take_back(struct store *s);

/* Is anything waiting for store_commit()? */
bool store_dirty(const struct store *s);

/* How many hosts are known. */
int store_count_nodes(struct store *s, uint64_t *ret_count, struct err *err);

/* Is this host known? */
int store_has_node(struct store *s, const char *node, bool *ret_known, struct err *err);

/* Hosts by level of their verdict (enum verdict_level, 4 counts). */
int store_count_verdicts(struct store *s, uint64_t ret_counts[static 4], struct err *err);

/* --- lists, as the API gives them --- */

struct store_range {
	const char *cursor; /* `next` of the page before, or NULL */
	size_t limit;	    /* 1 to STORE_PAGE_MAX */
};

struct store_page {
	json_t *items; /* array; new reference */
	char *next;    /* owned, or NULL at the end */
};

/* Hosts by name. `now_us` tells which are stale. */
int store_nodes(struct store *s, const struct store_range *range, uint64_t now_us,
		struct store_page *ret, struct err *err);

/* One host. -ENOENT. */
int store_node(struct store *s, const char *node, uint64_t now_us, json_t **ret_node,
	       struct err *err);

/* Verdicts of one host's reports, newest first. */
int store_verdicts(struct store *s, const char *node, const struct store_range *range,
		   struct store_page *ret, struct err *err);

/* A report's body; `bytes` is owned. */
struct store_body {
	int coding; /* enum pack_coding */
	void *bytes;
	size_t length;
};

/* Bodies of the newest run of each profile of a host; returns how many. */
int store_bodies(struct store *s, const char *node, struct store_body *ret_bodies, size_t max,
		 struct err *err);

/* {"node", "sku", "env"} of every host that is not stale. New reference. */
int store_envs(struct store *s, uint64_t now_us, json_t **ret_nodes, struct err *err);

/* --- windows and incidents (findings.h) --- */

struct store_window {
	char *check, *subject; /* owned */
	struct windows windows;
	unsigned k, n; /* of the policy */
	uint64_t since_us, last_us;
};

/* All of one host, `max` rows of memory in `ret_rows`; returns how many are used. */
int store_windows(struct store *s, const char *node, struct store_window **ret_rows, size_t max,
		  struct err *err);
int store_put_window(struct store *s, const char *node, const struct store_window *row,
		     struct err *err);
int store_drop_window(struct store *s, const char *node, const struct store_window *row,
		      struct err *err);

/* Add to each of `items` of a host what its windows say: bad, of, k, n, since, clears. */
int store_add_windows(struct store *s, const char *node, json_t *items, struct err *err);

/* All borrowed. */
struct store_incident {
	const char *node, *check, *subject, *rule, *action, *sentence;
	int level;
	bool fatal;
};

/* Open one for (node, check), or bring the open one up to date. */
int store_put_incident(struct store *s, const struct store_incident *incident, uint64_t now_us,
		       struct err *err);
int store_close_incident(struct store *s, const char *node, const char *check, uint64_t now_us,
			 struct err *err);

/* Newest first; `open_only` those that are not closed. */
int store_incidents(struct store *s, const struct store_range *range, bool open_only,
		    struct store_page *ret, struct err *err);

/* The open ones of a host: an array, new reference. */
int store_open_incidents(struct store *s, const char *node, json_t **ret_items, struct err *err);

/* One by its number. -ENOENT. */
int store_incident(struct store *s, int64_t id, json_t **ret_incident, struct err *err);

/* How many are open. */
int store_count_incidents(struct store *s, uint64_t *ret_count, struct err *err);
