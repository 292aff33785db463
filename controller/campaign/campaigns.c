/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/campaign/campaigns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/campaign/campaign.h"
#include "controller/campaign/campaign_hosts.h"
#include "controller/campaign/campaign_keep.h"
#include "controller/controller.h"
#include "controller/store/store.h"
#include "controller/store/store_campaigns.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/fleet.h"
#include "lib/policy/life.h"
#include "lib/report/report.h"

/* A running campaign, or one whose end is not durable yet. */
struct slot {
	struct campaign *campaign;
	bool dirty;	/* its row is out of date */
	bool heard;	/* has answers to store in the same commit as their reports */
	bool durable;	/* its row is current and committed; no order is sent before */
	bool told;	/* a failure to store it was logged */
	bool begun;	/* was durable once: its requester has the reply */
	char *tested;	/* the host that the policy wants retested, or NULL */
	bool concluded; /* has ended, and what it says about hosts is in the store */
};

struct campaigns {
	struct slot slots[CAMPAIGNS_MAX];
	size_t n;
	int64_t last_id;
	struct campaigns_counts counts;
	bool stepping;
	uint64_t look_us; /* monotonic: when to check again what the policy wants tested */
};

/* --- rows in the store, and resuming them after a restart --- */

static struct campaign_moment campaigns_now(void)
{
	return (struct campaign_moment){ clock_mono_us(), clock_real_us() };
}

/* Stores what the API shows and, while the campaign runs, what a restart needs to resume it. */
static int campaigns_put(struct service *s, const struct slot *slot, struct err *err)
{
	const struct campaign *c = slot->campaign;
	const struct campaign_moment now = campaigns_now();
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

/* Marks the row of a campaign that cannot be resumed; whoever wanted it has to begin a new one. */
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

/* Resumes a campaign that was running when the controller stopped, or abandons it with a reason. */
static int resume_row(struct service *s, int64_t id, struct err *err)
{
	const struct campaign_moment now = campaigns_now();
	CLEANUP(json_freep) json_t *body = NULL;
	struct campaigns *all = s->campaigns;
	struct slot slot = { .dirty = true, .begun = true };
	struct err why = ERR_INIT;
	const json_t *kept;
	int r = store_campaign(s->store, id, &body, err);

	if (r < 0)
		return r;
	kept = json_object_get(body, STORE_CAMPAIGN_KEPT);
	if (all->n == CAMPAIGNS_MAX)
		r = err_set(&why, EBUSY, "%d others are running", CAMPAIGNS_MAX);
	else
		r = campaign_recall(id, kept, &now, &slot.campaign, &why);
	if (r < 0)
		return abandon_row(s, id, body, why.msg, err);
	slot.tested = xstrdup(json_string_value(json_object_get(kept, "tested")));
	r = campaigns_put(s, &slot, err);
	all->slots[all->n++] = slot;
	log_info("campaign %" PRId64 " continues in round %zu after a restart", id,
		 slot.campaign->rounds);
	return r;
}

static int campaigns_open(struct service *s, struct err *err)
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

static void campaigns_close(struct service *s)
{
	size_t i;

	for (i = 0; s->campaigns && i < s->campaigns->n; i++) {
		campaign_free(s->campaigns->slots[i].campaign);
		free(s->campaigns->slots[i].tested);
	}
	free(TAKE(s->campaigns));
}

/* Stores the answers that came with the reports of this commit. */
static void campaigns_keep(struct service *s)
{
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; s->campaigns && i < s->campaigns->n; i++) {
		struct slot *slot = &s->campaigns->slots[i];

		if (!slot->heard || slot->concluded)
			continue;
		slot->heard = false;
		if (campaigns_put(s, slot, &err) < 0)
			log_warning("cannot record an answer to a campaign: %s", err.msg);
	}
}

enum {
	RETEST_HOSTS = 8, /* at most, including the tested host */
	RETEST_LEAST = 3, /* fewer could not single out a host */
	/* Finding the hosts below a switch scans the fleet: at most 1/20 of the loop's time. */
	LOOK_SHARE = 20,
};

static const char *away(void *context, const char *node)
{
	struct service *s = context;

	if (live_state(&s->live, node, clock_mono_us()) != LIVE_CONNECTED)
		return "its agent is not connected";
	return actor_in_use(s->act, node);
}

/* Does not block the loop: without entropy the campaign waits and asks again. */
static int make_token(void *context UNUSED, char *ret_token, struct err *err)
{
	return random_token(ret_token, CAMPAIGN_TOKEN_SIZE - 1, 0, err);
}

/* --- results --- */

struct concluding {
	struct service *s;
	const char *check;
	struct err *err;
	int r;
};

static void tell_host(void *context, const struct campaign_says *says)
{
	struct concluding *k = context;
	struct actor_pass passes[CAMPAIGN_PASSES_MAX];
	const struct actor_paired paired = {
		.node = says->node,
		.bad = says->bad,
		.check = says->check,
		.subject = says->subject ? says->subject : "fabric",
		.words = says->words,
		.ratio = says->ratio,
		.passes = passes,
		.n_passes = says->n_passes,
	};
	size_t i;

	for (i = 0; i < says->n_passes; i++)
		passes[i] = (struct actor_pass){ says->passes[i].partner,
						 says->passes[i].partner_good };
	if (k->r == 0)
		k->r = actor_paired(k->s->act, &paired, k->err);
	k->s->campaigns->counts.blamed += says->bad;
}

/* Closes the incident of a switch or domain: its hosts were good. */
static void close_place(void *context, const char *place)
{
	struct concluding *k = context;
	CLEANUP(freep) char *name = xasprintf("domain:%s", place);

	if (k->r == 0)
		k->r = store_close_incident(k->s->store, name, k->check, clock_real_us(), k->err);
}

/* A shared fault is one incident of the place, and takes no host out of service. */
static int tell_domain(struct service *s, const struct campaign *c, struct err *err)
{
	CLEANUP(freep) char *words = campaign_shared(c);
	CLEANUP(freep) char *name = xasprintf("domain:%s", campaign_place(c));
	const uint64_t now_us = clock_real_us();
	const struct store_incident incident = {
		.node = name,
		.check = campaign_check(c),
		.subject = campaign_place(c),
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = words,
		.since_us = c->started_us,
	};

	return words ? store_put_incident(s->store, &incident, now_us, err) : 0;
}

struct seeking {
	const char *node;
	int outcome; /* enum test_outcome */
};

static void seek_outcome(void *context, const struct campaign_says *says)
{
	struct seeking *seek = context;

	if (streq(says->node, seek->node))
		seek->outcome = says->bad ? TEST_FAILED : TEST_PASSED;
}

/* Reports on the tested host first: that may end the finding it was tested for. */
static void tell_tested(struct service *s, const struct slot *slot)
{
	struct seeking seek = { slot->tested, TEST_NOTHING };

	if (!slot->tested)
		return;
	campaign_each(slot->campaign, seek_outcome, &seek);
	actor_tested_with_others(s->act, slot->tested, seek.outcome);
}

/* The campaign's row is written already, so a transaction is open. */
static int conclude(struct service *s, struct slot *slot, struct err *err)
{
	struct concluding k = { s, campaign_check(slot->campaign), err, 0 };

	tell_tested(s, slot);
	campaign_each(slot->campaign, tell_host, &k);
	campaign_each_clear(slot->campaign, close_place, &k);
	return k.r == 0 ? tell_domain(s, slot->campaign, err) : k.r;
}

static void count(struct service *s, const struct campaign *c)
{
	struct campaigns_counts *counts = &s->campaigns->counts;
	size_t i;

	for (i = 0; i < c->n_groups; i++)
		counts->groups[c->groups[i].outcome] += c->groups[i].phase == GROUP_OVER;
	counts->done += c->state == CAMPAIGN_DONE;
	counts->abandoned += c->state == CAMPAIGN_ABANDONED;
	log_info("campaign %" PRId64 " is %s: %s", c->id, campaign_state_names[c->state],
		 c->sentence ? c->sentence : "");
}

/* --- steps --- */

/* Answers the pending requests of hosts that have an order. */
static void tell(struct service *s, const struct campaign *c)
{
	size_t i;

	for (i = 0; i < c->n_hosts; i++) {
		if (campaign_has_order(c, c->hosts[i].name, clock_mono_us()))
			controller_wake_orders(s, c->hosts[i].name);
	}
}

static void write_down(struct service *s, struct slot *slot)
{
	struct campaign *c = slot->campaign;
	struct err err = ERR_INIT;
	int r = campaigns_put(s, slot, &err);

	if (r == 0 && c->state == CAMPAIGN_DONE && !slot->concluded)
		r = conclude(s, slot, &err);
	if (r < 0) {
		if (!slot->told)
			log_warning("campaign %" PRId64 " is not recorded yet: %s", c->id, err.msg);
		slot->told = true;
		return;
	}
	slot->dirty = slot->heard = slot->told = false;
	slot->concluded = c->state != CAMPAIGN_RUNNING;
	service_touch(s);
}

static void step(struct service *s, struct slot *slot)
{
	const struct campaign_around around = { away, make_token, s };
	const struct campaign_moment now = campaigns_now();

	if (slot->campaign->state == CAMPAIGN_RUNNING &&
	    campaign_advance(slot->campaign, &now, &around)) {
		slot->dirty = true;
		slot->durable = false;
	}
	if (slot->dirty)
		write_down(s, slot);
	else if (slot->durable)
		tell(s, slot->campaign);
}

/*
 * Returns true until the actor knows the cluster: before that, neither which hosts are free nor
 * what the policy wants is known. While its knowledge is stale, running groups continue and no host
 * is given up.
 */
static bool hold_back(struct service *s)
{
	const bool knows = actor_knows(s->act);
	size_t i;

	for (i = 0; (!knows || actor_stale(s->act)) && i < s->campaigns->n; i++)
		campaign_hold_back(s->campaigns->slots[i].campaign, clock_mono_us());
	return !knows;
}

static void step_all(struct service *s)
{
	struct campaigns *all = s->campaigns;
	size_t i;

	if (!all || all->stepping || s->closing || hold_back(s))
		return;
	all->stepping = true;
	for (i = 0; i < all->n; i++)
		step(s, &all->slots[i]);
	all->stepping = false;
}

/* The opinion of these hosts may have changed: answer their pending requests. */
static void tell_opinions(struct service *s, const struct campaign *c)
{
	size_t i;

	for (i = 0; i < c->n_hosts; i++)
		controller_wake_orders(s, c->hosts[i].name);
}

static void drop(struct campaigns *all, size_t i)
{
	struct slot *slot = &all->slots[i];

	campaign_free(slot->campaign);
	free(slot->tested);
	memmove(slot, slot + 1, (all->n - i - 1) * sizeof(*slot));
	all->n--;
}

/* Drops campaigns whose end is durable. */
static void drop_ended(struct service *s)
{
	struct campaigns *all = s->campaigns;
	size_t i = 0;

	while (i < all->n) {
		struct slot *slot = &all->slots[i];

		slot->durable = !slot->dirty;
		slot->begun |= slot->durable;
		if (!slot->concluded || !slot->durable) {
			i++;
			continue;
		}
		count(s, slot->campaign);
		tell_opinions(s, slot->campaign);
		drop(all, i);
	}
}

static void committed(struct service *s)
{
	if (!s->campaigns || s->campaigns->stepping)
		return;
	drop_ended(s);
	step_all(s);
}

/*
 * The commit failed: what was written since the last one is lost and has to be written again. A
 * campaign that was never durable is dropped.
 */
static void failed(struct service *s)
{
	struct campaigns *all = s->campaigns;
	size_t i = 0;

	while (all && i < all->n) {
		struct slot *slot = &all->slots[i];

		slot->dirty = true;
		slot->durable = slot->concluded = false;
		if (slot->begun)
			i++;
		else
			drop(all, i);
	}
}

/* --- reports and orders --- */

void campaigns_report(struct service *s, const struct report *report)
{
	const char *order = json_string_value(json_object_get(report->order, "id"));
	size_t i;

	for (i = 0; s->campaigns && order && i < s->campaigns->n; i++) {
		if (campaign_report(s->campaigns->slots[i].campaign, order, report)) {
			s->campaigns->slots[i].heard = true;
			return;
		}
	}
}

json_t *campaigns_order(struct service *s, const char *node)
{
	const struct campaign_moment now = campaigns_now();
	json_t *order = NULL;
	size_t i;

	for (i = 0; s->campaigns && !order && i < s->campaigns->n; i++) {
		if (s->campaigns->slots[i].durable)
			order = campaign_order(s->campaigns->slots[i].campaign, node, &now);
	}
	return order;
}

bool campaigns_tests(const struct service *s, const char *node)
{
	size_t i = 0;

	while (i < s->campaigns->n && !streq(s->campaigns->slots[i].tested, node))
		i++;
	return i < s->campaigns->n;
}

struct campaigns_counts campaigns_counts(const struct service *s)
{
	struct campaigns_counts counts = s->campaigns->counts;

	counts.running = s->campaigns->n;
	return counts;
}

/* --- a new campaign --- */

int64_t campaigns_begin(struct service *s, const struct campaigns_ask *ask, struct err *err)
{
	CLEANUP(campaign_party_release) struct campaign_party party = { .n = 0 };
	struct campaigns *all = s->campaigns;
	const struct settings_collectives *settings = &s->settings->collectives;
	struct campaign_ask whole = {
		.id = all->last_id + 1,
		.measure = ask->measure,
		.plan = ask->plan,
		.domain = ask->domain,
		.reason = ask->reason,
		.who = ask->who,
		.hosts = party.guests,
		.timeout_us = settings->timeout_us,
		.at_once = settings->at_once,
		.rounds_max = ask->rounds_max,
		.seed = random_u64() >> 1,
		.started_us = clock_real_us(),
	};
	struct slot slot = { .dirty = true, .tested = xstrdup(ask->tested) };
	size_t i;
	int r;

	if (all->n == CAMPAIGNS_MAX)
		return err_set(err, EBUSY, "%d campaigns are running: wait for one to end",
			       CAMPAIGNS_MAX);
	r = campaign_party_find(s, ask->domain, ask->nodes, &party, err);
	for (i = 0; r == 0 && i < all->n; i++)
		r = campaign_party_apart(&party, all->slots[i].campaign, err);
	whole.n_hosts = party.n;
	for (i = 0; i < party.n; i++) {
		if (streq(party.guests[i].name, ask->tested) &&
		    party.guests[i].state == PAIRING_UNKNOWN)
			party.guests[i].state = PAIRING_SUSPECT;
	}
	if (r == 0)
		r = campaign_new(&whole, &slot.campaign, err);
	if (r == 0)
		r = campaigns_put(s, &slot, err);
	if (r < 0) {
		campaign_free(slot.campaign);
		free(slot.tested);
		return r;
	}
	all->last_id++;
	all->slots[all->n++] = slot;
	return whole.id;
}

void campaigns_withdraw(struct service *s, int64_t id, const char *why)
{
	size_t i;

	for (i = 0; s->campaigns && i < s->campaigns->n; i++) {
		struct slot *slot = &s->campaigns->slots[i];

		if (slot->campaign->id != id || slot->campaign->state != CAMPAIGN_RUNNING)
			continue;
		campaign_abandon(slot->campaign, why, clock_real_us());
		slot->dirty = true;
		slot->durable = false;
		service_touch(s);
	}
}

/* --- retests with other hosts that the policy wants: a campaign of a few neighbours each --- */

/* Returns true if the host can take part now, as far as we know. */
static bool is_free(struct service *s, const struct campaign_guest *guest)
{
	return guest->state != PAIRING_GONE &&
	       live_state(&s->live, guest->name, clock_mono_us()) == LIVE_CONNECTED &&
	       !actor_in_use(s->act, guest->name);
}

/* Returns the names of the host, its partner and free hosts of the same place. New reference. */
static json_t *names_of(struct service *s, const struct actor_wanted *want)
{
	CLEANUP(campaign_party_release) struct campaign_party party = { .n = 0 };
	CLEANUP(freep) char *place = campaign_party_place(s, want->node);
	json_t *names = json_pack("[s, s]", want->node, want->partner);
	size_t i;

	if (!place || campaign_party_find(s, place, NULL, &party, NULL) < 0)
		return names;
	for (i = 0; i < party.n && json_array_size(names) < RETEST_HOSTS; i++) {
		const struct campaign_guest *guest = &party.guests[i];

		if (!streq(guest->name, want->node) && !streq(guest->name, want->partner) &&
		    is_free(s, guest))
			(void)json_array_append_new(names, json_string(guest->name));
	}
	return names;
}

static int64_t begin_retest(struct service *s, const struct actor_wanted *want, struct err *err)
{
	CLEANUP(json_freep) json_t *names = names_of(s, want);
	CLEANUP(freep)
	char *reason = xasprintf("%s of %s: retested with other hosts", want->check, want->node);
	const struct campaigns_ask ask = {
		.nodes = names,
		.measure = campaign_measure_for(want->check),
		.plan = PAIRING_TWO_PASS,
		.reason = reason,
		.who = WHO_AUTOMATIC,
		.tested = want->node,
	};

	if (json_array_size(names) < RETEST_LEAST)
		return err_set(err, EBUSY, "fewer than %d idle hosts below its switch",
			       RETEST_LEAST);
	return campaigns_begin(s, &ask, err);
}

/* Begins a campaign for the next test that the actor wants, if there is one and it can run. */
static void retest(struct service *s)
{
	const uint64_t start_us = clock_mono_us();
	struct actor_wanted want;
	struct err err = ERR_INIT;
	int64_t id;

	if (start_us < s->campaigns->look_us || !actor_wants_others(s->act, &want) ||
	    campaigns_tests(s, want.node))
		return;
	id = begin_retest(s, &want, &err);
	s->campaigns->look_us = start_us + (clock_mono_us() - start_us) * LOOK_SHARE;
	if (id > 0)
		log_info("campaign %" PRId64
			 " has started: %s of %s is being tested with other hosts",
			 id, want.check, want.node);
	else if (want.first)
		log_info("cannot start a test with other hosts yet node=%s: %s", want.node, err.msg);
}

static void tick(struct service *s)
{
	if (s->campaigns && s->campaigns->n < CAMPAIGNS_MAX)
		retest(s);
	step_all(s);
}

const struct controller_part campaigns_part = {
	.open = campaigns_open,
	.tick = tick,
	.committing = campaigns_keep,
	.committed = committed,
	.failed = failed,
	.close = campaigns_close,
};
