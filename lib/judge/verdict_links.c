/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/verdict_links.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/link_words.h"
#include "lib/judge/localise.h"
#include "lib/judge/peers.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/report.h"

/*
 * A host of 16 RNICs and 24 ends has about 5,000 uses of links in its matrices. Larger ones are not
 * explained: reports come from outside, and the controller has others to judge.
 */
enum { USES_MAX = 8192, USES_TOGETHER_MAX = 65536, WORK_MAX = 300000 };

/* With more than four equally likely alternatives, nobody can say which link it is. */
#define CONFIDENCE_MIN 0.19

struct naming {
	struct verdict *v;
	const struct report *report;
	const struct judge_inputs *inputs;
	const struct peers *peers;
	size_t n_plain; /* items before the first link */
};

static bool is_rate(const struct sample *s)
{
	return s->path && s->better == BETTER_HIGHER && s->state == SAMPLE_MEASURED &&
	       s->ok != TRI_NO;
}

/* Low by a reference, or one of too many that are low by their peers. */
static bool is_slow(const struct naming *n, size_t sample)
{
	const struct peer_view *view = &n->peers->views[sample];
	int level = n->v->items[sample].level;

	return is_rate(&n->report->samples[sample]) &&
	       (level >= VERDICT_WARN ||
		(level == VERDICT_INCONCLUSIVE && view->compared && view->low));
}

static bool is_too_much(const struct report *report)
{
	size_t uses = 0, together = 0, i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];
		size_t n = s->path ? strv_len(s->path) : 0;

		uses += n;
		together += s->with ? n * strv_len(s->with) : 0;
	}
	return uses > USES_MAX || together > USES_TOGETHER_MAX;
}

static bool any_slow(const struct naming *n)
{
	size_t i;

	for (i = 0; i < n->report->n_samples; i++) {
		if (n->v->items[i].level != VERDICT_PASS && is_slow(n, i))
			return true;
	}
	return false;
}

/*
 * What a cell should reach according to the fleet, else to its own history; NAN leaves it to
 * similar cells. Cells measured together share links, and the fleet has no values for such groups.
 */
static double expected_of(const struct naming *n, const struct sample *s)
{
	const struct judge_inputs *in = n->inputs;
	double values[REFERENCE_HISTORY_MAX];
	CLEANUP(freep) char *key = NULL;
	struct expectation e;
	struct measure m;
	size_t count;

	if (!is_rate(s) || s->with || !peers_measure(s, in, &m))
		return NAN;
	if (in->fleet && in->fleet(in->fleet_context, s, &m, &e))
		return e.expected;
	if (!in->history)
		return NAN;
	key = params_key(s);
	count = in->history(in->history_context, s->check, s->subject, key, values,
			    ARRAY_SIZE(values));
	return expectation_from_history(&m, values, count, &e) ? e.expected : NAN;
}

/*
 * The worst level among the slow cells of a link, and the sample that has it; PASS: none is slow.
 */
static int worst_cell(const struct naming *n, const struct localised_link *link, size_t *ret_sample)
{
	int level = VERDICT_PASS;
	size_t i;

	for (i = 0; i < link->n_cells; i++) {
		size_t sample = link->cells[i];
		int own = MAX(n->v->items[sample].level, (int)VERDICT_WARN);

		if (is_slow(n, sample) && own > level) {
			level = own;
			*ret_sample = sample;
		}
	}
	return level;
}

static bool is_worth_a_name(const struct localised_link *link)
{
	size_t n_for = link->supporting ? strv_len(link->supporting) : 0;
	size_t n_against = link->contradicting ? strv_len(link->contradicting) : 0;

	return link->confidence >= CONFIDENCE_MIN && n_for > n_against;
}

static void point_to(const struct naming *n, struct verdict_item *item,
		     const struct verdict_item *to, const char *name)
{
	CLEANUP(freep) char *before = NULL;
	CLEANUP(freep) char *called = NULL;

	if (item->link || item->fatal)
		return;
	item->link = verdict_text(n->inputs, to->subject);
	if (!n->inputs->pool)
		before = item->sentence;
	called = verdict_called(n->inputs, name);
	item->sentence =
		verdict_made(n->inputs, xasprintf("%s; %s explains it",
						  item->sentence ? item->sentence : "", called));
}

static void name_link(const struct naming *n, const struct localised_link *link)
{
	CLEANUP(freep) char *name = link_name(link->link);
	const struct verdict_item *to;
	size_t worst = 0, i;
	int level = worst_cell(n, link, &worst);

	if (level == VERDICT_PASS || !is_worth_a_name(link))
		return;
	verdict_add(n->v, n->report, n->inputs,
		    (struct verdict_item){
			    .check = verdict_made(
				    n->inputs, xasprintf("%.*s.link", (int)strcspn(link->check, "."),
							 link->check)),
			    .subject = verdict_made(n->inputs, xstrdup(link->link)),
			    .level = level,
			    .value = link->capacity,
			    .unit = verdict_text(n->inputs, n->report->samples[worst].unit),
			    .expected = link->expected,
			    .floor = NAN,
			    .source = n->v->items[worst].source,
			    .known_by = n->v->items[worst].known_by,
			    .low_by = n->v->items[worst].low_by,
			    .n = n->v->items[worst].n,
			    .sentence = localised_sentence(link),
		    });
	to = &n->v->items[n->v->n_items - 1];
	for (i = 0; i < link->n_cells; i++) {
		if (is_slow(n, link->cells[i]))
			point_to(n, &n->v->items[link->cells[i]], to, name);
	}
}

/* A spread group whose low members are all explained is itself explained. */
static void point_group(const struct naming *n, size_t group, struct verdict_item *item)
{
	const struct verdict_item *first = NULL;
	CLEANUP(freep) char *name = NULL;
	size_t i;

	for (i = 0; i < n->report->n_samples; i++) {
		const struct peer_view *view = &n->peers->views[i];

		if (!view->compared || view->group != group || !is_slow(n, i))
			continue;
		if (!n->v->items[i].link)
			return;
		first = first ? first : &n->v->items[i];
	}
	if (!first)
		return;
	name = link_name(first->link);
	point_to(n, item, &(struct verdict_item){ .subject = first->link }, name);
}

static void point_groups(const struct naming *n)
{
	size_t at = n->report->n_samples, i;

	for (i = 0; i < n->peers->n_groups; i++) {
		if (n->peers->groups[i].unresolved)
			point_group(n, i, &n->v->items[at++]);
	}
}

void verdict_name_links(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers)
{
	const struct naming n = { v, report, inputs, peers, v->n_items };
	CLEANUP(freep) double *expected = NULL;
	struct localised found = { .n = 0 };
	size_t i;

	if (!any_slow(&n) || is_too_much(report))
		return;
	expected = xcalloc(report->n_samples + 1, sizeof(*expected));
	for (i = 0; i < report->n_samples; i++)
		expected[i] = expected_of(&n, &report->samples[i]);
	localise(&(struct localise_input){ .samples = { report->samples, report->n_samples },
					   .expected = expected,
					   .work_max = WORK_MAX },
		 &found);
	for (i = 0; i < found.n && i < VERDICT_LINKS_MAX; i++)
		name_link(&n, &found.links[i]);
	if (v->n_items > n.n_plain)
		point_groups(&n);
	localised_release(&found);
}
