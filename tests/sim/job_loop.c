/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/job_loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/actions/retest.h"
#include "controller/fleet/hosts.h"
#include "controller/job/investigation.h"
#include "controller/job/job_facts.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/job_judge.h"
#include "lib/policy/rungs.h"
#include "tests/sim/job_window.h"
#include "tests/sim/memory_store.h"
#include "tests/sim/sim.h"

/* The age of a window's end when it arrives, and its duration. */
#define WINDOW_AGE_US (15 * USEC_PER_SEC)
#define WINDOW_LONG_US (2 * USEC_PER_MIN)

/* Strings of controller/actions and controller/store that are needed here. */
const char *const retest_words[] = { "it passed", "it failed again", "it brought nothing" };
const char *const action_kind_names[] = {
	[ACT_RETEST] = "retest", [ACT_VERIFIED] = "verified", NULL
};
const char *const action_state_names[] = {
	[ACTION_DECIDED] = "decided",
	[ACTION_DONE] = "done",
	[ACTION_FAILED] = "failed",
	[ACTION_DROPPED] = "dropped",
	[ACTION_DRY_RUN] = "dry-run",
	[ACTION_REFUSED] = "refused",
	NULL,
};

void job_loop_open(struct sim *s)
{
	s->jobs.desk.tests = xcalloc(s->options->nodes, sizeof(*s->jobs.desk.tests));
	s->jobs.desk.said = xcalloc(s->options->nodes, sizeof(*s->jobs.desk.said));
	s->jobs.desk.proven = xcalloc(s->options->nodes, sizeof(*s->jobs.desk.proven));
}

void job_loop_close(struct sim *s)
{
	struct job_desk *desk = &s->jobs.desk;
	size_t i;

	for (i = 0; desk->tests && i < s->options->nodes; i++)
		json_decref(desk->tests[i]);
	free(desk->tests);
	free(desk->said);
	free(desk->proven);
	job_loads_release(&desk->loads);
	*desk = (struct job_desk){ .tests = NULL };
}

void job_loop_release(struct job_loop *loop)
{
	suspicion_release(&loop->windows);
	free(loop->boots);
	*loop = (struct job_loop){ .run = 0 };
}

/* --- tests --- */

static void end_test(json_t *test, int state, const char *result, uint64_t now_us)
{
	(void)json_object_set_new(test, "state", json_string(action_state_names[state]));
	(void)json_object_set_new(test, "result", json_string(result));
	(void)json_object_set_new(test, "done", json_stamp(now_us));
}

/* Returns the pending test, or NULL. */
static json_t *open_test(const struct sim *s, size_t host)
{
	json_t *test = json_array_get(s->jobs.desk.tests[host], 0);

	return json_is_null(json_object_get(test, "done")) ? test : NULL;
}

void job_loop_ordered(struct sim *s, size_t host, const char *check, const char *profile)
{
	json_t **tests = &s->jobs.desk.tests[host];
	json_t *before = open_test(s, host);

	job_waits_ordered(s, host);
	if (before)
		end_test(before, ACTION_DROPPED, "overtaken", s->now_us);
	if (!*tests)
		*tests = json_array();
	(void)json_array_insert_new(*tests, 0,
				    json_pack("{s:i, s:s, s:s, s:o, s:{s:s?, s:s?}, s:n, s:n}",
					      "id", 0, "action", action_kind_names[ACT_RETEST],
					      "state", action_state_names[ACTION_DECIDED], "at",
					      json_stamp(s->now_us), "evidence", "check", check,
					      "profile", profile, "done", "result"));
	while (json_array_size(*tests) > JOB_FACTS_TESTS_MAX)
		(void)json_array_remove(*tests, JOB_FACTS_TESTS_MAX);
}

void job_loop_tested(struct sim *s, size_t host, int outcome)
{
	json_t *test = open_test(s, host);
	const bool blamed = s->agents[host].node->blame.class != BLAME_NOTHING;

	s->jobs.grade.outcomes[outcome] += blamed;
	job_waits_tested(s, host);
	if (s->options->trace && blamed)
		(void)fprintf(stderr, "day %.4f %s is blamed, and was tested: %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->hosts[host].name,
			      retest_words[outcome]);
	if (test)
		end_test(test, ACTION_DONE, retest_words[outcome], s->now_us);
}

/* --- windows --- */

static const struct host *known(const struct sim *s, size_t host)
{
	return hosts_find(&s->known, s->hosts[host].name);
}

static void note_boot(const struct sim *s, struct job_loop *loop, int64_t window, size_t host)
{
	const struct host *h = known(s, host);
	struct job_boot *boot;

	if (!h || !h->boot_id)
		return;
	if (!loop->boots)
		loop->boots = xcalloc(JOB_LOOP_BOOTS_MAX, sizeof(*loop->boots));
	boot = &loop->boots[loop->n_boots++ % JOB_LOOP_BOOTS_MAX];
	*boot = (struct job_boot){ .window = window, .host = host };
	(void)snprintf(boot->boot_id, sizeof(boot->boot_id), "%s", h->boot_id);
}

void job_loop_window(struct sim *s, struct sim_job *job, const struct job_window_result *found,
		     const size_t *map)
{
	struct job_loop *loop = &job->loop;
	struct suspicion_suspect suspects[SUSPECTS_MAX];
	const char *hosts[SUSPECTS_MAX];
	const uint64_t until_us = s->now_us - WINDOW_AGE_US;
	const struct suspicion_window window = { .id = ++s->jobs.windows,
						 .from_us = until_us - WINDOW_LONG_US,
						 .until_us = until_us,
						 .steps = JOB_WINDOW_STEPS,
						 .suspects = suspects,
						 .n_suspects = found->n };
	size_t i;

	if (loop->run != job->run) {
		suspicion_release(&loop->windows);
		loop->n_boots = loop->n_known = 0;
		loop->run = job->run;
	}
	for (i = 0; i < found->n; i++) {
		const size_t host = map[found->list[i].worker];

		hosts[i] = s->hosts[host].name;
		suspects[i] =
			(struct suspicion_suspect){ .hosts = &hosts[i],
						    .n_hosts = 1,
						    .class = found->list[i].class,
						    .counts = true,
						    .identifiable = found->list[i].identifiable,
						    .share = found->list[i].share };
		note_boot(s, loop, window.id, host);
	}
	loop->class = found->class;
	loop->slowdown = found->slowdown;
	/* Fails only for inconsistent windows; ours are consistent. */
	if (suspicion_add(&loop->windows, &window, NULL) < 0)
		abort();
}

/* --- facts --- */

static size_t number_of(const char *name)
{
	return strtoul(name + strlen("node-"), NULL, 10);
}

static const struct job_suspect *known_suspect(const struct job_loop *loop, const char *host,
					       int class)
{
	size_t i;

	for (i = 0; i < loop->n_known; i++) {
		if (streq(loop->known[i].host, host) && loop->known[i].class == class)
			return &loop->known[i];
	}
	return NULL;
}

/* Has it rebooted since one of the windows that blame it? */
static bool has_booted(const struct job_loop *loop, const struct suspicion_found *found,
		       size_t number, const struct host *host)
{
	const size_t n = MIN(loop->n_boots, (size_t)JOB_LOOP_BOOTS_MAX);
	size_t i;
	unsigned k;

	for (i = 0; host && host->boot_id && i < n; i++) {
		for (k = 0; k < found->hits && found->ids[k] != loop->boots[i].window; k++)
			;
		if (k < found->hits && loop->boots[i].host == number &&
		    !streq(loop->boots[i].boot_id, host->boot_id))
			return true;
	}
	return false;
}

/* A job being judged. */
struct judged {
	struct sim *s;
	struct sim_job *job;
	struct suspicion_list list;
	struct job_suspect notes[SUSPICION_LIST_MAX]; /* of the list */
	struct job_facts facts[SUSPICION_LIST_MAX];
	struct job_judge_host hosts[SUSPICION_LIST_MAX];
	size_t n_hosts;
	bool often; /* it may not be investigated again */
	struct job_judge_result result;
};

/* Notes since when the host is a suspect; a new suspect is graded. */
static void note(struct judged *j, size_t place)
{
	const struct suspicion_found *found = &j->list.items[place];
	const struct job_suspect *before =
		known_suspect(&j->job->loop, found->hosts[0], found->class);
	struct job_suspect *note = &j->notes[place];
	const size_t host = number_of(found->hosts[0]);

	*note = (struct job_suspect){ .host = j->s->hosts[host].name,
				      .class = found->class,
				      .begun_us = before ? before->begun_us : 0 };
	if (found->counts != BLAME_K_OF_N)
		return;
	note->since_us = before && before->since_us ? before->since_us
						    : json_stamp_whole(j->s->now_us);
	if (!before || !before->since_us)
		job_grade_named(j->s, j->job, host);
}

static bool has_host(const struct judged *j, const char *name)
{
	size_t i;

	for (i = 0; i < j->n_hosts; i++) {
		if (streq(j->hosts[i].name, name))
			return true;
	}
	return false;
}

/* Returns the time of this job's acquittal of a host; 0: none. */
static uint64_t acquitted_us(const struct job_loop *loop, size_t host)
{
	uint64_t newest_us = 0;
	size_t i;

	for (i = 0; i < MIN(loop->n_acquitted, (size_t)JOB_LOOP_ACQUITTED_MAX); i++) {
		if (loop->acquitted[i].host == host)
			newest_us = MAX(newest_us, loop->acquitted[i].at_us);
	}
	return newest_us;
}

static void note_acquitted(struct judged *j, const struct job_judge_item *item)
{
	struct job_loop *loop = &j->job->loop;

	if (item->action == BLAME_ACQUIT)
		loop->acquitted[loop->n_acquitted++ % JOB_LOOP_ACQUITTED_MAX] =
			(struct job_acquitted){ number_of(item->host->name),
						json_stamp_whole(j->s->now_us) };
}

/* Returns its latest active run, in the form in which the store keeps a full one. */
static struct store_whole run_of(const struct sim *s, size_t number)
{
	struct store_whole run = { .boot = NULL };
	const struct verdict *v = memory_store_active(s->store, number, &run.at_us);

	if (!v)
		return run;
	run.boot = s->hosts[number].boot_id;
	run.profile = RUNGS_WHOLE;
	run.level = v->level;
	run.items = v->items;
	run.n_items = v->n_items;
	return run;
}

static void add_host(struct judged *j, size_t place)
{
	struct sim *s = j->s;
	const struct job_suspect *suspect = &j->notes[place];
	const size_t number = number_of(suspect->host);
	const struct host *host = known(s, number);
	const struct store_whole run = run_of(s, number);
	const struct job_facts_source source = {
		.fleet = &s->fleet,
		.node = s->agents[number].node,
		.actions = s->jobs.desk.tests[number],
		.policy = &s->rules.policy,
		.run = run.boot ? &run : NULL,
		.run_of_now = host && run.at_us >= host->since_us,
		.acquitted_us = acquitted_us(&j->job->loop, number),
		.speed = map_find(&s->speeds, s->hosts[number].name),
		.placed = true,
		.busy = job_is_on(s, number),
		.booted = has_booted(&j->job->loop, &j->list.items[place], number, host),
		.boot_us = host && host->known ? host->since_us : 0,
		.suspected_us = suspect->since_us,
	};

	if (has_host(j, suspect->host))
		return;
	job_facts_of(source.node->name, &source, &j->facts[j->n_hosts]);
	j->hosts[j->n_hosts] = j->facts[j->n_hosts].host;
	j->n_hosts++;
}

/* --- how often the job was investigated --- */

static bool is_of_now(const struct judged *j, uint64_t stamp_us)
{
	size_t i;

	for (i = 0; i < j->list.n; i++) {
		if (j->notes[i].begun_us == stamp_us)
			return true;
	}
	return false;
}

/* Drops investigations that no longer count. Returns how many of the rest are over. */
static uint64_t recall_looks(struct judged *j)
{
	struct job_loop *loop = &j->job->loop;
	uint64_t over = 0;
	size_t i, kept = 0;

	for (i = 0; i < loop->n_looked; i++) {
		const uint64_t at_us = loop->looked_us[i];

		if (at_us + j->s->rules.policy.jobs.investigations_per_us <= j->s->now_us)
			continue;
		loop->looked_us[kept++] = at_us;
		over += !is_of_now(j, at_us);
	}
	loop->n_looked = kept;
	return over;
}

static void begin_look(struct judged *j)
{
	struct job_loop *loop = &j->job->loop;
	bool begun = false;
	size_t i;

	loop->tested = 0;
	for (i = 0; i < j->result.n; i++) {
		const struct job_judge_item *item = &j->result.items[i];
		struct job_suspect *note = &j->notes[item->suspect - j->list.items];

		note->kept_us =
			MAX(note->kept_us, job_judge_keep(&j->s->rules.policy, &j->result, item));
		if (item->action != BLAME_PROBE || !item->effect)
			continue;
		loop->tested++;
		if (item->waits)
			continue;
		/* After an expired acquittal it is a new investigation. */
		if (note->begun_us > 0 && note->begun_us >= item->host->acquitted_us)
			continue;
		begun = true;
		note->begun_us = j->s->now_us;
	}
	if (begun && loop->n_looked < JOB_LOOP_LOOKED_MAX)
		loop->looked_us[loop->n_looked++] = j->s->now_us;
}

/* --- blame of hosts --- */

static void grade(const struct judged *j, const struct job_judge_item *item)
{
	const struct sim *s = j->s;
	const struct job_suspect *note = &j->notes[item->suspect - j->list.items];
	const struct job_suspect *before = known_suspect(&j->job->loop, note->host, note->class);

	if (note->since_us == 0 || (before && before->since_us))
		return;
	job_grade_answer(j->s, item, j->often);
	if (s->options->trace)
		(void)fprintf(stderr, "day %.3f suspect: %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, item->sentence);
}

/* Keeps the blame from the first time that job and tests agree. */
static void keep_proven(struct judged *j, const struct job_judge_item *item)
{
	const size_t number = number_of(item->host->name);
	struct job_proven *proven = &j->s->jobs.desk.proven[number];
	const struct host *host = known(j->s, number);

	if (item->blame.class == BLAME_NOTHING || !host || !host->boot_id ||
	    proven->blame.class != BLAME_NOTHING)
		return;
	*proven = (struct job_proven){ .blame = item->blame, .since_us = item->host->suspected_us };
	proven->blame.job = j->job->name;
	proven->blame.check = NULL;
	proven->blame.until_us = j->s->now_us + INVESTIGATION_PROVEN_US;
	(void)snprintf(proven->boot_id, sizeof(proven->boot_id), "%s", host->boot_id);
}

static void say(struct judged *j)
{
	struct blame blame;
	size_t i;

	for (i = 0; i < j->result.n; i++) {
		const struct job_judge_item *item = &j->result.items[i];
		struct blame *said = &j->s->jobs.desk.said[number_of(item->host->name)];

		grade(j, item);
		note_acquitted(j, item);
		if (item->suspect->counts == BLAME_K_OF_N)
			job_waits_judged(j->s, number_of(item->host->name), item);
		if (item->slow)
			job_grade_silicon(j->s, number_of(item->host->name));
		keep_proven(j, item);
		if (job_judge_blame(&j->s->rules.policy, j->job->name, &j->result, item,
				    item->host->suspected_us ? MAX(item->host->suspected_us,
								   item->host->acquitted_us)
							     : 0,
				    &blame) &&
		    blame_is_harder(&blame, said))
			*said = blame;
	}
}

/* --- judging --- */

static uint64_t tested_for_others(const struct sim *s, const struct sim_job *job)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < s->jobs.n; i++)
		n += i == job->number ? 0 : s->jobs.list[i].loop.tested;
	return n;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct job_judge_host *)a)->name,
		      ((const struct job_judge_host *)b)->name);
}

static void judge_suspects(struct judged *j)
{
	struct job_loop *loop = &j->job->loop;
	struct job_judge_input input = { .job = j->job->name,
					 .class = loop->class,
					 .slowdown = loop->slowdown,
					 .suspects = &j->list,
					 .hosts = j->hosts,
					 .loads = j->s->jobs.desk.loads.all,
					 .n_loads = j->s->jobs.desk.loads.n,
					 .under_way = tested_for_others(j->s, j->job) };
	size_t i;

	for (i = 0; i < j->list.n; i++)
		note(j, i);
	for (i = 0; i < j->list.n; i++)
		add_host(j, i);
	if (j->n_hosts > 1)
		qsort(j->hosts, j->n_hosts, sizeof(*j->hosts), by_name);
	input.n_hosts = j->n_hosts;
	input.investigations = recall_looks(j);
	j->often = input.investigations >= j->s->rules.policy.jobs.investigations;
	job_judge(&j->s->rules.policy, &input, j->s->now_us, &j->result);
	begin_look(j);
	job_loads_take(&j->s->jobs.desk.loads, (int64_t)j->job->number + 1, &j->result,
		       j->s->now_us);
	say(j);
	job_judge_release(&j->result);
}

/* Reads the suspects of the job's windows; keeps those that wait for tests. */
static void read_list(struct judged *j)
{
	const struct job_loop *loop = &j->job->loop;
	struct suspicion_extension kept[SUSPICION_LIST_MAX];
	const struct suspicion_extensions extensions = { kept, loop->n_known };
	size_t i;

	for (i = 0; i < loop->n_known; i++)
		kept[i] = (struct suspicion_extension){ &loop->known[i].host, 1,
							loop->known[i].class,
							loop->known[i].kept_us };
	suspicion_read(&loop->windows, &j->s->rules.policy.jobs, &extensions, j->s->now_us,
		       &j->list);
}

static void judge(struct sim *s, struct sim_job *job)
{
	const struct job_judge_result none = { .n = 0 };
	CLEANUP(freep) struct judged *j = NULL;

	/* Most jobs never blame a host. */
	if (job->loop.windows.n == 0 || (job->loop.n_boots == 0 && job->loop.n_known == 0))
		return;
	j = xcalloc(1, sizeof(*j));
	j->s = s;
	j->job = job;
	read_list(j);
	job->loop.tested = 0;
	if (j->list.n > 0)
		judge_suspects(j);
	else
		job_loads_take(&s->jobs.desk.loads, (int64_t)job->number + 1, &none, s->now_us);
	memcpy(job->loop.known, j->notes, j->list.n * sizeof(*j->notes));
	job->loop.n_known = j->list.n;
}

/* Proven blame holds while the finding and the boot last, until the host is out of service. Returns
 * the check, borrowed from the fleet; NULL: it no longer holds. */
static const char *stands(const struct sim *s, size_t number)
{
	const struct job_proven *proven = &s->jobs.desk.proven[number];
	const struct host *host = known(s, number);
	const struct job_facts_source source = {
		.fleet = &s->fleet,
		.node = s->agents[number].node,
		.actions = s->jobs.desk.tests[number],
		.policy = &s->rules.policy,
		.placed = true,
		.booted = !host || !streq(host->boot_id, proven->boot_id),
		.boot_us = host && host->known ? host->since_us : 0,
		.suspected_us = proven->since_us,
	};
	CLEANUP(freep) struct job_facts *facts = xcalloc(1, sizeof(*facts));

	if (!blame_holds(&proven->blame, s->now_us) || source.node->out & OUT_OURS)
		return NULL;
	job_facts_of(source.node->name, &source, facts);
	return job_judge_proves(&s->rules.policy, proven->blame.class, &facts->host);
}

static void say_proven(struct sim *s, size_t number)
{
	struct job_proven *proven = &s->jobs.desk.proven[number];

	if (proven->blame.class == BLAME_NOTHING)
		return;
	proven->blame.check = (char *)(uintptr_t)stands(s, number);
	if (!proven->blame.check)
		*proven = (struct job_proven){ .since_us = 0 };
	else if (blame_is_harder(&proven->blame, &s->jobs.desk.said[number]))
		s->jobs.desk.said[number] = proven->blame;
}

void job_loop_judge(struct sim *s)
{
	struct blame *said = s->jobs.desk.said;
	size_t i;

	if (s->jobs.n == 0)
		return;
	memset(said, 0, s->options->nodes * sizeof(*said));
	job_waits_minute(s);
	job_loads_look(&s->jobs.desk.loads, &s->fleet);
	for (i = 0; i < s->jobs.n; i++)
		judge(s, &s->jobs.list[i]);
	job_waits_settle(s);
	for (i = 0; i < s->options->nodes; i++) {
		struct fleet_node *node = s->agents[i].node;

		say_proven(s, i);
		if (blame_equals(&node->blame, &said[i]))
			continue;
		fleet_set_blame(node, said[i].class == BLAME_NOTHING ? NULL : &said[i]);
		s->changed = true;
	}
}
