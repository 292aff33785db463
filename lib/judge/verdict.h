/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of one host: from a report and the available references to a verdict per (check,
 * subject), with the numbers and one sentence each. Pure: no I/O, no clock, no globals; the node
 * and the controller use the same code.
 *
 * Rules (numbers and their sources are in reference.h):
 * - What was not measured (busy, set-up, timeout, ...) is inconclusive.
 * - ok=false is a fail; its severity can make it a warn, a pass that keeps its sentence (info), or
 *   a fail with `fatal`. Nothing else sets `fatal`.
 * - A value is compared with samples of the same (check, class, params, unit) on this host (peers),
 *   with the SKU file, and with the host's own history: two that say low, or one that says far too
 *   low, make a fail; one that says low makes a warn.
 * - Where other hosts of the SKU are known and pass a value, a finding by peers and the SKU file
 *   counts one level less; so does one by peers alone that its own history passes: good parts
 *   spread more than a few peers can show, and the file may ask too much.
 * - A value better than is possible (reference.h) was not measured correctly: a warn.
 * - Fewer than 5 peers are no basis for statistics: the floor is 15 % below the best, and the level
 *   at most warn unless history or the SKU file agree.
 * - If half or more of a group are low, peers blame nobody; without another reference the low ones
 *   are inconclusive, and the host gets one warn.
 * - A caller that keeps more than values also knows the usual ratio of each part to its peers, and
 *   of each host to the fleet: a host whose parts are all low is an item of its own, (check, node).
 * - Without any reference: pass, self-evident, no expected value, and `unjudged` unless the probe
 *   itself says that it is good. People are shown "measured", not "pass" (verdict_counts.h).
 * - A count (inventory.*) below the SKU file is a fail, never fatal; one that the file expects and
 *   the counting probe left out is inconclusive.
 * - The link that explains slow cells is an item "<family>.link", as bad as the worst of them. The
 *   cells point to it (`link`) and are not findings of their own.
 * - A problem is an inconclusive item "probe.<name>", except for not-applicable where the SKU file
 *   expects nothing.
 * - The host's verdict is that of the worst item; without items it is inconclusive.
 *
 * It follows that lowering a value never improves its own level, that scaling all values of a group
 * changes no level, and that the order of the samples does not matter.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;
struct expectation;
struct host_parts;
struct measure;
struct pool;
struct report;
struct sample;

/* A value compared with its own past. */
enum usual_state {
	USUAL_UNKNOWN, /* too few runs */
	USUAL_KEPT,    /* unchanged: if it is low, it was born slow */
	USUAL_DROPPED, /* it has been better */
};

enum { WHOLE_EXPECTATIONS = 2 };
enum { VERDICT_ITEMS_MAX = 16384 }; /* more than four full reports have */

/* In order of precedence: a larger one wins. */
enum verdict_level { VERDICT_PASS, VERDICT_INCONCLUSIVE, VERDICT_WARN, VERDICT_FAIL };
extern const char *const verdict_level_names[]; /* "pass", "inconclusive", "warn", "fail" */

enum verdict_source { SOURCE_FLEET, SOURCE_SKU, SOURCE_HISTORY, SOURCE_PEERS, SOURCE_SELF };
extern const char *const verdict_source_names[]; /* "fleet" ... "self-evident" */

/* Whether a value was compared with other hosts. */
enum verdict_held {
	HELD_UNKNOWN, /* not said */
	HELD_FLEET,   /* yes, with equal parameters */
	HELD_NOT,     /* it could be, but too few others have such a value */
	HELD_NEVER,   /* a state, a count, or only recorded: other hosts say nothing about it */
	HELD_STATES
};

struct verdict_item {
	char *check, *subject;
	int level;    /* enum verdict_level */
	double value; /* NAN if none */
	char *unit;
	double expected; /* NAN if there is nothing to compare with */
	double floor;	 /* effective floor that the value is compared with; NAN if none */
	int source;	 /* enum verdict_source */
	uint64_t n;	 /* number of values that `expected` is based on */
	bool fatal;	 /* a signature that is bad by itself */
	bool unjudged;	 /* measured, but not compared: encoded as `compared`: false */
	int held;	 /* enum verdict_held; not encoded, nor are the next six */
	int usual;	 /* enum usual_state */
	double kept;	 /* value relative to its own usual one; 0: not known */
	bool deep;	 /* a reference finds it so far from all others that few runs suffice */
	bool bare;	 /* read from a store that lacks the following members */
	bool impossible; /* better than is possible: a finding, and not to be learned from */
	/* Bits, 1 << enum verdict_source: who knows such a value, and who finds this one low. */
	unsigned known_by, low_by;
	char *sentence; /* for people, names the subject and the numbers */
	char *link;	/* subject of the item that explains this one, or NULL */
	/* for the merge in verdict.json */
	char *profile; /* of the run that brought it */
	char *time;    /* RFC 3339, of that run */
};

struct verdict {
	char *node;
	char *time;	 /* of the newest active run, else of this one */
	char *boot_id;	 /* of that run, or NULL */
	double uptime_s; /* seconds from that boot to `time`; 0 if not known */
	char *machine;	 /* the machine it is about (lib/sys/machine.h), or NULL */
	uint64_t seq;
	char *profile;
	int level;
	char *sentence;		    /* the one that names the culprit */
	json_t *fleet;		    /* the controller's opinion, or NULL */
	struct verdict_item *items; /* worst first */
	size_t n_items;
	/* The texts of the items are owned by somebody else. */
	bool borrows;
};

/* References from outside the report. All are optional. */
struct judge_inputs {
	/*
	 * Expected value and floor by the SKU file for such a sample (its check, class, subject and
	 * params); returns false if there is none. `n` is then 1.
	 */
	bool (*sku)(void *context, const struct sample *s, double *ret_expected, double *ret_floor);
	void *sku_context;
	/*
	 * Its own earlier values by (check, subject, params_key() of the sample), newest last;
	 * returns how many were written, at most `max`. Fewer than 5 are not used. Values of items
	 * that failed do not belong in it.
	 */
	size_t (*history)(void *context, const char *check, const char *subject, const char *params,
			  double *ret_values, size_t max);
	void *history_context;
	/* True if the SKU says that probe `probe` has something to measure here. */
	bool (*expects)(void *context, const char *probe);
	void *expects_context;
	/*
	 * What other hosts of the fleet reach for such a sample; returns false if unknown. The
	 * source of `ret` is SOURCE_FLEET.
	 */
	bool (*fleet)(void *context, const struct sample *s, const struct measure *m,
		      struct expectation *ret);
	/*
	 * Spread among the parts of a good host of the fleet for such a sample: a standard
	 * deviation in its unit; 0 if not known.
	 */
	double (*within)(void *context, const struct sample *s);
	void *fleet_context; /* of these two */
	/*
	 * Ratios of this part to the median of the other parts in its last good runs (trend.h);
	 * returns how many, at most TREND_MAX.
	 */
	size_t (*usual)(void *context, const struct sample *s, double *ret_ratios);
	/*
	 * For a part with too few peers for such ratios: the values that it would reach now
	 * according to each of its last good runs, relative to the fleet; returns how many, at most
	 * TREND_MAX.
	 */
	size_t (*own)(void *context, const struct sample *s, double *ret_values);
	/*
	 * What the host as a whole is compared with in a check: its own usual value, and that of
	 * other hosts. `m` is the center of its parts and `s` one of them. Returns how many, at
	 * most WHOLE_EXPECTATIONS.
	 */
	size_t (*whole)(void *context, const struct sample *s, const struct measure *m,
			struct expectation *ret);
	void *usual_context;
	/*
	 * The floor that the policy sets for such a check: `ret_ratio` of what peers or history
	 * expect (0.95), and `ret_k` robust sigmas. Either may be left NAN; returns false if the
	 * policy sets none.
	 */
	bool (*floor)(void *context, const char *check, const char *locality, double *ret_ratio,
		      double *ret_k);
	void *floor_context;
	/*
	 * The verdict of the previous run of the same probes, or NULL. What it measured and the
	 * report lacks is missing: inconclusive, never pass, unless a problem explains why the
	 * probe has no results (missing.h).
	 */
	const struct verdict *before;
	/*
	 * Names of the host's parts for sentences; called only once a sentence may name a part. If
	 * it is NULL or returns NULL, parts are named by their subjects.
	 */
	const struct host_parts *(*parts)(void *context);
	void *parts_context;
	/*
	 * For callers that judge thousands of reports, or NULL: the items then borrow the texts of
	 * the report and of `before`, their sentences are in this pool, and items that pass by
	 * their references have none. All of these must outlive the verdict.
	 */
	struct pool *pool;
};

/* Judges a report. `inputs` may be NULL. Cannot fail. */
void verdict_judge(const struct report *report, const struct judge_inputs *inputs,
		   struct verdict *ret);

/*
 * How long a bad result stands if it could not be measured again: as long as a deep test counts
 * (coverage.max_age of policies/default.yaml). After that the state is unknown.
 */
#define VERDICT_STANDS_US (7 * USEC_PER_DAY)

/*
 * True if an item stands against a newer one of the same (check, subject). A warn or fail stands
 * against an inconclusive one: a job that interrupts a probe repairs nothing. It keeps the `time`
 * of its own run and stands for VERDICT_STANDS_US after it, by the timestamps of both; a fatal one
 * stands until it is measured again.
 */
bool verdict_item_outlives(const struct verdict_item *item, const struct verdict_item *newer);

/*
 * Merges the verdicts of a host's last runs into one (verdict.json). Per (check, subject) it has
 * the items of the newest run that has any, or of the older run alone if they outlive those
 * (verdict_item_outlives()). A finding about a probe or about the host as a whole also goes away
 * once a newer run has results of that probe or check. A link goes with the last cell that it
 * explains.
 *
 * Profile, time and seq are those of the newest active run (of the newest run if none is active, of
 * a PROFILE_WATCH one only if there is no other). Newer means a higher seq; timestamps decide only
 * if one has none, since a clock that was ahead would win for as long as it was. `active[i]` says
 * whether run i used an active profile.
 *
 * The order of the runs does not matter. n = 0 gives an empty inconclusive verdict. If all runs
 * borrow, so does the merged one.
 */
void verdict_merge(const struct verdict *runs, const bool *active, size_t n, struct verdict *ret);

/* Sorts the items, worst first, and sets level and sentence from them. */
void verdict_conclude(struct verdict *v);

void verdict_item_release(struct verdict_item *item);
void verdict_release(struct verdict *v);

json_t *verdict_encode(const struct verdict *v);

/* -EINVAL with the place: another version or kind, or too many items. */
int verdict_decode(const struct jval *v, struct verdict *ret, struct err *err);
