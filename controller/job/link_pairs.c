/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/link_pairs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/campaign/campaign.h"
#include "controller/campaign/campaigns.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/fleet/hosts.h"
#include "controller/job/group_brought.h"
#include "controller/job/link_thirds.h"
#include "controller/job/pair_brought.h"
#include "controller/job/pair_record.h"
#include "controller/job/tested_alone.h"
#include "controller/store/store.h"
#include "controller/store/store_campaigns.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/fleet.h"
#include "lib/policy/pair_rungs.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const char *name_at(const json_t *names, size_t i)
{
	return json_string_value(json_array_get(names, i));
}

static uint64_t stamp_of(const json_t *object, const char *key)
{
	return json_stamp_us(json_object_get(object, key));
}

/* --- end of an entry --- */

static void end(const struct link_pairs_of *w, json_t *entry, char *text)
{
	json_put(entry, "campaign", json_null());
	json_put(entry, "over", json_stamp(w->in->now_us));
	pair_record_note(entry, text);
}

static bool is_settled(const json_t *entry, const char *host)
{
	return json_is_string(json_object_get(json_object_get(entry, "verdicts"), host)) &&
	       pair_record_end(entry, host) != END_BAD;
}

/* Ends that are unknown, or bad but not often enough, remain unknown for good. */
static void give_up(const struct link_pairs_of *w, json_t *entry, const char *tells)
{
	const json_t *ends = json_object_get(entry, "ends");
	size_t i;

	for (i = 0; i < json_array_size(ends); i++) {
		if (!is_settled(entry, name_at(ends, i)))
			pair_record_say(entry, name_at(ends, i), END_UNKNOWN, tells);
	}
	end(w, entry,
	    xasprintf("%s; what would: %s",
		      pair_record_kind(entry) == PAIR_RECORD_GROUP
			      ? "their tests with others are not conclusive"
			      : "the pairs are not conclusive",
		      tells));
}

/* --- the first rung --- */

/* Ends not in any entry, once all of them were tested on their own: names, or NULL. */
static json_t *find_ends(const struct link_pairs_of *w)
{
	CLEANUP(json_freep) json_t *ends = json_array();
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		const struct investigation_host *host = &w->inv->hosts[i];

		if (host->class != BLAME_LINK || !investigation_has(w->inv, host->name) ||
		    pair_record_has(w->inv->pairs, host->name))
			continue;
		if (tested_alone(w->judged, host->name) == ALONE_NEVER)
			continue;
		if (tested_alone(w->judged, host->name) == ALONE_PENDING)
			return NULL;
		if (json_array_size(ends) < PAIR_RUNGS_ENDS_MAX)
			(void)json_array_append_new(ends, json_string(host->name));
	}
	return json_array_size(ends) > 0 ? TAKE(ends) : NULL;
}

static json_t *find_alone(const struct link_pairs_of *w, const json_t *ends, enum tested_alone alone)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < json_array_size(ends); i++) {
		if (tested_alone(w->judged, name_at(ends, i)) == alone)
			(void)json_array_append(names, json_array_get(ends, i));
	}
	return names;
}

/* One end that failed on its own settles it for all, and no pairs are measured. */
static bool is_told_alone(const struct link_pairs_of *w, json_t *entry)
{
	const json_t *ends = json_object_get(entry, "ends");
	CLEANUP(json_freep) json_t *bad = find_alone(w, ends, ALONE_BAD);
	CLEANUP(json_freep) json_t *failed = find_alone(w, ends, ALONE_FAILED);
	CLEANUP(freep) char *names = pair_record_names(json_array_size(bad) > 0 ? bad : failed);
	CLEANUP(freep) char *tells = NULL;
	size_t i;

	if (json_array_size(bad) == 0 && json_array_size(failed) == 0)
		return false;
	tells = xasprintf("a full test of %s that passes once its failures are fixed", names);
	for (i = 0; i < json_array_size(ends); i++) {
		const char *host = name_at(ends, i);
		const enum tested_alone alone = tested_alone(w->judged, host);

		if (alone == ALONE_BAD)
			pair_record_say(entry, host, END_BAD, NULL);
		else if (alone == ALONE_PASSED && json_array_size(bad) > 0)
			pair_record_say(entry, host, END_GOOD, NULL);
		else
			pair_record_say(entry, host, END_UNKNOWN, tells);
	}
	end(w, entry,
	    xasprintf("%s failed on its own: no pair is tested%s", names,
		      json_array_size(bad) > 0 ? "" : ", as that would show nothing"));
	return true;
}

/* --- a run --- */

static bool is_cordoned(const struct link_pairs_of *w, const char *host)
{
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		if (streq(w->inv->hosts[i].name, host))
			return w->inv->hosts[i].state == INVESTIGATION_CORDONED;
	}
	return false;
}

/* Is the host in the campaign? */
static bool takes_part(const json_t *campaign, const char *host)
{
	const json_t *nodes = json_object_get(campaign, "nodes");
	size_t i = 0;

	while (i < json_array_size(nodes) && !streq(text_of(json_array_get(nodes, i), "node"), host))
		i++;
	return i < json_array_size(nodes);
}

/*
 * Ends still to be measured: all, or those whose bad result needs repetition; in this campaign, or
 * for the next one (NULL), where hosts out of service are settled. New reference.
 */
static json_t *ends_of_run(const struct link_pairs_of *w, const json_t *entry,
			   const json_t *campaign)
{
	const json_t *ends = json_object_get(entry, "ends");
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < json_array_size(ends); i++) {
		const char *host = name_at(ends, i);

		if (!is_settled(entry, host) &&
		    (campaign ? takes_part(campaign, host) : !is_cordoned(w, host)))
			(void)json_array_append(names, json_array_get(ends, i));
	}
	return names;
}

static uint64_t last_done_us(const json_t *entry)
{
	const json_t *runs = json_object_get(entry, "runs");

	return stamp_of(json_array_get(runs, json_array_size(runs) - 1), "done");
}

/* Since when it is waiting. */
static uint64_t waits_us(const json_t *entry)
{
	return MAX(stamp_of(entry, "since"), last_done_us(entry));
}

/* How to measure the ends of a link, or pairs in a group: in the memory that jobs here use. */
static struct campaign_measure pair_measure(const struct link_pairs_of *w)
{
	return (struct campaign_measure){ CAMPAIGN_PAIR, w->s->settings->collectives.memory,
					  CAMPAIGN_VERBS };
}

static int start(const struct link_pairs_of *w, json_t *entry, const json_t *run, json_t *thirds)
{
	const bool group = pair_record_kind(entry) == PAIR_RECORD_GROUP;
	CLEANUP(json_freep) json_t *names = json_copy((json_t *)(uintptr_t)run);
	CLEANUP(freep) char *reason = NULL;
	CLEANUP(freep) char *ends = pair_record_names(run);
	CLEANUP(freep) char *others = pair_record_names(thirds);
	struct campaigns_ask ask = { .measure = pair_measure(w),
				     .plan = PAIRING_EVERY_TWO,
				     .who = WHO_AUTOMATIC };
	struct err why = ERR_INIT;
	int64_t id;

	(void)json_array_extend(names, thirds);
	if (group) {
		reason = xasprintf("%s is slow because of %s: which one is at fault?",
				   w->inv->job_name, ends);
		ask.measure.kind = CAMPAIGN_ALLREDUCE;
		ask.plan = PAIRING_BISECT;
	} else {
		reason = xasprintf("%s has slow transfers: which end of the link is at fault?",
				   w->inv->job_name);
	}
	ask.nodes = names;
	ask.reason = reason;
	id = campaigns_begin(w->s, &ask, &why);
	if (id == -EBUSY && w->in->now_us < waits_us(entry) + LINK_PAIRS_WAIT_US)
		return 0;
	if (id <= 0) {
		CLEANUP(freep)
		char *tells = xasprintf("%s %s with %s, which could not be measured (%s)",
					group ? "a campaign of" : "pairs of", ends, others, why.msg);

		give_up(w, entry, tells);
		return 0;
	}
	json_put(entry, "campaign", json_integer(id));
	json_put(entry, "began", json_stamp(w->in->now_us));
	(void)json_object_set(entry, "thirds", thirds);
	pair_record_note(entry, xasprintf("campaign %" PRId64 " measures %s with %s%s", id, ends,
					  others, group ? "" : ", every two"));
	return 0;
}

/* Begin the next run if it is due and there are partners. */
static int begin_run(const struct link_pairs_of *w, json_t *entry)
{
	const bool repeated = json_array_size(json_object_get(entry, "runs")) > 0;
	CLEANUP(json_freep) json_t *run = ends_of_run(w, entry, NULL);
	CLEANUP(json_freep) json_t *thirds = NULL;
	bool asked = false;
	int r;

	if (repeated && w->in->now_us < last_done_us(entry) + w->in->policy->jobs.retest_spacing_us)
		return 0;
	r = link_thirds_find(w, entry, run, &thirds, &asked);
	if (r < 0)
		return r;
	if (json_array_size(thirds) < PAIR_RUNGS_THIRDS_MAX && asked &&
	    w->in->now_us < waits_us(entry) + LINK_PAIRS_WAIT_US)
		return 0;
	if (json_array_size(thirds) == 0 ||
	    json_array_size(run) + json_array_size(thirds) < PAIR_RUNGS_THIRDS_MAX + 1) {
		give_up(w, entry,
			pair_record_kind(entry) == PAIR_RECORD_GROUP
				? "a campaign with a third host of the same model that is idle, "
				  "not in "
				  "the job, and passed the full profile within the last day"
				: pair_rungs_tells(PAIR_WHY_NO_THIRD));
		return 0;
	}
	return start(w, entry, run, thirds);
}

/* --- results --- */

/* How many times in a row it was bad so far. */
static size_t times_bad(const json_t *entry, const char *host)
{
	uint64_t times[PAIR_RECORD_RUNS_MAX], began_us;

	return pair_record_failed(entry, host, times, ARRAY_SIZE(times), &began_us);
}

/* Record the result for one end. */
static void take_end(json_t *entry, const char *host, int said, const char *tells)
{
	const bool was_bad = pair_record_end(entry, host) == END_BAD;
	const bool again = json_array_size(json_object_get(entry, "runs")) < LINK_PAIRS_TRIES;

	if (said == END_UNKNOWN && again && streq(tells, pair_rungs_tells(PAIR_WHY_NOT_MEASURED)))
		return; /* retry */
	if (was_bad && said != END_BAD)
		pair_record_say(entry, host, END_UNKNOWN, pair_rungs_tells(PAIR_WHY_MIXED));
	else
		pair_record_say(entry, host, said, tells);
}

/* Are all verdicts final? */
static bool is_over(const struct link_pairs_of *w, const json_t *entry)
{
	const json_t *ends = json_object_get(entry, "ends");
	size_t i;

	for (i = 0; i < json_array_size(ends); i++) {
		const char *host = name_at(ends, i);

		if (!is_settled(entry, host) &&
		    (pair_record_end(entry, host) != END_BAD ||
		     times_bad(entry, host) < w->in->policy->retest_times))
			return false;
	}
	return true;
}

/* Results of one run for its ends. Texts are borrowed, except `text`. */
struct run_says {
	int ends[PAIR_RECORD_ENDS_MAX]; /* enum blame_end */
	const char *tells[PAIR_RECORD_ENDS_MAX];
	size_t n;
	char *text;
};

static void says_release(struct run_says *says)
{
	free(says->text);
}

static void read_pairs(const json_t *campaign, const json_t *run, const json_t *thirds,
		       struct run_says *ret)
{
	CLEANUP(freep) struct pair_brought *b = xcalloc(1, sizeof(*b));
	size_t i;

	pair_brought_read(campaign, run, thirds, b);
	ret->text = pair_brought_words(b, run, thirds);
	for (i = 0; i < b->rungs.n_ends; i++) {
		ret->ends[i] = b->answer.ends[i];
		ret->tells[i] = pair_rungs_tells(b->answer.why[i]);
	}
	ret->n = b->rungs.n_ends;
}

static void read_group(const json_t *campaign, const json_t *run, struct run_says *ret)
{
	ret->text = group_brought_words(campaign);
	for (; ret->n < MIN(json_array_size(run), (size_t)PAIR_RECORD_ENDS_MAX); ret->n++)
		ret->ends[ret->n] =
			group_brought_end(campaign, name_at(run, ret->n), &ret->tells[ret->n]);
}

/* Number of ends in this run with that result. */
static size_t count_ends(const struct run_says *says, int end)
{
	size_t n = 0, i;

	for (i = 0; i < says->n; i++)
		n += says->ends[i] == end;
	return n;
}

/* Slowness between two hosts is neither's fault: keep an incident until pairs there are good. */
static int tell_between(const struct link_pairs_of *w, const json_t *entry,
			const struct run_says *says)
{
	const json_t *ends = json_object_get(entry, "ends");
	CLEANUP(freep) char *names = pair_record_names(ends);
	CLEANUP(freep)
	char *place = xasprintf("domain:%s--%s", name_at(ends, 0),
				name_at(ends, json_array_size(ends) - 1));
	const struct campaign_measure measure = pair_measure(w);
	const struct store_incident incident = {
		.node = place,
		.check = campaign_measure_name(&measure),
		.subject = names,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = says->text,
		.since_us = w->in->now_us,
	};

	/* The campaign itself reports a switch. */
	if (pair_record_kind(entry) != PAIR_RECORD_LINK)
		return 0;
	if (count_ends(says, END_BETWEEN) > 0)
		return store_put_incident(w->s->store, &incident, w->in->now_us, w->err);
	if (count_ends(says, END_GOOD) < MAX(json_array_size(ends), (size_t)2))
		return 0;
	return store_close_incident(w->s->store, place, incident.check, w->in->now_us, w->err);
}

/* The current run is over; `campaign` NULL: without results. */
static int take_run(const struct link_pairs_of *w, json_t *entry, const json_t *campaign)
{
	CLEANUP(json_freep) json_t *run = ends_of_run(w, entry, campaign);
	CLEANUP(says_release) struct run_says says = { .n = 0 };
	json_t *said = json_object();
	size_t i;

	if (pair_record_kind(entry) == PAIR_RECORD_GROUP)
		read_group(campaign, run, &says);
	else
		read_pairs(campaign, run, json_object_get(entry, "thirds"), &says);
	for (i = 0; i < says.n; i++)
		json_put(said, name_at(run, i), json_string(pair_record_ends[says.ends[i]]));
	(void)json_array_append_new(
		json_object_get(entry, "runs"),
		json_pack("{s:O, s:O, s:o, s:o, s:s}", "campaign",
			  json_object_get(entry, "campaign"), "at", json_object_get(entry, "began"),
			  "done", json_stamp(w->in->now_us), "ends", said, "text", says.text));
	json_put(entry, "campaign", json_null());
	for (i = 0; i < says.n; i++)
		take_end(entry, name_at(run, i), says.ends[i], says.tells[i]);
	pair_record_note(entry, xstrdup(says.text));
	if (is_over(w, entry) ||
	    json_array_size(json_object_get(entry, "runs")) == PAIR_RECORD_RUNS_MAX)
		json_put(entry, "over", json_stamp(w->in->now_us));
	return tell_between(w, entry, &says);
}

/* Set their sentences until they are judged again. */
static void say_to_ends(const struct link_pairs_of *w, const json_t *entry)
{
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		struct investigation_host *host = &w->inv->hosts[i];
		char *before = host->sentence;

		if (!json_has_text(json_object_get(entry, "ends"), host->name) ||
		    !investigation_has(w->inv, host->name))
			continue;
		host->sentence = xasprintf("%s; %s", before, pair_record_text(entry));
		free(before);
	}
}

static int look_at_run(const struct link_pairs_of *w, json_t *entry)
{
	const json_int_t number = json_integer_value(json_object_get(entry, "campaign"));
	CLEANUP(json_freep) json_t *campaign = NULL;
	const char *state;
	int r = store_campaign(w->s->store, number, &campaign, w->err);

	if (r < 0 && r != -ENOENT)
		return r;
	state = text_of(campaign, "state");
	if (streq(state, campaign_state_names[CAMPAIGN_RUNNING])) {
		if (w->in->now_us < stamp_of(entry, "began") + LINK_PAIRS_MOST_US)
			return 0;
		campaigns_withdraw(w->s, number, "it took too long");
	}
	r = take_run(w, entry, streq(state, campaign_state_names[CAMPAIGN_DONE]) ? campaign : NULL);
	if (r == 0)
		say_to_ends(w, entry);
	return r;
}

/* --- a step --- */

static bool is_gone(const struct link_pairs_of *w, const char *host)
{
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		if (streq(w->inv->hosts[i].name, host))
			return w->inv->hosts[i].state > INVESTIGATION_CORDONED;
	}
	return true;
}

/* Were its results measured in another boot? */
static bool has_booted(const struct link_pairs_of *w, const json_t *entry, const char *name)
{
	const struct host *host = hosts_find(w->in->hosts, name);

	return host && host->known && json_stamp_whole(host->since_us) > stamp_of(entry, "since");
}

/* Are all hosts concerned still there, without a reboot? */
static bool stands(const struct link_pairs_of *w, json_t *entry)
{
	CLEANUP(json_freep) json_t *run = ends_of_run(w, entry, NULL);
	size_t i;

	for (i = 0; i < json_array_size(run); i++) {
		if (is_gone(w, name_at(run, i)) || has_booted(w, entry, name_at(run, i)))
			return false;
	}
	if (i == 0 && !json_is_integer(json_object_get(entry, "campaign")))
		json_put(entry, "over", json_stamp(w->in->now_us));
	return true;
}

/* The open entry; NULL: none. */
static json_t *find_open(const json_t *pairs, size_t *ret_place)
{
	size_t i;

	for (i = 0; i < json_array_size(pairs); i++) {
		json_t *entry = json_array_get(pairs, i);

		*ret_place = i;
		if (!json_is_string(json_object_get(entry, "over")))
			return entry;
	}
	return NULL;
}

/* A host that failed on its own explains what the job suffers from: the others are cleared. */
static void clear_others(const struct link_pairs_of *w, json_t *entry, const char *bad)
{
	const json_t *ends = json_object_get(entry, "ends");
	CLEANUP(freep) char *names = pair_record_names(ends);
	size_t i;

	for (i = 0; i < json_array_size(ends); i++)
		pair_record_say(entry, name_at(ends, i), END_GOOD, NULL);
	end(w, entry,
	    xasprintf("%s failed on its own, so %s, which passed, %s cleared", bad, names,
		      json_array_size(ends) == 1 ? "is" : "are"));
}

static void begin(const struct link_pairs_of *w)
{
	CLEANUP(json_freep) json_t *ends = find_ends(w);
	const int kind = ends ? PAIR_RECORD_LINK : PAIR_RECORD_GROUP;
	const char *bad = NULL;
	json_t *entry;

	if (!ends)
		ends = tested_alone_group(w->in, w->judged, w->inv, &bad);
	if (!ends)
		return;
	if (json_array_size(w->inv->pairs) == PAIR_RECORD_ENTRIES_MAX)
		(void)json_array_remove(w->inv->pairs, 0); /* it is over, as are all others */
	entry = pair_record_new(kind, ends, w->in->now_us);
	if (!w->inv->pairs)
		w->inv->pairs = json_array();
	(void)json_array_append_new(w->inv->pairs, entry);
	if (kind == PAIR_RECORD_LINK)
		(void)is_told_alone(w, entry);
	else if (bad)
		clear_others(w, entry, bad);
}

static int go_on(const struct link_pairs_of *w, json_t *entry)
{
	if (json_is_string(json_object_get(entry, "over")))
		return 0;
	return json_is_integer(json_object_get(entry, "campaign")) ? look_at_run(w, entry)
								   : begin_run(w, entry);
}

int link_pairs_step(const struct link_pairs_of *w)
{
	size_t place = 0;
	json_t *entry = find_open(w->inv->pairs, &place);

	if (cluster_stopped(w->s->cluster))
		return 0;
	if (entry && !stands(w, entry)) {
		link_pairs_withdraw(
			w->s, w->inv->pairs,
			"an end of the link has rebooted, or is no longer investigated");
		(void)json_array_remove(w->inv->pairs, place);
		entry = NULL;
	}
	if (!entry) {
		begin(w);
		entry = find_open(w->inv->pairs, &place);
	}
	return entry ? go_on(w, entry) : 0;
}

void link_pairs_withdraw(struct service *s, const json_t *pairs, const char *why)
{
	size_t i;

	for (i = 0; i < json_array_size(pairs); i++) {
		const json_t *number = json_object_get(json_array_get(pairs, i), "campaign");

		if (json_is_integer(number))
			campaigns_withdraw(s, json_integer_value(number), why);
	}
}
