/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contended is busy, never slow. A core shared with others is told by the
 * time its stream waited for it (run delay), by what a hypervisor took, and
 * by what ran on the other hardware threads of the core.
 */
#include <math.h>
#include <stdio.h>

#include "probes/gemm/gemm.h"

/*
 * Parts of the measured time. 2 % is below what a judge may call slow (5 %,
 * reference.c) and above what kernel threads and timers of an idle host take.
 * A sibling thread costs less than its own time.
 */
static const double delay_limit = 0.02;
static const double steal_limit = 0.02;
static const double sibling_limit = 0.05;
/* Before the measurement one process must use this much: a short burst is no job. */
static const double user_limit = 0.3;

/* "cpu 3" of "cpu:3": for sentences. */
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
	double share; /* NAN: moves between devices */
};

static struct user busiest_user(struct gemm_device *d)
{
	struct user u = { 0 };

	if (d->plan->ops->others(d->plan->accel, d->index, &u.pid, u.command, &u.share, NULL) < 0)
		u.pid = 0;
	return u;
}

/* "pid 7 (stress)", or what can be said of others that no look at /proc has shown. */
static void user_words(const struct user *u, char *ret, size_t size)
{
	if (u->pid == 0)
		(void)snprintf(ret, size, "short-lived or hidden processes");
	else
		(void)snprintf(ret, size, "pid %ld (%s)%s", u->pid, u->command,
			       isnan(u->share) ? ", moving between devices," : "");
}

static void note_user(struct gemm_device *d, const struct user *u, const char *did, double share)
{
	char who[128], words[64];

	device_words(d, words);
	user_words(u, who, sizeof(who));
	(void)snprintf(d->busy, sizeof(d->busy), "%s %s %.0f %% of %s", who, did, percent(share),
		       words);
}

void gemm_busy_look(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct user u = busiest_user(d);

		if (u.pid == 0 || !(u.share >= user_limit))
			continue;
		d->in_use = true;
		note_user(d, &u, "uses", u.share);
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
		(void)busiest_user(&run->devices[i]); /* from here on it counts anew */
}

/* Part of the measured time between two cumulative counters in nanoseconds. */
static double part(uint64_t before_ns, uint64_t after_ns, uint64_t measured_us)
{
	if (after_ns <= before_ns || measured_us == 0)
		return 0;
	return (double)(after_ns - before_ns) * 1e-3 / (double)measured_us;
}

static void judge(struct gemm_device *d, uint64_t measured_us)
{
	struct accel_condition after = d->before;
	struct user u = busiest_user(d);
	double delay, steal, sibling;
	char words[64];

	(void)d->plan->ops->condition(d->plan->accel, d->index, &after, NULL);
	delay = part(d->before.run_delay_ns, after.run_delay_ns, measured_us);
	steal = part(d->before.steal_ns, after.steal_ns, measured_us);
	sibling = part(d->before.sibling_ns, after.sibling_ns, measured_us);
	device_words(d, words);
	if (steal > steal_limit && steal >= delay)
		(void)snprintf(d->busy, sizeof(d->busy), "the hypervisor took %.0f %% of %s",
			       percent(steal), words);
	else if (delay > delay_limit)
		note_user(d, &u, "took", delay);
	else if (sibling > sibling_limit)
		note_user(d, &u, "ran on a hardware thread of the core", sibling);
	else if (u.pid && u.share >= user_limit)
		note_user(d, &u, "used", u.share);
}

void gemm_busy_end(struct gemm_run *run, uint64_t measured_us)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		if (gemm_live(&run->devices[i]))
			judge(&run->devices[i], measured_us);
	}
}
