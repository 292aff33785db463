/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/verdict.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/missing.h"
#include "lib/judge/peers.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict_item.h"
#include "lib/judge/verdict_links.h"
#include "lib/judge/verdict_whole.h"
#include "lib/judge/words.h"
#include "lib/report/report.h"

const char *const verdict_level_names[] = {
	[VERDICT_PASS] = "pass",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
	[VERDICT_WARN] = "warn",
	[VERDICT_FAIL] = "fail",
	NULL,
};
const char *const verdict_source_names[] = {
	[SOURCE_FLEET] = "fleet", [SOURCE_SKU] = "sku",		  [SOURCE_HISTORY] = "history",
	[SOURCE_PEERS] = "peers", [SOURCE_SELF] = "self-evident", NULL,
};

/* What a sample is compared with. */
struct references {
	struct expectation e[EXPECTATIONS_MAX];
	size_t n;
	const struct measure *m; /* of its value; borrowed */
};

static struct verdict_item item_of_sample(const struct sample *s, const struct judge_inputs *inputs)
{
	return (struct verdict_item){
		.check = verdict_text(inputs, s->check),
		.subject = verdict_text(inputs, s->subject),
		.level = VERDICT_PASS,
		.value = s->state == SAMPLE_MEASURED ? s->value : NAN,
		.unit = verdict_text(inputs, s->unit),
		.expected = NAN,
		.floor = NAN,
		.source = SOURCE_SELF,
	};
}

/* The level by the probe itself; only for ok=false. */
static int level_of_severity(int severity)
{
	switch ((enum severity)severity) {
	case SEVERITY_INFO:
		return VERDICT_PASS;
	case SEVERITY_WARN:
		return VERDICT_WARN;
	case SEVERITY_FAIL:
	case SEVERITY_FATAL:
		break;
	}
	return VERDICT_FAIL;
}

/* No reference finds it low, and one finds it too good to be true. */
static bool is_impossible(const struct references *refs)
{
	size_t i;

	if (expectations_by(refs->e, refs->n, true))
		return false;
	for (i = 0; i < refs->n; i++) {
		if (expectation_is_exceeded(refs->m, &refs->e[i]))
			return true;
	}
	return false;
}

/* The value relative to what the part itself usually reaches. */
static double kept_of(double value, const struct references *refs)
{
	size_t i;

	for (i = 0; i < refs->n; i++) {
		if (refs->e[i].source == SOURCE_HISTORY && refs->e[i].expected > 0)
			return value / refs->e[i].expected;
	}
	return 0;
}

static void judge_by_references(const struct sample *s, const struct references *refs, bool terse,
				struct verdict_item *item)
{
	const struct expectation *worst = expectations_worst(refs->e, refs->n);

	item->expected = worst->expected;
	item->floor = worst->floor;
	item->source = worst->source;
	item->n = worst->n;
	item->level = expectations_level(refs->e, refs->n);
	item->usual = expectations_usual(refs->e, refs->n);
	item->known_by = expectations_by(refs->e, refs->n, false);
	item->low_by = expectations_by(refs->e, refs->n, true);
	item->deep = expectations_deep(refs->e, refs->n);
	item->kept = kept_of(s->value, refs);
	item->impossible = is_impossible(refs);
	if (item->impossible) {
		item->level = VERDICT_WARN;
		item->sentence = words_impossible(s, worst);
	} else if (item->level != VERDICT_PASS || item->low_by)
		item->sentence = words_low(s, refs->e, refs->n);
	else if (!terse)
		item->sentence = words_fine(s, refs->e, refs->n);
}

/* Its peers are no reference, and there is no other. */
static void judge_spread(const struct sample *s, const struct peer_view *view,
			 struct peer_group *group, struct verdict_item *item)
{
	item->level = view->low ? VERDICT_INCONCLUSIVE : VERDICT_PASS;
	item->sentence = words_spread_member(s, group, view->low);
	group->unresolved |= view->low;
}

/* It should be compared, but nothing known is in its unit. */
static bool is_incomparable(const struct sample *s)
{
	return !isnan(s->value) && s->better != BETTER_NONE && !sample_unit_known(s->unit);
}

static void judge_incomparable(const struct sample *s, struct verdict_item *item)
{
	item->level = VERDICT_INCONCLUSIVE;
	item->sentence = words_incomparable(s);
}

/* True if its peers differ too much: that is still a comparison. */
static bool leans(const struct peer_view *view, const struct peers *peers)
{
	return view->compared && peers->groups[view->group].spread;
}

static void judge_value(const struct sample *s, const struct references *refs, bool terse,
			const struct peer_view *view, struct peers *peers, struct verdict_item *item)
{ /* lint: allow parameters: one more that says how much to tell */
	if (refs->n > 0)
		judge_by_references(s, refs, terse, item);
	else if (leans(view, peers))
		judge_spread(s, view, &peers->groups[view->group], item);
	else if (is_incomparable(s))
		judge_incomparable(s, item);
	else if (!terse)
		item->sentence = words_recorded(s);
}

static int held_of(const struct peer_view *view, const struct verdict_item *item)
{
	if (!view->measured || !view->m.family->compared)
		return HELD_NEVER;
	return item->known_by & 1U << SOURCE_FLEET ? HELD_FLEET : HELD_NOT;
}

static struct verdict_item judge_sample(const struct sample *s, const struct judge_inputs *inputs,
					const struct peer_view *view, struct peers *peers)
{
	struct verdict_item item = item_of_sample(s, inputs);
	struct references refs = { .m = &view->m };
	int own = s->ok == TRI_NO ? level_of_severity(s->severity) : VERDICT_PASS;

	if (s->state != SAMPLE_MEASURED || (isnan(s->value) && s->ok == TRI_UNKNOWN)) {
		item.level = VERDICT_INCONCLUSIVE;
		item.sentence = words_not_measured(s);
		return item;
	}
	refs.n = peers_expectations(s, inputs, view, refs.e);
	judge_value(s, &refs, inputs->pool != NULL, view, peers, &item);
	item.held = held_of(view, &item);
	item.unjudged = item.source == SOURCE_SELF && item.level == VERDICT_PASS &&
			s->ok == TRI_UNKNOWN && !leans(view, peers);
	if (s->ok == TRI_NO && own >= item.level) {
		free(item.sentence);
		item.sentence = words_not_ok(s);
		item.level = own;
		item.fatal = s->severity == SEVERITY_FATAL;
		item.known_by = item.low_by = 0;
	}
	return item;
}

static struct verdict_item item_of_spread(const struct report *report,
					  const struct judge_inputs *inputs,
					  const struct peer_group *group)
{
	const struct sample *s = &report->samples[group->first];

	return (struct verdict_item){
		.check = verdict_text(inputs, s->check),
		.subject = verdict_text(inputs, report->node),
		.level = VERDICT_WARN,
		.value = group->typical,
		.unit = verdict_text(inputs, s->unit),
		.expected = group->best,
		.floor = NAN,
		.source = SOURCE_PEERS,
		.n = group->n,
		.sentence = words_spread(s, group),
	};
}

static bool problem_counts(const struct problem *p, const struct judge_inputs *inputs)
{
	return p->code != PROBLEM_NOT_APPLICABLE ||
	       (inputs->expects && inputs->expects(inputs->expects_context, p->probe));
}

static struct verdict_item item_of_problem(const struct report *report,
					   const struct judge_inputs *inputs,
					   const struct problem *p)
{
	return (struct verdict_item){
		.check = verdict_made(inputs, xasprintf("probe.%s", p->probe)),
		.subject = verdict_text(inputs, report->node),
		.level = VERDICT_INCONCLUSIVE,
		.value = NAN,
		.expected = NAN,
		.floor = NAN,
		.source = SOURCE_SELF,
		.sentence = p->code == PROBLEM_NOT_APPLICABLE ? words_expected_device(p)
							      : words_problem(p),
	};
}

static struct verdict_item item_of_missing(const struct report *report,
					   const struct judge_inputs *inputs,
					   const struct verdict_item *before)
{
	return (struct verdict_item){
		.check = verdict_text(inputs, before->check),
		.subject = verdict_text(inputs, before->subject),
		.level = VERDICT_INCONCLUSIVE,
		.value = NAN,
		.unit = verdict_text(inputs, before->unit),
		.expected = NAN,
		.floor = NAN,
		.source = SOURCE_SELF,
		.sentence = words_missing(before, report->profile),
	};
}

static void add_missing(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs)
{
	const struct verdict *before = inputs->before;
	CLEANUP(freep)
	const struct verdict_item **gone = xcalloc(before->n_items + 1, sizeof(*gone));
	size_t n = missing_find(report, before, gone), i;

	for (i = 0; i < n; i++)
		verdict_add(v, report, inputs, item_of_missing(report, inputs, gone[i]));
}

static bool has_item(const struct verdict *v, const char *check)
{
	size_t i = 0;

	while (i < v->n_items && !streq(v->items[i].check, check))
		i++;
	return i < v->n_items;
}

/* What the SKU file says exists, but nothing has counted. */
static void add_uncounted(struct verdict *v, const struct report *report,
			  const struct judge_inputs *inputs)
{
	const char *checks[MISSING_COUNTS_MAX];
	size_t n = missing_counts(report, inputs, checks), i;

	for (i = 0; i < n; i++) {
		struct verdict_item item;

		if (has_item(v, checks[i])) /* already reported as missing */
			continue;
		item = (struct verdict_item){
			.check = verdict_made(inputs, xstrdup(checks[i])),
			.subject = verdict_made(inputs, xstrdup("host")),
			.level = VERDICT_INCONCLUSIVE,
			.value = NAN,
			.unit = verdict_made(inputs, xstrdup("1")),
			.expected = NAN,
			.floor = NAN,
			.source = SOURCE_SKU,
			.sentence = words_uncounted(checks[i]),
		};
		verdict_add(v, report, inputs, item);
	}
}

void verdict_judge(const struct report *report, const struct judge_inputs *inputs,
		   struct verdict *ret)
{
	static const struct judge_inputs nothing = { 0 };
	const struct judge_inputs *in = inputs ? inputs : &nothing;
	CLEANUP(peers_release) struct peers peers = { 0 };
	struct verdict v = {
		.node = xstrdup(report->node),
		.time = xstrdup(report->time),
		.boot_id = xstrdup(report->boot_id),
		.uptime_s = report->uptime_s,
		.machine = xstrdup(json_string_value(json_object_get(report->env, "machine"))),
		.seq = report->seq,
		.profile = xstrdup(report->profile),
		.borrows = in->pool != NULL,
	};
	size_t i;

	peers_build(report, in, &peers);
	v.items = xrealloc(NULL,
			   report->n_samples + 2 * peers.n_groups + report->n_problems +
				   (in->before ? in->before->n_items : 0) + VERDICT_LINKS_MAX +
				   MISSING_COUNTS_MAX + 1,
			   sizeof(*v.items));
	for (i = 0; i < report->n_samples; i++)
		verdict_add(&v, report, in,
			    judge_sample(&report->samples[i], in, &peers.views[i], &peers));
	for (i = 0; i < peers.n_groups; i++) {
		if (peers.groups[i].unresolved)
			verdict_add(&v, report, in, item_of_spread(report, in, &peers.groups[i]));
	}
	verdict_add_wholes(&v, report, in, &peers);
	verdict_name_links(&v, report, in, &peers);
	for (i = 0; i < report->n_problems; i++) {
		if (problem_counts(&report->problems[i], in))
			verdict_add(&v, report, in,
				    item_of_problem(report, in, &report->problems[i]));
	}
	if (in->before)
		add_missing(&v, report, in);
	add_uncounted(&v, report, in);
	verdict_conclude(&v);
	*ret = v;
}

/* An item and its sort key. */
struct ranked {
	const struct verdict_item *item;
	double margin;
	size_t order;
};

/*
 * The ratio of value to floor, below 1 on the bad side. Without numbers, a bad item sorts as the
 * worst and a good one as the best.
 */
static double margin_of(const struct verdict_item *item)
{
	double above = item->value, below = item->floor;

	if (isnan(item->floor) || isnan(item->value))
		return item->level == VERDICT_PASS ? INFINITY : 0;
	if (item->floor > item->expected) {
		above = item->floor;
		below = item->value;
	}
	return below > 0 ? above / below : INFINITY;
}

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->item->level != y->item->level)
		return y->item->level - x->item->level;
	if (x->item->fatal != y->item->fatal)
		return x->item->fatal ? -1 : 1;
	if (x->margin != y->margin)
		return x->margin < y->margin ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The items of a single run are already in order. */
static bool is_in_order(const struct ranked *ranked, size_t n)
{
	size_t i = 1;

	while (i < n && compare_ranked(&ranked[i - 1], &ranked[i]) < 0)
		i++;
	return i >= n;
}

static void sort_items(struct verdict *v)
{
	CLEANUP(freep) struct ranked *ranked = xrealloc(NULL, v->n_items, sizeof(*ranked));
	CLEANUP(freep) struct verdict_item *old = NULL;
	size_t i;

	for (i = 0; i < v->n_items; i++)
		ranked[i] = (struct ranked){ &v->items[i], margin_of(&v->items[i]), i };
	if (is_in_order(ranked, v->n_items))
		return;
	qsort(ranked, v->n_items, sizeof(*ranked), compare_ranked);
	old = xrealloc(NULL, v->n_items, sizeof(*old));
	memcpy(old, v->items, v->n_items * sizeof(*old));
	for (i = 0; i < v->n_items; i++)
		v->items[i] = old[ranked[i].order];
}

void verdict_conclude(struct verdict *v)
{
	if (v->n_items > 0)
		sort_items(v);
	v->level = v->n_items ? v->items[0].level : VERDICT_INCONCLUSIVE;
	free(v->sentence);
	v->sentence = words_host(v);
}

void verdict_item_release(struct verdict_item *item)
{
	free(item->check);
	free(item->subject);
	free(item->unit);
	free(item->sentence);
	free(item->profile);
	free(item->time);
	free(item->link);
	*item = (struct verdict_item){ 0 };
}

void verdict_release(struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->n_items && !v->borrows; i++)
		verdict_item_release(&v->items[i]);
	free(v->items);
	free(v->node);
	free(v->time);
	free(v->boot_id);
	free(v->machine);
	free(v->profile);
	free(v->sentence);
	json_decref(v->fleet);
	*v = (struct verdict){ 0 };
}
