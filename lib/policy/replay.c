/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/replay.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/decide.h"
#include "lib/report/report.h"

/* Objects by name; sets of names are objects too. Not valid when zeroed: tally_init(). */
struct tally {
	json_t *rules, *nodes, *refusals;
	json_t *telling,
		*told; /* what the decisions of this round say, and those of the last one */
	uint64_t cordons, releases, refused;
};

static void tally_init(struct tally *t)
{
	*t = (struct tally){
		json_object(), json_object(), json_object(), json_object(), json_object(), 0, 0, 0
	};
}

static void tally_release(struct tally *t)
{
	json_decref(t->rules);
	json_decref(t->nodes);
	json_decref(t->refusals);
	json_decref(t->telling);
	json_decref(t->told);
	*t = (struct tally){ 0 };
}

/* Starts a round of decisions: what the last one already said is not counted again. */
static void tally_round(struct tally *t)
{
	json_decref(t->told);
	t->told = t->telling;
	t->telling = json_object();
}

/* The object at `key`, created if new. Borrowed. */
static json_t *need(json_t *all, const char *key)
{
	json_t *one = json_object_get(all, key);

	if (!one) {
		one = json_object();
		(void)json_object_set_new(all, key, one);
	}
	return one;
}

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void add(json_t *object, const char *key, json_int_t n)
{
	(void)json_object_set_new(object, key, json_integer(number(object, key) + n));
}

/* Decisions are repeated until the fleet changes: true if this one is new. */
static bool is_news(struct tally *t, const struct decision *d)
{
	CLEANUP(freep)
	char *key = xasprintf("%s\t%s\t%d\t%s\t%s", d->node->name, d->rule ? d->rule : "",
			      d->action, d->finding ? d->finding->check : "",
			      d->refused ? refused_by_names[d->refused->by] : "");

	(void)json_object_set_new(t->telling, key, json_true());
	return !json_object_get(t->told, key);
}

static void count_rule(struct tally *t, const struct decision *d, bool done)
{
	const char *rule = d->rule ? d->rule : "-";
	CLEANUP(freep) char *key = xasprintf("%s\t%d", rule, d->action);
	json_t *one = need(t->rules, key);

	(void)json_object_set_new(one, "rule", json_string(rule));
	(void)json_object_set_new(one, "action", json_string(decision_action_names[d->action]));
	add(one, "done", done);
	add(one, "refused", d->refused != NULL);
	(void)json_object_set_new(need(one, "hosts"), d->node->name, json_true());
}

static bool is_cordon(const struct decision *d)
{
	return d->action == DECIDE_CORDON || d->action == DECIDE_CORDON_DRAIN;
}

static void count_refusal(struct tally *t, const struct decision *d)
{
	json_t *one = need(t->refusals, refused_by_names[d->refused->by]);

	add(one, "times", 1);
	(void)json_object_set_new(one, "allows", json_string(d->refused->allow));
	(void)json_object_set_new(need(one, "hosts"), d->node->name, json_true());
	add(need(t->nodes, d->node->name), "refused", 1);
	t->refused++;
}

/* The host is back: adds how long it was out. */
static void add_out(json_t *node, uint64_t now_us)
{
	json_int_t since = number(node, "since_us");

	if (since)
		add(node, "out_us", (json_int_t)now_us - since);
	(void)json_object_del(node, "since_us");
}

static void count_effect(struct tally *t, const struct decision *d, uint64_t now_us)
{
	json_t *node;

	if (is_cordon(d)) {
		node = need(t->nodes, d->node->name);
		add(node, "cordons", 1);
		if (!json_object_get(node, "first_us"))
			add(node, "first_us", (json_int_t)now_us);
		add_out(node, now_us);
		add(node, "since_us", (json_int_t)now_us);
		t->cordons++;
	} else if (d->action == DECIDE_RELEASE) {
		node = need(t->nodes, d->node->name);
		add(node, "releases", 1);
		add_out(node, now_us);
		t->releases++;
	}
}

/* Counts one decision, carried out (`done`) or not. */
static void tally_count(struct tally *t, const struct decision *d, bool done, uint64_t now_us)
{
	bool news = is_news(t, d);

	/* What was carried out changed the fleet: a repetition is another decision. */
	if (!news && (!done || d->action == DECIDE_ALERT))
		return;
	count_rule(t, d, done);
	if (d->refused)
		count_refusal(t, d);
	if (done)
		count_effect(t, d, now_us);
}

/* --- the lists --- */

static json_int_t count_hosts(const json_t *one)
{
	return (json_int_t)json_object_size(json_object_get(one, "hosts"));
}

static json_t *rules_list(const struct tally *t)
{
	json_t *list = json_array(), *one;
	const char *key;

	json_object_foreach(t->rules, key, one)
	{
		(void)json_array_append_new(list, json_pack("{s:O, s:O, s:I, s:I, s:I}", "rule",
							    json_object_get(one, "rule"), "action",
							    json_object_get(one, "action"), "done",
							    number(one, "done"), "refused",
							    number(one, "refused"), "nodes",
							    count_hosts(one)));
	}
	return list;
}

static json_t *refusals_list(const struct tally *t)
{
	json_t *list = json_array(), *one;
	const char *key;

	json_object_foreach(t->refusals, key, one)
	{
		(void)json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:O}", "budget", key,
							    "times", number(one, "times"), "nodes",
							    count_hosts(one), "allows",
							    json_object_get(one, "allows")));
	}
	return list;
}

static json_t *nodes_list(const struct tally *t, uint64_t until_us)
{
	json_t *list = json_array(), *one;
	const char *key;

	json_object_foreach(t->nodes, key, one)
	{
		json_int_t since = number(one, "since_us");
		json_int_t out = number(one, "out_us") + (since ? (json_int_t)until_us - since : 0);

		if (json_array_size(list) == REPLAY_NODES_TOLD)
			break;
		(void)json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I, s:o, s:f}", "node", key, "cordons",
					number(one, "cordons"), "releases", number(one, "releases"),
					"refused", number(one, "refused"), "first",
					json_stamp((uint64_t)MAX(number(one, "first_us"), 0)),
					"out_s", (double)out / 1e6));
	}
	return list;
}

/* Puts the lists into `answer`; hosts that are still out count as out until `until_us`. */
static void tally_put(const struct tally *t, json_t *answer, uint64_t until_us)
{
	(void)json_object_set_new(answer, "rules", rules_list(t));
	(void)json_object_set_new(answer, "nodes", nodes_list(t, until_us));
	(void)json_object_set_new(answer, "refusals", refusals_list(t));
}

/* A part that was bad, tracked until it is clear. */
struct part_track {
	char *check, *subject, *profile; /* the profile that found it */
	struct windows windows;
	uint64_t bad_us; /* the last bad run */
	bool born;	 /* it was always so */
	bool ordered;	 /* the policy wants it tested */
	bool bad;	 /* in the current run */
};

struct host {
	char *name;
	struct part_track *tracks;
	size_t n;
};

struct replay {
	struct policy policy; /* a copy that borrows what it points to */
	struct fleet fleet;
	struct breaker breaker;
	struct outcome outcome;
	struct tally tally;
	void *hosts; /* tree of struct host */
	uint64_t from_us, now_us, decided_us;
	uint64_t reports;
	uint64_t bare; /* runs with findings of unknown source */
};

/* --- hosts --- */

static int compare_hosts(const void *a, const void *b)
{
	return strcmp(((const struct host *)a)->name, ((const struct host *)b)->name);
}

static struct host *need_host(struct replay *r, const char *name)
{
	struct host *host = xcalloc(1, sizeof(*host)), **place;

	host->name = xstrdup(name);
	place = tsearch(host, &r->hosts, compare_hosts);
	if (!place)
		abort(); /* out of memory */
	if (*place != host) {
		free(host->name);
		free(host);
	}
	return *place;
}

static void track_release(struct part_track *t)
{
	free(t->check);
	free(t->subject);
	free(t->profile);
}

static void host_free(void *node)
{
	struct host *host = node;
	size_t i;

	for (i = 0; i < host->n; i++)
		track_release(&host->tracks[i]);
	free(host->tracks);
	free(host->name);
	free(host);
}

static struct part_track *track_find(const struct host *host, const char *check, const char *subject)
{
	size_t i;

	for (i = 0; i < host->n; i++) {
		if (streq(host->tracks[i].check, check) && streq(host->tracks[i].subject, subject))
			return &host->tracks[i];
	}
	return NULL;
}

/* False beyond REPLAY_PARTS_MAX: rules need not be matched for what is not tracked. */
static bool track_possible(const struct host *host, const struct verdict_item *item)
{
	return host->n < REPLAY_PARTS_MAX || track_find(host, item->check, item->subject);
}

static struct part_track *track_need(struct host *host, const struct verdict_item *item)
{
	struct part_track *track = track_find(host, item->check, item->subject);

	if (track || host->n == REPLAY_PARTS_MAX)
		return track;
	host->tracks = xrealloc(host->tracks, host->n + 1, sizeof(*host->tracks));
	track = &host->tracks[host->n++];
	*track = (struct part_track){ .check = xstrdup(item->check),
				      .subject = xstrdup(item->subject) };
	return track;
}

static void track_drop(struct host *host, struct part_track *track)
{
	track_release(track);
	*track = host->tracks[--host->n];
}

/* --- one run --- */

static const struct policy_rule *rule_of(const struct replay *r, const struct replay_run *run,
					 const char *check, bool fatal)
{
	const struct policy_subject subject = {
		.check = check,
		.sku = run->sku,
		.severity = fatal ? "fatal" : NULL,
	};

	return policy_match(&r->policy, &subject);
}

/* True if still bad with a lenient floor. A value above the expected one is a time or a count. */
static bool is_below_floor(const struct replay *r, const struct replay_run *run,
			   const struct verdict_item *item)
{
	const struct policy_rule *rule = rule_of(r, run, item->check, item->fatal);

	if (item->fatal || !rule || isnan(rule->floor_ratio) || isnan(item->value) ||
	    !(item->expected > 0) || item->value > item->expected)
		return true;
	return item->value < rule->floor_ratio * item->expected;
}

static char *text_of(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* As the judge had it; borrowed except for the list. */
static struct verdict verdict_of(const struct replay_run *run)
{
	struct verdict v = { .borrows = true, .node = text_of(run->node), .n_items = run->n_items };
	size_t i;

	v.items = xcalloc(run->n_items + 1, sizeof(*v.items));
	for (i = 0; i < run->n_items; i++) {
		const struct replay_item *from = &run->items[i];

		v.items[i] = (struct verdict_item){
			.check = text_of(from->check),
			.subject = text_of(from->subject),
			.sentence = text_of(from->sentence),
			.unit = text_of(from->unit),
			.link = text_of(from->link),
			.level = from->level,
			.fatal = from->fatal,
			.source = from->source,
			.value = from->value,
			.expected = from->expected,
			.floor = from->floor,
			.bare = from->bare,
			.impossible = from->impossible,
			.usual = from->usual,
			.known_by = from->known_by,
			.low_by = from->low_by,
		};
	}
	return v;
}

static void note_bad(struct replay *r, const struct replay_run *run, struct host *host,
		     const struct verdict_item *item)
{
	struct part_track *track = track_need(host, item);
	struct fleet_node *node = fleet_find(&r->fleet, run->node);
	struct finding_news news;

	if (!track || !node)
		return;
	free(track->profile);
	track->profile = xstrdup(run->profile);
	track->bad = true;
	track->bad_us = r->now_us;
	track->born = bad_run_is_born(item, track->born);
	windows_push(&track->windows, true);
	news = (struct finding_news){
		.check = item->check,
		.subject = item->subject,
		.code = item->impossible ? FINDING_IMPOSSIBLE : NULL,
		.sentence = item->sentence,
		.severity = item->fatal ? SEVERITY_FATAL : SEVERITY_WARN,
		.source = bad_run_blames(item),
		.windows = &track->windows,
		.seen_us = r->now_us,
		.born = track->born,
		/*
		 * Their number is not stored; but if there are peers, one part is not half of them.
		 */
		.parts = item->known_by & 1U << SOURCE_PEERS ? 3 : 1,
		.parts_bad = 1,
		.score = item->expected > 0 ? item->value / item->expected : (double)NAN,
	};
	(void)fleet_note(&r->fleet, node, &news);
}

/* Ends a finding that a test passed, or that was good for its N windows. */
static void settle(struct replay *r, const struct replay_run *run, struct host *host,
		   struct part_track *track)
{
	struct fleet_node *node = fleet_find(&r->fleet, run->node);
	struct finding *finding = fleet_finding(node, track->check, track->subject);
	const struct policy_rule *rule = rule_of(r, run, track->check, false);
	bool tested = track->ordered && profile_is_active(run->profile);
	struct fleet_test test = { .outcome = track->bad ? TEST_FAILED : TEST_PASSED,
				   .finding = finding,
				   .at_us = r->now_us };

	if (!track->bad)
		windows_push(&track->windows, false);
	if (finding)
		finding->windows = track->windows;
	/* For an event, only its last occurrence counts. */
	if (finding && !bad_run_is_event(track->check))
		finding->seen_us = r->now_us;
	if (tested && finding) {
		track->ordered = false;
		if (fleet_tested(&r->fleet, node, &test))
			track_drop(host, track);
		return;
	}
	if (track->bad || !windows_clear(&track->windows, rule ? (unsigned)rule->n : 1) ||
	    (bad_run_is_event(track->check) && r->now_us - track->bad_us < BAD_RUN_QUIET_US))
		return;
	if (finding)
		fleet_clear(&r->fleet, node, finding);
	track_drop(host, track);
}

/* Backwards: a dropped entry is replaced by the last one. */
static void settle_all(struct replay *r, const struct replay_run *run, struct host *host)
{
	size_t i;

	for (i = host->n; i-- > 0;) {
		if (streq(host->tracks[i].profile, run->profile))
			settle(r, run, host, &host->tracks[i]);
	}
}

/* A host that is out of service is verified by its next active runs. */
static void verify(struct replay *r, const struct replay_run *run, const struct host *host)
{
	struct fleet_node *node = fleet_find(&r->fleet, run->node);
	struct fleet_test test = { .outcome = TEST_PASSED, .deep = true, .at_us = r->now_us };
	size_t i;

	if (!profile_is_active(run->profile))
		return;
	node->deep_us = r->now_us;
	for (i = 0; i < host->n; i++) {
		if (host->tracks[i].bad)
			test.outcome = TEST_FAILED;
	}
	if (node->record.life.state == LIFE_VERIFYING)
		(void)fleet_tested(&r->fleet, node, &test);
}

/* --- deciding --- */

static void carry_out(struct replay *r, const struct decision *d)
{
	bool effect = d->effect && !d->refused && d->action != DECIDE_ALERT;
	struct host *host = need_host(r, d->node->name);
	struct part_track *track =
		d->finding ? track_find(host, d->finding->check, d->finding->subject) : NULL;
	bool done = d->action == DECIDE_ALERT;

	if (effect)
		done = policy_applied(&r->policy, &r->fleet, &r->breaker, d, r->now_us, NULL,
				      NULL) == 0;
	if (track && done && d->action == DECIDE_RETEST)
		track->ordered = true;
	tally_count(&r->tally, d, done, r->now_us);
}

static void decide(struct replay *r)
{
	size_t i;

	/* Runs are thinned out with age, so a silent host means nothing. */
	for (i = 0; i < r->fleet.n; i++)
		r->fleet.nodes[i]->reported_us = r->now_us;
	policy_decide(&r->policy, &r->fleet, &r->breaker, r->now_us, &r->outcome);
	tally_round(&r->tally);
	for (i = 0; i < r->outcome.n; i++)
		carry_out(r, &r->outcome.items[i]);
	r->decided_us = r->now_us;
}

static void note_run(struct replay *r, const struct replay_run *run, struct host *host)
{
	struct verdict v = verdict_of(run);
	bool bare = false;
	size_t i;

	for (i = 0; i < v.n_items; i++) {
		const struct verdict_item *item = &v.items[i];

		/* Cells explained by a link are reported by the link. */
		if (!item->link && track_possible(host, item) && bad_run(&v, i) &&
		    bad_run_speaks(&v, i) && is_below_floor(r, run, item))
			note_bad(r, run, host, item);
		bare |= item->bare && item->level >= VERDICT_WARN;
	}
	r->bare += bare;
	free(v.items);
}

void replay_add(struct replay *r, const struct replay_run *run)
{
	struct fleet_node *node;
	struct host *host;
	size_t i;

	if (r->reports++ == 0)
		r->from_us = r->decided_us = run->at_us;
	r->now_us = MAX(r->now_us, run->at_us);
	node = fleet_need(&r->fleet, run->node, r->now_us);
	if (!node)
		return;
	fleet_set_sku(&r->fleet, node, run->sku);
	fleet_set_domain(&r->fleet, node, run->domain);
	host = need_host(r, run->node);
	for (i = 0; i < host->n; i++)
		host->tracks[i].bad = false;
	note_run(r, run, host);
	verify(r, run, host);
	settle_all(r, run, host);
	if (r->now_us - r->decided_us >= REPLAY_TICK_US)
		decide(r);
}

/* --- the answer --- */

static json_t *sentence(const struct replay *r)
{
	const struct tally *t = &r->tally;

	return json_sprintf("%" PRIu64 " report%s of %zu host%s: %" PRIu64 " cordon%s, %" PRIu64
			    " release%s, %" PRIu64 " refusal%s%s%s",
			    r->reports, r->reports == 1 ? "" : "s", r->fleet.n,
			    r->fleet.n == 1 ? "" : "s", t->cordons, t->cordons == 1 ? "" : "s",
			    t->releases, t->releases == 1 ? "" : "s", t->refused,
			    t->refused == 1 ? "" : "s",
			    r->breaker.open ? "; the breaker would have opened: " : "",
			    r->breaker.open ? r->breaker.sentence : "");
}

/* What enforce would have known in addition. */
static json_t *lacks(const struct replay *r)
{
	json_t *list = json_pack(
		"[s, s]",
		"what jobs blamed, host settings and operators' orders are not stored, so "
		"hosts that have always been slow are only reported here",
		"passes are not stored: a stricter floor finds nothing new");

	if (r->bare > 0)
		(void)json_array_append_new(
			list, json_sprintf("for %" PRIu64
					   " report%s, what each reference said is not stored: "
					   "everything bad counts, so more is shown than "
					   "would be acted on",
					   r->bare, r->bare == 1 ? "" : "s"));
	return list;
}

json_t *replay_end(struct replay *r, uint64_t until_us)
{
	json_t *answer, *breaker = json_null();

	r->now_us = MAX(r->now_us, until_us);
	decide(r);
	if (r->breaker.open)
		breaker = json_pack("{s:o, s:s}", "opened", json_stamp(r->breaker.opened_us),
				    "reason", r->breaker.sentence);
	answer = json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "lacks", lacks(r), "reports",
			   (json_int_t)r->reports, "nodes_seen", (json_int_t)r->fleet.n, "from",
			   json_stamp(r->from_us), "until", json_stamp(r->now_us), "breaker",
			   breaker, "sentence", sentence(r));
	tally_put(&r->tally, answer, r->now_us);
	return answer;
}

struct replay *replay_new(const struct policy *policy)
{
	struct replay *r = xcalloc(1, sizeof(*r));

	r->policy = *policy;
	r->policy.mode = MODE_ENFORCE;
	tally_init(&r->tally);
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	tdestroy(r->hosts, host_free);
	fleet_release(&r->fleet);
	outcome_release(&r->outcome);
	tally_release(&r->tally);
	free(r);
}
