/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_view.h"

#include <jansson.h>
#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "lib/policy/life.h"
#include "lib/policy/policy.h"

/* --- out-of-band changes --- */

/*
 * Did another controller return it to service and cordon it again since its record was written?
 * Then its mark is newer. Cordons that only a person may lift are left as they are.
 */
static bool is_anew(const struct cluster_node *c, const struct node_record *record)
{
	return record->marked_us && c->mark->at_us > record->marked_us && !record->life.manual &&
	       record->life.state != LIFE_STICKY;
}

enum observed node_view_observe(const struct cluster_node *c, const struct node_record *record,
				uint64_t now_us)
{
	const bool holds = life_holds(record->life.state);

	if (c->mark && !c->unschedulable)
		return OBSERVED_UNCORDON;
	if (c->mark && !holds)
		return OBSERVED_CORDON;
	if (!c->mark && holds)
		return OBSERVED_UNMARKED;
	if (c->mark && is_anew(c, record))
		return OBSERVED_ANEW;
	if (c->hold_us && (record->hold_until_us == 0 || c->hold_us <= now_us))
		return OBSERVED_HOLD_OVER;
	return !c->hold_us && record->hold_until_us ? OBSERVED_UNHOLD : OBSERVED_NOTHING;
}

bool node_view_is_overridden(const struct cluster_node *c, const struct node_record *record,
			     uint64_t now_us)
{
	return c->override_us > now_us && c->override_us > record->override_until_us;
}

/* --- facts --- */

bool node_view_is_by_others(const struct cluster_node *c)
{
	return (c->unschedulable && (!c->mark || c->mark->pre)) || c->leaving;
}

void node_view_out(struct fleet_node *node, const struct cluster_node *c, bool kept, bool coming)
{
	const bool by_others = kept || node_view_is_by_others(c);

	/* A hold that has ended but could not be removed yet still keeps jobs away. */
	coming |= c->hold_us && !(node->out & OUT_HOLD);
	node->out &= ~(unsigned)(OUT_OTHERS | OUT_NOT_READY | OUT_COMING);
	node->out |= (by_others || coming ? OUT_OTHERS : 0U) | (c->ready ? 0U : OUT_NOT_READY) |
		     (coming ? OUT_COMING : 0U);
}

void node_view_facts(struct fleet *fleet, struct fleet_node *node, const struct cluster_node *c,
		     const char *domain_label)
{
	node->managed = c->managed;
	node->outside = c->outside;
	fleet_set_hands_off(node, c->hands_off);
	fleet_set_domain(fleet, node, cluster_node_label(c, domain_label));
}

/* --- the condition "Healthy" --- */

enum { HEALTHY_SILENT = -1, HEALTHY_NO, HEALTHY_YES };

static int healthy_of(const struct fleet_node *node, const struct policy *policy, uint64_t now_us)
{
	if (life_holds(node->record.life.state))
		return HEALTHY_NO;
	/* Silence is not health. */
	return node->reported_us + policy->silent_after_us > now_us ? HEALTHY_YES : HEALTHY_SILENT;
}

/* Returns the reason, for someone who only looks at the node. New memory. */
static char *message_of(const struct cluster_node *c, const struct fleet_node *node, int healthy)
{
	const char *state = life_state_names[node->record.life.state];
	const char *evidence = c->mark ? json_string_value(json_array_get(c->mark->evidence, 0))
				       : NULL;

	if (healthy == HEALTHY_SILENT)
		return xstrdup("its agent has not reported");
	if (healthy == HEALTHY_YES || !c->mark)
		return xstrdup(state);
	return xasprintf("%s: %s%s%s%s", state, c->mark->reason, evidence ? " (" : "",
			 evidence ? evidence : "", evidence ? ")" : "");
}

/* Conditions are not published for hosts that we may not touch. */
static bool is_told(const struct cluster_node *c, const struct policy *policy, int healthy, int told)
{
	return healthy == HEALTHY_NO || told ||
	       (policy->mode == MODE_ENFORCE && c->managed && !c->hands_off);
}

bool node_view_tell(const struct cluster_node *c, const struct fleet_node *node,
		    const struct policy *policy, uint64_t now_us, int *told,
		    struct node_view_condition *ret)
{
	static const char *const reasons[] = { "AssaySilent", "AssayCordoned", "AssayHealthy" };
	const int healthy = healthy_of(node, policy, now_us);
	const int now = 3 * node->record.life.state + healthy + 2;

	if (*told == now || !is_told(c, policy, healthy, *told))
		return false;
	*told = now;
	*ret = (struct node_view_condition){ healthy, reasons[healthy + 1],
					     message_of(c, node, healthy) };
	return true;
}
