/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/deep.h"

#include <errno.h>
#include <stdlib.h>

#include "agents/assayd/child.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

/* What may be run: the last one is complete. */
static const char *const profiles[] = { "rung-gemm", "rung-chain", "rung-load", "burn", "full" };
enum { PROFILE_FULL = ARRAY_SIZE(profiles) - 1 };

enum { STATUS_USAGE = 2 }; /* of assay run: among other things, no such profile */

struct deep {
	struct child *child;
	char *order;	      /* the present or last one; NULL: none yet */
	size_t profile;	      /* index in profiles[] */
	uint64_t deadline_us; /* monotonic */
};

static size_t place_of(const char *profile)
{
	size_t i = 0;

	while (i < PROFILE_FULL && !streq(profiles[i], profile))
		i++;
	return i;
}

static int start(struct deep *d, size_t profile, struct err *err)
{
	CLEANUP(freep) char *order = xasprintf("--order=%s", d->order);
	const char *const arguments[] = { "run",      "--profile", profiles[profile],
					  "--report", order,	   NULL };
	int r = child_start(d->child, arguments, d->deadline_us, err);

	if (r < 0)
		return r;
	d->profile = profile;
	log_info("deep run started: profile=%s", profiles[profile]);
	return 0;
}

static void on_exit_of_run(void *context, const siginfo_t *info)
{
	struct deep *d = context;
	struct err err = ERR_INIT;

	if (info->si_code != CLD_EXITED)
		log_warning("deep run ended by signal %d", info->si_status);
	else if (info->si_status == STATUS_USAGE && d->profile != PROFILE_FULL) {
		log_warning("cannot run profile %s: running full instead", profiles[d->profile]);
		if (start(d, PROFILE_FULL, &err) < 0)
			log_warning("deep run failed: %s", err.msg);
	} else if (info->si_status <= 3 && info->si_status != STATUS_USAGE)
		/* 1 and 3 are verdicts. */
		log_info("deep run done: exit status %d", info->si_status);
	else
		log_warning("deep run failed: exit status %d", info->si_status);
}

struct deep *deep_new(struct sd_event *event)
{
	struct deep *deep = xcalloc(1, sizeof(*deep));

	deep->child = child_new(event, "a deep run", on_exit_of_run, deep);
	return deep;
}

int deep_start(struct deep *d, const char *order_id, const char *profile, uint64_t deadline_us,
	       struct err *err)
{
	if (child_runs(d->child))
		return err_set(err, EBUSY, "a deep run is already in progress");
	free(d->order);
	d->order = xstrdup(order_id);
	d->deadline_us = deadline_us;
	return start(d, place_of(profile), err);
}

void deep_stop(struct deep *d)
{
	child_stop(d->child);
}

void deep_free(struct deep *d)
{
	if (!d)
		return;
	child_free(d->child);
	free(d->order);
	free(d);
}
