/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of one host: from a report and whatever references there are to a
 * verdict per (check, subject), with the numbers and one sentence each. Pure:
 * no I/O, no clock, no globals; the node and the controller link the same.
 *
 * Rules (numbers and their sources in reference.h):
 *  - what was not measured (busy, set-up, timeout, ...) is inconclusive;
 *  - ok=false is fail; its severity makes it a warn, or a pass that keeps its
 *    sentence (info), or a fail with `fatal`. Nothing else sets `fatal`;
 *  - a value is compared with samples of the same (check, class, params, unit)
 *    on this host (peers), with the SKU file, with the host's own history:
 *    two that say low, or one that says far too low, make a fail; one that
 *    says low is a warn;
 *  - where other hosts of the SKU are known and let a value pass, peers and the SKU file weigh one
 *    level less, and so do peers where its own history lets it pass: good parts
 *    spread more than few peers can tell, and the file may ask too much;
 *  - a value that is better than anything can be (reference.h) was not measured right: a warn;
 *  - fewer than 5 peers give no statistics: a floor of 15 % against the best,
 *    and at most warn unless history or the SKU file agree;
 *  - half or more of a group low: nobody is blamed by peers; without another
 *    reference the low ones are inconclusive and the host gets one warn;
 *  - who keeps more than values knows what each part usually reaches beside its peers, and
 *    each host beside the fleet: a host whose parts are low together is an item of its own,
 *    (check, node);
 *  - no reference at all: pass, self-evident, expected none, and `unjudged` unless the probe
 *    itself says that it is good: for people "measured", not "pass" (verdict_counts.h);
 *  - a count (inventory.*) short of the SKU file is a fail, never fatal;
 *    one that it expects and the probe that counts left out is inconclusive;
 *  - the link that explains slow cells is an item "<family>.link" of its own, as bad
 *    as the worst of them; they point to it (`link`) and are no findings beside it;
 *  - a problem is an inconclusive item "probe.<name>", except not-applicable
 *    where the SKU file expects nothing;
 *  - host verdict = the worst item; no item at all = inconclusive.
 *
 * So lowering a value never improves its own level, scaling all values of a
 * group changes no level, and the order of the samples does not matter.
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

/* A value against what it was itself before. */
enum usual_state {
	USUAL_UNKNOWN, /* too few runs */
	USUAL_KEPT,    /* it is what it was: low or not, it was born so */
	USUAL_DROPPED, /* it has been better */
};

enum { WHOLE_EXPECTATIONS = 2 };
enum { VERDICT_ITEMS_MAX = 16384 }; /* more than four full reports bring */

/* In order of weight: a larger one wins. */
enum verdict_level { VERDICT_PASS, VERDICT_INCONCLUSIVE, VERDICT_WARN, VERDICT_FAIL };
extern const char *const verdict_level_names[]; /* "pass", "inconclusive", "warn", "fail" */

enum verdict_source { SOURCE_FLEET, SOURCE_SKU, SOURCE_HISTORY, SOURCE_PEERS, SOURCE_SELF };
extern const char *const verdict_source_names[]; /* "fleet" ... "self-evident" */

/* Was a value held against other hosts? */
enum verdict_held {
	HELD_UNKNOWN, /* nobody said */
	HELD_FLEET,   /* it was, of equal parameters */
	HELD_NOT,     /* it is such a value, and too few others have it */
	HELD_NEVER,   /* a state, a count, or what is only recorded: no other host would tell */
	HELD_STATES
};

struct verdict_item {
	char *check, *subject;
	int level;    /* enum verdict_level */
	double value; /* NAN when none */
	char *unit;
	double expected; /* NAN when nothing to compare with */
	double floor;	 /* the effective one: what the value is held against; NAN likewise */
	int source;	 /* enum verdict_source */
	uint64_t n;	 /* values behind `expected` */
	bool fatal;	 /* a signature that is bad by itself */
	bool unjudged;	 /* measured, and held against nothing: encoded as `compared`: false */
	int held;	 /* enum verdict_held; not encoded, as the next six */
	int usual;	 /* enum usual_state */
	double kept;	 /* the value as a part of its own usual; 0: not known */
	bool deep;	 /* a reference finds it alone by so much that few runs tell it */
	bool bare;	 /* read from a store that does not say the next ones */
	bool impossible; /* better than anything can be: a finding, and nothing to learn from */
	/* Bits, 1 << enum verdict_source: who knows such a value, and who finds this one low. */
	unsigned known_by, low_by;
	char *sentence; /* for people, names the subject and the numbers */
	char *link;	/* subject of the item that explains this one, or NULL */
	/* kept for the merge in verdict.json */
	char *profile; /* of the run that brought it */
	char *time;    /* RFC 3339, of that run */
};

struct verdict {
	char *node;
	char *time;	 /* of the newest active run, else of this one */
	char *boot_id;	 /* of that run, or NULL; with */
	double uptime_s; /* the seconds since that boot; 0 when not known */
	char *machine;	 /* lib/sys/machine.h, or NULL: what it says is about this one */
	uint64_t seq;
	char *profile;
	int level;
	char *sentence;		    /* the one that names the culprit */
	json_t *fleet;		    /* the controller's opinion, or NULL */
	struct verdict_item *items; /* worst first */
	size_t n_items;
	/* The texts of the items are not its own: they belong to whoever made it so. */
	bool borrows;
};

/* What a value is held against, from outside the report. All may be absent. */
struct judge_inputs {
	/*
	 * Expected value and floor of such a sample (its check, class, subject and
	 * params) by the SKU file; returns false when it says nothing. `n` is then 1.
	 */
	bool (*sku)(void *context, const struct sample *s, double *ret_expected, double *ret_floor);
	void *sku_context;
	/*
	 * Own earlier values of (check, subject, params_key() of the sample),
	 * newest last; returns how many were written, at most `max`. Fewer than
	 * 5 are no reference. Values of items that failed do not belong there.
	 */
	size_t (*history)(void *context, const char *check, const char *subject, const char *params,
			  double *ret_values, size_t max);
	void *history_context;
	/* True when the SKU says that probe `probe` has something to measure here. */
	bool (*expects)(void *context, const char *probe);
	void *expects_context;
	/*
	 * What other hosts of the fleet reach in such a sample; false when it
	 * says nothing. The source of `ret` is SOURCE_FLEET.
	 */
	bool (*fleet)(void *context, const struct sample *s, const struct measure *m,
		      struct expectation *ret);
	/*
	 * How far the parts of a good host of the fleet lie apart in such a sample: a standard
	 * deviation in its unit; 0 when that is not known.
	 */
	double (*within)(void *context, const struct sample *s);
	void *fleet_context; /* of both */
	/*
	 * Beside its peers: ratios to the median of the other parts that this part had in
	 * its last good runs (trend.h); how many, at most TREND_MAX.
	 */
	size_t (*usual)(void *context, const struct sample *s, double *ret_ratios);
	/*
	 * Of a part with fewer peers than tell what is usual: what it would reach now by each of
	 * its last good runs, held against the fleet; how many, at most TREND_MAX.
	 */
	size_t (*own)(void *context, const struct sample *s, double *ret_values);
	/*
	 * What the host as a whole is held against in a check, `m` being the center of its parts
	 * and `s` one of them: its own usual, and the usual of others; how many, at most
	 * WHOLE_EXPECTATIONS.
	 */
	size_t (*whole)(void *context, const struct sample *s, const struct measure *m,
			struct expectation *ret);
	void *usual_context;
	/*
	 * What the policy holds such a check to: `ret_ratio` of what peers or
	 * history expect (0.95), `ret_k` robust sigmas; either may be left as
	 * it is (NAN), and false means that it says nothing.
	 */
	bool (*floor)(void *context, const char *check, const char *locality, double *ret_ratio,
		      double *ret_k);
	void *floor_context;
	/*
	 * The verdict of the last run of the same probes, or NULL. What it has
	 * measured and the report has not is missing: inconclusive, never pass,
	 * unless a problem says why the probe brought nothing (missing.h).
	 */
	const struct verdict *before;
	/*
	 * What the parts of the host are called in its sentences: asked for once one of them may
	 * name a part. NULL, or NULL from it: by their subjects.
	 */
	const struct host_parts *(*parts)(void *context);
	void *parts_context;
	/*
	 * For who judges by the thousand, or NULL: the items then borrow the texts of the
	 * report and of `before`, their sentences are in this pool, and what passes
	 * by its references has none. All of these must outlive the verdict.
	 */
	struct pool *pool;
};

/* Judge a report. Cannot fail. `inputs` may be NULL. */
void verdict_judge(const struct report *report, const struct judge_inputs *inputs,
		   struct verdict *ret);

/*
 * What was found bad and could not be told since stands so long: as long as a deep test counts
 * (coverage.max_age of policies/default.yaml). After that nobody knows.
 */
#define VERDICT_STANDS_US (7 * USEC_PER_DAY)

/*
 * Does an item stand against a newer one of the same (check, subject)? One that warns or fails
 * does against what is inconclusive: a job that makes a probe give way heals nothing. It keeps
 * the `time` of its own run, and stands no longer than VERDICT_STANDS_US after it, by the stamps
 * of both; a fatal one stands until it is measured.
 */
bool verdict_item_outlives(const struct verdict_item *item, const struct verdict_item *newer);

/*
 * The one verdict of a host from those of its last runs (verdict.json): per
 * (check, subject) the items of the newest run that has any (but see
 * verdict_item_outlives(): then those of the older run alone); a finding about
 * a probe or about the host as a whole also goes when a newer run has that
 * probe's, or that check's, results. Name of the profile, time and seq are
 * those of the newest active run (of the newest run when none is active, of
 * one of PROFILE_WATCH only when there is no other).
 * A link goes with the last cell that it explains.
 * Newer is the higher seq; the stamps decide only where one has none, for a
 * clock that was ahead would lead for as long as it was.
 * `active[i]` says whether run i used an active profile. Order of the runs
 * does not matter. n = 0 gives an empty inconclusive verdict. When all runs
 * borrow, so does the merged one.
 */
void verdict_merge(const struct verdict *runs, const bool *active, size_t n, struct verdict *ret);

/* Sort the items, worst first, and set level and sentence from them. */
void verdict_conclude(struct verdict *v);

void verdict_item_release(struct verdict_item *item);
void verdict_release(struct verdict *v);

json_t *verdict_encode(const struct verdict *v);

/* -EINVAL with the place: another version or kind, or too many items. */
int verdict_decode(const struct jval *v, struct verdict *ret, struct err *err);
