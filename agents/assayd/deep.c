/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/deep.h"

#include <stdlib.h>

#include "agents/assayd/child.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

struct deep {
	struct child *child;
};

static void on_exit_of_run(void *context UNUSED, const siginfo_t *info)
{
	/* 1 and 3 are verdicts. */
	if (info->si_code == CLD_EXITED && info->si_status <= 3 && info->si_status != 2)
		log_info("deep run done: exit status %d", info->si_status);
	else if (info->si_code == CLD_EXITED)
		log_warning("deep run could not run: exit status %d", info->si_status);
	else
		log_warning("deep run ended by signal %d", info->si_status);
}

struct deep *deep_new(struct sd_event *event)
{
	struct deep *deep = xcalloc(1, sizeof(*deep));

	deep->child = child_new(event, "a deep run", on_exit_of_run, deep);
	return deep;
}

int deep_start(struct deep *d, const char *order_id, uint64_t deadline_us, struct err *err)
{
	CLEANUP(freep) char *order = xasprintf("--order=%s", order_id);
	const char *const arguments[] = { "run", "--profile", "full", "--report", order, NULL };
	int r = child_start(d->child, arguments, deadline_us, err);

	if (r == 0)
		log_info("deep run started");
	return r;
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
	free(d);
}
