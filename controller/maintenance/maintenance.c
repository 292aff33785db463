/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/maintenance/maintenance.h"

#include <inttypes.h>

#include "controller/controller.h"
#include "controller/store/store.h"
#include "controller/store/store_backup.h"
#include "controller/store/store_topology.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

/* A slice of work, and the pause before the next: at most a tenth of a core. */
#define SLICE_US (2 * USEC_PER_MSEC)
#define PAUSE_US (20 * USEC_PER_MSEC)
/* Between rounds: how often to look, and how often to begin one. */
#define FIRST_US (2 * USEC_PER_SEC)
#define LOOK_US USEC_PER_SEC
#define ROUND_US USEC_PER_HOUR
/* A table that stays full is told so often. */
#define FULL_AGAIN_US USEC_PER_HOUR

/* Times become shorter as soon as the store is too large, and longer at the hour. */
static void squeeze(struct service *s, bool hour)
{
	struct retention_job *t = &s->retention_job;
	struct store_size size = { 0 };
	unsigned next;

	if (store_size(s->store, &size, NULL) < 0)
		return;
	next = retention_squeeze_next(t->squeeze, size.used, t->max_bytes);
	if (next > t->squeeze)
		log_warning("the store is above db-max: history is kept for less time halved=%u "
			    "bytes=%" PRIu64 " db-max=%" PRIu64,
			    next, size.used, t->max_bytes);
	if (next > t->squeeze || hour)
		t->squeeze = next;
}

/* Is it time for a round? */
static bool round_due(struct service *s, uint64_t now_us)
{
	struct retention_job *t = &s->retention_job;
	bool hour = t->round_mono_us == 0 || now_us - t->round_mono_us >= ROUND_US;
	unsigned before = t->squeeze;

	if (t->running)
		return false;
	squeeze(s, hour);
	return hour || t->again || t->squeeze > before;
}

static int thin(struct service *s, uint64_t now_us, struct err *err)
{
	int r = 0;

	if (round_due(s, now_us))
		r = retention_job_begin(&s->retention_job, s->store, clock_real_us(), now_us, err);
	return r == 0 ? retention_job_step(&s->retention_job, s->store, now_us + SLICE_US, err) : r;
}

/* Baselines that nothing was learnt for are kept as long as hosts nothing is heard of. */
static uint64_t baselines_since_us(const struct service *s)
{
	uint64_t now_us = clock_real_us();

	return now_us - MIN(now_us, s->settings->keep.nodes_us);
}

static int save(struct service *s, uint64_t now_us, uint64_t deadline_us, struct err *err)
{
	if (now_us >= s->save_us) {
		s->save_us = now_us + BASELINE_SAVE_US;
		baseline_saver_begin(&s->saver, &s->baselines, baselines_since_us(s));
	}
	return baseline_saver_step(&s->saver, s->store, clock_real_us(), deadline_us, err);
}

/* A host that has filled its share of a table, or a table that all of them have filled. */
static void tell_table(struct service *s, struct shares *shares, const char *what, size_t own,
		       struct told_table *told)
{
	uint64_t now_us = clock_mono_us();
	CLEANUP(freep) char *node = TAKE(shares->crowded);

	if (node && log_limit_take(&s->crowded, now_us))
		log_warning("a host has more than %zu %s of its own: dropping its oldest; does a "
			    "probe put a varying value into its checks or params? node=%s",
			    own, what, node);
	if (shares->filled > told->filled &&
	    (told->at_us == 0 || now_us - told->at_us >= FULL_AGAIN_US)) {
		log_warning(
			"the table of %s is full: dropping those with the fewest hosts, %" PRIu64
			" so far",
			what, shares->dropped);
		*told = (struct told_table){ now_us, shares->filled };
	}
}

static void tell_tables(struct service *s)
{
	uint64_t missed = log_limit_end(&s->crowded, clock_mono_us());

	if (missed > 0)
		log_warning("%" PRIu64 " more hosts exceed the limit as well", missed);
	tell_table(s, &s->baselines.shares, "baselines", BASELINES_OWN_MAX, &s->told_baselines);
	tell_table(s, &s->baselines.anomalies.shares, "checks that fail", ANOMALIES_OWN_MAX,
		   &s->told_anomalies);
}

/* Now and then all pages of the store are held against their sums. */
static int look(struct service *s, uint64_t now_us)
{
	if (!s->looking && now_us < s->look_us)
		return 0;
	s->looking = store_look(s->store, now_us + SLICE_US) == 1;
	if (!s->looking)
		s->look_us = now_us + ROUND_US;
	service_tell_health(s);
	return s->looking;
}

/* Go on with the copy of the store, if one is being made: 1 while it is. */
static int copy(struct service *s)
{
	struct err err = ERR_INIT;
	int r = store_backup_step(s->store, clock_mono_us() + SLICE_US, &err);

	if (r < 0)
		log_error("cannot back up the store: %s", err.msg);
	return r == 1;
}

/* One slice: 1 when there is more to do at once. */
static int work(struct service *s, uint64_t now_us, struct err *err)
{
	int r = 0, more;

	/* Nobody may report for long: whether it can be written again is to be found out. */
	if (s->failing)
		r = store_put_mark(s->store, "tried", clock_real_us(), err);
	if (r == 0)
		r = thin(s, now_us, err);
	if (r < 0)
		return r;
	more = save(s, now_us, now_us + SLICE_US, err);
	if (more < 0)
		return more;
	r |= more | look(s, clock_mono_us()) | copy(s);
	more = store_hear_more(s->store, now_us + SLICE_US, err);
	return more < 0 ? more : r | more;
}

static int on_maintenance(sd_event_source *source, uint64_t due_us, void *context)
{
	struct service *s = context;
	struct err err = ERR_INIT;
	int r = work(s, clock_mono_us(), &err);

	(void)due_us;
	tell_tables(s);
	if (r < 0)
		service_failed(s, &err);
	else if (store_dirty(s->store))
		service_touch(s);
	(void)sd_event_source_set_time_relative(source, r == 1 ? PAUSE_US : LOOK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void on_forgotten(void *context, const char *node)
{
	struct service *s = context;

	baselines_forget(&s->baselines, node);
	controller_forget(s, node);
	hosts_forget(&s->hosts, node);
	opinions_forget(&s->opinions, node);
	live_forget(&s->live, node);
	log_info("removing a host that has not reported for long node=%s", node);
}

static int open_maintenance(struct service *s, struct err *err)
{
	uint64_t hosts = 0;
	int r = baselines_load(&s->baselines, s->store, baselines_since_us(s), &hosts, err);

	if (r < 0)
		return r;
	s->retention_job.forgotten = on_forgotten;
	s->retention_job.context = s;
	s->save_us = clock_mono_us() + BASELINE_SAVE_US;
	r = sd_event_add_time_relative(s->loop, &s->maintenance_timer, CLOCK_MONOTONIC, FIRST_US,
				       USEC_PER_MSEC, on_maintenance, s);
	/* Of usual priority: a controller that is busy all day thins its store too. */
	return r < 0 ? err_errno(err, -r, "event loop") : 0;
}

/* What was not committed is to be done again. */
static void failed(struct service *s)
{
	retention_job_failed(&s->retention_job);
	baseline_saver_failed(&s->saver, &s->baselines);
}

/* Save the baselines, for a last commit to keep. */
static void stop(struct service *s)
{
	struct err err = ERR_INIT;

	s->saver.closing = true;
	/* Only what began to work has something to save. */
	if (s->maintenance_timer && save(s, UINT64_MAX, UINT64_MAX, &err) < 0) {
		log_warning("cannot save the baselines: %s", err.msg);
		store_take_back(s->store);
	}
	s->maintenance_timer = sd_event_source_disable_unref(s->maintenance_timer);
	retention_job_release(&s->retention_job);
	baseline_saver_release(&s->saver);
}

/* Nothing is half done then: under load a copy has no other time. */
static void written(struct service *s)
{
	(void)copy(s);
}

const struct controller_part maintenance_part = {
	.open = open_maintenance,
	.written = written,
	.failed = failed,
	.stop = stop,
};
