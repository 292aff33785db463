/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/schedule.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <systemd/sd-event.h>

#include "agents/assayd/child.h"
#include "agents/assayd/schedule_time.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

#define TIMER_ACCURACY_US USEC_PER_SEC

/* Like the systemd units of the same names: lock wait, and time limit. */
static const struct {
	const char *profile, *name, *wait;
	uint64_t limit_us;
	int behind; /* not while this one runs: the devices would be in use */
} rows[SCHEDULE_TURNS] = {
	[SCHEDULE_PASSIVE] = { "passive", "a passive run", "--wait=0s", 90 * USEC_PER_SEC, -1 },
	[SCHEDULE_QUICK] = { "quick", "a quick run", "--wait=0s", 2 * USEC_PER_MIN, SCHEDULE_FULL },
	[SCHEDULE_FULL] = { "full", "a full run", "--wait=2m", 10 * USEC_PER_MIN, -1 },
};

struct turn {
	struct schedule *schedule;
	int row;
	struct child *child;
	sd_event_source *timer;
	uint64_t period_us, offset_us; /* 0: off */
};

struct schedule {
	sd_event *event;
	struct turn turns[SCHEDULE_TURNS];
};

/* 0, 1 and 3 are verdicts, and arrive as a report. */
static void on_exit_of_run(void *context, const siginfo_t *info)
{
	const struct turn *t = context;

	if (info->si_code != CLD_EXITED)
		log_warning("%s ended by signal %d", rows[t->row].name, info->si_status);
	else if (info->si_status == 2 || info->si_status > 3)
		log_warning("%s could not run: exit status %d", rows[t->row].name, info->si_status);
}

static void start(struct turn *t)
{
	const char *const arguments[] = { "run",      "--profile",	 rows[t->row].profile,
					  "--report", rows[t->row].wait, NULL };
	const int behind = rows[t->row].behind;
	struct err err = ERR_INIT;

	if (behind >= 0 && child_runs(t->schedule->turns[behind].child))
		return;
	if (child_start(t->child, arguments, clock_mono_us() + rows[t->row].limit_us, &err) < 0)
		log_warning("%s did not start: %s", rows[t->row].name, err.msg);
}

static void arm(struct turn *t, uint64_t now_us, uint64_t at_us)
{
	(void)sd_event_source_set_time(t->timer, clock_mono_us() + (at_us - now_us));
	(void)sd_event_source_set_enabled(t->timer, SD_EVENT_ONESHOT);
}

static int on_turn(sd_event_source *source UNUSED, uint64_t mono_us UNUSED, void *context)
{
	struct turn *t = context;
	const uint64_t now_us = clock_real_us();

	start(t);
	arm(t, now_us, schedule_next_us(now_us, t->period_us, t->offset_us));
	return 0;
}

/* When the profile last ran since boot; 0: it has not. */
static uint64_t last_run_us(const char *profile, uint64_t now_us)
{
	CLEANUP(freep) char *state = paths_state();
	CLEANUP(freep) char *path = xasprintf("%s/last/%s.json", state, profile);
	const uint64_t up_us = clock_boot_us();
	struct stat st;
	uint64_t at_us;

	if (stat(path, &st) < 0)
		return 0;
	at_us = (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec / 1000;
	return now_us > up_us && at_us < now_us - up_us ? 0 : at_us;
}

static void set(struct turn *t, const char *node, uint64_t period_us)
{
	const char *profile = rows[t->row].profile;
	const uint64_t now_us = clock_real_us();
	const uint64_t offset_us = period_us ? schedule_offset_us(node, profile, period_us) : 0;

	if (period_us == t->period_us && offset_us == t->offset_us)
		return;
	t->period_us = period_us;
	t->offset_us = offset_us;
	if (period_us) {
		arm(t, now_us,
		    schedule_first_us(now_us, last_run_us(profile, now_us), period_us, offset_us));
		return;
	}
	(void)sd_event_source_set_enabled(t->timer, SD_EVENT_OFF);
	child_stop(t->child);
}

void schedule_set(struct schedule *s, const char *node,
		  const uint64_t periods_us[static SCHEDULE_TURNS])
{
	int i;

	for (i = 0; i < SCHEDULE_TURNS; i++)
		set(&s->turns[i], node, periods_us[i]);
}

struct schedule *schedule_new(struct sd_event *event)
{
	struct schedule *s = xcalloc(1, sizeof(*s));
	int i;

	s->event = sd_event_ref(event);
	for (i = 0; i < SCHEDULE_TURNS; i++) {
		struct turn *t = &s->turns[i];

		t->schedule = s;
		t->row = i;
		t->child = child_new(event, rows[i].name, on_exit_of_run, t);
		if (sd_event_add_time(event, &t->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
				      on_turn, t) >= 0)
			(void)sd_event_source_set_enabled(t->timer, SD_EVENT_OFF);
	}
	return s;
}

void schedule_free(struct schedule *s)
{
	int i;

	if (!s)
		return;
	for (i = 0; i < SCHEDULE_TURNS; i++) {
		(void)sd_event_source_disable_unref(s->turns[i].timer);
		child_free(s->turns[i].child);
	}
	(void)sd_event_unref(s->event);
	free(s);
}
