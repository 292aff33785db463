/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/alerts/alerts_open.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/actor_told.h"
#include "controller/alerts/alert.h"
#include "controller/controller.h"
#include "controller/job/beats.h"
#include "controller/job/hang_board.h"
#include "controller/job/hangs.h"
#include "controller/store/store.h"
#include "controller/store/store_alerts.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/breaker.h"
#include "lib/policy/policy.h"

/* State of one collection. */
struct looking {
	struct alert_set *set;
	uint64_t listens_us, now_us;
	const char *stale; /* why the view of the cluster may be stale, or NULL */
	const struct hang_board *board;
};

static uint64_t age_us(uint64_t at_us, uint64_t now_us)
{
	return now_us - MIN(at_us, now_us);
}

/* --- incidents --- */

static int action_of(const char *name)
{
	int i = 0;

	while (policy_action_names[i] && !streq(policy_action_names[i], name))
		i++;
	return policy_action_names[i] ? i : ACTION_ALERT;
}

/* Shared incidents are stored under "sku:NAME" and the like; host names have no colon. */
static bool is_shared(const struct store_incident_told *i)
{
	return strchr(i->node, ':') != NULL;
}

static char *silence_of(const struct store_incident_told *i, uint64_t now_us)
{
	char at[CLOCK_STAMP_SIZE];

	if (!i->seen_us || age_us(i->seen_us, now_us) < STORE_STALE_US)
		return NULL;
	clock_stamp(i->seen_us, at);
	return xasprintf("%s has not been heard from since %s: whether this still holds is unknown",
			 i->node, at);
}

static void tell_incident(void *context, const struct store_incident_told *i)
{
	const struct looking *l = context;
	const bool shared = is_shared(i);
	CLEANUP(freep) char *stale = shared ? NULL : silence_of(i, l->now_us);
	CLEANUP(freep) char *clears = i->n ? windows_clear_words(&i->windows, i->n) : NULL;
	CLEANUP(freep) char *path = xasprintf("/v1/incidents/%" PRId64, i->id);
	CLEANUP(freep)
	char *command = shared ? xstrdup("assayctl incidents")
			       : xasprintf("assayctl why %s", i->node);

	alert_set_add(
		l->set,
		&(struct alert_facts){
			.kind = shared ? ALERT_SHARED : ALERT_INCIDENT,
			.severity = alert_incident_severity(action_of(i->action), i->fatal),
			.node = i->node,
			.check = i->check,
			.incident = i->id,
			.since_us = i->opened_us,
			.sentence = i->sentence,
			.clears = shared ? "closes when too few of the hosts share it" : clears,
			.command = command,
			.path = path,
			.stale = stale,
		});
}

/* --- the cluster --- */

static void tell_cordon(void *context, const struct actor_told_cordon *c)
{
	const struct looking *l = context;
	CLEANUP(freep) char *path = xasprintf("/v1/nodes/%s", c->node);
	CLEANUP(freep) char *command = xasprintf("assayctl why %s", c->node);
	CLEANUP(freep)
	char *sentence = xasprintf("%s is out of service, cordoned by %s: %s", c->node,
				   c->by ? c->by : "Assay",
				   c->reason ? c->reason : "no reason was given");
	CLEANUP(freep)
	char *clears = c->sticky
			       ? xasprintf("only an operator can release it: assayctl uncordon %s",
					   c->node)
			       : xasprintf("passing tests, or assayctl uncordon %s", c->node);

	alert_set_add(l->set, &(struct alert_facts){
				      .kind = ALERT_CORDON,
				      .severity = alert_cordon_severity(c->by),
				      .node = c->node,
				      .since_us = c->at_us,
				      .sentence = sentence,
				      .clears = clears,
				      .command = command,
				      .path = path,
				      .stale = l->stale,
			      });
}

static void tell_breaker(const struct looking *l, const struct breaker *b)
{
	CLEANUP(freep)
	char *sentence = xasprintf("the breaker is open, so no host is taken out of service: %s",
				   b->sentence);

	if (b->open)
		alert_set_add(
			l->set,
			&(struct alert_facts){
				.kind = ALERT_BREAKER,
				.severity = ALERT_CRITICAL,
				.since_us = b->opened_us,
				.sentence = sentence,
				.clears = "only an operator can reset it: assayctl breaker reset",
				.command = "assayctl breaker",
				.path = "/v1/breaker",
			});
}

static void find_acting(struct service *s, struct looking *l)
{
	if (!actor_knows(s->act))
		return;
	l->stale = actor_stale(s->act);
	actor_told_cordons(s->act, tell_cordon, l);
	tell_breaker(l, actor_told_breaker(s->act));
	alert_set_know(l->set, ALERT_CORDON);
	alert_set_know(l->set, ALERT_BREAKER);
}

/* --- jobs --- */

static bool is_told(const struct alert_set *set, const char *job)
{
	CLEANUP(freep)
	char *labels = alert_labels(&(struct alert_facts){
		.kind = ALERT_SLOW_JOB, .severity = ALERT_WARNING, .job = job });

	return set->told && set->told(set->context, labels);
}

static char *job_sentence(const struct store_job_told *j)
{
	CLEANUP(freep) char *suspect = j->suspect ? xasprintf("; suspect: %s", j->suspect) : NULL;

	return xasprintf("%s takes %.2f times as long as without stragglers%s%s%s", j->name,
			 j->slowdown, j->sentence ? ": " : "", j->sentence ? j->sentence : "",
			 suspect ? suspect : "");
}

static void tell_job(void *context, const struct store_job_told *j)
{
	const struct looking *l = context;
	const bool silent = age_us(j->last_us, l->now_us) >= ALERTS_OPEN_JOB_US;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *command = NULL;
	CLEANUP(freep) char *sentence = NULL;
	bool told;

	/* A silence from before we listened neither ends nor begins an alert. */
	told = is_told(l->set, j->name);
	if ((silent && !told) || !alert_job_is_slow(j->state, j->slowdown, told))
		return;
	path = xasprintf("/v1/jobs/j%" PRId64, j->id);
	command = xasprintf("assayctl job %s", j->name);
	sentence = job_sentence(j);
	alert_set_add(l->set,
		      &(struct alert_facts){
			      .kind = ALERT_SLOW_JOB,
			      .severity = ALERT_WARNING,
			      .job = j->name,
			      .sentence = sentence,
			      .clears = "a window with a slowdown below 1.1, or no window for 2h",
			      .command = command,
			      .path = path,
			      .stale = silent ? "no window of the job has arrived for 2h" : NULL,
		      });
}

static void tell_still(void *context, const struct beats_still *still)
{
	const struct looking *l = context;
	CLEANUP(freep) char *words = hang_board_words(l->board, still->job, still->words);
	CLEANUP(freep)
	char *sentence = still->sure ? xasprintf("%s stands still: %s", still->job, words)
				     : xasprintf("%s was hung when it was last judged", still->job);
	CLEANUP(freep) char *command = xasprintf("assayctl job %s", still->job);

	alert_set_add(l->set, &(struct alert_facts){
				      .kind = ALERT_STOPPED_JOB,
				      .severity = ALERT_CRITICAL,
				      .job = still->job,
				      .since_us = still->since_us,
				      .sentence = sentence,
				      .clears = "its next step, or the end of the job",
				      .command = command,
				      .path = "/v1/jobs",
				      .stale = still->sure ? NULL : still->words,
			      });
}

/* According to its hosts; state from its heartbeats is included. */
static void tell_hung(void *context, const struct hangs_hung *hung)
{
	const struct looking *l = context;
	CLEANUP(freep)
	char *sentence =
		xasprintf("%s hangs: %s", hung->job,
			  hung->sentence ? hung->sentence : "none of its ranks is making progress");
	CLEANUP(freep) char *command = xasprintf("assayctl job %s --ranks", hung->job);

	if (hung->still)
		return;
	alert_set_add(l->set,
		      &(struct alert_facts){
			      .kind = ALERT_STOPPED_JOB,
			      .severity = ALERT_CRITICAL,
			      .job = hung->job,
			      .since_us = hung->since_us,
			      .sentence = sentence,
			      .clears = "progress of one of its ranks, or the end of the job",
			      .command = command,
			      .path = "/v1/jobs",
		      });
}

/* --- everything --- */

int alerts_open_find(struct service *s, struct alert_set *set, uint64_t listens_us, uint64_t now_us,
		     struct err *err)
{
	struct looking l = {
		.set = set, .listens_us = listens_us, .now_us = now_us, .board = s->hang_board
	};
	const uint64_t heard_us = now_us - MIN(now_us, ALERTS_OPEN_JOB_US);
	int r;

	/* What stops jobs, or all of our work, comes before problems of a single host. */
	find_acting(s, &l);
	beats_each_still(s, tell_still, &l);
	hangs_each(s, tell_hung, &l);
	alert_set_know(set, ALERT_STOPPED_JOB);
	/* Jobs silent for longer may have been heard of while nobody listened. */
	r = store_jobs_to_tell(s->store, listens_us > heard_us ? 0 : heard_us, tell_job, &l, err);
	if (r < 0)
		return r;
	alert_set_know(set, ALERT_SLOW_JOB);
	/* One more than fits, so that it is noticed that some are left out. */
	r = store_incidents_to_tell(s->store, ALERTS_MAX + 1, tell_incident, &l, err);
	if (r < 0)
		return r;
	alert_set_know(set, ALERT_INCIDENT);
	alert_set_know(set, ALERT_SHARED);
	return 0;
}
