/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_busy.h"

#include <stdio.h>

#include "probes/gemm/gemm_device.h"
#include "probes/harness/cpu_use.h"

/* Parts of the time above which a device counts as busy. */
struct limits {
	double delay, steal;
	double sibling; /* a busy sibling thread costs less than its own time */
	double user;	/* of one process, if the engine can tell */
};

static const struct limits limits[] = {
	/* An equal competitor takes half. A process that takes this much is a job, so we stop. */
	[GEMM_WARMED] = { .delay = 0.3, .steal = 2, .sibling = 0.5, .user = 0.3 },
	[GEMM_MEASURED] = {
		.delay = CPU_USE_LOST_MAX,
		.steal = CPU_USE_LOST_MAX,
		.sibling = 2 * CPU_USE_LOST_MAX,
		.user = 0.3,
	},
};

/* Turn "cpu:3" into "cpu 3" for messages. */
static void device_words(const struct gemm_device *d, char ret[static 64])
{
	char *colon;

	(void)snprintf(ret, 64, "%s", d->info.subject);
	colon = strchr(ret, ':');
	if (colon)
		*colon = ' ';
}

static double percent(double share)
{
	return 100.0 * MIN(share, 1.0);
}

struct user {
	long pid;
	char command[64];
	double share; /* NAN: unknown */
};

static struct user busiest_user(struct gemm_device *d)
{
	struct user u = { 0 };

	if (d->plan->ops->others(d->plan->accel, d->index, &u.pid, u.command, &u.share, NULL) < 0)
		u.pid = 0;
	return u;
}

/*
 * The part of the lost time that the busiest process used: below the first limit it is not to blame
 * (those that were have exited), below the second not alone.
 */
#define BLAME_NOBODY 0.2
#define BLAME_NOT_ALONE 0.7

/* "pid 7 (stress) took 48 % of cpu 3"; `of` precedes the device. */
static void note_user(struct gemm_device *d, const struct user *u, const char *of, double share)
{
	char who[128] = "short-lived or hidden processes", words[64];

	device_words(d, words);
	if (d->plan->gpu) {
		(void)snprintf(d->busy, sizeof(d->busy), "pid %ld (%s) computes on %s", u->pid,
			       u->command, words);
		return;
	}
	if (u->pid && !(u->share < BLAME_NOBODY * share))
		(void)snprintf(who, sizeof(who), "pid %ld (%s)%s", u->pid, u->command,
			       u->share < BLAME_NOT_ALONE * share ? " and others" : "");
	(void)snprintf(d->busy, sizeof(d->busy), "%s took %.0f %% of %s%s", who, percent(share), of,
		       words);
}

void gemm_busy_look(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct user u = busiest_user(d);

		if (u.pid == 0 || !(u.share >= limits[GEMM_WARMED].user))
			continue;
		d->in_use = true;
		note_user(d, &u, "", u.share);
	}
}

void gemm_busy_start(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];

		d->before = (struct accel_condition){ 0 };
		(void)d->plan->ops->condition(d->plan->accel, d->index, &d->before, NULL);
	}
	for (i = 0; i < run->n; i++)
		(void)busiest_user(&run->devices[i]); /* reset the counts */
}

/* Part of the measured time between two cumulative counters, in nanoseconds. */
static double part(uint64_t before_ns, uint64_t after_ns, uint64_t measured_us)
{
	if (after_ns <= before_ns || measured_us == 0)
		return 0;
	return (double)(after_ns - before_ns) * 1e-3 / (double)measured_us;
}

/* Note what was taken from the device; returns false if it was not much. */
static bool note_taken(struct gemm_device *d, enum gemm_phase phase, uint64_t measured_us)
{
	const struct limits *limit = &limits[phase];
	struct accel_condition after = d->before;
	struct user u = busiest_user(d);
	double delay, steal, sibling;
	char words[64];

	(void)d->plan->ops->condition(d->plan->accel, d->index, &after, NULL);
	delay = part(d->before.run_delay_ns, after.run_delay_ns, measured_us);
	steal = part(d->before.steal_ns, after.steal_ns, measured_us);
	sibling = part(d->before.sibling_ns, after.sibling_ns, measured_us);
	device_words(d, words);
	if (steal > limit->steal && steal >= delay)
		(void)snprintf(d->busy, sizeof(d->busy), "the hypervisor took %.0f %% of %s",
			       percent(steal), words);
	else if (delay > limit->delay)
		note_user(d, &u, "", delay);
	else if (sibling > limit->sibling)
		note_user(d, &u, "another hardware thread of ", sibling);
	else if (u.pid && u.share >= limit->user)
		note_user(d, &u, "", u.share);
	else
		return false;
	return true;
}

void gemm_busy_end(struct gemm_run *run, enum gemm_phase phase, uint64_t measured_us)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];

		if (gemm_live(d) && note_taken(d, phase, measured_us) && phase == GEMM_WARMED)
			d->in_use = true;
	}
}
