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

/* A host whose newest report was measured so long ago is not judged: three passive runs. */
#define STORE_STALE_US (16 * USEC_PER_MIN)

/* That, or measured in a time that has not come yet: our clock was set back since. */
bool store_is_stale(uint64_t seen_us, uint64_t now_us);

enum {
	STORE_VERSION = 23,	/* PRAGMA user_version of what this program writes */
	STORE_PAGE_MAX = 1000,	/* most items of one page of a list */
	STORE_ITEMS_MAX = 1000, /* not-pass items kept of one report, worst first */
	STORE_PROFILES_MAX = 8, /* profiles of one host whose newest run is kept */
	STORE_KEPT_MAX = 8,	/* earlier runs of a profile that still stand in part */
	STORE_RUNS_MAX = STORE_PROFILES_MAX * (1 + STORE_KEPT_MAX),
};

/* A report as it is put in. All borrowed. */
struct store_report {
	const struct report *report;
	const struct verdict *verdict; /* of this report alone */
	const struct verdict *merged;  /* of the host, over its profiles */
	const struct packed *body;
	const struct verdict *kept; /* earlier runs of its profile: what still stands, newest first */
	size_t n_kept;		    /* at most STORE_KEPT_MAX */
	uint64_t seen_us;	    /* when it was measured, by our clock (report_clock.h) */
	bool history; /* it is kept and no more: a newer one is there, or it says nothing of the host */
};

/* Where a report stands among those of its host. */
enum store_place {
	PLACE_NEWEST,	 /* nothing newer is there */
	PLACE_LATE,	 /* a newer one was there before it */
	PLACE_DUPLICATE, /* it is there already */
};

/*
 * Open or make the file at `path`, and bring it to STORE_VERSION. A file that
 * cannot be used is left as it is: -EINVAL when it is no store, broken, or of a
 * newer version; -EROFS when it cannot be written; -EBUSY when another has it.
 */
int store_open(const char *path, struct store **ret_store, struct err *err);

/* The same on a VFS that was registered with SQLite under this name; NULL: the usual one. */
int store_open_on(const char *path, const char *vfs, struct store **ret_store, struct err *err);
void store_close(struct store *s);

/* What its sums say (store_sums.h). */
enum store_sums { SUMS_KEPT, SUMS_NEW, SUMS_MISSING, SUMS_UNREADABLE, SUMS_OTHER };

/* Is it as it was left? */
struct store_health {
	enum store_sums sums;  /* since the start */
	uint64_t lost_commits; /* acknowledged, and not there at the start */
	uint64_t lost_reports; /* at least; of those */
	uint64_t damaged;      /* pages found since the start that are not as they were left */
	uint64_t first_byte;   /* of the first of them */
	uint64_t rounds;       /* times that all pages were looked at */
};

struct store_health store_health(const struct store *s);

/* Go on looking at its pages until the monotonic deadline: 1 while a round goes on, 0 at its end. */
int store_look(struct store *s, uint64_t deadline_us);
DEFINE_CLEANUP(struct store *, store_close, store_closep);

/* --- reports --- */

/* Where (node, boot_id, seq) stands: an enum store_place, or a negative errno. */
int store_place(struct store *s, const struct report *report, struct err *err);

/* Put it into the open transaction. -EEXIST for a duplicate. */
int store_add(struct store *s, const struct store_report *in, struct err *err);

/* What is said of the host over all its profiles, after its report was added. */
int store_restate(struct store *s, const char *node, int level, const char *sentence,
		  struct err *err);

/*
 * The newest run of each profile of the host, newest first, each followed by
 * what was kept of earlier ones, as verdicts whose pass items
 * carry only what they are about; at most STORE_RUNS_MAX. Release each;
 * the texts of their items are in `pool`. Returns how many. `seq` of each is its place among all
 * reports, the highest the newest, by which verdict_merge() goes: hosts begin their numbers anew,
 * and their clocks jump.
 */
int store_runs(struct store *s, const char *node, struct pool *pool, struct verdict *ret_runs,
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

/* Hosts by level of their verdict (enum verdict_level, 4 counts); inconclusive when stale. */
int store_count_verdicts(struct store *s, uint64_t now_us, uint64_t ret_counts[static 4],
			 struct err *err);

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

enum {
	STORE_PAST_MAX = 64,	  /* runs read in one go */
	STORE_PAST_ITEMS = 1024,  /* no more of them once they have so many items */
	STORE_PAST_WINDOW = 4096, /* rows looked at for them */
};

/* A run of the past. */
struct store_past {
	int64_t id;
	const char *node, *sku, *profile; /* in the pool; sku may be NULL */
	uint64_t seen_us;
	struct verdict_item *items; /* what was not pass, texts in the pool; owned */
	size_t n_items;
};

/*
 * The next runs after number `*after` that were measured since `since_us`, in the order in
 * which they came, at most STORE_PAST_MAX in `ret_rows` and fewer when they are long; moves `*after`.
 * Returns how many, which may be none before the end: that is where `*after` does not move.
 */
int store_past(struct store *s, int64_t *after, uint64_t since_us, struct pool *pool,
	       struct store_past *ret_rows, struct err *err);

/* The newest run of quick or full of a host. */
struct store_tested {
	char *boot, *profile; /* owned; NULL: there is no such run */
	char *worst;	      /* owned: check and source of what it lacks to pass, or NULL */
	uint64_t at_us;	      /* when it was measured, by our clock */
	int level;	      /* enum verdict_level */
};

int store_tested(struct store *s, const char *node, struct store_tested *ret, struct err *err);
void store_tested_release(struct store_tested *t);

/* The newest run of a host that ends a ladder (lib/policy/rungs.h): of the profile full or rung-load. */
struct store_whole {
	const char *profile;	    /* in the pool */
	const char *boot;	    /* in the pool; NULL: there is no such run */
	uint64_t at_us;		    /* when it was measured, by our clock */
	int level;		    /* enum verdict_level */
	struct verdict_item *items; /* what passed, texts in the pool; owned */
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

/* Bodies of the newest run of each profile of a host; returns how many. */
int store_bodies(struct store *s, const char *node, struct store_body *ret_bodies, size_t max,
		 struct err *err);

/* {"node", "sku", "env"} of hosts that are not stale, by name. */
int store_envs(struct store *s, const struct store_range *range, uint64_t now_us,
	       struct store_page *ret, struct err *err);

/* --- windows and incidents (findings.h) --- */

struct store_window {
	char *check, *subject; /* owned */
	struct windows windows;
	unsigned k, n; /* of the policy */
	uint64_t since_us, last_us;
	/* The last bad run, for the policy. */
	int severity;		   /* enum severity */
	int source;		   /* enum verdict_source */
	bool born;		   /* there was no good run before */
	unsigned parts_bad, parts; /* of the check on this host; 0 of 0: nobody counts those */
	double score;		   /* measured by expected; NAN: none */
	char *locality, *code, *sentence; /* owned, or NULL */
};

void store_window_release(struct store_window *row);

/* Was there a run of the profile before the one just added? 1, 0, or a negative errno. */
int store_ran_before(struct store *s, const char *node, const char *profile, struct err *err);

/* All of one host, `max` rows of memory in `ret_rows`; returns how many are used. */
int store_windows(struct store *s, const char *node, struct store_window **ret_rows, size_t max,
		  struct err *err);
int store_put_window(struct store *s, const char *node, const struct store_window *row,
		     struct err *err);
int store_drop_window(struct store *s, const char *node, const struct store_window *row,
		      struct err *err);

/* Add to each of `items` of a host what its windows say: bad, of, k, n, since, clears. */
int store_add_windows(struct store *s, const char *node, json_t *items, struct err *err);

enum {
	STORE_PROOF_ITEMS = 32,	  /* items of a host that get their reports */
	STORE_PROOF_REPORTS = 5,  /* of each */
	STORE_PROOF_WITHIN = 256, /* of the host's last reports */
};

/* Add to the first `items` of a host "reports": the last in which each was not pass, newest first. */
int store_add_reports(struct store *s, const char *node, json_t *items, struct err *err);

/* All borrowed. */
struct store_incident {
	const char *node, *check, *subject, *rule, *action, *sentence;
	int level;
	bool fatal;
	uint64_t since_us; /* the first bad run of those that opened it */
	const char *parts; /* that its subject names, as they are called: a JSON list; or NULL */
};

/*
 * Open one for (node, check), or bring the open one up to date. It remembers what its parts were
 * called when it was opened, or when it became one of another subject.
 */
int store_put_incident(struct store *s, const struct store_incident *incident, uint64_t now_us,
		       struct err *err);
int store_close_incident(struct store *s, const char *node, const char *check, uint64_t now_us,
			 struct err *err);

/*
 * Close the open ones of `check` whose node does not stand, by `stands`. How many were closed;
 * each is another statement, in the open transaction.
 */
int store_close_others(struct store *s, const char *check,
		       bool (*stands)(void *context, const char *node), void *context,
		       uint64_t now_us, struct err *err);

/* The host is another machine: close its open incidents, forget its windows and newest runs. */
int store_begin_anew(struct store *s, const char *node, uint64_t now_us, struct err *err);

/*
 * The host was repaired: that, and of its newest run too, so that what it had and is now without
 * is not missing. What is said of it stays until its next run.
 */
int store_begin_repaired(struct store *s, const char *node, uint64_t now_us, struct err *err);

/* Newest first; `open_only` those that are not closed. */
int store_incidents(struct store *s, const struct store_range *range, bool open_only,
		    struct store_page *ret, struct err *err);

/* The open ones of a host: an array, new reference. */
int store_open_incidents(struct store *s, const char *node, json_t **ret_items, struct err *err);

/* One by its number. -ENOENT. */
int store_incident(struct store *s, int64_t id, json_t **ret_incident, struct err *err);

/* --- thinning (store_thin.c): all of it in the open transaction --- */

enum {
	STORE_THIN_MAX = 64,		/* rows looked at in one go */
	STORE_LEAN_ITEMS_MAX = 16,	/* items kept of a report without its body */
	STORE_INCIDENTS_MAX = 100000,	/* kept; closed ones beyond it go, oldest first */
	STORE_INCIDENTS_NODE_MAX = 512, /* likewise, of one host: one that flaps is its own past */
};

/* A report as thinning sees it. */
struct store_thin {
	int64_t id, node;
	uint64_t seen_us;
	char profile[PROFILE_NAME_MAX + 1];
	int level;	     /* enum verdict_level */
	uint64_t body_bytes; /* 0: it has none */
};

/* The next reports after number `after`, oldest first, at most STORE_THIN_MAX; how many. */
int store_thin_read(struct store *s, int64_t after, struct store_thin *ret_rows, struct err *err);

/*
 * Take its body (`lean`), or the report with all that belongs to it. 1 when it
 * was done, 0 when it stays: the newest run of its profile, or evidence of an
 * open incident.
 */
int store_thin(struct store *s, const struct store_thin *row, bool lean, struct err *err);

/* What else grows. */
enum store_heap { HEAP_BOOTS, HEAP_INCIDENTS, HEAP_NODES, HEAP_LAST_ };

/* A row of a heap, by number. */
struct store_old {
	int64_t id;
	bool due; /* older than the time asked for, and nothing needs it */
};

/* The next rows of a heap after number `after`, at most STORE_THIN_MAX; how many. */
int store_old_read(struct store *s, enum store_heap heap, int64_t after, uint64_t before_us,
		   struct store_old *ret_rows, struct err *err);

/* Remove a boot or a closed incident that is due. */
int store_old_drop(struct store *s, enum store_heap heap, int64_t id, struct err *err);

/*
 * Forget a host a piece at a time: first its reports, then all that is known
 * of it; its open incidents are closed at `now_us`. 1 when nothing is left of
 * it, 0 when there is more to do. `ret_name` (new memory) is set with 1.
 */
int store_forget(struct store *s, int64_t node, uint64_t now_us, char **ret_name, struct err *err);

/*
 * Of a host that stays: runs beyond STORE_PROFILES_MAX go, and windows nothing
 * came for since `before_us`; incidents that nobody confirmed since are closed.
 */
int store_tidy(struct store *s, int64_t node, uint64_t before_us, uint64_t now_us, struct err *err);

/* A number that outlives the program; 0 when it was never set. */
int store_mark(struct store *s, const char *name, uint64_t *ret_value, struct err *err);
int store_put_mark(struct store *s, const char *name, uint64_t value, struct err *err);

/* Bytes of the file: those in use, and those that will be used again. */
struct store_size {
	uint64_t used, free;
};

int store_size(struct store *s, struct store_size *ret, struct err *err);

/* --- baselines (baseline_store.h): a text and bytes each --- */

int store_put_baseline(struct store *s, const char *key, const void *bytes, size_t length,
		       uint64_t saved_us, struct err *err);
int store_drop_baseline(struct store *s, const char *key, struct err *err);

/* Beside them, what their hosts usually reach. */
int store_put_usuals(struct store *s, const char *key, const void *bytes, size_t length,
		     struct err *err);
int store_drop_usuals(struct store *s, const char *key, struct err *err);

/* Call `each` for those whose baseline is not of before `since_us`. */
int store_usuals(struct store *s, uint64_t since_us,
		 void (*each)(void *context, const char *key, const struct store_body *bytes),
		 void *context, struct err *err);

/* Call `each` for every one; those of before `since_us` are left out. */
int store_baselines(struct store *s, uint64_t since_us,
		    void (*each)(void *context, const char *key, const struct store_body *bytes,
				 uint64_t saved_us),
		    void *context, struct err *err);
