/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's store: one SQLite file. Only store*.c include sqlite3.h; its errors are returned
 * as negative errno with a sentence.
 *
 * Writes are collected in one transaction that store_commit() makes durable (WAL, synchronous=FULL:
 * once it has returned 0 they survive kill -9 and power loss). No report may be acknowledged before
 * that. If it fails, everything since the last commit is rolled back. Reads see uncommitted writes.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/policy/windows.h"
#include "lib/report/report.h"

struct err;
struct packed;
struct pool;
struct report;
struct store;
struct verdict;
struct verdict_item;

/* A host whose newest report is older than this is not judged: three passive runs. */
#define STORE_STALE_US (16 * USEC_PER_MIN)

/* Older than that, or in the future, because our clock was set back since. */
bool store_is_stale(uint64_t seen_us, uint64_t now_us);

enum {
	STORE_VERSION = 23,	/* PRAGMA user_version written by this program */
	STORE_PAGE_MAX = 1000,	/* maximum number of items per page of a list */
	STORE_ITEMS_MAX = 1000, /* items that are not pass stored per report, worst first */
	STORE_PROFILES_MAX = 8, /* profiles per host whose newest run is kept */
	STORE_KEPT_MAX = 8,	/* earlier runs of a profile that partly still hold */
	STORE_RUNS_MAX = STORE_PROFILES_MAX * (1 + STORE_KEPT_MAX),
};

/* A report to be stored. All borrowed. */
struct store_report {
	const struct report *report;
	const struct verdict *verdict; /* of this report only */
	const struct verdict *merged;  /* of the host, over its profiles */
	const struct packed *body;
	const struct verdict *kept; /* earlier runs of its profile that still hold, newest first */
	size_t n_kept;		    /* at most STORE_KEPT_MAX */
	uint64_t seen_us;	    /* time of measurement, by our clock (report_clock.h) */
	bool history; /* only stored: a newer one is there, or it says nothing about the host */
};

/* Position of a report among those of its host. */
enum store_place {
	PLACE_NEWEST,	 /* no newer one is stored */
	PLACE_LATE,	 /* a newer one was stored before */
	PLACE_DUPLICATE, /* already stored */
};

/*
 * Open or create the file at `path`, and migrate it to STORE_VERSION. A file that cannot be used is
 * left unchanged: -EINVAL if it is not a store, corrupt, or of a newer version; -EROFS if not
 * writable; -EBUSY if another process has it open.
 */
int store_open(const char *path, struct store **ret_store, struct err *err);

/* As store_open(), on an SQLite VFS registered under that name; NULL: the default. */
int store_open_on(const char *path, const char *vfs, struct store **ret_store, struct err *err);
void store_close(struct store *s);

/* State of its checksums (store_sums.h). */
enum store_sums { SUMS_KEPT, SUMS_NEW, SUMS_MISSING, SUMS_UNREADABLE, SUMS_OTHER };

/* Integrity of the file. */
struct store_health {
	enum store_sums sums;  /* at the start */
	uint64_t lost_commits; /* acknowledged, but missing at the start */
	uint64_t lost_reports; /* reports in those, at least */
	uint64_t damaged;      /* pages found damaged since the start */
	uint64_t first_byte;   /* of the first damaged page */
	uint64_t rounds;       /* complete checks of all pages */
};

struct store_health store_health(const struct store *s);

/* Continue checking its pages until the monotonic deadline: returns 1 while a round goes on, 0 at
 * its end. */
int store_look(struct store *s, uint64_t deadline_us);
DEFINE_CLEANUP(struct store *, store_close, store_closep);

/* --- reports --- */

/* Position of (node, boot_id, seq): an enum store_place, or a negative errno. */
int store_place(struct store *s, const struct report *report, struct err *err);

/* Store it in the open transaction. Returns -EEXIST for a duplicate. */
int store_add(struct store *s, const struct store_report *in, struct err *err);

/* Set verdict and sentence of the host over all its profiles, after its report was added. */
int store_restate(struct store *s, const char *node, int level, const char *sentence,
		  struct err *err);

/*
 * The newest run of each profile of the host, newest first, each followed by what still holds of
 * earlier ones, as verdicts whose passed items only have check, subject and unit; at most
 * STORE_RUNS_MAX. The caller releases each; texts of their items are in `pool`. Returns their
 * number. `seq` is the position among all reports, the highest being the newest, for
 * verdict_merge(), as hosts restart their sequence numbers and their clocks jump.
 */
int store_runs(struct store *s, const char *node, struct pool *pool, struct verdict *ret_runs,
	       struct err *err);

/* Make all writes durable. On failure they are rolled back. */
int store_commit(struct store *s, struct err *err);

/* Roll back to the last commit. */
void store_take_back(struct store *s);

/* Are there uncommitted writes? */
bool store_dirty(const struct store *s);

/* Number of known hosts. */
int store_count_nodes(struct store *s, uint64_t *ret_count, struct err *err);

/* Is this host known? */
int store_has_node(struct store *s, const char *node, bool *ret_known, struct err *err);

/* Number of hosts by verdict (enum verdict_level, 4 counts); stale ones are inconclusive. */
int store_count_verdicts(struct store *s, uint64_t now_us, uint64_t ret_counts[static 4],
			 struct err *err);

/* --- lists, as returned by the API --- */

struct store_range {
	const char *cursor; /* `next` of the previous page, or NULL */
	size_t limit;	    /* 1 to STORE_PAGE_MAX */
};

struct store_page {
	json_t *items; /* array; new reference */
	char *next;    /* owned, or NULL at the end */
};

/* Hosts by name. `now_us` determines which are stale. */
int store_nodes(struct store *s, const struct store_range *range, uint64_t now_us,
		struct store_page *ret, struct err *err);

/* One host. -ENOENT. */
int store_node(struct store *s, const char *node, uint64_t now_us, json_t **ret_node,
	       struct err *err);

/* Verdicts on one host's reports, newest first. */
int store_verdicts(struct store *s, const char *node, const struct store_range *range,
		   struct store_page *ret, struct err *err);

enum {
	STORE_PAST_MAX = 64,	  /* runs read in one call */
	STORE_PAST_ITEMS = 1024,  /* fewer, once they have this many items */
	STORE_PAST_WINDOW = 4096, /* rows searched for them */
};

/* A past run. */
struct store_past {
	int64_t id;
	const char *node, *sku, *profile; /* in the pool; sku may be NULL */
	uint64_t seen_us;
	struct verdict_item *items; /* items that were not pass, texts in the pool; owned */
	size_t n_items;
};

/*
 * The next runs after rowid `*after` that were measured since `since_us`, in order of arrival, at
 * most STORE_PAST_MAX in `ret_rows` and fewer if they are long; advances `*after`. Returns their
 * number, which may be 0 before the end: the end is reached when `*after` does not move.
 */
int store_past(struct store *s, int64_t *after, uint64_t since_us, struct pool *pool,
	       struct store_past *ret_rows, struct err *err);

/* The newest run of quick or full on a host. */
struct store_tested {
	char *boot, *profile; /* owned; NULL: no such run */
	char *worst;	/* owned: check and source of the worst item that is not pass, or NULL */
	uint64_t at_us; /* time of measurement, by our clock */
	int level;	/* enum verdict_level */
};

int store_tested(struct store *s, const char *node, struct store_tested *ret, struct err *err);
void store_tested_release(struct store_tested *t);

/* The newest run of a host that ends a ladder (lib/policy/rungs.h): profile full or rung-load. */
struct store_whole {
	const char *profile;	    /* in the pool */
	const char *boot;	    /* in the pool; NULL: no such run */
	uint64_t at_us;		    /* time of measurement, by our clock */
	int level;		    /* enum verdict_level */
	struct verdict_item *items; /* passed items, texts in the pool; owned */
	size_t n_items;
};

int store_whole(struct store *s, const char *node, struct pool *pool, struct store_whole *ret,
		struct err *err);

/* A report's body; `bytes` is owned. */
struct store_body {
	int coding; /* enum pack_coding */
	void *bytes;
	size_t length;
};

/* Bodies of the newest run of each profile of a host. Returns their number. */
int store_bodies(struct store *s, const char *node, struct store_body *ret_bodies, size_t max,
		 struct err *err);

/* {"node", "sku", "env"} of hosts that are not stale, by name. */
int store_envs(struct store *s, const struct store_range *range, uint64_t now_us,
	       struct store_page *ret, struct err *err);

/* --- windows and incidents (findings.h) --- */

struct store_window {
	char *check, *subject; /* owned */
	struct windows windows;
	unsigned k, n; /* from the policy */
	uint64_t since_us, last_us;
	/* The last bad run, for the policy. */
	int severity;			  /* enum severity */
	int source;			  /* enum verdict_source */
	bool born;			  /* bad since the first run */
	unsigned parts_bad, parts;	  /* of the check on this host; 0 of 0: unknown */
	double score;			  /* measured / expected; NAN: none */
	char *locality, *code, *sentence; /* owned, or NULL */
};

void store_window_release(struct store_window *row);

/* Was there an earlier run of the profile before the one just added? Returns 1, 0, or a negative
 * errno. */
int store_ran_before(struct store *s, const char *node, const char *profile, struct err *err);

/* All windows of one host, in an allocated array of `max` rows in `ret_rows`. Returns how many are
 * used. */
int store_windows(struct store *s, const char *node, struct store_window **ret_rows, size_t max,
		  struct err *err);
int store_put_window(struct store *s, const char *node, const struct store_window *row,
		     struct err *err);
int store_drop_window(struct store *s, const char *node, const struct store_window *row,
		      struct err *err);

/* Add to each of a host's `items` the data of its windows: bad, of, k, n, since, clears. */
int store_add_windows(struct store *s, const char *node, json_t *items, struct err *err);

enum {
	STORE_PROOF_ITEMS = 32,	  /* items of a host that get their reports */
	STORE_PROOF_REPORTS = 5,  /* per item */
	STORE_PROOF_WITHIN = 256, /* number of the host's last reports searched */
};

/* Add "reports" to the first `items` of a host: the last ones not pass in it, newest first. */
int store_add_reports(struct store *s, const char *node, json_t *items, struct err *err);

/* All borrowed. */
struct store_incident {
	const char *node, *check, *subject, *rule, *action, *sentence;
	int level;
	bool fatal;
	uint64_t since_us; /* first of the bad runs that opened it */
	const char *parts; /* names of the parts in its subject: a JSON list; or NULL */
};

/*
 * Open an incident for (node, check), or update the open one. It keeps the names that its parts had
 * when it was opened or its subject changed.
 */
int store_put_incident(struct store *s, const struct store_incident *incident, uint64_t now_us,
		       struct err *err);
int store_close_incident(struct store *s, const char *node, const char *check, uint64_t now_us,
			 struct err *err);

/*
 * Close the open incidents of `check` for whose node `stands` returns false. Returns how many were
 * closed; each is a statement of its own, in the open transaction.
 */
int store_close_others(struct store *s, const char *check,
		       bool (*stands)(void *context, const char *node), void *context,
		       uint64_t now_us, struct err *err);

/* The host was replaced: close its open incidents, delete its windows and newest runs. */
int store_begin_anew(struct store *s, const char *node, uint64_t now_us, struct err *err);

/*
 * The host was repaired: the same, and reset its newest run, too, so that removed parts do not
 * count as missing. Its verdict stays until its next run.
 */
int store_begin_repaired(struct store *s, const char *node, uint64_t now_us, struct err *err);

/* Newest first; `open_only`: without closed ones. */
int store_incidents(struct store *s, const struct store_range *range, bool open_only,
		    struct store_page *ret, struct err *err);

/* The open incidents of a host: an array, new reference. */
int store_open_incidents(struct store *s, const char *node, json_t **ret_items, struct err *err);

/* An incident by number. -ENOENT. */
int store_incident(struct store *s, int64_t id, json_t **ret_incident, struct err *err);

/* --- thinning (store_thin.c), in the open transaction --- */

enum {
	STORE_THIN_MAX = 64,		/* rows visited per call */
	STORE_LEAN_ITEMS_MAX = 16,	/* items kept of a report without body */
	STORE_INCIDENTS_MAX = 100000,	/* kept; beyond that the oldest closed ones are deleted */
	STORE_INCIDENTS_NODE_MAX = 512, /* per host: one that flaps loses only its own */
};

/* A report, for thinning. */
struct store_thin {
	int64_t id, node;
	uint64_t seen_us;
	char profile[PROFILE_NAME_MAX + 1];
	int level;	     /* enum verdict_level */
	uint64_t body_bytes; /* 0: no body */
};

/*
 * The next reports after rowid `after`, oldest first, up to STORE_THIN_MAX. Returns their number.
 */
int store_thin_read(struct store *s, int64_t after, struct store_thin *ret_rows, struct err *err);

/*
 * Delete its body (`lean`), or the report with all that belongs to it. Returns 1 if done, 0 if it
 * must stay: the newest run of its profile, or evidence of an open incident.
 */
int store_thin(struct store *s, const struct store_thin *row, bool lean, struct err *err);

/* Other tables that grow. */
enum store_heap { HEAP_BOOTS, HEAP_INCIDENTS, HEAP_NODES, HEAP_LAST_ };

/* A row of such a table, by rowid. */
struct store_old {
	int64_t id;
	bool due; /* older than the given time, and not needed */
};

/* The next rows after rowid `after`, at most STORE_THIN_MAX. Returns their number. */
int store_old_read(struct store *s, enum store_heap heap, int64_t after, uint64_t before_us,
		   struct store_old *ret_rows, struct err *err);

/* Delete a boot or closed incident that is due. */
int store_old_drop(struct store *s, enum store_heap heap, int64_t id, struct err *err);

/*
 * Delete a host in pieces: first its reports, then everything else; its open incidents are closed
 * at `now_us`. Returns 1 when nothing is left, 0 if there is more to do. With 1, `ret_name` is set
 * (new memory).
 */
int store_forget(struct store *s, int64_t node, uint64_t now_us, char **ret_name, struct err *err);

/*
 * For a host that stays: delete runs beyond STORE_PROFILES_MAX and windows without data since
 * `before_us`; close incidents not confirmed since then.
 */
int store_tidy(struct store *s, int64_t node, uint64_t before_us, uint64_t now_us, struct err *err);

/* A persistent number; 0 if it was never set. */
int store_mark(struct store *s, const char *name, uint64_t *ret_value, struct err *err);
int store_put_mark(struct store *s, const char *name, uint64_t value, struct err *err);

/* Bytes of the file: in use, and free for reuse. */
struct store_size {
	uint64_t used, free;
};

int store_size(struct store *s, struct store_size *ret, struct err *err);

/* --- baselines (baseline_store.h): a text and bytes each --- */

int store_put_baseline(struct store *s, const char *key, const void *bytes, size_t length,
		       uint64_t saved_us, struct err *err);
int store_drop_baseline(struct store *s, const char *key, struct err *err);

/* What their hosts usually reach. */
int store_put_usuals(struct store *s, const char *key, const void *bytes, size_t length,
		     struct err *err);
int store_drop_usuals(struct store *s, const char *key, struct err *err);

/* Call `each` for those whose baseline was saved at or after `since_us`. */
int store_usuals(struct store *s, uint64_t since_us,
		 void (*each)(void *context, const char *key, const struct store_body *bytes),
		 void *context, struct err *err);

/* Call `each` for those saved at or after `since_us`. */
int store_baselines(struct store *s, uint64_t since_us,
		    void (*each)(void *context, const char *key, const struct store_body *bytes,
				 uint64_t saved_us),
		    void *context, struct err *err);
