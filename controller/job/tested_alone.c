/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/tested_alone.h"

#include "controller/job/job_facts.h"
#include "controller/job/pair_record.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/fleet.h"

enum { ABORTED_MAX = 3 }; /* consecutive tests without a result */

static const struct job_judge_item *item_of(const struct job_judged *judged, const char *host)
{
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		if (streq(judged->result.items[i].host->name, host))
			return &judged->result.items[i];
	}
	return NULL;
}

/* It has been running jobs for so long that its test was given up. */
static bool is_given_up(const struct job_judged *judged, const char *host)
{
	size_t i = 0;

	while (i < judged->result.n && !(judged->result.items[i].given_up &&
					 streq(judged->result.items[i].host->name, host)))
		i++;
	return i < judged->result.n;
}

/* For a link: does it show this end to be bad? */
static bool is_shown_bad(const struct job_judged *judged, const char *host)
{
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (streq(item->host->name, host) && item->suspect->class == BLAME_LINK &&
		    item->evidence >= EVIDENCE_BAD)
			return true;
	}
	return false;
}

enum tested_alone tested_alone(const struct job_judged *judged, const char *host)
{
	size_t i;

	for (i = 0; i < judged->n_hosts; i++) {
		const struct job_facts *facts = judged->facts[i];

		if (!streq(facts->host.name, host))
			continue;
		if (facts->failing || is_shown_bad(judged, host))
			return ALONE_BAD;
		if (!facts->alone)
			return is_given_up(judged, host) ? ALONE_NEVER : ALONE_PENDING;
		return facts->alone_passed ? ALONE_PASSED : ALONE_FAILED;
	}
	return ALONE_PENDING;
}

/*
 * Is it silent, out of time or tries, or may it not be tested? Then the others do not wait for it.
 */
static bool is_lost(const struct job_judging_input *in, const struct job_judge_host *host)
{
	const struct policy *policy = in->policy;
	const struct fleet_node *node = fleet_find(in->fleet, host->name);

	return !node || !node->managed || node->hands_off || node->out & OUT_OTHERS ||
	       node->record.aborted >= ABORTED_MAX ||
	       (host->heard_us && in->now_us >= host->heard_us + policy->silent_after_us) ||
	       (host->asked_us && in->now_us >= host->asked_us + policy->retest_timeout_us);
}

/* Look at the hosts of one group. */
static json_t *look_at(const struct job_judging_input *in, const struct job_judged *judged,
		       const struct investigation *inv, const struct suspicion_found *group,
		       const char **ret_bad)
{ /* lint: allow parameters: the shared inputs, the group, and the host at fault */
	CLEANUP(json_freep) json_t *passed = json_array();
	bool pending = false;
	size_t i;

	for (i = 0; i < group->n_hosts; i++) {
		const struct investigation_host *host = investigation_find(inv, group->hosts[i]);
		const struct job_judge_item *item = item_of(judged, group->hosts[i]);
		enum tested_alone alone;

		if (!host || !item)
			continue;
		alone = tested_alone(judged, host->name);
		if (host->state == INVESTIGATION_CORDONED || alone == ALONE_BAD)
			*ret_bad = host->name;
		else if (!investigation_has(inv, host->name))
			continue;
		else if (alone == ALONE_PENDING)
			pending |= !is_lost(in, item->host);
		else if (alone == ALONE_PASSED && item->host->awaits &&
			 json_array_size(passed) < PAIR_RECORD_ENDS_MAX)
			(void)json_array_append_new(passed, json_string(host->name));
	}
	return json_array_size(passed) > 0 && (*ret_bad || !pending) ? TAKE(passed) : NULL;
}

json_t *tested_alone_group(const struct job_judging_input *in, const struct job_judged *judged,
			   const struct investigation *inv, const char **ret_bad)
{
	const struct suspicion_list *list = &in->suspects->list;
	json_t *passed = NULL;
	size_t i;

	for (i = 0; !passed && i < list->n; i++) {
		*ret_bad = NULL;
		if (job_judge_is_group(in->policy, &list->items[i]))
			passed = look_at(in, judged, inv, &list->items[i], ret_bad);
	}
	return passed;
}
