/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/beats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/remediation.h"
#include "controller/controller.h"
#include "controller/job/beats_kept.h"
#include "controller/job/beats_told.h"
#include "controller/store/store.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* In the map by name. */
struct beat_job {
	char *name;
	int64_t id;
	struct standstill s, was; /* `was`: as last stored; zeroed: to be stored */
	struct standstill_found found;
	struct beats_kept kept;
	enum standstill_ranks ranks; /* result of the last lookup */
	uint64_t ranks_us;	     /* its time; 0: none in this quiet period */
	uint64_t kept_us;	     /* when the store last heard of it */
	uint64_t full_us;	     /* monotonic: rate limit of its beats, pace() */
	uint64_t tried_us;	     /* last attempt to diagnose it */
	int64_t diagnosed;	     /* run that is not to be diagnosed again */
};

struct beats {
	struct service *s;
	struct map jobs;
	uint64_t looked_us; /* last check; 0: none since the start */
	uint64_t full_us;   /* monotonic: rate limit of new jobs, pace() */
	uint64_t still;
	/* For the check in progress. */
	uint64_t now_us;
	unsigned ranks_left;
	const struct beat_job *gone; /* a job to forget */
};

/* --- storing a job --- */

/* With the next commit. Returns a negative errno if the store failed. */
static int keep(struct beats *b, struct beat_job *job, uint64_t now_us, struct err *err)
{
	CLEANUP(json_freep) json_t *beats = beats_kept_of(&job->s, &job->kept);

	job->was = job->s;
	job->kept_us = now_us;
	service_touch(b->s);
	return store_keep_beats(b->s->store, job->name, beats, now_us, err);
}

/* --- receiving a beat --- */

/*
 * Rate limit of one event per `every_us` with a burst of `at_once` (generic cell rate algorithm,
 * ITU-T I.371). Returns 0 and counts the event, or the time until it is allowed.
 */
static uint64_t pace(uint64_t *full_us, uint64_t every_us, unsigned at_once)
{
	const uint64_t now_us = clock_mono_us(), from_us = MAX(*full_us, now_us);

	if (from_us - now_us > (at_once - 1) * every_us)
		return from_us - now_us - (at_once - 1) * every_us;
	*full_us = from_us + every_us;
	return 0;
}

static int refuse_for(struct beats_taken *ret, uint64_t wait_us, struct err *err, const char *why)
{
	ret->wait_s = (unsigned)(wait_us / USEC_PER_SEC + 1);
	return err_set(err, EAGAIN, "%s", why);
}

static int check_pace(struct beats *b, struct beat_job *known, struct beats_taken *ret,
		      struct err *err)
{
	uint64_t wait_us;

	if (known) {
		wait_us = pace(&known->full_us, BEATS_EVERY_US, BEATS_AT_ONCE);
		return wait_us ? refuse_for(
					 ret, wait_us,
					 err, "more than one beat in 2 s: one every 10 to 60 s is enough")
			       : 0;
	}
	wait_us = pace(&b->full_us, BEATS_NEW_EVERY_US, BEATS_NEW_AT_ONCE);
	return wait_us ? refuse_for(ret, wait_us, err, "too many new jobs at once") : 0;
}

static int need_job(struct beats *b, const char *name, uint64_t now_us, struct beats_taken *ret,
		    struct err *err)
{
	int r = store_find_job(b->s->store, name, &ret->job, err);

	if (r != -ENOENT)
		return r;
	ret->made = true;
	return store_need_job(b->s->store, name, now_us, &ret->job, err);
}

static void find_oldest(void *context, void *item)
{
	const struct beat_job *job = item, **oldest = context;

	if (!*oldest || job->s.heard_us < (*oldest)->s.heard_us)
		*oldest = job;
}

/* The one not heard of for the longest makes room, as in the store. */
static struct beat_job *need(struct beats *b, const char *name)
{
	const struct beat_job *oldest = NULL;

	if (!map_find(&b->jobs, name) && b->jobs.n >= STORE_JOBS_MAX) {
		map_each(&b->jobs, find_oldest, &oldest);
		map_drop(&b->jobs, oldest->name, NULL);
	}
	return map_need(&b->jobs, name, sizeof(struct beat_job));
}

int beats_take(struct service *s, const char *name, const struct standstill_beat *beat,
	       struct beats_taken *ret, struct err *err)
{
	static const struct standstill none;
	struct beat_job *job = map_find(&s->beats->jobs, name);
	const uint64_t now_us = clock_real_us();
	bool ended;
	int r;

	*ret = (struct beats_taken){ 0 };
	/* Beats after the end mean that it was started again, from any step. */
	if (job && job->kept.ended)
		job->s.heard_us = 0;
	r = standstill_check(job ? &job->s : &none, beat, err);
	if (r == 0)
		r = check_pace(s->beats, job, ret, err);
	if (r == 0)
		r = need_job(s->beats, name, now_us, ret, err);
	if (r < 0)
		return err_wrap(err, r, "%.80s", name);
	job = need(s->beats, name);
	if (job->id != ret->job)
		job->was = none; /* the stored state went with the previous job of that name */
	job->id = ret->job;
	if (beat->run != job->s.run || beat->step != job->s.step)
		job->kept.told = false;
	standstill_take(&job->s, beat, now_us);
	job->ranks_us = 0;
	if (job->found.limit_us == 0)
		job->found = standstill_judge(&job->s, STANDSTILL_RANKS_UNKNOWN, now_us);
	ended = job->kept.ended;
	job->kept.ended = beat->done;
	if (ended != beat->done || beats_kept_differ(&job->s, &job->was) ||
	    now_us - MIN(now_us, job->kept_us) >= BEATS_HEARD_EVERY_US)
		return keep(s->beats, job, now_us, err);
	return 0;
}

/* --- once a second --- */

/* Only placements reported since the last beat count. */
static enum standstill_ranks look_up(const struct beats *b, const struct beat_job *job)
{
	const struct store_placement run = { .job = job->name, .run = job->s.run };
	const uint64_t times[2] = { MAX(job->s.heard_us, job->s.since_us), b->now_us };
	struct store_ranks ranks = { 0 };
	struct err err = ERR_INIT;

	if (store_count_ranks(b->s->store, &run, times, &ranks, &err) < 0) {
		log_warning("ranks of %s cannot be read: %s", job->name, err.msg);
		return STANDSTILL_RANKS_UNKNOWN;
	}
	if (ranks.live > 0)
		return STANDSTILL_RANKS_LIVE;
	return ranks.silent == 0 && ranks.ended + ranks.later > 0 ? STANDSTILL_RANKS_GONE
								  : STANDSTILL_RANKS_UNKNOWN;
}

static enum standstill_ranks ranks_of(struct beats *b, struct beat_job *job)
{
	if (!standstill_asks(&job->s, b->now_us)) {
		job->ranks_us = 0;
		return STANDSTILL_RANKS_UNKNOWN;
	}
	if (job->ranks_us && b->now_us - MIN(b->now_us, job->ranks_us) < BEATS_RANKS_EVERY_US)
		return job->ranks;
	if (b->ranks_left == 0)
		return job->ranks_us ? job->ranks : STANDSTILL_RANKS_UNKNOWN;
	b->ranks_left--;
	job->ranks = look_up(b, job);
	job->ranks_us = b->now_us;
	return job->ranks;
}

static void keep_now(struct beats *b, struct beat_job *job)
{
	struct err err = ERR_INIT;

	if (keep(b, job, b->now_us, &err) < 0)
		service_failed(b->s, &err);
}

/* It stands still: report it once, and start what the policy says when possible. */
static void act(struct beats *b, struct beat_job *job)
{
	CLEANUP(freep) char *words = standstill_words(&job->found);
	const struct beats_told_job told = { job->name, job->s.run, words };

	if (!actor_knows(b->s->act))
		return;
	if (!job->kept.told) {
		job->kept.told = true;
		keep_now(b, job);
		beats_told_stopped(b->s, &told);
	}
	if (job->diagnosed == job->s.run ||
	    b->now_us - MIN(b->now_us, job->tried_us) < BEATS_DIAGNOSE_EVERY_US)
		return;
	job->tried_us = b->now_us;
	if (beats_told_diagnose(b->s, &told))
		job->diagnosed = job->s.run;
}

static void look_at(void *context, void *item)
{
	struct beats *b = context;
	struct beat_job *job = item;
	const enum standstill_state before = job->found.state;
	const uint64_t silent_us = b->now_us - MIN(b->now_us, job->s.heard_us);

	job->found = standstill_judge(&job->s, ranks_of(b, job), b->now_us);
	if (job->found.state == STANDSTILL_STILL) {
		b->still++;
		act(b, job);
	} else if (before == STANDSTILL_STILL) {
		log_info("%s no longer hangs: %s", job->name,
			 standstill_state_names[job->found.state]);
	}
	if (job->found.state == STANDSTILL_ENDED && !job->kept.ended) {
		job->kept.ended = true;
		keep_now(b, job);
	}
	if (job->found.state != STANDSTILL_STILL && silent_us >= BEATS_FORGET_US)
		b->gone = job;
}

static void renew(void *context, void *item)
{
	const struct beats *b = context;
	struct beat_job *job = item;

	standstill_renew(&job->s, b->now_us);
	job->ranks_us = 0;
}

static void forget(struct beats *b)
{
	struct beat_job *job = map_find(&b->jobs, b->gone->name);

	if (!job->kept.ended) {
		job->kept.ended = true;
		keep_now(b, job);
	}
	map_drop(&b->jobs, job->name, NULL);
}

static void on_tick(struct service *s)
{
	struct beats *b = s->beats;
	const uint64_t now_us = clock_real_us();

	if (!b || s->closing || s->failing || remediation_other(s))
		return; /* not listening: the next check then sees a gap */
	b->now_us = now_us;
	if (now_us < b->looked_us || now_us - b->looked_us > BEATS_LOOK_GAP_US)
		map_each(&b->jobs, renew, b);
	b->looked_us = now_us;
	b->still = 0;
	b->gone = NULL;
	b->ranks_left = BEATS_RANKS_AT_ONCE;
	map_each(&b->jobs, look_at, b);
	if (b->gone)
		forget(b);
}

/* --- begin and end --- */

static void restore(void *context, int64_t id, const char *name, const json_t *beats)
{
	struct beats *b = context;
	struct standstill kept;
	struct beats_kept state;
	struct beat_job *job;

	if (!beats_kept_read(beats, &kept, &state) || b->jobs.n >= STORE_JOBS_MAX)
		return;
	job = map_need(&b->jobs, name, sizeof(*job));
	job->id = id;
	job->kept = state;
	standstill_restore(&job->s, &kept, b->now_us);
	job->was = job->s;
	job->kept_us = b->now_us;
	job->found = standstill_judge(&job->s, STANDSTILL_RANKS_UNKNOWN, b->now_us);
}

static int open_beats(struct service *s, struct err *err)
{
	struct beats *b = xcalloc(1, sizeof(*b));

	b->s = s;
	b->now_us = b->looked_us = clock_real_us();
	s->beats = b;
	return store_jobs_that_beat(s->store, restore, b, err);
}

/* Everything stored since the last commit was lost: store it again. */
static void keep_again(void *context UNUSED, void *item)
{
	struct beat_job *job = item;

	job->was = (struct standstill){ 0 };
}

static void on_failed(struct service *s)
{
	if (s->beats)
		map_each(&s->beats->jobs, keep_again, NULL);
}

static void close_beats(struct service *s)
{
	struct beats *b = TAKE(s->beats);

	if (!b)
		return;
	map_release(&b->jobs, NULL);
	free(b);
}

const struct controller_part beats_part = {
	.open = open_beats,
	.tick = on_tick,
	.failed = on_failed,
	.close = close_beats,
};

/* --- queries --- */

static json_t *seconds_of(double value)
{
	return value > 0 && isfinite(value) ? json_real(value) : json_null();
}

static json_t *beats_of(const struct beat_job *job)
{
	const struct standstill_found *found = &job->found;
	CLEANUP(freep) char *words = standstill_words(found);

	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:s}", "state",
			 standstill_state_names[found->state], "run", (json_int_t)job->s.run,
			 "step", (json_int_t)job->s.step, "advanced",
			 json_stamp(job->s.advanced_us), "heard",
			 job->s.restored ? json_null() : json_stamp(job->s.heard_us), "step_s",
			 seconds_of(job->s.step_s), "first_s", seconds_of(job->s.first_s), "grown",
			 seconds_of(found->grown), "quiet_s", (double)found->quiet_us / 1e6,
			 "limit_s", (double)found->limit_us / 1e6, "sentence", words);
}

void beats_show(const struct service *s, json_t *item)
{
	const char *name = json_string_value(json_object_get(item, "job"));
	const struct beat_job *job = s->beats ? map_find(&s->beats->jobs, name) : NULL;

	(void)json_object_set_new(item, "beats", job ? beats_of(job) : json_null());
	if (job && job->found.state == STANDSTILL_STILL)
		(void)json_object_set_new(item, "state",
					  json_string(standstill_state_names[STANDSTILL_STILL]));
}

uint64_t beats_standing_still(const struct service *s)
{
	return s->beats ? s->beats->still : 0;
}

struct each_still {
	void (*each)(void *context, const struct beats_still *still);
	void *context;
};

static void tell_still(void *context, void *item)
{
	const struct each_still *to = context;
	const struct beat_job *job = item;
	const bool sure = job->found.state == STANDSTILL_STILL;
	CLEANUP(freep) char *words = NULL;

	if (job->kept.ended || !job->kept.told)
		return;
	words = standstill_words(&job->found);
	to->each(to->context, &(struct beats_still){ job->name, words, job->s.advanced_us, sure });
}

void beats_each_still(const struct service *s,
		      void (*each)(void *context, const struct beats_still *still), void *context)
{
	struct each_still to = { each, context };

	if (s->beats)
		map_each(&s->beats->jobs, tell_still, &to);
}

struct each_now {
	void (*each)(void *context, const struct beats_now *now);
	void *context;
};

static void tell_now(void *context, void *item)
{
	const struct each_now *to = context;
	const struct beat_job *job = item;
	const struct standstill_found *found = &job->found;
	const bool quiet = found->limit_us > 0 && found->quiet_us >= found->limit_us / 2;
	CLEANUP(freep) char *words = quiet ? standstill_words(found) : NULL;

	if (job->kept.ended || job->s.restored)
		return;
	to->each(to->context, &(struct beats_now){
				      .job = job->name,
				      .words = words,
				      .run = job->s.run,
				      .advanced_us = job->s.advanced_us,
				      .quiet = quiet,
				      .still = found->state == STANDSTILL_STILL,
			      });
}

void beats_each(const struct service *s, void (*each)(void *context, const struct beats_now *now),
		void *context)
{
	struct each_now to = { each, context };

	if (s->beats)
		map_each(&s->beats->jobs, tell_now, &to);
}
