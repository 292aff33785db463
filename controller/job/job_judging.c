/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_judging.h"

#include <stdlib.h>

#include "controller/fleet/hosts.h"
#include "controller/job/accused.h"
#include "controller/job/accusers.h"
#include "controller/job/job_facts.h"
#include "controller/job/job_speeds.h"
#include "controller/job/pair_record.h"
#include "controller/job/summary.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_placements.h"
#include "lib/base/duration.h"
#include "lib/base/fnv.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define GROUP_PRIME UINT64_C(1099511628211) /* FNV-1a, 64 bits */

/* --- stored state --- */

/* Find the suspect in a JSON list by name and class; or NULL. */
static const json_t *find_shown(const struct suspicion_found *found, const json_t *suspects)
{
	const struct suspicion_list list = { .items = { *found }, .n = 1 };
	size_t i;

	for (i = 0; i < json_array_size(suspects); i++) {
		const json_t *one = json_array_get(suspects, i);
		CLEANUP(freep) char *name = summary_suspect_name(one);

		if (job_suspects_find(&list, one, name))
			return one;
	}
	return NULL;
}

/* The suspect as last shown, for the same run; or NULL. */
static const json_t *shown_before(const struct job_judging_input *in,
				  const struct suspicion_found *found)
{
	const json_t *run = json_object_get(in->before, "run");

	if (in->n == 0 || json_integer_value(run) != in->windows[0].run)
		return NULL;
	return find_shown(found, json_object_get(in->before, "suspects"));
}

/* Blamed by K of N windows since then; 0: not blamed. */
static uint64_t suspected_since(const struct job_judging_input *in,
				const struct suspicion_found *found)
{
	const uint64_t since_us = json_stamp_us(json_object_get(shown_before(in, found), "since"));

	if (found->counts != BLAME_K_OF_N)
		return 0;
	/* Times of actions that follow must not be earlier. */
	return since_us ? since_us : json_stamp_whole(in->now_us);
}

/* --- facts --- */

void job_judging_note_boots(const struct hosts *hosts, json_t *summary)
{
	json_t *suspects = json_object_get(summary, "suspects");
	size_t i, j;

	for (i = 0; i < json_array_size(suspects); i++) {
		json_t *suspect = json_array_get(suspects, i), *boots = json_object();
		const json_t *names = json_object_get(suspect, "hosts");

		for (j = 0; j < json_array_size(names); j++) {
			const char *name = json_string_value(json_array_get(names, j));
			const struct host *host = hosts_find(hosts, name);

			if (host && host->boot_id)
				(void)json_object_set_new(boots, name, json_string(host->boot_id));
		}
		(void)json_object_set_new(suspect, "boots", boots);
	}
}

/* Has it rebooted since one of the windows that blame it? */
static bool has_booted(const struct job_judging_input *in, const struct suspicion_found *found,
		       const char *name, const struct host *host)
{
	size_t i;
	unsigned k;

	for (i = 0; host && host->boot_id && i < in->n; i++) {
		const struct job_window *w = &in->windows[i];
		const json_t *suspect, *boot;

		for (k = 0; k < found->hits && found->ids[k] != w->id; k++)
			;
		if (k == found->hits)
			continue;
		suspect = find_shown(found, json_object_get(w->summary, "suspects"));
		boot = json_object_get(json_object_get(suspect, "boots"), name);
		if (boot && !streq(json_string_value(boot), host->boot_id))
			return true;
	}
	return false;
}

int job_judging_actions(struct store *store, const char *node, json_t **ret, struct err *err)
{
	const struct store_range range = { NULL, JOB_FACTS_TESTS_MAX };
	struct store_page page = { 0 };
	int r = store_actions(store, node, &range, &page, err);

	if (r < 0)
		return r;
	free(page.next);
	*ret = page.items;
	return 0;
}

/* The value of a passed test depends on its report, which is read only then. */
static int read_run(const struct job_judging_input *in, const struct host *host, struct pool *pool,
		    struct store_whole *run, struct job_facts_source *source, struct err *err)
{ /* lint: allow parameters: storage of its texts, the result, and the facts it is for */
	int r;

	if (!job_facts_passed(source))
		return 0;
	r = store_whole(in->store, source->node->name, pool, run, err);
	if (r < 0)
		return r;
	source->run = run->boot ? run : NULL;
	source->run_of_now = run->boot && host && streq(run->boot, host->boot_id);
	return 0;
}

/* Number of jobs that accuse a host which was acquitted; 0: it was not. */
static uint64_t count_accusers(const struct job_judging_input *in, const char *name,
			       uint64_t acquitted_us, uint64_t suspected_us)
{
	const uint64_t since_us = in->now_us - MIN(in->now_us, in->policy->jobs.acquit_per_us);
	struct accusers_of others;

	if (!in->accusers || suspected_us == 0)
		return 0;
	others = accusers_of(in->accusers, name, in->id, since_us);
	return others.acquitted || (acquitted_us > 0 && acquitted_us >= since_us) ? others.jobs + 1
										  : 0;
}

/* Restore the stored state of the host. */
static void recall_host(const struct job_judging_input *in, size_t place, const char *name,
			const struct job_judged *judged, struct job_judge_host *host)
{
	const json_t *before = shown_before(in, &in->suspects->list.items[place]);
	const json_t *waits = json_object_get(before, "waits");

	host->waits_us = json_stamp_us(json_object_get(waits, name));
	host->accusers = count_accusers(
		in, name, accused_stamp(accused_find(judged->accused, name), "acquitted"),
		host->suspected_us);
}

static struct job_judge_host *find_host(struct job_judged *judged, const char *name)
{
	size_t i;

	for (i = 0; i < judged->n_hosts; i++) {
		if (streq(judged->hosts[i].name, name))
			return &judged->hosts[i];
	}
	return NULL;
}

static void whole_release(struct store_whole *run)
{
	free(run->items);
}

/* Number of a group accused as a whole, equal for its hosts only; 0: not such a group. */
static uint64_t group_of(const struct job_judging_input *in, const struct suspicion_found *found)
{
	uint64_t ret = 0;
	size_t i;

	if (!job_judge_is_group(in->policy, found))
		return 0;
	for (i = 0; i < found->n_hosts; i++)
		ret = ret * GROUP_PRIME + fnv1a(found->hosts[i], strlen(found->hosts[i]));
	return MAX(ret, UINT64_C(1));
}

/* Since when hosts measured with others are suspects, the earliest; 0: none. */
static uint64_t measured_since(const struct job_judging_input *in)
{
	uint64_t since_us = 0;
	size_t i;

	for (i = 0; i < in->suspects->list.n; i++) {
		const struct suspicion_found *found = &in->suspects->list.items[i];
		const bool measured = found->class == BLAME_LINK ||
				      job_judge_is_group(in->policy, found);
		const uint64_t one_us = measured ? suspected_since(in, found) : 0;

		since_us = one_us && (!since_us || one_us < since_us) ? one_us : since_us;
	}
	return since_us;
}

/* Add a host of suspect `place`; if a host is in two suspects, the first gives the time. */
static int add_host(const struct job_judging_input *in, size_t place, const char *name,
		    struct job_judged *ret, struct err *err)
{
	const struct suspicion_found *found = &in->suspects->list.items[place];
	const struct host *host = hosts_find(in->hosts, name);
	const uint64_t since_us = suspected_since(in, found);
	CLEANUP(json_freep) json_t *actions = NULL;
	CLEANUP(json_freep) json_t *tests = NULL;
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(whole_release) struct store_whole run = { .boot = NULL };
	struct job_facts_source source = { .fleet = in->fleet,
					   .node = fleet_find(in->fleet, name),
					   .policy = in->policy,
					   .placed = true,
					   .booted = has_booted(in, found, name, host),
					   .boot_us = host && host->known ? host->since_us : 0,
					   .suspected_us = since_us,
					   .group = group_of(in, found),
					   .group_class = found->class,
					   .acquitted_us = accused_stamp(
						   accused_find(ret->accused, name), "acquitted") };
	int r;

	if (find_host(ret, name) || !source.node)
		return 0;
	r = job_judging_actions(in->store, name, &actions, err);
	if (r == 0)
		r = store_placement_present(in->store, name, in->now_us, &source.busy, err);
	source.actions = actions;
	source.speed = job_speeds_host(in->speeds, in->baselines, source.node->name);
	source.pairs = pair_record_find(ret->pairs, name, job_facts_pairs_since(&source));
	if (r == 0)
		r = read_run(in, host, &pool, &run, &source, err);
	if (r < 0)
		return r;
	tests = job_facts_tests(name, actions, since_us ? since_us : found->from_us);
	(void)json_array_extend(json_object_get(ret->notes[place], "tests"), tests);
	ret->facts = xrealloc(ret->facts, ret->n_hosts + 1, sizeof(*ret->facts));
	ret->hosts = xrealloc(ret->hosts, ret->n_hosts + 1, sizeof(*ret->hosts));
	ret->facts[ret->n_hosts] = xcalloc(1, sizeof(**ret->facts));
	job_facts_of(source.node->name, &source, ret->facts[ret->n_hosts]);
	recall_host(in, place, name, ret, &ret->facts[ret->n_hosts]->host);
	ret->hosts[ret->n_hosts] = ret->facts[ret->n_hosts]->host;
	ret->n_hosts++;
	return 0;
}

int job_judging_proves(const struct job_judging_input *in, const char *name, int class,
		       uint64_t since_us, bool booted, const char **ret_check, struct err *err)
{ /* lint: allow parameters: the host, what is to be proved, and the answer */
	CLEANUP(json_freep) json_t *actions = NULL;
	CLEANUP(json_freep) json_t *pairs = NULL;
	CLEANUP(freep) struct job_facts *facts = NULL;
	const struct host *host = hosts_find(in->hosts, name);
	struct job_facts_source source = { .fleet = in->fleet,
					   .node = fleet_find(in->fleet, name),
					   .policy = in->policy,
					   .placed = true,
					   .booted = booted,
					   .boot_us = host && host->known ? host->since_us : 0,
					   .suspected_us = since_us };
	int r;

	*ret_check = NULL;
	if (!source.node || since_us == 0 || in->distrusted[class])
		return 0;
	r = job_judging_actions(in->store, name, &actions, err);
	if (r < 0)
		return r;
	source.actions = actions;
	if (class == BLAME_LINK || in->policy->jobs.over_evict_hosts > 0)
		r = store_investigations_of(in->store, in->id, since_us, &pairs, err);
	if (r < 0)
		return r;
	source.pairs = pair_record_find(pairs, name, job_facts_pairs_since(&source));
	source.group = source.pairs && pair_record_kind(source.pairs) == PAIR_RECORD_GROUP;
	source.group_class = class;
	facts = xcalloc(1, sizeof(*facts));
	job_facts_of(source.node->name, &source, facts);
	*ret_check = job_judge_proves(in->policy, class, &facts->host);
	return 0;
}

static int add_suspect(const struct job_judging_input *in, size_t place, struct job_judged *ret,
		       struct err *err)
{
	const struct suspicion_found *found = &in->suspects->list.items[place];
	const json_t *before = shown_before(in, found);
	const json_t *begun = json_object_get(before, "begun");
	json_t *waits = json_copy(json_object_get(before, "waits"));
	json_t *slow = json_copy(json_object_get(before, "slow")); /* reported once */
	size_t i;
	int r = 0;

	ret->notes[place] = json_pack(
		"{s:o, s:o, s:[], s:o, s:o, s:n, s:n, s:n}", "since",
		json_stamp(suspected_since(in, found)), "begun", json_stamp(json_stamp_us(begun)),
		"tests", "waits", waits ? waits : json_object(), "slow",
		slow ? slow : json_object(), "acquitted", "incident", "tells");
	ret->n_notes = place + 1;
	ret->fresh[place] = found->counts == BLAME_K_OF_N &&
			    !json_is_string(json_object_get(before, "since"));
	for (i = 0; r == 0 && i < found->n_hosts; i++)
		r = add_host(in, place, found->hosts[i], ret, err);
	return r;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct job_judge_host *)a)->name,
		      ((const struct job_judge_host *)b)->name);
}

/* --- number of investigations --- */

/* Is it the time at which a current suspect began to be tested? */
static bool is_of_now(const struct job_judged *judged, const json_t *stamp)
{
	size_t i;

	for (i = 0; i < judged->n_notes; i++) {
		if (json_equal(json_object_get(judged->notes[i], "begun"), stamp))
			return true;
	}
	return false;
}

/* Restore those that still count. Returns how many of them are over. */
static uint64_t recall_investigations(const struct job_judging_input *in, struct job_judged *ret)
{
	const json_t *all = json_object_get(in->before, "investigations");
	uint64_t over = 0;
	size_t i;

	ret->investigations = json_array();
	for (i = 0; i < json_array_size(all); i++) {
		json_t *stamp = json_array_get(all, i);

		if (json_stamp_us(stamp) + in->policy->jobs.investigations_per_us <= in->now_us)
			continue;
		(void)json_array_append(ret->investigations, stamp);
		over += !is_of_now(ret, stamp);
	}
	return over;
}

/* All suspects newly tested in this round are one more investigation. */
static void begin_investigation(const struct job_judging_input *in, struct job_judged *ret)
{
	json_t *now = json_stamp(in->now_us);
	bool begun = false;
	size_t i;

	for (i = 0; i < ret->result.n; i++) {
		const struct job_judge_item *item = &ret->result.items[i];
		json_t *note = ret->notes[item->suspect - in->suspects->list.items];
		const uint64_t begun_us = json_stamp_us(json_object_get(note, "begun"));

		ret->tested += item->action == BLAME_PROBE && item->effect && !item->kept_free;
		/* A waiting host is investigated once it is idle. After an acquittal that has
		 * ended, it is a new investigation. */
		if (item->action != BLAME_PROBE || !item->effect || item->waits ||
		    (begun_us > 0 && begun_us >= item->host->acquitted_us))
			continue;
		(void)json_object_set(note, "begun", now);
		begun = true;
	}
	if (begun)
		(void)json_array_append(ret->investigations, now);
	json_decref(now);
}

/* --- stored state of each host --- */

static json_t *note_of(const struct job_judging_input *in, const struct job_judged *judged,
		       const struct job_judge_item *item)
{
	return judged->notes[item->suspect - in->suspects->list.items];
}

/* Since when its test waits for its jobs to end; also kept after it was given up. */
static void note_waits(const struct job_judging_input *in, const struct job_judge_item *item,
		       json_t *note)
{
	json_t *waits = json_object_get(note, "waits");
	uint64_t since_us = item->host->waits_us;

	if (item->waits && item->effect && since_us == 0)
		since_us = in->now_us;
	else if (item->host->idle && !item->given_up)
		since_us = 0;
	if (since_us > 0)
		(void)json_object_set_new(waits, item->host->name, json_stamp(since_us));
	else
		(void)json_object_del(waits, item->host->name);
}

static bool has_news(const struct job_judged *judged, const struct job_judge_host *host)
{
	size_t i;

	for (i = 0; i < judged->n_acquitted; i++) {
		if (judged->acquitted[i].item->host == host)
			return true;
	}
	return false;
}

static void acquit(const struct job_judging_input *in, const struct job_judge_item *item,
		   json_t *entry, struct job_judged *ret)
{
	(void)json_object_set_new(entry, "acquitted", json_stamp(in->now_us));
	ret->acquitted[ret->n_acquitted++] =
		(struct job_judged_news){ item,
					  in->now_us - MIN(in->now_us, item->host->suspected_us) };
}

/* A person is told about a host only once, whichever jobs accuse it. */
static void dispute(const struct job_judging_input *in, const struct job_judge_item *item,
		    json_t *entry, struct job_judged *ret)
{
	const uint64_t since_us = in->now_us - MIN(in->now_us, in->policy->jobs.acquit_per_us);
	const uint64_t told_us = accused_stamp(entry, "told");

	if ((told_us > 0 && told_us >= since_us) ||
	    accusers_of(in->accusers, item->host->name, in->id, since_us).told)
		return;
	(void)json_object_set_new(entry, "told", json_stamp(in->now_us));
	ret->disputed[ret->n_disputed++] = (struct job_judged_news){ .item = item };
}

/* State from an older version has no entry for hosts: it reported with the incident. */
static bool is_told_slow(const json_t *before, const struct job_judge_item *item)
{
	const char *incident = json_string_value(json_object_get(before, "incident"));
	const json_t *slow = json_object_get(before, "slow");

	if (slow)
		return json_object_get(slow, item->host->name) != NULL;
	return item->incident != BLAME_QUIET &&
	       streq(incident, blame_incident_names[item->incident]);
}

/* Reported once per suspicion. */
static void note_slow(const struct job_judging_input *in, const struct job_judge_item *item,
		      json_t *note, struct job_judged *ret)
{
	const json_t *before = shown_before(in, item->suspect);
	json_t *slow = json_object_get(note, "slow");

	if (!item->slow)
		return;
	(void)json_object_set_new(
		slow, item->host->name,
		json_pack("{s:f, s:f}", "speed", item->host->speed, "low", item->host->low));
	if (ret->result.mode == MODE_ENFORCE && !is_told_slow(before, item) &&
	    ret->n_silicon < SUSPICION_LIST_MAX)
		ret->silicon[ret->n_silicon++] = (struct job_judged_news){ .item = item };
}

static void note_accused(const struct job_judging_input *in, const struct job_judge_item *item,
			 struct job_judged *ret)
{
	const struct suspicion_found *found = item->suspect;
	const struct accused_words words = { item->host->name, blame_class_names[found->class],
					     item->host->suspected_us,
					     MAX(found->until_us, item->host->suspected_us) };
	json_t *entry;

	if (found->counts != BLAME_K_OF_N || !blame_may_accuse(found->class))
		return;
	entry = accused_note(ret->accused, &words);
	if (item->action == BLAME_ACQUIT && ret->result.mode == MODE_ENFORCE &&
	    ret->n_acquitted < SUSPICION_LIST_MAX && !has_news(ret, item->host))
		acquit(in, item, entry, ret);
	if (item->incident == BLAME_ACCUSED && ret->n_disputed < SUSPICION_LIST_MAX)
		dispute(in, item, entry, ret);
}

/* The first host with an incident determines that of the suspect. */
static void note_incident(const struct job_judge_item *item, json_t *note)
{
	if (item->incident == BLAME_QUIET || json_is_string(json_object_get(note, "incident")))
		return;
	(void)json_object_set_new(note, "incident",
				  json_string(blame_incident_names[item->incident]));
	if (item->tells)
		(void)json_object_set_new(note, "tells", json_string(item->tells));
}

/* Since when all hosts of a suspect are acquitted; 0: they are not. */
static uint64_t acquitted_since(const struct job_judging_input *in, const struct job_judged *ret,
				size_t place)
{
	const bool enforced = ret->result.mode == MODE_ENFORCE;
	uint64_t since_us = 0;
	size_t i;

	for (i = 0; i < ret->result.n; i++) {
		const struct job_judge_item *item = &ret->result.items[i];

		if (item->suspect != &in->suspects->list.items[place])
			continue;
		if (item->acquitted)
			since_us = MAX(since_us, item->host->acquitted_us);
		else if (item->action == BLAME_ACQUIT && enforced)
			since_us = in->now_us;
		else
			return 0;
	}
	return since_us;
}

static void note_items(const struct job_judging_input *in, struct job_judged *ret)
{
	size_t i;

	for (i = 0; i < ret->result.n; i++) {
		const struct job_judge_item *item = &ret->result.items[i];
		json_t *note = note_of(in, ret, item);

		note_waits(in, item, note);
		note_incident(item, note);
		note_slow(in, item, note, ret);
		note_accused(in, item, ret);
	}
	for (i = 0; i < ret->n_notes; i++)
		(void)json_object_set_new(ret->notes[i], "acquitted",
					  json_stamp(acquitted_since(in, ret, i)));
}

/* --- everything --- */

/* In a group: is the host finished? Then jobs may start on it again while the others go on. */
static bool is_done_with(const struct job_judging_input *in, const struct job_judge_host *host,
			 int class)
{
	return host->ladders[class] == LADDER_EXHAUSTED ||
	       (host->acquitted_us > 0 &&
		in->now_us < host->acquitted_us + in->policy->jobs.acquit_us);
}

/* Hosts of a group are neither tested nor held while a job runs on any of them. */
static void wait_together(const struct job_judging_input *in, const struct suspicion_found *found,
			  struct job_judged *judged)
{
	bool idle = true;
	size_t i;

	for (i = 0; i < found->n_hosts; i++) {
		const struct job_judge_host *host = find_host(judged, found->hosts[i]);

		idle &= !host || host->idle || is_done_with(in, host, found->class);
	}
	for (i = 0; i < found->n_hosts; i++) {
		struct job_judge_host *host = find_host(judged, found->hosts[i]);

		if (host)
			host->idle &= idle;
	}
}

static void judge(const struct job_judging_input *in, struct job_judged *ret)
{
	const json_t *newest = in->n > 0 ? in->windows[0].summary : NULL;
	struct job_judge_input input = {
		.job = in->job,
		.class = newest ? job_suspects_class(newest) : BLAME_NOTHING,
		.slowdown = json_number_value(json_object_get(newest, "slowdown")),
		.suspects = &in->suspects->list,
		.hosts = ret->hosts,
		.n_hosts = ret->n_hosts,
		.investigations = recall_investigations(in, ret),
		.under_way = in->under_way,
		.loads = in->loads,
		.n_loads = in->n_loads,
	};
	size_t i;

	for (i = 0; i < in->suspects->list.n; i++) {
		if (job_judge_is_group(in->policy, &in->suspects->list.items[i]))
			wait_together(in, &in->suspects->list.items[i], ret);
	}
	memcpy(input.distrusted, in->distrusted, sizeof(input.distrusted));
	if (ret->n_hosts > 1)
		qsort(ret->hosts, ret->n_hosts, sizeof(*ret->hosts), by_name);
	job_judge(in->policy, &input, in->now_us, &ret->result);
	begin_investigation(in, ret);
	note_items(in, ret);
}

/* Accusations expire after some time, and acquittals hold for some time. */
static json_t *recall_accused(const struct job_judging_input *in)
{
	const struct policy_jobs *jobs = &in->policy->jobs;
	const uint64_t keep_us = MAX(jobs->acquit_per_us, jobs->acquit_us);

	return accused_recall(json_object_get(in->before, "accused"),
			      in->now_us - MIN(in->now_us, keep_us));
}

int job_judging_do(const struct job_judging_input *in, struct job_judged *ret, struct err *err)
{
	const uint64_t measured_us = measured_since(in);
	size_t i;
	int r = 0;

	*ret = (struct job_judged){ .accused = recall_accused(in) };
	if (measured_us > 0)
		r = store_investigations_of(in->store, in->id, measured_us, &ret->pairs, err);
	for (i = 0; r == 0 && i < in->suspects->list.n; i++)
		r = add_suspect(in, i, ret, err);
	if (r < 0) {
		job_judging_release(ret);
		return r;
	}
	judge(in, ret);
	return 0;
}

void job_judging_release(struct job_judged *judged)
{
	size_t i;

	job_judge_release(&judged->result);
	for (i = 0; i < judged->n_notes; i++)
		json_decref(judged->notes[i]);
	for (i = 0; i < judged->n_hosts; i++)
		free(judged->facts[i]);
	free(judged->facts);
	free(judged->hosts);
	json_decref(judged->investigations);
	json_decref(judged->accused);
	json_decref(judged->pairs);
	*judged = (struct job_judged){ .n_hosts = 0 };
}

/* Until when a suspect is kept for the tests of any of its hosts; 0: it is not. */
static uint64_t kept_until(const struct job_judging_input *in, const struct job_judged *judged,
			   size_t place)
{
	uint64_t until_us = 0;
	size_t i;

	for (i = 0; !in->stopped && i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (item->suspect == &in->suspects->list.items[place])
			until_us = MAX(until_us, job_judge_keep(in->policy, &judged->result, item));
	}
	return until_us;
}

void job_judging_note(const struct job_judging_input *in, const struct job_judged *judged,
		      json_t *view)
{
	json_t *suspects = json_object_get(view, "suspects");
	size_t i;

	for (i = 0; i < judged->n_notes; i++) {
		const json_t *one = find_shown(&in->suspects->list.items[i], suspects);

		(void)json_object_set_new(judged->notes[i], "kept",
					  json_stamp(kept_until(in, judged, i)));
		(void)json_object_update((json_t *)(uintptr_t)one, judged->notes[i]);
	}
	(void)json_object_set(view, "investigations", judged->investigations);
	(void)json_object_set(view, "accused", judged->accused);
	(void)json_object_set_new(view, "strangers",
				  json_integer((json_int_t)judged->result.strangers));
}

/* Tests count from then on: not those before an acquittal that has ended, or in another boot. */
static uint64_t tests_since(const struct job_judging_input *in, const struct job_judge_host *host)
{
	const struct host *known = hosts_find(in->hosts, host->name);
	uint64_t since_us = MAX(host->suspected_us, host->acquitted_us);

	if (host->suspected_us == 0)
		return 0;
	return host->booted && known && known->known ? MAX(since_us, known->since_us) : since_us;
}

bool job_judging_blame(const struct job_judging_input *in, const struct job_judged *judged,
		       const struct job_judge_item *item, struct blame *ret)
{
	return job_judge_blame(in->policy, in->job, &judged->result, item,
			       tests_since(in, item->host), ret);
}
