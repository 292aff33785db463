/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_view.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/job/summary.h"
#include "lib/base/xalloc.h"
#include "lib/policy/blame.h"

static double number(const json_t *value, const char *key)
{
	return json_number_value(json_object_get(value, key));
}

/* BLAME_CLASSES: none that we know. */
static int class_of(const json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "class"));
	int i = 0;

	while (i < BLAME_CLASSES && !streq(name, blame_class_names[i]))
		i++;
	return i;
}

/* --- whom the windows blame --- */

/* Does it blame the suspect? A job that slows itself blames nobody, whoever is its slowest. */
static bool does_accuse(const json_t *summary, const json_t *suspect)
{
	return class_of(summary) != BLAME_JOB && json_is_true(json_object_get(suspect, "counts")) &&
	       blame_may_accuse(class_of(suspect));
}

/* A suspect of whom no host is known goes by its place in the job, `name`. Returns how many. */
static size_t hosts_of(const json_t *suspect, const char *name,
		       const char *ret[static SUSPICION_HOSTS_MAX])
{
	const json_t *hosts = json_object_get(suspect, "hosts");
	const size_t n = json_array_size(hosts);
	size_t i;

	for (i = 0; i < MIN(n, (size_t)SUSPICION_HOSTS_MAX); i++)
		ret[i] = json_string_value(json_array_get(hosts, i));
	if (n == 0)
		ret[0] = name;
	return n == 0 ? 1 : n;
}

/* What a window says, as suspicion_add() takes it. */
struct said {
	struct suspicion_suspect suspects[SUSPICION_SUSPECTS_MAX];
	const char *hosts[SUSPICION_SUSPECTS_MAX][SUSPICION_HOSTS_MAX];
	char *names[SUSPICION_SUSPECTS_MAX];
	size_t n;
};

static void said_release(struct said *said)
{
	size_t i;

	for (i = 0; i < said->n; i++)
		free(said->names[i]);
}

static void read_suspects(const json_t *summary, struct said *ret)
{
	const json_t *all = json_object_get(summary, "suspects");
	size_t i;

	for (i = 0; i < json_array_size(all) && ret->n < SUSPICION_SUSPECTS_MAX; i++) {
		const json_t *one = json_array_get(all, i);
		struct suspicion_suspect *to = &ret->suspects[ret->n];

		if (!does_accuse(summary, one))
			continue;
		ret->names[ret->n] = summary_suspect_name(one);
		*to = (struct suspicion_suspect){
			.hosts = ret->hosts[ret->n],
			.n_hosts = hosts_of(one, ret->names[ret->n], ret->hosts[ret->n]),
			.class = class_of(one),
			.counts = true,
			.identifiable = !json_is_false(json_object_get(one, "identifiable")),
			.share = number(json_object_get(one, "share"), "value"),
		};
		ret->n++;
	}
}

/* Without ages it was somewhen before it came. */
static void add_window(struct suspicion *s, const struct job_window *w)
{
	CLEANUP(said_release) struct said said = { .n = 0 };
	const bool dated = w->from_us && w->from_us < w->until_us;
	struct suspicion_window window = {
		.id = w->id,
		.from_us = dated ? w->from_us : w->received_us - MIN(w->received_us, UINT64_C(1)),
		.until_us = dated ? w->until_us : w->received_us,
		.steps = (uint64_t)json_integer_value(json_object_get(w->summary, "steps")),
		.coarse = !dated,
		.suspects = said.suspects,
	};

	read_suspects(w->summary, &said);
	window.n_suspects = said.n;
	/* One that contradicts itself, as with a host twice, blames nobody. */
	if (suspicion_add(s, &window, NULL) == -EINVAL) {
		window.n_suspects = 0;
		(void)suspicion_add(s, &window, NULL);
	}
}

static bool is_of(const struct suspicion_found *found, const char *const *hosts, size_t n, int class)
{
	size_t i;

	if (found->class != class || found->n_hosts != n)
		return false;
	for (i = 0; i < n; i++) {
		if (!streq(found->hosts[i], hosts[i]))
			return false;
	}
	return true;
}

/* NULL: no window that counts blames it. */
static const struct suspicion_found *find(const struct suspicion_list *list, const json_t *suspect,
					  const char *name)
{
	const char *hosts[SUSPICION_HOSTS_MAX];
	const size_t n = hosts_of(suspect, name, hosts);
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (is_of(&list->items[i], hosts, n, class_of(suspect)))
			return &list->items[i];
	}
	return NULL;
}

/* --- what would be done --- */

enum state { HEALTHY, SLOW, INFORMED, WATCHED, SUSPECTED };

static const char *const state_names[] = {
	[HEALTHY] = "healthy", [SLOW] = "slow",		  [INFORMED] = "owner informed",
	[WATCHED] = "watched", [SUSPECTED] = "suspected",
};

struct verdict {
	enum state state;
	const char *action;
	char *reason; /* owned */
};

static void verdict_release(struct verdict *v)
{
	free(v->reason);
}

/* Of a job that has no suspect. */
static struct verdict judge_job(const json_t *summary)
{
	const int class = class_of(summary);
	const struct blame_input in = { .class = class };

	if (class == BLAME_NOTHING)
		return (struct verdict){ HEALTHY, "none",
					 xstrdup("nothing slows it by more than hosts differ") };
	if (class == BLAME_JOB && number(summary, "slowdown") >= BLAME_SLOW)
		return (struct verdict){ INFORMED, "owner", xstrdup(blame_decide(&in).reason) };
	return (struct verdict){ SLOW, "watch",
				 xstrdup("it is slow, and no host explains it: nobody is blamed") };
}

/* Nobody was tested yet: there is no evidence, and the ladder was not run. */
static struct blame_decision decide(const json_t *summary, const struct suspicion_found *found)
{
	const struct blame_input in = {
		.class = found->class,
		.counts = found->counts,
		.evidence = EVIDENCE_NONE,
		.ladder = LADDER_NOT_RUN,
		.limit = found->coarse ? LIMIT_COARSE : LIMIT_NONE,
		.slow = number(summary, "slowdown") >= BLAME_SLOW,
		.identifiable = found->identifiable,
	};

	return blame_decide(&in);
}

static struct verdict judge_suspect(const json_t *summary, const json_t *suspect, const char *name,
				    const struct suspicion_found *found)
{
	const bool named = json_array_size(json_object_get(suspect, "hosts")) > 0;
	const struct blame_decision d = decide(summary, found);

	if (d.action == BLAME_PROBE && !named)
		return (struct verdict){
			WATCHED, "watch",
			xasprintf("%s: the trace does not say which hosts to test: give it "
				  "ranks[].node",
				  name)
		};
	if (d.action == BLAME_PROBE)
		return (struct verdict){ SUSPECTED, "probe",
					 xasprintf("%s would be tested with %s", name,
						   blame_rungs(found->class)) };
	return (struct verdict){ d.action == BLAME_OWNER ? INFORMED : WATCHED,
				 blame_action_names[d.action], xasprintf("%s: %s", name, d.reason) };
}

/* --- all of it --- */

static json_t *show_suspect(const json_t *suspect, const char *name, unsigned of,
			    const struct suspicion_found *found, const struct verdict *verdict)
{
	json_t *shown = json_deep_copy(suspect), *windows = json_array();
	unsigned i;

	for (i = 0; found && i < found->hits; i++)
		(void)json_array_append_new(windows, json_integer((json_int_t)found->ids[i]));
	(void)json_object_set_new(shown, "name", json_string(name));
	(void)json_object_set_new(shown, "hits", json_integer(found ? (json_int_t)found->hits : 0));
	(void)json_object_set_new(shown, "of", json_integer((json_int_t)of));
	(void)json_object_set_new(shown, "windows", windows);
	(void)json_object_set_new(shown, "action", json_string(verdict->action));
	(void)json_object_set_new(shown, "reason", json_string(verdict->reason));
	return shown;
}

/* All that is shown of suspects, and the hardest that is asked for one of them. */
struct shown {
	json_t *suspects; /* newest first, each once */
	struct verdict verdict;
	char *name; /* whom that is about, or NULL; owned */
};

static void shown_release(struct shown *s)
{
	json_decref(s->suspects);
	verdict_release(&s->verdict);
	free(s->name);
}

/* The harder of the two stays. */
static void harden(struct shown *s, struct verdict *its, const char *name)
{
	const struct verdict before = s->verdict;

	if (its->state <= before.state)
		return;
	s->verdict = *its;
	*its = before;
	free(s->name);
	s->name = xstrdup(name);
}

static bool is_shown(const struct shown *s, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(s->suspects); i++) {
		const json_t *one = json_array_get(s->suspects, i);

		if (streq(json_string_value(json_object_get(one, "name")), name))
			return true;
	}
	return false;
}

/* A suspect of one window: of an older one while enough of the last blame it. */
static void add_suspect(struct shown *s, const json_t *summary, const json_t *one, bool newest,
			const struct suspicion_list *list)
{
	CLEANUP(freep) char *name = summary_suspect_name(one);
	CLEANUP(verdict_release) struct verdict its = { .state = HEALTHY };
	const struct suspicion_found *found = find(list, one, name);

	if (!does_accuse(summary, one) || is_shown(s, name) ||
	    (!newest && (!found || found->counts != BLAME_K_OF_N)))
		return;
	its = found ? judge_suspect(summary, one, name, found)
		    : (struct verdict){ HEALTHY, "watch",
					xasprintf("%s: the window is too short, too old or beside "
						  "another to count",
						  name) };
	(void)json_array_append_new(s->suspects, show_suspect(one, name, list->of, found, &its));
	harden(s, &its, name);
}

static void add_suspects(struct shown *s, const struct job_window *windows, size_t n,
			 const struct suspicion_list *list)
{
	size_t i, j;

	for (i = 0; i < n; i++) {
		const json_t *all = json_object_get(windows[i].summary, "suspects");

		for (j = 0; j < json_array_size(all); j++)
			add_suspect(s, windows[i].summary, json_array_get(all, j), i == 0, list);
	}
}

static json_t *view_of_nothing(bool rejected)
{
	return json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s, s:[], s:{s:s, s:s}, s:n}",
			 "hosts", "run", "step_s", "slowdown", "slowdown_low", "slowdown_high",
			 "cause", "suspect", "state", rejected ? "rejected" : "waiting", "suspects",
			 "decision", "action", "none", "reason",
			 rejected ? "its last window was rejected, and none was analysed yet"
				  : "no window of it was analysed yet",
			 "sentence");
}

/* `ret` has the windows that count of those that there are. */
static void suspect(const struct job_window *windows, size_t n, const struct policy_jobs *jobs,
		    struct suspicion *suspicion, struct suspicion_list *ret)
{
	size_t i;

	for (i = 0; i < n; i++)
		add_window(suspicion, &windows[i]);
	suspicion_read(suspicion, jobs, windows[0].received_us, ret);
}

json_t *job_view(const struct job_window *windows, size_t n, bool rejected,
		 const struct policy_jobs *jobs)
{
	static const char *const keys[] = { "hosts",	     "step_s", "slowdown", "slowdown_low",
					    "slowdown_high", "cause",  "suspect",  "sentence" };
	CLEANUP(suspicion_release) struct suspicion suspicion = { 0 };
	CLEANUP(shown_release)
	struct shown shown = { .suspects = json_array(), .verdict = { .state = HEALTHY } };
	struct suspicion_list list;
	json_t *view;
	size_t i;

	if (n == 0)
		return view_of_nothing(rejected);
	suspect(windows, n, jobs, &suspicion, &list);
	shown.verdict = judge_job(windows[0].summary);
	add_suspects(&shown, windows, n, &list);
	view = json_pack("{s:I, s:s, s:O, s:{s:s, s:s}}", "run", (json_int_t)windows[0].run,
			 "state", rejected ? "rejected" : state_names[shown.verdict.state],
			 "suspects", shown.suspects, "decision", "action", shown.verdict.action,
			 "reason", shown.verdict.reason);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(windows[0].summary, keys[i]);

		(void)json_object_set(view, keys[i], value ? value : json_null());
	}
	if (shown.name)
		(void)json_object_set_new(view, "suspect", json_string(shown.name));
	return view;
}
