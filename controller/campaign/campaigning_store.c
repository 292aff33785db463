/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns and the store: their rows, and those of a controller that ended. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/campaign/campaigning_inside.h"
#include "controller/controller.h"
#include "controller/store/store.h"
#include "controller/store/store_campaigns.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct campaign_moment campaigning_now(void)
{
	return (struct campaign_moment){ clock_mono_us(), clock_real_us() };
}

/* What the API shows; and, while it goes on, what a controller after this one needs. */
int campaigning_put(struct service *s, const struct slot *slot, struct err *err)
{
	const struct campaign *c = slot->campaign;
	const struct campaign_moment now = campaigning_now();
	CLEANUP(json_freep) json_t *body = campaign_json(c);
	json_t *kept;

	if (c->state == CAMPAIGN_RUNNING) {
		kept = campaign_keep(c, &now);
		if (slot->tested)
			(void)json_object_set_new(kept, "tested", json_string(slot->tested));
		(void)json_object_set_new(body, STORE_CAMPAIGN_KEPT, kept);
	}
	return store_put_campaign(s->store, c->id, c->ended_us, body, err);
}

/* What nobody can go on with: its row says so from now on, and who wanted it begins it anew. */
static int abandon_row(struct service *s, int64_t id, json_t *body, const char *why, struct err *err)
{
	const uint64_t now_us = clock_real_us();
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(now_us, stamp);
	(void)json_object_del(body, STORE_CAMPAIGN_KEPT);
	(void)json_object_set_new(body, "state",
				  json_string(campaign_state_names[CAMPAIGN_ABANDONED]));
	(void)json_object_set_new(body, "ended", json_string(stamp));
	(void)json_object_set_new(
		body, "sentence",
		json_sprintf("abandoned in round %d: %s",
			     (int)json_integer_value(json_object_get(body, "rounds_made")), why));
	s->campaigns->counts.abandoned++;
	log_warning("campaign %" PRId64 " is abandoned: %s", id, why);
	return store_put_campaign(s->store, id, now_us, body, err);
}

/* One that a controller left goes on where it was, or is abandoned with the reason. */
static int resume_row(struct service *s, int64_t id, struct err *err)
{
	const struct campaign_moment now = campaigning_now();
	CLEANUP(json_freep) json_t *body = NULL;
	struct campaigning *all = s->campaigns;
	struct slot slot = { .dirty = true, .begun = true };
	struct err why = ERR_INIT;
	const json_t *kept;
	int r = store_campaign(s->store, id, &body, err);

	if (r < 0)
		return r;
	kept = json_object_get(body, STORE_CAMPAIGN_KEPT);
	if (all->n == CAMPAIGNS_MAX)
		r = err_set(&why, EBUSY, "%d others go on already", CAMPAIGNS_MAX);
	else
		r = campaign_recall(id, kept, &now, &slot.campaign, &why);
	if (r < 0)
		return abandon_row(s, id, body, why.msg, err);
	slot.tested = xstrdup(json_string_value(json_object_get(kept, "tested")));
	r = campaigning_put(s, &slot, err);
	all->slots[all->n++] = slot;
	log_info("campaign %" PRId64 " goes on in round %zu after a restart", id,
		 slot.campaign->rounds);
	return r;
}

int campaigning_open(struct service *s, struct err *err)
{
	CLEANUP(json_freep) json_t *open = NULL;
	size_t i;
	int r;

	s->campaigns = xcalloc(1, sizeof(*s->campaigns));
	r = store_last_campaign(s->store, &s->campaigns->last_id, err);
	if (r == 0)
		r = store_open_campaigns(s->store, &open, err);
	for (i = 0; r == 0 && i < json_array_size(open); i++)
		r = resume_row(s, json_integer_value(json_array_get(open, i)), err);
	if (r == 0 && store_dirty(s->store))
		r = store_commit(s->store, err);
	return r;
}

void campaigning_close(struct service *s)
{
	size_t i;

	for (i = 0; s->campaigns && i < s->campaigns->n; i++) {
		campaign_free(s->campaigns->slots[i].campaign);
		free(s->campaigns->slots[i].tested);
	}
	free(TAKE(s->campaigns));
}

void campaigning_keep(struct service *s)
{
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; s->campaigns && i < s->campaigns->n; i++) {
		struct slot *slot = &s->campaigns->slots[i];

		if (!slot->heard || slot->concluded)
			continue;
		slot->heard = false;
		if (campaigning_put(s, slot, &err) < 0)
			log_warning("an answer to a campaign is not written down: %s", err.msg);
	}
}
