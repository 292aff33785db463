/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/investigating.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/controller.h"
#include "controller/fleet/hosts.h"
#include "controller/job/job_facts.h"
#include "controller/job/job_prediction.h"
#include "controller/job/link_pairs.h"
#include "controller/job/pair_record.h"
#include "controller/store/store.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* --- the records of a job --- */

/* The open investigation, and those that ended recently. */
struct records {
	struct investigation all[STORE_INVESTIGATIONS_OF_JOB + 1]; /* newest first */
	size_t n;
	struct investigation *open;  /* points into `all`; NULL: none */
	struct investigation *ended; /* points into `all`: ended by this step */
	json_t *kept;		     /* `open` as stored; NULL: not stored */
	int64_t diagnosis;	     /* open diagnosis, instead of `open`; 0: none */
};

static void records_free(struct records **records)
{
	size_t i;

	for (i = 0; i < (*records)->n; i++)
		investigation_release(&(*records)->all[i]);
	json_decref((*records)->kept);
	free(*records);
}

/* An unreadable row must not block the next one. */
static int put_away(struct service *s, const json_t *row, int64_t job, const struct err *why,
		    struct err *err)
{
	const struct store_investigation one = { .id = json_integer_value(
							 json_object_get(row, "id")),
						 .job = job,
						 .ended_us = clock_real_us(),
						 .body = row };

	log_warning("investigation %" PRId64 " is dropped: %s", one.id, why->msg);
	service_touch(s);
	return store_put_investigation(s->store, &one, err);
}

static int read_records(struct service *s, int64_t job, uint64_t since_us, struct records *ret,
			struct err *err)
{
	CLEANUP(json_freep) json_t *rows = NULL;
	int r = store_investigations_of(s->store, job, since_us, &rows, err);
	size_t i;

	for (i = 0; r == 0 && i < json_array_size(rows) && ret->n < ARRAY_SIZE(ret->all); i++) {
		struct investigation *one = &ret->all[ret->n];
		json_t *row = json_array_get(rows, i);
		struct err why = ERR_INIT;

		if (investigation_read(row, one, &why) < 0) {
			if (json_is_null(json_object_get(row, "ended")))
				r = put_away(s, row, job, &why, err);
			continue;
		}
		if (one->kind == INVESTIGATION_DIAGNOSIS) {
			ret->diagnosis = one->ended_us == 0 ? one->id : ret->diagnosis;
			investigation_release(one);
			continue;
		}
		ret->n++;
		if (one->ended_us > 0 || ret->open)
			continue;
		ret->open = one;
		ret->kept = json_incref(row);
	}
	return r;
}

int investigating_keep(struct investigating *k, struct service *s, struct investigation *inv,
		       const json_t *before, struct err *err)
{
	CLEANUP(json_freep) json_t *body = investigation_json(inv);
	const struct store_investigation one = { inv->id, inv->job, inv->began_us, inv->ended_us,
						 body };
	int r;

	if (before && json_equal(before, body))
		return 0;
	service_touch(s);
	r = inv->id > 0 ? store_put_investigation(s->store, &one, err)
			: store_add_investigation(s->store, &one, &inv->id, err);
	if (r < 0)
		return r;
	k->uncommitted[INVESTIGATION_OPEN] += before == NULL;
	if (inv->ended_us > 0) {
		link_pairs_withdraw(s, inv->pairs, inv->sentence ? inv->sentence : "it is over");
		k->uncommitted[inv->state]++;
		log_info("investigation %" PRId64 " of %s has ended, %s: %s", inv->id,
			 inv->job_name, investigation_state_names[inv->state],
			 inv->sentence ? inv->sentence : "-");
	}
	return 0;
}

/* --- objections to investigating a host --- */

static void leave_alone(struct job_judge_item *item, char *sentence)
{
	item->action = BLAME_WATCH;
	item->incident = BLAME_QUIET;
	item->again = item->waits = item->effect = false;
	free(item->sentence);
	item->sentence = sentence;
}

/*
 * Did a person withdraw it recently? The host's own findings are still decided on; the job may not
 * ask for anything.
 */
static bool bar(const struct records *records, const struct job_judging_input *in,
		struct job_judge_item *item)
{
	size_t i;

	for (i = 0; i < records->n; i++) {
		const struct investigation_host *host = investigation_bars(
			&records->all[i], item->host->name, in->policy->jobs.acquit_us, in->now_us);

		if (!host)
			continue;
		if (item->evidence == EVIDENCE_FATAL) {
			item->effect = false;
			return true;
		}
		leave_alone(item,
			    xasprintf("%s: investigation %" PRId64
				      " was withdrawn (%s); for %s it is not investigated until "
				      "jobs.acquit.for has passed",
				      host->name, records->all[i].id, host->sentence, in->job));
		return true;
	}
	return false;
}

/* Is it in an investigation of another job? */
static int leave_to_others(const struct job_judging_input *in, int64_t job,
			   struct job_judge_item *item, struct err *err)
{
	CLEANUP(json_freep) json_t *other = NULL;
	const char *name;
	int r = store_investigation_of_host(in->store, job, item->host->name, &other, err);

	if (r < 0 || !other)
		return r;
	name = json_string_value(json_object_get(other, "job"));
	leave_alone(item,
		    xasprintf("%s: investigation %" JSON_INTEGER_FORMAT
			      " of %s is investigating it",
			      item->host->name, json_integer_value(json_object_get(other, "id")),
			      name ? name : "another job"));
	return 0;
}

static int restrain(const struct records *records, const struct job_judging_input *in, int64_t job,
		    struct job_judged *judged, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < judged->result.n; i++) {
		struct job_judge_item *item = &judged->result.items[i];
		const bool asks = item->action == BLAME_PROBE || item->action == BLAME_EVICT;

		if (asks && !bar(records, in, item) && item->effect &&
		    !(records->open && investigation_holds(records->open, item->host->name)))
			r = leave_to_others(in, job, item, err);
	}
	return r;
}

/* --- facts --- */

struct facts {
	struct investigation_fact *items;
	size_t n;
	json_t *tests;
};

static void facts_release(struct facts *facts)
{
	free(facts->items);
	json_decref(facts->tests);
}

static struct investigation_fact *need_fact(struct facts *facts, const struct job_judging_input *in,
					    const char *name)
{
	const struct fleet_node *node = fleet_find(in->fleet, name);
	const struct host *host = hosts_find(in->hosts, name);
	size_t i;

	for (i = 0; i < facts->n; i++) {
		if (streq(facts->items[i].name, name))
			return &facts->items[i];
	}
	facts->items = xrealloc(facts->items, facts->n + 1, sizeof(*facts->items));
	facts->items[facts->n] = (struct investigation_fact){
		.name = name,
		.action = -1,
		.there = node != NULL,
		.cordoned = node && node->out & OUT_OURS,
		.runs = node && node->n_jobs > 0,
		.boot = host ? host->boot_id : NULL,
		.given_us = node ? node->record.override_us : 0,
		.sentence = "",
	};
	return &facts->items[facts->n++];
}

/* For fabric there is no test that a single host could run. */
static bool is_done(const struct job_judge_item *item)
{
	return item->effect &&
	       (item->action != BLAME_PROBE || blame_tests_host(item->suspect->class));
}

/* While an acquittal holds, whatever is said of the host counts as acquitted. */
static int action_of(const struct job_judge_item *item)
{
	return item->acquitted ? BLAME_ACQUIT : item->action;
}

/* Add the most severe decision on each host. */
static void add_items(struct facts *facts, const struct job_judging_input *in,
		      const struct job_judged *judged)
{
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];
		struct investigation_fact *fact = need_fact(facts, in, item->host->name);

		if (action_of(item) <= fact->action)
			continue;
		fact->class = item->suspect->class;
		fact->action = action_of(item);
		fact->incident = item->incident;
		fact->effect = is_done(item);
		fact->sentence = item->sentence;
		fact->since_us = fact->from_us = 0;
		if (item->blame.class == BLAME_NOTHING)
			continue;
		fact->since_us = item->host->suspected_us;
		fact->from_us = item->blame.since_us;
	}
}

static int add_tests(struct facts *facts, struct store *store, const struct investigation *inv,
		     const char *host, struct err *err)
{
	CLEANUP(json_freep) json_t *actions = NULL;
	CLEANUP(json_freep) json_t *tests = NULL;
	int r = job_judging_actions(store, host, &actions, err);

	if (r < 0)
		return r;
	tests = job_facts_tests(host, actions, inv->began_us);
	(void)json_array_extend(facts->tests, tests);
	return 0;
}

static bool has_booted(const struct investigation_host *host, const struct investigation_fact *fact)
{
	return host->boot && fact->boot && !streq(host->boot, fact->boot);
}

static int add_record(struct facts *facts, const struct job_judging_input *in,
		      const struct investigation *inv, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < inv->n_hosts; i++) {
		const char *name = inv->hosts[i].name;
		struct investigation_fact *fact = need_fact(facts, in, name);
		bool busy = false;

		if (investigation_owes(inv, &inv->hosts[i]))
			r = job_judging_proves(in, name, inv->hosts[i].class, inv->hosts[i].since_us,
					       has_booted(&inv->hosts[i], fact), &fact->proof, err);
		if (r < 0)
			return r;
		if (investigation_has(inv, name))
			r = add_tests(facts, in->store, inv, name, err);
		else
			r = store_placement_present(in->store, name, in->now_us, &busy, err);
		fact->runs |= busy;
	}
	return r;
}

static bool is_silent(const struct job_judging_input *in)
{
	const struct job_window *newest = in->n > 0 ? &in->windows[0] : NULL;
	const uint64_t last_us = !newest	    ? 0
				 : newest->until_us ? newest->until_us
						    : newest->received_us;

	return in->now_us > last_us + in->policy->jobs.fresh_us;
}

/* Suspects are tested once no job runs on them, and a job has moved on once none does. */
static void want_jobs(struct actor *act, const struct facts *facts)
{
	size_t i;

	for (i = 0; i < facts->n; i++) {
		if (facts->items[i].there)
			actor_want_jobs(act, facts->items[i].name);
	}
}

/* --- a step --- */

static int begin(struct investigating *k, struct service *s, const struct investigation_now *now,
		 struct records *records, struct err *err)
{
	struct investigation *one;

	if (records->n == ARRAY_SIZE(records->all))
		investigation_release(&records->all[--records->n]);
	one = &records->all[records->n++];
	investigation_begin(now, one);
	investigation_step(one, now);
	records->open = one->ended_us == 0 ? one : NULL;
	return investigating_keep(k, s, one, NULL, err);
}

/* A host that this step showed as withdrawn by a person is not investigated anew in it. */
static void spare(struct facts *facts, const struct investigation *inv, uint64_t acquit_us,
		  uint64_t now_us)
{
	size_t i;

	for (i = 0; i < facts->n; i++) {
		struct investigation_fact *fact = &facts->items[i];

		if (investigation_bars(inv, fact->name, acquit_us, now_us))
			fact->effect = false;
	}
}

static int step(struct investigating *k, struct service *s, const struct investigation_now *now,
		struct link_pairs_of *pairs, struct records *records, struct err *err)
{
	int r = 0;

	if (!records->open)
		return 0;
	investigation_step(records->open, now);
	pairs->inv = records->open;
	if (records->open->ended_us == 0)
		r = link_pairs_step(pairs);
	if (r < 0)
		return r;
	r = investigating_keep(k, s, records->open, records->kept, err);
	if (r == 0 && records->open->ended_us > 0)
		records->ended = TAKE(records->open);
	return r;
}

/* Did the run without the hosts of `open` turn out as predicted? A sentence, owned, or NULL. */
static int find_verified(struct service *s, int64_t job, const struct job_judging_input *in,
			 const struct investigation *open, char **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *told = json_object();
	const json_t *one;
	int r;

	if (open->state != INVESTIGATION_REPLACED)
		return 0;
	r = job_prediction_show(s->store, &in->policy->jobs, job, in->now_us, told, err);
	one = json_object_get(told, "verified");
	if (r < 0 || !streq(json_string_value(json_object_get(one, "state")), "held") ||
	    json_stamp_us(json_object_get(one, "checked")) < open->acted_us)
		return r;
	*ret = xasprintf("run %" PRId64 " takes %.3g s a step, and %.3g s were predicted",
			 (int64_t)json_integer_value(json_object_get(one, "by_run")),
			 json_number_value(json_object_get(one, "measured_s")),
			 json_number_value(json_object_get(one, "after_s")));
	return 0;
}

static int look(struct investigating *k, struct service *s, int64_t job,
		const struct job_judging_input *in, const struct job_judged *judged,
		struct records *records, struct err *err)
{
	CLEANUP(facts_release) struct facts facts = { .tests = json_array() };
	struct investigation_now now = {
		.job = job,
		.run = in->n > 0 ? in->windows[0].run : 0,
		.job_name = in->job,
		.enforced = judged->result.mode == MODE_ENFORCE,
		.silent = is_silent(in),
		.gone = records->open && !streq(records->open->job_name, in->job),
		.now_us = in->now_us,
	};
	struct link_pairs_of pairs = { .s = s, .in = in, .judged = judged, .err = err };
	CLEANUP(freep) char *verified = NULL;
	int r = 0;

	add_items(&facts, in, judged);
	if (records->open)
		r = add_record(&facts, in, records->open, err);
	if (r == 0 && records->open)
		r = find_verified(s, job, in, records->open, &verified, err);
	if (r < 0)
		return r;
	if (judged->result.mode != MODE_OBSERVE)
		want_jobs(s->act, &facts);
	now.verified = verified;
	now.facts = facts.items;
	now.n_facts = facts.n;
	now.tests = facts.tests;
	r = step(k, s, &now, &pairs, records, err);
	if (records->ended)
		spare(&facts, records->ended, in->policy->jobs.acquit_us, in->now_us);
	if (r < 0 || records->open || !investigation_is_wanted(&now))
		return r;
	return begin(k, s, &now, records, err);
}

/* Does an item request its eviction already? */
static bool is_evicted(const struct job_judged *judged, const char *name)
{
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (item->action == BLAME_EVICT && streq(item->host->name, name))
			return true;
	}
	return false;
}

/* Was it measured with a group accused as a whole? */
static bool is_of_group(const struct investigation *inv, const char *host)
{
	size_t i;

	for (i = 0; i < json_array_size(inv->pairs); i++) {
		const json_t *entry = json_array_get(inv->pairs, i);

		if (pair_record_kind(entry) == PAIR_RECORD_GROUP && pair_record_is_end(entry, host))
			return true;
	}
	return false;
}

/* Add hosts that tests have proven bad although no window asks for them any more. */
static void add_owed(const struct job_judging_input *in, const struct investigation *open,
		     struct job_judged *judged)
{
	size_t i;

	for (i = 0; open && i < open->n_hosts; i++) {
		const struct investigation_host *host = &open->hosts[i];
		const struct fleet_node *node = fleet_find(in->fleet, host->name);

		if (!node || !investigation_owes(open, host) || is_evicted(judged, host->name) ||
		    judged->n_owed == ARRAY_SIZE(judged->owed))
			continue;
		judged->owed[judged->n_owed++] = (struct job_judged_owed){
			.host = node->name,
			.blame = { .class = host->class,
				   .reach = BLAME_TO_EVICT,
				   .job = (char *)(uintptr_t)in->job,
				   .check = (char *)(uintptr_t)host->proof,
				   .since_us = host->from_us,
				   .until_us = host->proven_us + INVESTIGATION_PROVEN_US,
				   .group = is_of_group(open, host->name) },
		};
	}
}

/* Only hosts in the investigation are acted on. */
static void filter(const struct investigation *open, struct job_judged *judged)
{
	size_t i;

	judged->tested = 0;
	for (i = 0; i < judged->result.n; i++) {
		struct job_judge_item *item = &judged->result.items[i];

		item->effect &= open && investigation_holds(open, item->host->name);
		judged->tested += item->action == BLAME_PROBE && item->effect && !item->kept_free;
	}
}

int investigating_step(struct investigating *k, struct service *s, int64_t job,
		       const struct job_judging_input *in, struct job_judged *judged,
		       int64_t *ret_open, struct err *err)
{
	CLEANUP(records_free) struct records *records = xcalloc(1, sizeof(*records));
	const uint64_t acquit_us = in->policy->jobs.acquit_us;
	int r = read_records(s, job, in->now_us - MIN(acquit_us, in->now_us), records, err);

	if (r == 0)
		r = restrain(records, in, job, judged, err);
	if (r == 0 && !records->diagnosis && actor_knows(s->act) && !actor_stale(s->act))
		r = look(k, s, job, in, judged, records, err);
	if (r < 0)
		return r;
	filter(records->open, judged);
	add_owed(in, records->open, judged);
	*ret_open = records->open ? records->open->id : records->diagnosis;
	return 0;
}

int investigating_gone(struct investigating *k, struct service *s, int64_t job, struct err *err)
{
	CLEANUP(records_free) struct records *records = xcalloc(1, sizeof(*records));
	const struct investigation_now now = { .gone = true, .now_us = clock_real_us() };
	int r = read_records(s, job, now.now_us, records, err);

	if (r < 0 || !records->open)
		return r;
	investigation_step(records->open, &now);
	return investigating_keep(k, s, records->open, records->kept, err);
}

int investigating_cancel(struct investigating *k, struct service *s, int64_t id, const char *who,
			 const char *reason, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *kept = NULL;
	struct investigation inv = { 0 };
	int changes, r = store_investigation(s->store, id, &kept, err);

	if (r == 0)
		r = investigation_read(kept, &inv, err);
	if (r < 0)
		return r;
	changes = investigation_cancel(&inv, who, reason, clock_real_us(), err);
	r = changes == 0 ? investigating_keep(k, s, &inv, kept, err) : changes;
	if (r >= 0)
		*ret = investigation_json(&inv);
	investigation_release(&inv);
	return r;
}

/* --- counts --- */

void investigating_committed(struct investigating *k)
{
	size_t i;

	for (i = 0; i < INVESTIGATION_STATES; i++) {
		k->counts[i] += k->uncommitted[i];
		k->uncommitted[i] = 0;
	}
}

void investigating_failed(struct investigating *k)
{
	memset(k->uncommitted, 0, sizeof(k->uncommitted));
}
