/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_job.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/job/hang_logs.h"
#include "controller/job/hang_merge.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_judge.h"
#include "lib/hang/hang_rows.h"
#include "lib/hang/hang_words.h"
#include "lib/json/json.h"

enum { SENTENCE_MAX = 2048 };

static uint64_t since(uint64_t from_us, uint64_t now_us)
{
	return now_us - MIN(now_us, from_us);
}

static void forget_case(struct hang_job *job)
{
	hang_case_release(&job->c);
	job->c = (struct hang_case){ .n_ranks = 0 };
	free(TAKE(job->rows));
	job->judged_changes = 0;
}

void hang_job_release(struct hang_job *job)
{
	forget_case(job);
	hang_docs_release(&job->docs);
	hang_places_release(&job->places);
	hang_asks_end(&job->asks);
	json_decref(TAKE(job->found));
	json_decref(TAKE(job->over));
	free(TAKE(job->told));
	free(TAKE(job->still_words));
}

static const json_t *verdict_of(const struct hang_job *job)
{
	return json_object_get(job->found, "verdict");
}

static bool is_open(const struct hang_job *job)
{
	return job->found && json_is_null(json_object_get(job->found, "until"));
}

static int class_of(const json_t *verdict)
{
	const char *name = json_string_value(json_object_get(verdict, "class"));
	int i = 0;

	while (i < HANG_CLASSES && !streq(hang_class_names[i], name))
		i++;
	return i < HANG_CLASSES ? i : (int)HANG_CANNOT_SAY;
}

/* Class and ranks: the same key is no news. */
static char *key_of(const json_t *verdict)
{
	CLEANUP(freep) char *ranks = json_line(json_object_get(verdict, "ranks"));
	CLEANUP(freep) char *suspects = json_line(json_object_get(verdict, "suspects"));

	return xasprintf("%s %s %s", json_string_value(json_object_get(verdict, "class")), ranks,
			 suspects);
}

/* Is the stored finding complete? The file may have been changed by others. */
static bool is_whole(const json_t *found)
{
	const json_t *verdict = json_object_get(found, "verdict");

	return json_is_array(json_object_get(verdict, "ranks")) &&
	       json_is_array(json_object_get(verdict, "suspects")) &&
	       json_is_string(json_object_get(verdict, "class")) &&
	       json_is_string(json_object_get(found, "sentence")) &&
	       json_is_integer(json_object_get(found, "run")) && json_object_get(found, "since") &&
	       json_object_get(found, "until");
}

void hang_job_restore(struct hang_job *job, const json_t *found, uint64_t now_us)
{
	if (!is_whole(found))
		return;
	job->found = json_deep_copy(found);
	job->class = class_of(verdict_of(job));
	if (!is_open(job))
		return;
	job->told = key_of(verdict_of(job));
	job->tells = 1;
	job->told_us = now_us;
	job->hung.state = HUNG_HUNG;
	job->hung.still_us = json_stamp_us(json_object_get(found, "since"));
	job->hung.heard_us = now_us;
	job->said = true;
	job->grace_us = now_us + HANG_JOB_GRACE_US;
}

/* --- state --- */

/* Combine the hosts' documents with its heartbeats. */
static struct hung_sight with_beats(const struct hang_job *job, struct hung_sight sight,
				    uint64_t now_us)
{
	if (job->beats)
		sight.moved_us = MAX(sight.moved_us, job->advanced_us);
	if (!job->still)
		return sight;
	sight.sure = true;
	sight.since_us = sight.since_us ? MIN(sight.since_us, job->advanced_us) : job->advanced_us;
	sight.heard_us = now_us;
	return sight;
}

/* The finding of a pause was never reported: drop it and restore the stored one. */
static void go_on(struct hang_job *job, bool hung, uint64_t now_us)
{
	if (is_open(job) && hung) {
		(void)json_object_set_new(job->found, "until", json_stamp(now_us));
	} else if (is_open(job)) {
		json_decref(job->found);
		job->found = TAKE(job->over);
	}
	json_decref(TAKE(job->over));
	hang_asks_end(&job->asks);
	forget_case(job);
	free(TAKE(job->told));
	job->tells = 0;
	job->told_us = 0;
	job->said = false;
	job->grace_us = 0;
}

bool hang_job_look(struct hang_job *job, uint64_t now_us)
{
	const enum hung_state before = job->hung.state;
	struct hung_sight said, sight;
	enum hung_state after;

	hang_docs_drop(&job->docs, job->beats ? job->run : job->places.run, now_us);
	said = hang_docs_sight(&job->docs, now_us);
	sight = with_beats(job, said, now_us);
	if (now_us < job->grace_us && sight.heard_us == 0 && sight.moved_us == 0)
		return false;
	after = hung_judge(&job->hung, &sight, now_us);
	job->said = after == HUNG_HUNG && (now_us < job->grace_us || said.heard_us != 0);
	if (after == HUNG_HUNG)
		return false;
	if (before == HUNG_HUNG || (after == HUNG_MOVES && !job->quiet && !job->still &&
				    (before != after || is_open(job) || job->asks.began_us)))
		go_on(job, before == HUNG_HUNG, now_us);
	job->unkept |= before == HUNG_HUNG && job->found;
	return before == HUNG_HUNG;
}

/* --- asking hosts --- */

bool hang_job_wants_ask(const struct hang_job *job, uint64_t now_us)
{
	const struct hung *h = &job->hung;
	const uint64_t quiet_us = since(h->still_us, now_us);
	const bool stands = job->still || job->quiet || h->state == HUNG_HUNG ||
			    (h->state == HUNG_QUIET && quiet_us >= hung_limit_us(h, true));

	return stands &&
	       (!job->asks.began_us || since(job->asks.began_us, now_us) >= HANG_JOB_ASK_US);
}

bool hang_job_awaits(const struct hang_job *job, uint64_t now_us)
{
	const struct hang_asks *a = &job->asks;

	if (!a->began_us)
		return true;
	return since(a->began_us, now_us) < HANG_JOB_WAIT_US &&
	       (a->given > a->answered + a->lost || a->answered_us > job->judged_us);
}

/* --- findings --- */

bool hang_job_wants_judge(const struct hang_job *job, uint64_t now_us)
{
	const uint64_t rest_us = MAX(HANG_JOB_JUDGE_US, HANG_JOB_JUDGE_PART * job->cost_us);

	return (job->quiet || job->still || job->hung.state != HUNG_MOVES) &&
	       job->docs.hosts.n > 0 && job->docs.changed != job->judged_changes &&
	       since(job->judged_us, now_us) >= rest_us;
}

static json_t *found_of(const struct hang_job *job, const struct hang_case *c,
			const struct hang_verdict *verdict, uint64_t now_us)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SENTENCE_MAX);
	const uint64_t still_us = job->hung.still_us ? job->hung.still_us : job->advanced_us;

	hang_words_sentence(c, verdict, &text);
	return json_pack("{s:I, s:o, s:o, s:n, s:s, s:s, s:o, s:o}", "run",
			 (json_int_t)(job->beats ? job->run : MAX(job->places.run, 1)), "since",
			 json_stamp(still_us), "judged", json_stamp(now_us), "until", "sentence",
			 strbuf_text(&text), "act", hang_words_act(verdict), "verdict",
			 hang_words_json(c, verdict), "logs", hang_logs_tell(&job->docs));
}

int hang_job_judge(struct hang_job *job, uint64_t now_us, struct err *err)
{
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	struct hang_case c = { .n_ranks = 0 };
	int r = hang_merge(&job->docs, &job->places, &c, err);

	job->judged_us = now_us;
	if (r == 0)
		r = hang_judge(&c, verdict, err);
	if (r < 0) {
		hang_case_release(&c);
		return r;
	}
	forget_case(job);
	job->judged_changes = job->docs.changed;
	if (is_open(job))
		json_decref(job->found);
	else
		job->over = job->found;
	job->found = found_of(job, &c, verdict, now_us);
	job->class = (int)verdict->class;
	job->c = c;
	job->rows = hang_rows_new(&job->c);
	return 0;
}

json_t *hang_job_kept(const struct hang_job *job)
{
	return job->told || !is_open(job) ? job->found : job->over;
}

bool hang_job_tells(struct hang_job *job, uint64_t now_us)
{
	CLEANUP(freep) char *key = NULL;

	if (job->hung.state != HUNG_HUNG || !is_open(job) || hang_job_awaits(job, now_us) ||
	    job->tells >= HANG_JOB_TELLS ||
	    (job->told && since(job->told_us, now_us) < HANG_JOB_TELL_US))
		return false;
	key = key_of(verdict_of(job));
	if (streq(key, job->told))
		return false;
	free(job->told);
	job->told = TAKE(key);
	job->told_us = now_us;
	job->tells++;
	return true;
}

bool hang_job_is_owners(const struct hang_job *job)
{
	return is_open(job) && (job->class == HANG_HOST_STALLED || job->class == HANG_MISMATCH ||
				job->class == HANG_EQUAL_COUNT);
}

static bool rests(const struct hang_job *job)
{
	return !job->beats && job->docs.hosts.n == 0 && job->hung.state == HUNG_MOVES;
}

bool hang_job_is_idle(const struct hang_job *job)
{
	return !job->found && rests(job);
}

uint64_t hang_job_over_us(const struct hang_job *job)
{
	return job->found && !job->unkept && rests(job)
		       ? json_stamp_us(json_object_get(job->found, "until"))
		       : 0;
}

/* --- queries --- */

static json_t *words_of_quiet(const struct hang_job *job, uint64_t now_us)
{
	const struct hung *h = &job->hung;

	return json_sprintf("none of its ranks has made progress for %" PRIu64
			    " s; a pause may take up to %" PRIu64 " s",
			    since(h->still_us, now_us) / USEC_PER_SEC,
			    hung_limit_us(h, false) / USEC_PER_SEC);
}

json_t *hang_job_show(const struct hang_job *job, uint64_t now_us)
{
	const bool hangs = job->hung.state == HUNG_HUNG;
	json_t *shown;

	if (!job->found && job->hung.state == HUNG_MOVES)
		return json_null();
	shown = job->found
			? json_copy(job->found)
			: json_pack("{s:o, s:o, s:n, s:n, s:o, s:n, s:n}", "run",
				    job->beats ? json_integer((json_int_t)job->run) : json_null(),
				    "since", json_stamp(job->hung.still_us), "judged", "until",
				    "sentence",
				    hangs ? json_string("no host has answered yet")
					  : words_of_quiet(job, now_us),
				    "act", "verdict");
	(void)json_object_set_new(shown, "state",
				  json_string(hangs ? hung_state_names[HUNG_HUNG]
					      : job->found && !is_open(job)
						      ? "over"
						      : hung_state_names[HUNG_QUIET]));
	(void)json_object_set_new(shown, "asked", json_integer((json_int_t)job->asks.hosts.n));
	(void)json_object_set_new(shown, "answered", json_integer((json_int_t)job->asks.answered));
	return shown;
}

/* Those of `ranks` whose host in `nodes` is `node`. New reference. */
static json_t *ranks_on(const json_t *ranks, const json_t *nodes, const char *node)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < json_array_size(ranks); i++) {
		if (streq(json_string_value(json_array_get(nodes, i)), node))
			(void)json_array_append(all, json_array_get(ranks, i));
	}
	return all;
}

json_t *hang_job_names(const struct hang_job *job, const char *node)
{
	const json_t *v = verdict_of(job);
	CLEANUP(json_freep) json_t *ranks = NULL;
	CLEANUP(json_freep) json_t *suspects = NULL;

	if (!is_open(job) || job->hung.state != HUNG_HUNG)
		return NULL;
	ranks = ranks_on(json_object_get(v, "ranks"), json_object_get(v, "nodes"), node);
	suspects =
		ranks_on(json_object_get(v, "suspects"), json_object_get(v, "suspect_nodes"), node);
	if (json_array_size(ranks) + json_array_size(suspects) == 0)
		return NULL;
	return json_pack("{s:s, s:o, s:O, s:O, s:O, s:O, s:O, s:O}", "job", job->name, "id",
			 job->id ? json_sprintf("j%" PRId64, job->id) : json_null(), "run",
			 json_object_get(job->found, "run"), "since",
			 json_object_get(job->found, "since"), "class", json_object_get(v, "class"),
			 "ranks", ranks, "suspects", suspects, "sentence",
			 json_object_get(job->found, "sentence"));
}
