/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/investigation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/diagnosis.h"

const char *const investigation_state_names[] = {
	[INVESTIGATION_OPEN] = "open",		 [INVESTIGATION_TESTING] = "testing",
	[INVESTIGATION_EVICT] = "evict",	 [INVESTIGATION_CORDONED] = "cordoned",
	[INVESTIGATION_REPLACED] = "replaced",	 [INVESTIGATION_VERIFIED] = "verified",
	[INVESTIGATION_EXCLUDED] = "excluded",	 [INVESTIGATION_ACQUITTED] = "acquitted",
	[INVESTIGATION_OWNER] = "owner",	 [INVESTIGATION_WATCH] = "watch",
	[INVESTIGATION_WITHDRAWN] = "withdrawn", NULL,
};

const char *const investigation_kind_names[] = { "suspects", "diagnosis", NULL };

/* Who returned a host to service is in the records of its actions. */
static const char by_hand[] = "whoever released it";

static void host_release(struct investigation_host *host)
{
	free(host->name);
	free(host->boot);
	free(host->sentence);
	free(host->by);
}

void investigation_release(struct investigation *inv)
{
	size_t i;

	for (i = 0; i < inv->n_hosts; i++)
		host_release(&inv->hosts[i]);
	free(inv->hosts);
	free(inv->job_name);
	free(inv->reason);
	free(inv->sentence);
	free(inv->by);
	json_decref(inv->tests);
	json_decref(inv->diagnosis);
	json_decref(inv->pairs);
	*inv = (struct investigation){ 0 };
}

static void say(char **place, const char *text)
{
	free(*place);
	*place = xstrdup(text);
}

/* --- hosts --- */

/* Is it being investigated? */
static bool is_going(const struct investigation_host *host)
{
	return host->state <= INVESTIGATION_EVICT;
}

struct investigation_host *investigation_find(const struct investigation *inv, const char *name)
{
	size_t i;

	for (i = 0; i < inv->n_hosts; i++) {
		if (streq(inv->hosts[i].name, name))
			return &inv->hosts[i];
	}
	return NULL;
}

static const struct investigation_fact *fact_of(const struct investigation_now *now,
						const char *name)
{
	size_t i;

	for (i = 0; i < now->n_facts; i++) {
		if (streq(now->facts[i].name, name))
			return &now->facts[i];
	}
	return NULL;
}

static bool wants(const struct investigation_now *now, const struct investigation_fact *fact)
{
	return now->enforced && !now->gone && fact->there && fact->effect && !fact->cordoned &&
	       (fact->action == BLAME_PROBE || fact->action == BLAME_EVICT);
}

bool investigation_is_wanted(const struct investigation_now *now)
{
	size_t i;

	for (i = 0; i < now->n_facts; i++) {
		if (wants(now, &now->facts[i]))
			return true;
	}
	return false;
}

static void begin_host(struct investigation_host *host, const struct investigation_fact *fact)
{
	host->class = fact->class;
	host->state = INVESTIGATION_OPEN;
	host->proven_us = host->since_us = host->from_us = 0;
	say(&host->boot, fact->boot);
	say(&host->sentence, fact->sentence);
}

static bool add_host(struct investigation *inv, const struct investigation_fact *fact)
{
	if (inv->n_hosts == INVESTIGATION_HOSTS_MAX)
		return false;
	inv->hosts = xrealloc(inv->hosts, inv->n_hosts + 1, sizeof(*inv->hosts));
	inv->hosts[inv->n_hosts] = (struct investigation_host){ .name = xstrdup(fact->name) };
	begin_host(&inv->hosts[inv->n_hosts++], fact);
	return true;
}

/* Hosts that left, as by a reboot, may come back; not acquitted ones or those a person withdrew. */
static bool may_come_again(const struct investigation_host *host)
{
	return host->state >= INVESTIGATION_OWNER && !host->by;
}

/* Returns true if any was added. */
static bool add_hosts(struct investigation *inv, const struct investigation_now *now)
{
	bool added = false;
	size_t i;

	for (i = 0; i < now->n_facts; i++) {
		struct investigation_host *host = investigation_find(inv, now->facts[i].name);

		if (!wants(now, &now->facts[i]))
			continue;
		if (!host)
			added |= add_host(inv, &now->facts[i]);
		else if (may_come_again(host)) {
			begin_host(host, &now->facts[i]);
			added = true;
		}
	}
	return added;
}

/* --- tests --- */

static json_int_t number_of(const json_t *test)
{
	const json_t *action = json_object_get(test, "action");

	return json_is_string(action) ? strtoll(json_string_value(action), NULL, 10)
				      : json_integer_value(action);
}

static void add_test(struct investigation *inv, json_t *test)
{
	size_t i;

	for (i = 0; i < json_array_size(inv->tests); i++) {
		if (number_of(json_array_get(inv->tests, i)) == number_of(test)) {
			(void)json_array_set(inv->tests, i, test);
			return;
		}
	}
	if (json_array_size(inv->tests) == INVESTIGATION_TESTS_MAX)
		(void)json_array_remove(inv->tests, 0);
	(void)json_array_append(inv->tests, test);
}

static void add_tests(struct investigation *inv, const struct investigation_now *now)
{
	size_t i;

	for (i = 0; i < json_array_size(now->tests); i++) {
		json_t *test = json_array_get(now->tests, i);
		const char *node = json_string_value(json_object_get(test, "node"));

		if (investigation_has(inv, node) &&
		    json_stamp_us(json_object_get(test, "ordered")) >= inv->began_us)
			add_test(inv, test);
	}
}

static bool has_test(const struct investigation *inv, const char *host)
{
	size_t i;

	for (i = 0; i < json_array_size(inv->tests); i++) {
		const json_t *test = json_array_get(inv->tests, i);

		if (streq(json_string_value(json_object_get(test, "node")), host))
			return true;
	}
	return false;
}

/* --- one host, one step --- */

static void end_host(struct investigation_host *host, int state, char *sentence)
{
	host->state = state;
	free(host->sentence);
	host->sentence = sentence;
}

/*
 * Was it to be taken out, without anything in its favour since? Requests made meanwhile, such as a
 * test because another run blames it, are weaker.
 */
static bool stays_proven(const struct investigation *inv, const struct investigation_host *host,
			 const struct investigation_fact *fact, const struct investigation_now *now)
{
	if (host->state != INVESTIGATION_EVICT || !fact->proof)
		return false;
	if (fact->action < 0)
		return now->silent || now->run != inv->run;
	return fact->action == BLAME_PROBE || fact->action == BLAME_WATCH;
}

/* Why it is no longer investigated, new memory; or NULL. `ret_person`: a person wants it so. */
static char *why_withdrawn(const struct investigation *inv, const struct investigation_host *host,
			   const struct investigation_fact *fact,
			   const struct investigation_now *now, bool *ret_person)
{
	*ret_person = false;
	if (now->gone)
		return xasprintf("%s is no longer known", inv->job_name);
	if (!now->enforced)
		return xstrdup("the mode is no longer enforce");
	if (!fact || !fact->there)
		return xasprintf("%s is no longer in the cluster", host->name);
	if (fact->given_us >= inv->began_us) {
		*ret_person = true;
		return xasprintf("an operator keeps %s in service", host->name);
	}
	if (host->boot && fact->boot && !streq(host->boot, fact->boot))
		return xasprintf("%s has rebooted since: the tests say nothing about what "
				 "slowed %s down",
				 host->name, inv->job_name);
	if (host->proven_us > 0 && host->state == INVESTIGATION_EVICT &&
	    now->now_us >= host->proven_us + INVESTIGATION_PROVEN_US)
		return xasprintf("the findings on %s are too old to cordon it for %s: its cordon "
				 "kept being refused",
				 host->name, inv->job_name);
	if (fact->action < 0 && now->silent && !stays_proven(inv, host, fact, now))
		return xasprintf("no window of %s for longer than jobs.windows.fresh: it has "
				 "ended, or is not profiled",
				 inv->job_name);
	return NULL;
}

/* Follow the decision on a host that stays. */
static void follow(const struct investigation *inv, struct investigation_host *host,
		   const struct investigation_fact *fact, const struct investigation_now *now)
{
	host->proof = fact->proof;
	if (stays_proven(inv, host, fact, now)) {
		free(host->sentence);
		host->sentence =
			xasprintf("%s: the findings for %s stand: it will be cordoned as soon "
				  "as the budgets allow",
				  host->name, inv->job_name);
		return;
	}
	if (fact->action < 0) {
		end_host(host, INVESTIGATION_WATCH,
			 xasprintf("the last windows of %s no longer blame %s", inv->job_name,
				   host->name));
		return;
	}
	say(&host->sentence, fact->sentence);
	if (fact->since_us > 0) {
		host->proven_us = host->proven_us ? host->proven_us : json_stamp_whole(now->now_us);
		host->since_us = json_stamp_whole(fact->since_us);
		host->from_us = json_stamp_whole(fact->from_us);
	}
	if (fact->action == BLAME_ACQUIT)
		host->state = INVESTIGATION_ACQUITTED;
	else if (fact->action == BLAME_OWNER)
		host->state = INVESTIGATION_OWNER;
	else if (fact->action == BLAME_EVICT)
		host->state = INVESTIGATION_EVICT;
	else if (fact->action == BLAME_WATCH && fact->incident != BLAME_QUIET)
		host->state = INVESTIGATION_WATCH; /* everything was tested, without a result */
	else
		host->state = has_test(inv, host->name) ? INVESTIGATION_TESTING
							: INVESTIGATION_OPEN;
}

static void step_host(const struct investigation *inv, struct investigation_host *host,
		      const struct investigation_now *now)
{
	const struct investigation_fact *fact = fact_of(now, host->name);
	bool person;
	char *why;

	if (host->state == INVESTIGATION_CORDONED) {
		if (inv->state != INVESTIGATION_REPLACED && fact && !fact->cordoned &&
		    fact->given_us >= inv->acted_us) {
			say(&host->by, by_hand);
			end_host(host, INVESTIGATION_WITHDRAWN,
				 xasprintf("an operator released %s", host->name));
		}
		return;
	}
	if (!is_going(host))
		return;
	if (fact && fact->cordoned) {
		end_host(host, INVESTIGATION_CORDONED,
			 xasprintf("%s is out of service: %s", host->name, host->sentence));
		return;
	}
	why = why_withdrawn(inv, host, fact, now, &person);
	if (person)
		say(&host->by, by_hand);
	if (why)
		end_host(host, INVESTIGATION_WITHDRAWN, why);
	else
		follow(inv, host, fact, now);
}

/* --- the record --- */

static void end(struct investigation *inv, const struct investigation_now *now)
{
	inv->ended_us = json_stamp_whole(now->now_us);
}

/* The host that determines the state of the record. */
static const struct investigation_host *furthest(const struct investigation *inv)
{
	static const int order[] = { INVESTIGATION_EVICT,     INVESTIGATION_TESTING,
				     INVESTIGATION_OPEN,      INVESTIGATION_CORDONED,
				     INVESTIGATION_ACQUITTED, INVESTIGATION_OWNER,
				     INVESTIGATION_WATCH,     INVESTIGATION_WITHDRAWN };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		for (j = 0; j < inv->n_hosts; j++) {
			if (inv->hosts[j].state == order[i])
				return &inv->hosts[j];
		}
	}
	return NULL;
}

static void sum_up(struct investigation *inv, const struct investigation_now *now)
{
	const struct investigation_host *host = furthest(inv);
	const bool stays = host && host->state == INVESTIGATION_CORDONED &&
			   inv->state == INVESTIGATION_REPLACED;

	if (!host) {
		inv->state = INVESTIGATION_WITHDRAWN; /* of a row without hosts */
		end(inv, now);
		return;
	}
	if (!stays) {
		inv->state = host->state;
		say(&inv->sentence, host->sentence);
		say(&inv->by, host->by);
	}
	if (inv->state > INVESTIGATION_REPLACED)
		end(inv, now);
}

/* Are its cordoned hosts still cordoned? `ret_runs`: a job still runs on one. */
static bool stands(const struct investigation *inv, const struct investigation_now *now,
		   bool *ret_runs)
{
	size_t i;

	*ret_runs = false;
	for (i = 0; i < inv->n_hosts; i++) {
		const struct investigation_fact *fact = fact_of(now, inv->hosts[i].name);

		if (inv->hosts[i].state != INVESTIGATION_CORDONED)
			continue;
		if (!fact || !fact->there || !fact->cordoned)
			return false;
		*ret_runs |= fact->runs;
	}
	return true;
}

static bool wants_another(const struct investigation *inv, const struct investigation_now *now)
{
	size_t i;

	for (i = 0; i < now->n_facts; i++) {
		const struct investigation_host *host = investigation_find(inv, now->facts[i].name);

		if (wants(now, &now->facts[i]) && (!host || may_come_again(host)))
			return true;
	}
	return false;
}

/* No host is investigated any more, and one is out of service. */
static void step_cordoned(struct investigation *inv, const struct investigation_now *now)
{
	bool runs;
	const bool there = stands(inv, now, &runs);
	const struct investigation_host *host = furthest(inv);

	if (host && inv->state == INVESTIGATION_CORDONED && there && !runs && now->run > inv->run) {
		inv->state = INVESTIGATION_REPLACED;
		free(inv->sentence);
		inv->sentence = xasprintf("run %" PRId64 " of %s continues without %s", now->run,
					  inv->job_name, host->name);
	}
	if (inv->state == INVESTIGATION_REPLACED && now->verified) {
		inv->state = INVESTIGATION_VERIFIED;
		say(&inv->sentence, now->verified);
		end(inv, now);
	} else if (!there || now->gone || wants_another(inv, now) ||
		   now->now_us >= inv->acted_us + INVESTIGATION_CLOSES_US) {
		end(inv, now);
	}
}

void investigation_begin(const struct investigation_now *now, struct investigation *ret)
{
	*ret = (struct investigation){ .job = now->job,
				       .run = now->run,
				       .job_name = xstrdup(now->job_name ? now->job_name : ""),
				       .tests = json_array(),
				       .began_us = json_stamp_whole(now->now_us) };
	(void)add_hosts(ret, now);
	ret->reason = xstrdup(ret->n_hosts > 0 ? ret->hosts[0].sentence : "");
	ret->sentence = xstrdup(ret->reason);
}

static void step_hosts(struct investigation *inv, const struct investigation_now *now)
{
	size_t i;

	for (i = 0; i < inv->n_hosts; i++) {
		step_host(inv, &inv->hosts[i], now);
		if (inv->hosts[i].state == INVESTIGATION_CORDONED && inv->acted_us == 0)
			inv->acted_us = json_stamp_whole(now->now_us);
	}
	sum_up(inv, now);
}

void investigation_step(struct investigation *inv, const struct investigation_now *now)
{
	if (inv->ended_us > 0)
		return;
	add_tests(inv, now);
	step_hosts(inv, now);
	if (inv->state <= INVESTIGATION_EVICT && add_hosts(inv, now)) {
		add_tests(inv, now);
		step_hosts(inv, now);
	}
	if (inv->ended_us == 0 && inv->state > INVESTIGATION_EVICT)
		step_cordoned(inv, now);
}

int investigation_cancel(struct investigation *inv, const char *who, const char *reason,
			 uint64_t now_us, struct err *err)
{
	size_t i;

	if (inv->ended_us > 0 && inv->state == INVESTIGATION_WITHDRAWN && inv->by)
		return 1;
	if (inv->ended_us > 0)
		return err_set(err, EALREADY, "investigation %" PRId64 " is over: %s", inv->id,
			       investigation_state_names[inv->state]);
	for (i = 0; i < inv->n_hosts; i++) {
		struct investigation_host *host = &inv->hosts[i];

		if (!is_going(host))
			continue;
		say(&host->by, who);
		end_host(host, INVESTIGATION_WITHDRAWN, xasprintf("%s: %s", who, reason));
	}
	inv->state = INVESTIGATION_WITHDRAWN;
	say(&inv->by, who);
	free(inv->sentence);
	inv->sentence = xasprintf("%s: %s", who, reason);
	inv->ended_us = json_stamp_whole(now_us);
	return 0;
}

/* --- queries about hosts --- */

bool investigation_has(const struct investigation *inv, const char *host)
{
	const struct investigation_host *one = investigation_find(inv, host);

	return one && is_going(one);
}

bool investigation_owes(const struct investigation *inv, const struct investigation_host *host)
{
	return inv->ended_us == 0 && host->state == INVESTIGATION_EVICT && host->proven_us > 0;
}

bool investigation_holds(const struct investigation *inv, const char *host)
{
	const struct investigation_host *one = investigation_find(inv, host);

	return inv->ended_us == 0 && one && one->state <= INVESTIGATION_CORDONED;
}

const struct investigation_host *investigation_bars(const struct investigation *inv,
						    const char *host, uint64_t acquit_us,
						    uint64_t now_us)
{
	const struct investigation_host *one = investigation_find(inv, host);

	return one && one->by && one->state == INVESTIGATION_WITHDRAWN && inv->ended_us > 0 &&
			       now_us < inv->ended_us + acquit_us
		       ? one
		       : NULL;
}

/* --- as JSON --- */

static json_t *json_of_host(const struct investigation_host *host)
{
	return json_pack("{s:s, s:s?, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o}", "node", host->name,
			 "boot", host->boot, "class", blame_class_names[host->class], "state",
			 investigation_state_names[host->state], "sentence", host->sentence, "by",
			 host->by, "proven", json_stamp(host->proven_us), "since",
			 json_stamp(host->since_us), "from", json_stamp(host->from_us));
}

json_t *investigation_json(const struct investigation *inv)
{
	json_t *hosts = json_array();
	size_t i;

	for (i = 0; i < inv->n_hosts; i++)
		(void)json_array_append_new(hosts, json_of_host(&inv->hosts[i]));
	return json_pack("{s:I, s:s, s:o, s:I, s:s, s:s, s:s?, s:s?, s:s?, s:o, s:O, s:O?, s:O?, "
			 "s:o, s:o, s:o}",
			 "id", (json_int_t)inv->id, "job", inv->job_name, "job_id",
			 json_sprintf("j%" PRId64, inv->job), "run", (json_int_t)inv->run, "kind",
			 investigation_kind_names[inv->kind], "state",
			 investigation_state_names[inv->state], "reason", inv->reason, "sentence",
			 inv->sentence, "by", inv->by, "hosts", hosts, "tests", inv->tests,
			 "diagnosis", inv->diagnosis, "pairs", inv->pairs, "began",
			 json_stamp(inv->began_us), "acted", json_stamp(inv->acted_us), "ended",
			 json_stamp(inv->ended_us));
}

static const char *text(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

static uint64_t stamp(const json_t *value, const char *key)
{
	return json_stamp_us(json_object_get(value, key));
}

/* Index of a name in a NULL-terminated list, or -1. */
static int place_of(const char *name, const char *const *names, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		if (streq(names[i], name))
			return i;
	}
	return -1;
}

static bool read_host(const json_t *value, struct investigation_host *ret)
{
	const int state =
		place_of(text(value, "state"), investigation_state_names, INVESTIGATION_STATES);
	const int class = place_of(text(value, "class"), blame_class_names, BLAME_CLASSES);

	if (state < 0 || class < 0 || !text(value, "node"))
		return false;
	*ret = (struct investigation_host){ .name = xstrdup(text(value, "node")),
					    .boot = xstrdup(text(value, "boot")),
					    .class = class,
					    .state = state,
					    .sentence = xstrdup(text(value, "sentence")),
					    .by = xstrdup(text(value, "by")),
					    .proven_us = stamp(value, "proven"),
					    .since_us = stamp(value, "since"),
					    .from_us = stamp(value, "from") };
	return true;
}

static bool read_hosts(const json_t *hosts, struct investigation *ret)
{
	const size_t n = json_array_size(hosts);

	if (n == 0 || n > (ret->kind == INVESTIGATION_DIAGNOSIS ? (size_t)DIAGNOSIS_HOSTS_MAX
								: (size_t)INVESTIGATION_HOSTS_MAX))
		return false;
	ret->hosts = xcalloc(n, sizeof(*ret->hosts));
	for (; ret->n_hosts < n; ret->n_hosts++) {
		if (!read_host(json_array_get(hosts, ret->n_hosts), &ret->hosts[ret->n_hosts]))
			return false;
	}
	return true;
}

int investigation_read(const json_t *value, struct investigation *ret, struct err *err)
{
	const char *job = text(value, "job_id");
	struct investigation inv = {
		.id = json_integer_value(json_object_get(value, "id")),
		.job = job && job[0] == 'j' ? strtoll(job + 1, NULL, 10) : 0,
		.run = json_integer_value(json_object_get(value, "run")),
		.kind = streq(text(value, "kind"), investigation_kind_names[INVESTIGATION_DIAGNOSIS])
				? INVESTIGATION_DIAGNOSIS
				: INVESTIGATION_OF_SUSPECTS,
		.state = place_of(text(value, "state"), investigation_state_names,
				  INVESTIGATION_STATES),
		.began_us = stamp(value, "began"),
		.acted_us = stamp(value, "acted"),
		.ended_us = stamp(value, "ended"),
	};

	if (inv.job <= 0 || inv.state < 0 || inv.began_us == 0 || !text(value, "job") ||
	    !read_hosts(json_object_get(value, "hosts"), &inv)) {
		investigation_release(&inv);
		return err_set(err, EBADMSG, "not an investigation");
	}
	inv.job_name = xstrdup(text(value, "job"));
	inv.reason = xstrdup(text(value, "reason"));
	inv.sentence = xstrdup(text(value, "sentence"));
	inv.by = xstrdup(text(value, "by"));
	inv.tests = json_deep_copy(json_object_get(value, "tests"));
	if (!json_is_array(inv.tests)) {
		json_decref(inv.tests);
		inv.tests = json_array();
	}
	if (inv.kind == INVESTIGATION_DIAGNOSIS)
		inv.diagnosis = json_deep_copy(json_object_get(value, "diagnosis"));
	if (json_is_array(json_object_get(value, "pairs")))
		inv.pairs = json_deep_copy(json_object_get(value, "pairs"));
	*ret = inv;
	return 0;
}
