/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/actor_driver/check.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/driver_seam.h"
#include "tests/actor_driver/field.h"
#include "tests/actor_driver/host.h"
#include "tests/actor_driver/script.h"
#include "tests/actor_driver/trace.h"
#include "tests/actor_driver/world.h"

/* The delay from the first pending change to the commit. */
#define COMMIT_US (20 * USEC_PER_MSEC)
#define QUIET_US (60 * USEC_PER_MIN) /* after the script, until everything has ended */
enum { STORE_BYTES_MAX = 16 << 20 }; /* of an empty store */

#define BOOTED_US (999 * USEC_PER_DAY)

/* The controller is killed one in this many times it reaches the point; more often at rare points. */
static const unsigned kill_one_in[POINTS] = {
	[POINT_RECORDED] = 90,	 [POINT_RESERVED] = 20,	     [POINT_RESERVED_KNOWN] = 90,
	[POINT_CONFIRMED] = 25,	 [POINT_APPLIED] = 30,	     [POINT_APPLIED_KNOWN] = 30,
	[POINT_COMPLETED] = 90,	 [POINT_FAILED] = 6,	     [POINT_DROPPED] = 6,
	[POINT_REFUSED] = 200,	 [POINT_REHEARSED] = 20,     [POINT_ORDERED] = 60,
	[POINT_ANSWERED] = 60,	 [POINT_LEDGER_DONE] = 60,   [POINT_LISTED] = 30,
	[POINT_TAKEN_OVER] = 30, [POINT_UNCOMMITTED] = 1800, [POINT_BETWEEN] = 6,
};
enum { FOCUS = 18 }; /* times more often at the seed's focus point */

/* The actor's jitter is a hash of seed and time, so it does not depend on earlier draws. */
static const struct driver *current;

uint64_t random_u64(void)
{
	return current ? draw(current->seed, "jitter", current->now_us, 0) : 0;
}

int random_secret(void *ret_bytes UNUSED, size_t size UNUSED, uint64_t deadline_us UNUSED,
		  struct err *err)
{
	return err_set(err, ENOSYS, "the driver has no secrets");
}

unsigned driver_node(const struct driver *d, const char *name)
{
	unsigned number;

	if (name[0] != 'n' || name[1] < '0' || name[1] > '9' || name[2] < '0' || name[2] > '9')
		return NODES_MAX;
	number = (unsigned)(name[1] - '0') * 10 + (unsigned)(name[2] - '0');
	return number < d->n_nodes ? number : NODES_MAX;
}

uint64_t life_real_us(const struct controller *c)
{
	return c->driver->now_us;
}

uint64_t life_mono_us(const struct controller *c)
{
	return c->driver->now_us - BOOTED_US;
}

const struct policy *life_policy(const struct controller *c)
{
	return &c->driver->policies[c->driver->policy];
}

void life_touch(struct controller *c)
{
	if (c->commit_us == 0)
		c->commit_us = c->driver->now_us + COMMIT_US;
}

void life_look(struct controller *c, const char *node)
{
	const unsigned number = driver_node(c->driver, node);

	if (number < NODES_MAX)
		host_wake(c, number);
}

/* --- kills --- */

void life_point(struct controller *c, enum point point, unsigned node)
{
	struct driver *d = c->driver;
	const unsigned nth = d->point_nth[point][node]++;
	const unsigned one_in = point == d->focus ? 1 + kill_one_in[point] / FOCUS
						  : kill_one_in[point];

	if (!d->kills || d->ended || !c->seam || c->kill || d->n_kills == KILLS_MAX ||
	    draw(d->seed, "kill", (uint64_t)point << 8 | node, nth) % one_in > 0)
		return;
	d->n_kills++;
	d->tally->kills[point]++;
	c->kill = true;
	trace_line(c, "killed at %s", point_names[point]);
}

static void end_controller(struct controller *c, uint64_t least_us, uint64_t most_us)
{
	struct driver *d = c->driver;
	CLEANUP(freep) char *counts = seam_counts(c);

	trace_line(c, "%s", counts);
	seam_kill(c);
	c->kill = c->fenced = c->stale = false;
	c->commit_us = 0;
	c->start_us = d->now_us + least_us +
		      draw(d->seed, "restart", c->number, c->starts) % (most_us - least_us);
}

static void start_controller(struct controller *c)
{
	c->start_us = 0;
	c->started_us = c->driver->now_us;
	c->starts++;
	trace_line(c, "starts");
	trace_forget(c);
	seam_open(c);
	if (c->driver->now_us < c->driver->cut_until_us)
		c->stale = false;
	life_touch(c);
}

/* Returns true if the controller was killed. */
static bool dies(struct controller *c)
{
	if (c->seam && c->fenced)
		end_controller(c, 5 * USEC_PER_MIN, 15 * USEC_PER_MIN);
	else if (c->seam && c->kill)
		end_controller(c, USEC_PER_SEC, 30 * USEC_PER_SEC);
	else
		return false;
	return true;
}

/* --- commits and ticks --- */

static void commit(struct controller *c)
{
	struct driver *d = c->driver;

	c->commit_us = 0;
	if (seam_dirty(c))
		life_point(c, POINT_UNCOMMITTED, NODES_MAX);
	if (c->kill)
		return;
	if (d->commit_fails && seam_dirty(c)) {
		d->commit_fails = false;
		trace_line(c, "the store cannot be written");
		seam_fail(c);
		return;
	}
	if (d->mutant == MUTANT_UNRECORDED)
		seam_committed(c);
	seam_commit(c);
	trace_commit(c);
	if (!c->kill && d->mutant != MUTANT_UNRECORDED)
		seam_committed(c);
}

/* Ticks once a second while something may be in progress, then less often to save time. */
static void tick(struct driver *d)
{
	const uint64_t since_us = d->now_us - d->stirred_us;
	unsigned i;

	d->tick_us = d->now_us + (since_us < 5 * USEC_PER_SEC ? USEC_PER_SEC
				  : since_us < USEC_PER_MIN   ? 10 * USEC_PER_SEC
							      : 30 * USEC_PER_SEC);
	for (i = 0; i < d->n_controllers; i++) {
		struct controller *c = &d->controllers[i];

		if (!c->seam)
			continue;
		seam_tick(c);
		host_pairs(c);
		life_touch(c);
	}
}

/* --- the clock --- */

static void copy_store(struct driver *d, struct controller *c)
{
	struct err err = ERR_INIT;
	char *bytes = NULL;
	size_t n = 0;
	CLEANUP(closep) int fd = open(c->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || file_read(AT_FDCWD, d->template, STORE_BYTES_MAX, &bytes, &n, &err) < 0 ||
	    file_write_all(fd, bytes, n) < 0) {
		(void)fprintf(stderr, "actor-driver: %s: %s\n", c->path, err.msg);
		abort();
	}
	free(bytes);
}

static void begin(struct driver *d)
{
	unsigned i;

	d->tick_us = d->now_us + USEC_PER_SEC;
	d->stirred_us = d->now_us;
	for (i = 0; i < d->n_controllers; i++) {
		struct controller *c = &d->controllers[i];

		*c = (struct controller){ .driver = d, .number = i };
		c->path = xasprintf("%s/%u.db", d->directory, i);
		copy_store(d, c);
		field_attach(c);
		/* The second controller starts while the first is running. */
		c->start_us = d->now_us + 1 +
			      (i > 0 ? 5 * USEC_PER_MIN +
					       draw(d->seed, "second", 0, 0) % (20 * USEC_PER_MIN)
				     : 0);
	}
	d->tally->two += d->n_controllers == CONTROLLERS_MAX;
}

static uint64_t next_due(const struct driver *d)
{
	uint64_t due_us = MIN(script_due(d), d->tick_us);
	unsigned i;

	due_us = MIN(due_us, host_due(d));
	due_us = MIN(due_us, field_due(d));
	for (i = 0; i < d->n_controllers; i++) {
		const struct controller *c = &d->controllers[i];

		if (c->commit_us)
			due_us = MIN(due_us, c->commit_us);
		if (c->start_us)
			due_us = MIN(due_us, c->start_us);
	}
	return due_us;
}

static bool controllers_go_on(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->n_controllers; i++) {
		struct controller *c = &d->controllers[i];

		if (dies(c))
			return true;
		if (c->start_us && c->start_us <= d->now_us) {
			start_controller(c);
			return true;
		}
		if (c->seam && c->commit_us && c->commit_us <= d->now_us) {
			commit(c);
			return true;
		}
	}
	return false;
}

/* One event at a time; a pending kill happens before the next event. */
static void step(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->n_controllers; i++) {
		if (dies(&d->controllers[i]))
			return;
	}
	if (script_due(d) <= d->now_us)
		script_go_on(d);
	else if (host_due(d) <= d->now_us)
		host_go_on(d);
	else if (field_due(d) <= d->now_us)
		field_go_on(d);
	else if (!controllers_go_on(d) && d->tick_us <= d->now_us)
		tick(d);
}

static bool someone_dies(const struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->n_controllers; i++) {
		if (d->controllers[i].seam && (d->controllers[i].kill || d->controllers[i].fenced))
			return true;
	}
	return false;
}

static void run_until(struct driver *d, uint64_t until_us)
{
	for (;;) {
		const uint64_t due_us = someone_dies(d) ? d->now_us : next_due(d);

		if (due_us > until_us)
			break;
		if (due_us > d->now_us) {
			trace_flush(d);
			d->now_us = due_us;
		}
		step(d);
	}
	trace_flush(d);
	d->now_us = until_us;
}

/* Ends all faults, and leaves one controller. */
static void calm(struct driver *d)
{
	struct controller *second = &d->controllers[1];

	trace_world(d, "calm");
	script_calm(d);
	field_mend(d);
	d->mended_us = MAX(d->mended_us, d->cut_until_us);
	d->ended = true;
	if (d->n_controllers == CONTROLLERS_MAX) {
		if (second->seam)
			end_controller(second, 1, 2);
		second->start_us = 0;
	}
}

unsigned life_run(struct driver *d)
{
	unsigned i;

	current = d;
	world_make(d);
	begin(d);
	run_until(d, d->script[d->n_script - 1].at_us + USEC_PER_MIN);
	calm(d);
	run_until(d, d->now_us + QUIET_US);
	check_end(d);
	trace_flush(d);
	for (i = 0; i < d->n_controllers; i++) {
		if (d->controllers[i].seam)
			seam_kill(&d->controllers[i]);
		free(d->controllers[i].path);
	}
	trace_release(d);
	field_release(d);
	world_release(d);
	current = NULL;
	return d->violations;
}
