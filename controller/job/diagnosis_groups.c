/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/diagnosis_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/campaign/campaign.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/job/diagnosis_record.h"
#include "controller/job/group_brought.h"
#include "controller/job/job_advice.h"
#include "controller/store/store_campaigns.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

void diagnosis_groups_withdraw(struct service *s, const json_t *diagnosis, const char *why)
{
	const json_t *campaign = json_object_get(diagnosis, "campaign");

	if (json_is_integer(campaign))
		campaigns_withdraw(s, json_integer_value(campaign), why);
}

static void give_up_groups(const struct diagnosis_groups_of *w, struct diagnosis_input *d,
			   const char *why)
{
	diagnosis_record_put(w->inv->diagnosis, "unsure", json_string(why));
	d->groups = DIAGNOSIS_GROUPS_CANNOT;
}

static int side_of(const json_t *campaign, const json_t *cloud, struct investigation_host *host)
{
	const json_t *blame = group_brought_row(json_object_get(campaign, "blames"), host->name);
	const json_t *there = group_brought_row(json_object_get(campaign, "nodes"), host->name);

	if (blame && !streq(diagnosis_record_text(blame, "kind"), "undecided")) {
		diagnosis_record_say(host, INVESTIGATION_TESTING,
				     xstrdup(diagnosis_record_text(blame, "sentence")));
		return DIAGNOSIS_SIDE_BAD;
	}
	return blame || cloud || !there || json_is_true(json_object_get(there, "gone"))
		       ? DIAGNOSIS_SIDE_UNKNOWN
		       : DIAGNOSIS_SIDE_GOOD;
}

static void take_campaign(const struct diagnosis_groups_of *w, const json_t *campaign,
			  struct diagnosis_input *d, struct diagnosis_host *hosts)
{
	const json_t *cloud = group_brought_cloud(campaign);
	const char *words = diagnosis_record_text(cloud ? cloud : campaign, "sentence");
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		if (hosts[i].test == DIAGNOSIS_PASSED)
			hosts[i].side = side_of(campaign, cloud, &w->inv->hosts[i]);
	}
	diagnosis_record_put(w->inv->diagnosis, "unsure",
			     json_string(words ? words : "the campaign gave no result"));
	d->groups = DIAGNOSIS_GROUPS_DONE;
}

int diagnosis_groups_look(const struct diagnosis_groups_of *w, struct diagnosis_input *d,
			  struct diagnosis_host *hosts)
{
	const json_t *number = json_object_get(w->inv->diagnosis, "campaign");
	const uint64_t since_us = json_stamp_us(json_object_get(w->inv->diagnosis, "grouped"));
	CLEANUP(json_freep) json_t *campaign = NULL;
	const char *state;
	int r;

	if (!json_is_integer(number))
		return 0;
	r = store_campaign(w->s->store, json_integer_value(number), &campaign, w->err);
	if (r < 0 && r != -ENOENT)
		return r;
	state = diagnosis_record_text(campaign, "state");
	d->groups = DIAGNOSIS_GROUPS_RUN;
	if (streq(state, campaign_state_names[CAMPAIGN_DONE])) {
		take_campaign(w, campaign, d, hosts);
	} else if (!streq(state, campaign_state_names[CAMPAIGN_RUNNING])) {
		const char *words = diagnosis_record_text(campaign, "sentence");

		give_up_groups(w, d, words ? words : "the campaign is no longer known");
	} else if (w->in->now_us >= since_us + DIAGNOSIS_GROUPS_MOST_US) {
		give_up_groups(w, d, "the campaign took too long");
		diagnosis_groups_withdraw(w->s, w->inv->diagnosis, "it took too long");
	}
	return 0;
}

/* Names of the hosts that passed, and of some known-good ones. New reference. */
static int find_party(const struct diagnosis_groups_of *w, const struct diagnosis_step *step,
		      json_t **ret)
{
	CLEANUP(json_freep) json_t *names = json_array();
	CLEANUP(json_freep) json_t *good = json_array();
	CLEANUP(json_freep) json_t *own = diagnosis_record_names(w->inv);
	size_t n, room, i;
	int r;

	for (i = 0; i < w->inv->n_hosts; i++) {
		if (step->ask[i])
			(void)json_array_append_new(names, json_string(w->inv->hosts[i].name));
	}
	n = json_array_size(names);
	room = n < DIAGNOSIS_GROUP_MAX ? DIAGNOSIS_GROUP_MAX - n : 0;
	r = job_advice_spares(
		w->in, &(struct job_advice_ask){ names, own, MIN(room, (size_t)DIAGNOSIS_GOOD_MAX) },
		good, w->err);
	if (r < 0)
		return r;
	(void)json_object_set(w->inv->diagnosis, "good", good);
	(void)json_array_extend(names, good);
	*ret = TAKE(names);
	return 0;
}

int diagnosis_groups_begin(const struct diagnosis_groups_of *w, const struct diagnosis_step *step,
			   struct diagnosis_input *d)
{
	json_t *diagnosis = w->inv->diagnosis;
	CLEANUP(json_freep) json_t *names = NULL;
	CLEANUP(freep) char *reason = NULL;
	const int memory = w->s->settings->collectives.memory;
	struct campaigns_ask ask = { .measure = { CAMPAIGN_ALLREDUCE, memory, CAMPAIGN_VERBS },
				     .plan = PAIRING_BISECT,
				     .who = diagnosis_record_text(diagnosis, "who"),
				     .rounds_max = diagnosis_rounds(w->inv->n_hosts) };
	struct err why = ERR_INIT;
	int64_t id;
	int r = find_party(w, step, &names);

	if (r < 0)
		return r;
	if (json_array_size(names) < DIAGNOSIS_GROUP_MIN) {
		give_up_groups(w, d,
			       "too few hosts passed, and there is no idle host of the same model, "
			       "tested within the last day, to compare with");
		return 0;
	}
	reason = xasprintf("diagnosis of %s: %s", w->inv->job_name, w->inv->reason);
	ask.nodes = names;
	ask.reason = reason;
	if (!json_is_string(json_object_get(diagnosis, "grouped")))
		diagnosis_record_put(diagnosis, "grouped", json_stamp(w->in->now_us));
	id = campaigns_begin(w->s, &ask, &why);
	if (id > 0) {
		diagnosis_record_put(diagnosis, "campaign", json_integer(id));
		diagnosis_record_note(w->inv, w->in->now_us,
				      xasprintf("campaign %" PRId64
						" tests %zu hosts with each other",
						id, json_array_size(names)));
	} else if (id != -EBUSY ||
		   w->in->now_us >= json_stamp_us(json_object_get(diagnosis, "grouped")) +
					    DIAGNOSIS_GROUPS_BUSY_US) {
		give_up_groups(w, d, why.msg);
	}
	return 0;
}
