/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a decoded report to its effects: everything that needs neither HTTP nor SQLite, only a store
 * (store.h), which may be in memory.
 */
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/findings.h"
#include "controller/fleet/findings_fleet.h"
#include "controller/fleet/hosts.h"
#include "controller/fleet/rules.h"
#include "controller/ingest/host_identity.h"
#include "controller/ingest/host_identity_store.h"
#include "controller/ingest/ingest.h"
#include "controller/store/store.h"
#include "controller/store/store_joins.h"
#include "controller/store/store_part_names.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/standing.h"
#include "lib/report/host_parts.h"

/* Runs of the host: from store_runs(), and as merged with the new one. */
struct runs {
	struct verdict list[STORE_RUNS_MAX];
	size_t n;
	/* Borrows: the new one, what still holds of earlier ones of its profile, others. */
	struct verdict all[STORE_RUNS_MAX + 1];
	size_t n_kept;
};

static void runs_release(struct runs *runs)
{
	size_t i;

	for (i = 0; i < runs->n; i++)
		verdict_release(&runs->list[i]);
	runs->n = 0;
}

/*
 * The last run of the profile merged with what still holds of earlier ones, or NULL; borrows from
 * `runs`, with items in `pool` if there are several.
 */
static const struct verdict *run_of(const struct runs *runs, const char *profile, struct pool *pool,
				    struct verdict *ret)
{
	const struct verdict *last = NULL;
	size_t n_items = 0, n = 0, i;

	for (i = 0; i < runs->n; i++) {
		if (!streq(runs->list[i].profile, profile))
			continue;
		last = n++ == 0 ? &runs->list[i] : last;
		n_items += runs->list[i].n_items;
	}
	if (n < 2)
		return last;
	*ret = *last;
	ret->items = pool_take(pool, n_items * sizeof(*ret->items));
	ret->n_items = 0;
	for (i = 0; i < runs->n; i++) {
		if (!streq(runs->list[i].profile, profile))
			continue;
		memcpy(&ret->items[ret->n_items], runs->list[i].items,
		       runs->list[i].n_items * sizeof(*ret->items));
		ret->n_items += runs->list[i].n_items;
	}
	return ret;
}

/* Keep what the new run has not cleared of earlier runs of its profile. */
static void keep_standing(struct runs *runs, const struct report *report,
			  const struct verdict *fresh)
{
	size_t i;

	if (!standing_possible(report, fresh))
		return;
	for (i = 0; i < runs->n && runs->n_kept < STORE_KEPT_MAX; i++) {
		struct verdict *earlier = &runs->list[i];

		if (!streq(earlier->profile, fresh->profile))
			continue;
		standing_keep(earlier, report, fresh);
		if (earlier->n_items > 0)
			runs->all[1 + runs->n_kept++] = *earlier;
	}
}

/* The verdict over all profiles, with `fresh` in place of the last run of its profile. */
static void merge(struct runs *runs, const struct report *report, const struct verdict *fresh,
		  struct verdict *ret)
{
	bool active[STORE_RUNS_MAX + 1];
	size_t n, i;

	runs->all[0] = *fresh;
	runs->all[0].seq = UINT64_MAX; /* newer than all from store_runs() */
	keep_standing(runs, report, fresh);
	n = 1 + runs->n_kept;
	for (i = 0; i < runs->n; i++) {
		if (!streq(runs->list[i].profile, fresh->profile))
			runs->all[n++] = runs->list[i];
	}
	for (i = 0; i < n; i++)
		active[i] = profile_is_active(runs->all[i].profile);
	verdict_merge(runs->all, active, n, ret);
}

/* Does the fleet have references for any sample of the report? */
static bool is_compared(const struct rules_view *view)
{
	const struct report *report = view->report;
	struct expectation e;
	struct measure m;
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		if (measure_of(&report->samples[i], &m) &&
		    baselines_expect(view->baselines, report, &report->samples[i], &m, NULL, &e) &&
		    e.n >= REFERENCE_N_MIN)
			return true;
	}
	return false;
}

/* A pass without comparison to other hosts says so. */
static void say_too_few(const struct rules_view *view, struct verdict *merged)
{
	const char *sku = view->sku_name, *node = view->report->node;
	const struct anomalies *anomalies = &view->baselines->anomalies;
	CLEANUP(freep) char *alone = merged->sentence;
	size_t others;

	merged->sentence = xstrdup(alone);
	if (merged->level != VERDICT_PASS)
		return;
	others = sku ? anomalies_count(anomalies, ANOMALY_HOSTS, sku, "") -
				 anomalies_has(anomalies, ANOMALY_HOSTS, sku, "", node)
		     : 0;
	if (others >= REFERENCE_N_MIN || is_compared(view))
		return;
	free(merged->sentence);
	if (sku)
		merged->sentence =
			xasprintf("%s; too few to compare: %zu other host%s of %s, and %d "
				  "are needed",
				  alone, others, others == 1 ? "" : "s", sku, REFERENCE_N_MIN);
	else
		merged->sentence =
			xasprintf("%s; not compared with other hosts: it has no SKU", alone);
}

/* State of processing one report. */
struct keeping {
	struct store *store;
	struct rules_view view;
	const struct ingest *in;
	struct host *host;
	int identity;		 /* enum host_identity */
	struct host_parts parts; /* loaded by parts_of() */
	bool has_parts;
	struct store_report row;
};

/* Update windows, incidents and baselines. */
static int conclude(struct keeping *k, const struct verdict *verdict, const struct verdict *merged,
		    struct err *err)
{
	int r;

	if (k->row.history)
		return 0;
	r = findings_note(k->store, &k->view, verdict, &k->in->arrival, err);
	if (r >= 0 && k->in->arrival.fresh && !k->view.apart)
		baselines_learn(k->view.baselines, &k->in->report, verdict, r > 0);
	return r < 0 ? r : findings_restate(k->store, &k->view, merged, err);
}

/*
 * Names of the host's parts, loaded on demand: most reports pass everything and name none. A
 * replaced machine has different parts.
 */
static const struct host_parts *parts_of(void *context)
{
	struct keeping *k = context;

	if (!k->has_parts && k->identity != HOST_IDENTITY_REPLACED)
		(void)store_part_names(k->store, k->in->report.node, &k->parts, NULL);
	k->has_parts = true;
	return &k->parts;
}

static bool names_parts(const struct report *report)
{
	size_t i = 0;

	while (i < report->n_samples && !report->samples[i].parts)
		i++;
	return i < report->n_samples;
}

/* Take the names from this report if it is the newest; nothing is learned while two machines share
 * the name. */
static int learn_parts(struct keeping *k, bool newest, struct err *err)
{
	const bool replaced = k->identity == HOST_IDENTITY_REPLACED;

	k->view.parts = parts_of;
	k->view.parts_context = k;
	if (!newest || k->identity == HOST_IDENTITY_TWO ||
	    !(replaced || names_parts(&k->in->report)))
		return 0;
	(void)parts_of(k);
	if (!host_parts_learn(&k->parts, &k->in->report) && !replaced)
		return 0;
	return store_put_part_names(k->store, k->in->report.node, &k->parts, err);
}

/*
 * A joined host stays unverified until a fresh active run of it has passed completely, unless the
 * policy trusts hosts that join.
 */
static int verify(struct keeping *k, const struct verdict *verdict, struct err *err)
{
	const struct report *report = &k->in->report;
	const bool passed = !k->row.history && k->in->arrival.fresh &&
			    k->identity != HOST_IDENTITY_TWO &&
			    profile_is_active(report->profile) && verdict->level == VERDICT_PASS;
	int r = k->host->verified ? 0
				  : store_unverified(k->store, report->node, &k->view.apart, err);

	if (r == 0 && k->view.apart && (passed || !k->view.rules->policy.verify_joined)) {
		k->view.apart = false;
		r = store_verify(k->store, report->node, k->row.seen_us, err);
	}
	k->host->unverified = k->view.apart;
	k->host->verified = r == 0 && !k->view.apart;
	return r;
}

static int keep(struct keeping *k, struct err *err)
{
	const struct report *report = &k->in->report;
	struct judge_inputs inputs = rules_inputs(&k->view);
	/* First, so that it is released last: it holds the texts of all these verdicts. */
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(runs_release) struct runs runs;
	struct verdict before;
	CLEANUP(verdict_release) struct verdict verdict = { 0 };
	CLEANUP(verdict_release) struct verdict merged = { 0 };
	int r = 0;

	runs.n = runs.n_kept = 0;
	/* Parts of a replaced machine are not missing. */
	if (k->identity != HOST_IDENTITY_REPLACED)
		r = store_runs(k->store, report->node, &pool, runs.list, err);
	if (r < 0)
		return r;
	runs.n = (size_t)r;
	inputs.pool = &pool;
	if (!k->row.history && k->identity != HOST_IDENTITY_TWO)
		inputs.before = run_of(&runs, report->profile, &pool, &before);
	verdict_judge(report, &inputs, &verdict);
	r = verify(k, &verdict, err);
	if (r < 0)
		return r;
	if (k->identity == HOST_IDENTITY_TWO)
		host_identity_verdict(k->host, report, &merged);
	else
		merge(&runs, report, &verdict, &merged);
	if (k->identity != HOST_IDENTITY_TWO)
		say_too_few(&k->view, &merged);
	k->row.kept = &runs.all[1];
	k->row.n_kept = runs.n_kept;
	k->row.verdict = &verdict;
	k->row.merged = &merged;
	r = store_add(k->store, &k->row, err);
	if (r == 0)
		r = host_identity_tell(k->store, k->host, k->identity, &k->in->arrival, err);
	if (k->identity == HOST_IDENTITY_REPLACED)
		baselines_forget(k->view.baselines, report->node);
	return r < 0 || k->identity == HOST_IDENTITY_TWO ? r : conclude(k, &verdict, &merged, err);
}

/*
 * What a host measured with others, or why it did not, says nothing about it alone: a good one with
 * a slow partner is slow, too. The campaign that ordered it evaluates it together with its
 * partners.
 */
static bool is_of_a_test_with_others(const struct report *report)
{
	const char *kind = json_string_value(json_object_get(report->order, "kind"));

	return kind && !streq(kind, "deep");
}

int ingest_keep(struct store *store, const struct rules *rules, struct baselines *baselines,
		struct hosts *hosts, const struct ingest *in, struct err *err)
{
	struct keeping k = {
		.store = store,
		.view = rules_view(rules, &in->report, baselines),
		.in = in,
		.row = { .report = &in->report,
			 .body = &in->body,
			 .seen_us = in->arrival.measured_us },
	};
	int place = store_place(store, &in->report, err), r;

	if (place < 0 || place == PLACE_DUPLICATE)
		return place;
	k.host = hosts_need(hosts, in->report.node);
	k.host->skew_s = in->arrival.skew_s;
	k.host->lost = in->report.lost;
	r = host_identity_learn(store, k.host, err);
	if (r < 0)
		return r;
	k.identity = host_identity_note(k.host, &in->report, &in->arrival, &place);
	k.row.history = place == PLACE_LATE || is_of_a_test_with_others(&in->report);
	r = learn_parts(&k, place == PLACE_NEWEST, err);
	if (r == 0)
		r = keep(&k, err);
	host_parts_release(&k.parts);
	return r < 0 ? r : place;
}
