/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_view.h"

#include <stdlib.h>

#include "controller/job/summary.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static double number(const json_t *value, const char *key)
{
	return json_number_value(json_object_get(value, key));
}

/* --- verdicts --- */

enum state { HEALTHY, SLOW, LAPSED, ACQUITTED, INFORMED, WATCHED, SUSPECTED };

static const char *const state_names[] = {
	[HEALTHY] = "healthy",	       [SLOW] = "slow",
	[LAPSED] = "lapsed",	       [ACQUITTED] = "acquitted",
	[INFORMED] = "owner informed", [WATCHED] = "watched",
	[SUSPECTED] = "suspected",
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

/* For a job without suspects. */
static struct verdict judge_job(const json_t *summary)
{
	const bool slow = number(summary, "slowdown") >= BLAME_SLOW;
	const int class = job_suspects_class(summary);
	const struct blame_input in = { .class = class, .slow = slow, .identifiable = true };

	if (class == BLAME_NOTHING)
		return (struct verdict){
			HEALTHY, "none",
			xstrdup("nothing slows it down by more than hosts normally differ")
		};
	if (slow && (class == BLAME_JOB || class == BLAME_UNCLEAR))
		return (struct verdict){ INFORMED, "owner", xstrdup(blame_decide(&in).reason) };
	return (struct verdict){
		SLOW, "watch", xstrdup("it is slow, but no host explains that: no host is blamed")
	};
}

/* Nothing is known about its hosts: no evidence, and no ladder. */
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

/* The most severe decision on the hosts of a suspect; NULL: there is none. */
static const struct job_judge_item *item_of(const struct job_judge_result *judged,
					    const struct suspicion_found *found)
{
	const struct job_judge_item *hardest = NULL;
	size_t i;

	for (i = 0; judged && i < judged->n; i++) {
		const struct job_judge_item *one = &judged->items[i];

		if (one->suspect == found && (!hardest || one->action > hardest->action))
			hardest = one;
	}
	return hardest;
}

static enum state state_of(int action, int counts)
{
	if (action == BLAME_OWNER)
		return INFORMED;
	return action > BLAME_OWNER || (action == BLAME_WATCH && counts == BLAME_K_OF_N) ? SUSPECTED
											 : WATCHED;
}

/* The verdict on a suspect of which a host was judged. */
static struct verdict tell_item(const struct job_judge_item *item, const char *name, int mode)
{
	const struct suspicion_found *found = item->suspect;
	CLEANUP(freep) char *slow = job_judge_slow_words(item);
	const char *more = found->class == BLAME_LINK ? item->host->rung : slow;
	struct verdict v = { state_of(item->action, found->counts),
			     blame_action_names[item->action], NULL };

	if (item->acquitted || (item->action == BLAME_ACQUIT && mode == MODE_ENFORCE))
		v.state = ACQUITTED;
	if (item->action != BLAME_PROBE)
		v.reason = xstrdup(item->sentence);
	else if (item->effect)
		v.reason = xasprintf("%s is to be tested with %s%s%s%s", name,
				     blame_rungs(found->class),
				     item->waits ? ", as soon as it is idle" : "", more ? "; " : "",
				     more ? more : "");
	else
		v.reason = xasprintf("%s would be tested with %s", name, blame_rungs(found->class));
	return v;
}

/* The verdict on a suspect without known hosts. */
static struct verdict tell_unknown(const struct blame_decision *d,
				   const struct suspicion_found *found, const char *name, int mode)
{
	if (mode != MODE_OBSERVE)
		return (struct verdict){
			SUSPECTED, "watch",
			xasprintf("%s: the cluster has no host of that name, so nothing is tested",
				  name)
		};
	return (struct verdict){ SUSPECTED, blame_action_names[d->action],
				 xasprintf("%s would be tested with %s", name,
					   blame_rungs(found->class)) };
}

static struct verdict judge_suspect(const json_t *summary, const json_t *suspect, const char *name,
				    const struct suspicion_found *found,
				    const struct job_judge_result *judged)
{
	const bool named = json_array_size(json_object_get(suspect, "hosts")) > 0;
	const struct job_judge_item *item = item_of(judged, found);
	const struct blame_decision d = decide(summary, found);

	if (item)
		return tell_item(item, name, judged->mode);
	if (d.action == BLAME_PROBE && !named)
		return (struct verdict){
			WATCHED, "watch",
			xasprintf("%s: the trace does not say which hosts to test: give it "
				  "ranks[].node",
				  name)
		};
	if (d.action == BLAME_PROBE)
		return tell_unknown(&d, found, name, judged ? judged->mode : MODE_OBSERVE);
	return (struct verdict){ state_of(d.action, BLAME_ONE_WINDOW), blame_action_names[d.action],
				 xasprintf("%s: %s", name, d.reason) };
}

/* The verdict on one that the counting windows do not, or no longer, blame. */
static struct verdict tell_lapsed(const char *name, bool lapsed)
{
	if (lapsed)
		return (struct verdict){ LAPSED, "watch",
					 xasprintf("%s: the last window that blamed it is older "
						   "than jobs.windows.fresh",
						   name) };
	return (struct verdict){
		HEALTHY, "watch",
		xasprintf("%s: the window is too short, or too close to another one, to count", name)
	};
}

/* --- everything --- */

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

/* Suspects as shown, and the most severe verdict among them. */
struct shown {
	json_t *suspects; /* newest first, unique */
	struct verdict verdict;
	char *name; /* whom the verdict is about, or NULL; owned */
};

static void shown_release(struct shown *s)
{
	json_decref(s->suspects);
	verdict_release(&s->verdict);
	free(s->name);
}

/* Keep the more severe of the two. */
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

/* Add a suspect of one window: of an older window only while enough of the last ones blame it. */
static void add_suspect(struct shown *s, const struct job_view_input *in, size_t window,
			const json_t *one)
{
	const struct suspicion_list *list = &in->suspects->list;
	const json_t *summary = in->windows[window].summary;
	CLEANUP(freep) char *name = summary_suspect_name(one);
	CLEANUP(verdict_release) struct verdict its = { .state = HEALTHY };
	const struct suspicion_found *found = job_suspects_find(list, one, name);
	const bool lapsed = !found && job_suspects_find(&in->suspects->ever, one, name);
	json_t *shown;

	if (!job_suspects_accuses(summary, one) || is_shown(s, name) ||
	    (window > 0 && (!found || found->counts != BLAME_K_OF_N)))
		return;
	its = found ? judge_suspect(summary, one, name, found, in->judged)
		    : tell_lapsed(name, lapsed);
	shown = show_suspect(one, name, found ? found->of : list->of, found, &its);
	(void)json_object_set_new(shown, "lapsed", json_boolean(lapsed));
	(void)json_array_append_new(s->suspects, shown);
	harden(s, &its, name);
}

static void add_suspects(struct shown *s, const struct job_view_input *in)
{
	size_t i, j;

	for (i = 0; i < in->n; i++) {
		const json_t *all = json_object_get(in->windows[i].summary, "suspects");

		for (j = 0; j < json_array_size(all); j++)
			add_suspect(s, in, i, json_array_get(all, j));
	}
}

static json_t *view_of_nothing(bool rejected)
{
	return json_pack(
		"{s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s, s:[], "
		"s:{s:s, s:s}, s:n}",
		"hosts", "run", "step_s", "slowdown", "slowdown_low", "slowdown_high", "cause",
		"suspect", "state", rejected ? "rejected" : "waiting", "suspects", "decision",
		"action", "none", "reason",
		rejected ? "its last window was rejected, and no other has been analysed yet"
			 : "no window of the job has been analysed yet",
		"sentence");
}

/* Name the current suspect, unless it has lapsed or was acquitted. */
static void name_suspect(json_t *view, const struct shown *shown)
{
	if (shown->verdict.state == LAPSED || shown->verdict.state == ACQUITTED)
		(void)json_object_set_new(view, "suspect", json_null());
	else if (shown->name)
		(void)json_object_set_new(view, "suspect", json_string(shown->name));
}

json_t *job_view(const struct job_view_input *in)
{
	static const char *const keys[] = { "hosts",	     "step_s", "slowdown", "slowdown_low",
					    "slowdown_high", "cause",  "suspect",  "sentence" };
	CLEANUP(shown_release)
	struct shown shown = { .suspects = json_array(), .verdict = { .state = HEALTHY } };
	json_t *view;
	size_t i;

	if (in->n == 0)
		return view_of_nothing(in->rejected);
	shown.verdict = judge_job(in->windows[0].summary);
	add_suspects(&shown, in);
	view = json_pack("{s:I, s:s, s:O, s:{s:s, s:s}}", "run", (json_int_t)in->windows[0].run,
			 "state", in->rejected ? "rejected" : state_names[shown.verdict.state],
			 "suspects", shown.suspects, "decision", "action", shown.verdict.action,
			 "reason", shown.verdict.reason);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(in->windows[0].summary, keys[i]);

		(void)json_object_set(view, keys[i], value ? value : json_null());
	}
	name_suspect(view, &shown);
	return view;
}

bool job_view_informs(json_t *view, const json_t *before)
{
	const char *cause = json_string_value(json_object_get(view, "cause"));
	const bool same = json_equal(json_object_get(view, "run"), json_object_get(before, "run"));
	json_t *told = same ? json_copy(json_object_get(before, "informed")) : NULL;
	bool news;

	told = told ? told : json_array();
	cause = cause ? cause : "unknown";
	news = streq(json_string_value(json_object_get(view, "state")), state_names[INFORMED]) &&
	       !json_has_text(told, cause);
	if (news)
		(void)json_array_append_new(told, json_string(cause));
	(void)json_object_set_new(view, "informed", told);
	return news;
}
