/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_drain.h"

#include <stdio.h>

#include "lib/base/duration.h"
#include "lib/policy/decide_cordon.h"
#include "lib/policy/decide_gain.h"
#include "lib/policy/decide_inside.h"

/* Between the drains of two nodes of a job: time for the gang to be placed again. */
#define DRAIN_APART_US (2 * USEC_PER_MIN)

/* Bits of a node's scratch. */
enum { WAS_SEEN = 1, IS_DRAINED_NOW = 2 };

enum step { STEP_NONE, STEP_ASK, STEP_EVICT };

static int step_of(const struct deciding *d, const struct node_record *record)
{
	const struct policy *p = d->policy;

	if (record->drained_us > 0)
		return STEP_NONE;
	if (p->drain_mode == DRAIN_NOW)
		return STEP_EVICT;
	if (record->asked_us == 0)
		return STEP_ASK;
	return p->drain_mode == DRAIN_AFTER_GRACE &&
			       deciding_reached(d, record->asked_us, p->drain_grace_us)
		       ? STEP_EVICT
		       : STEP_NONE;
}

static bool is_cordoned(const struct fleet_node *node)
{
	return node->record.life.state == LIFE_CORDONED || node->record.life.state == LIFE_STICKY;
}

static bool wants_drain(const struct candidate *c)
{
	return c->want == WANT_CORDON && c->rule->action == ACTION_CORDON_DRAIN &&
	       is_cordoned(c->node) && !c->node->record.life.manual && c->node->out & OUT_OURS;
}

/* A cordon that is not set yet keeps no work off. */
static bool takes_work(const struct fleet_node *node)
{
	return !node->out || node->out & OUT_COMING;
}

/* A bad node of the same job on which the job could restart, or NULL. */
static const struct fleet_node *bad_sibling(const struct deciding *d, const struct fleet_node *node)
{
	size_t i;

	for (i = 0; i < d->out->n_candidates; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (c->want == WANT_CORDON && c->node != node && takes_work(c->node) &&
		    fleet_share_job(c->node, node))
			return c->node;
	}
	return NULL;
}

static bool is_draining(const struct deciding *d, const struct fleet_node *node)
{
	const struct node_record *r = &node->record;

	if (node->scratch & IS_DRAINED_NOW)
		return true;
	if (r->drain_us == 0)
		return false;
	return r->drained_us > 0 ? !deciding_reached(d, r->drained_us, DRAIN_APART_US)
				 : is_cordoned(node);
}

static bool sibling_drains(const struct deciding *d, const struct fleet_node *node)
{
	size_t i;

	for (i = 0; node->n_jobs > 0 && i < d->fleet->n; i++) {
		const struct fleet_node *other = d->fleet->nodes[i];

		if (other != node && is_draining(d, other) && fleet_share_job(other, node))
			return true;
	}
	return false;
}

static bool siblings_allow(const struct deciding *d, const struct fleet_node *node,
			   struct refusal *ret)
{
	const struct fleet_node *bad = bad_sibling(d, node);

	if (!bad)
		return true;
	*ret = (struct refusal){ .by = REFUSED_BY_SIBLING };
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "drain.job: %.120s of the same job is bad too and still in service: the job "
		       "could restart there",
		       bad->name);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "the cordon of %.120s, or the end of the fault there", bad->name);
	return false;
}

/* True if a job of `node` could start there. Bad nodes are suspected by now. */
static bool is_spare(const struct deciding *d, const struct fleet_node *other,
		     const struct fleet_node *node)
{
	const int state = other->record.life.state;

	return other->jobs_known && other->n_jobs == 0 && !other->out && !other->outside &&
	       !other->unverified && !other->hands_off && other->sku == node->sku &&
	       (state == LIFE_HEALTHY || state == LIFE_RELEASED) &&
	       !deciding_past(d->now_us, other->reported_us, d->policy->silent_after_us);
}

/* Without room for its jobs, an eviction just ends them: a slow job is better than none. */
static bool spares_allow(const struct deciding *d, const struct fleet_node *node,
			 struct refusal *ret)
{
	uint64_t wanted = d->policy->drain_spares, idle = 0;
	size_t i;

	if (wanted == 0 || !d->fleet->tells_jobs || (node->jobs_known && node->n_jobs == 0))
		return true;
	for (i = 0; i < d->fleet->n; i++) {
		const struct fleet_node *other = d->fleet->nodes[i];

		if (other == node)
			continue;
		idle += is_spare(d, other, node);
		/* Nodes whose jobs are already moving have the first claim. */
		if (other->sku == node->sku && is_draining(d, other))
			wanted += d->policy->drain_spares;
	}
	if (idle >= wanted)
		return true;
	*ret = (struct refusal){ .by = REFUSED_BY_SPARES };
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "drain.spares: %llu idle hosts of its SKU are known, and %llu are needed "
		       "before its jobs are evicted",
		       (unsigned long long)idle, (unsigned long long)wanted);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "an idle host of the same SKU, or a smaller drain.spares");
	return false;
}

static void decide_drain(struct deciding *d, const struct candidate *c, int step)
{
	struct decision *one = deciding_add(d, c->node, DECIDE_DRAIN);
	struct refusal refusal = { 0 };

	one->finding = c->finding;
	one->fatal = c->fatal;
	one->rule = c->rule->name;
	one->evidence = decide_evidence(d, c);
	one->only_ask = step == STEP_ASK;
	one->reason = deciding_text(d, "%s: %s; what runs there is %s", c->node->name,
				    c->finding->sentence ? c->finding->sentence : c->finding->check,
				    one->only_ask ? "told to leave" : "evicted");
	if (!decide_stands_allow(d, c, &refusal) || !facts_allow(d->fleet, &refusal) ||
	    !breaker_allows(d->breaker, &refusal) ||
	    (step == STEP_EVICT &&
	     (!siblings_allow(d, c->node, &refusal) || !spares_allow(d, c->node, &refusal))))
		deciding_refuse(d, one, &refusal);
	else if (step == STEP_EVICT)
		c->node->scratch |= IS_DRAINED_NOW;
}

static bool waits_for_drain(struct deciding *d, const struct candidate *c)
{
	return wants_drain(c) && step_of(d, &c->node->record) != STEP_NONE;
}

void decide_drains(struct deciding *d)
{
	size_t i;

	if (d->policy->drain_mode == DRAIN_OFF)
		return;
	decide_gain_order(d, waits_for_drain);
	for (i = 0; i < d->fleet->n; i++)
		d->fleet->nodes[i]->scratch = 0;
	for (i = 0; i < d->out->n_candidates; i++) {
		const struct candidate *c = &d->out->candidates[i];
		int step = wants_drain(c) ? step_of(d, &c->node->record) : STEP_NONE;

		if (step == STEP_NONE || c->waits || c->node->scratch & WAS_SEEN)
			continue;
		c->node->scratch |= WAS_SEEN;
		if (step == STEP_ASK || !sibling_drains(d, c->node))
			decide_drain(d, c, step);
	}
}
