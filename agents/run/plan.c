/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agents/run/suite.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"

/* The shortest budget for a shortened probe. */
#define PROBE_BUDGET_MIN_US (100 * USEC_PER_MSEC)

static const struct profile_probe *find_in(const struct profile *profile, const char *name)
{
	size_t i;

	for (i = 0; profile && i < profile->n_probes; i++) {
		if (streq(profile->probes[i].name, name))
			return &profile->probes[i];
	}
	return NULL;
}

/* A third-party program is always tried, so that the runner reports if it is missing. */
static void add(struct plan *plan, const struct profile_probe *p)
{
	CLEANUP(freep) char *path = p->exec ? xstrdup(p->exec) : suite_path(p->name);

	if (!p->exec && suite_has(p->name) && !suite_can_start(path)) {
		plan->absent[plan->n_absent++] = p->name;
		return;
	}
	plan->paths[plan->n] = TAKE(path);
	plan->probes[plan->n] = (struct runner_probe){
		.name = p->name,
		.path = plan->paths[plan->n],
		.args = p->args,
		.budget_us = p->budget_us,
		.active = p->active,
	};
	plan->least_us[plan->n] = p->least_us;
	plan->n++;
	plan->active = plan->active || p->active;
}

static int no_profile(const struct profiles *profiles, const char *name, struct err *err)
{
	char known[200] = "";
	size_t len = 0, i;

	for (i = 0; i < profiles->n && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					profiles->items[i].name);
	return err_set(err, EINVAL, "--profile: no profile '%.64s'; choose from %s", name, known);
}

int plan_profile(const struct profiles *profiles, const char *name, struct plan *ret,
		 struct err *err)
{
	const struct profile *profile = profiles_find(profiles, name);
	size_t i;

	if (!profile)
		return no_profile(profiles, name, err);
	*ret = (struct plan){ .profile = profile->name, .budget_us = profile->budget_us };
	for (i = 0; i < profile->n_probes; i++)
		add(ret, &profile->probes[i]);
	return 0;
}

static const struct profile_probe *find_anywhere(const struct profiles *profiles, const char *name)
{
	static const char *const first[] = { "quick", "full" };
	const struct profile_probe *p = NULL;
	size_t i;

	for (i = 0; !p && i < ARRAY_SIZE(first); i++)
		p = find_in(profiles_find(profiles, first[i]), name);
	for (i = 0; !p && i < profiles->n; i++)
		p = find_in(&profiles->items[i], name);
	return p;
}

static int add_named(const struct profiles *profiles, const struct profile *profile,
		     const char *name, struct plan *plan, struct err *err)
{
	const struct profile_probe *p = find_in(profile, name);
	struct profile_probe alone = { .budget_us = PLAN_PROBE_BUDGET_US, .active = true };

	if (!p)
		p = find_anywhere(profiles, name);
	if (!p && suite_has(name)) {
		/* The name is borrowed: profile_probe owns nothing here. */
		memcpy(&alone.name, &name, sizeof(alone.name));
		p = &alone;
	}
	if (!p)
		return err_set(err, EINVAL, "--probe: no probe '%.64s'; see assay list", name);
	add(plan, p);
	plan->budget_us += p->budget_us;
	return 0;
}

int plan_probes(const struct profiles *profiles, const char *profile, const char *const *names,
		size_t n, struct plan *ret, struct err *err)
{
	const struct profile *preferred = profile ? profiles_find(profiles, profile) : NULL;
	struct plan plan = { .profile = PROFILE_HAND_PICKED };
	size_t i, j;
	int r = 0;

	if (profile && !preferred)
		return no_profile(profiles, profile, err);
	for (i = 0; r == 0 && i < n; i++) {
		for (j = 0; j < i && !streq(names[i], names[j]); j++)
			;
		if (j < i)
			r = err_set(err, EINVAL, "--probe: '%.64s' is given twice", names[i]);
		else
			r = add_named(profiles, preferred, names[i], &plan, err);
	}
	if (r < 0)
		plan_release(&plan);
	else
		*ret = plan;
	return r;
}

void plan_hand_on(struct plan *plan, char *const *args, uint64_t budget_us)
{
	if (plan->n == 0) /* not in this build */
		return;
	plan->probes[0].args = args;
	plan->least_us[0] = 0;
	if (budget_us)
		plan->probes[0].budget_us = plan->budget_us = budget_us;
}

static void remove_probe(struct plan *plan, size_t at)
{
	size_t after = --plan->n - at;

	free(plan->paths[at]);
	memmove(&plan->paths[at], &plan->paths[at + 1], after * sizeof(*plan->paths));
	memmove(&plan->probes[at], &plan->probes[at + 1], after * sizeof(*plan->probes));
	memmove(&plan->least_us[at], &plan->least_us[at + 1], after * sizeof(*plan->least_us));
	plan->paths[plan->n] = NULL;
}

/* The run budget that would give the probe what it needs, in whole seconds. */
static uint64_t run_for(const struct plan *plan, size_t i)
{
	double more = (double)plan->least_us[i] / (double)plan->probes[i].budget_us;

	return (uint64_t)ceil(more * (double)plan->budget_us / USEC_PER_SEC) * USEC_PER_SEC;
}

/* Leave out probes that get less than they need. */
static void leave_out_brief(struct plan *plan)
{
	size_t i = 0;

	while (i < plan->n) {
		const struct runner_probe *p = &plan->probes[i];
		if (p->budget_us >= plan->least_us[i]) {
			i++;
			continue;
		}
		plan->brief[plan->n_brief++] = (struct plan_brief){
			.name = p->name,
			.got_us = p->budget_us,
			.least_us = plan->least_us[i],
			.run_us = run_for(plan, i),
		};
		remove_probe(plan, i);
	}
	plan->active = false;
	for (i = 0; i < plan->n; i++)
		plan->active = plan->active || plan->probes[i].active;
}

void plan_fit(struct plan *plan, uint64_t budget_us)
{
	double ratio = (double)budget_us / (double)plan->budget_us;
	size_t i;

	plan->budget_us = budget_us;
	for (i = 0; ratio < 1 && i < plan->n; i++) {
		double us = ratio * (double)plan->probes[i].budget_us;

		plan->probes[i].budget_us = MAX((uint64_t)us, PROBE_BUDGET_MIN_US);
	}
	if (ratio < 1)
		leave_out_brief(plan);
}

static void report_brief(const struct plan_brief *brief, struct report *report)
{
	char got[CLOCK_DURATION_SIZE], least[CLOCK_DURATION_SIZE], run[CLOCK_DURATION_SIZE];
	struct problem p = { .probe = xstrdup(brief->name), .code = PROBLEM_SET_UP };

	duration_format(brief->got_us, got);
	duration_format(brief->least_us, least);
	duration_format(brief->run_us, run);
	p.detail = xasprintf("left out: its share of the run is %s, and it needs %s; give the run "
			     "--budget %s",
			     got, least, run);
	report_add_problem(report, &p);
}

void plan_report_absent(const struct plan *plan, struct report *report)
{
	size_t i;

	for (i = 0; i < plan->n_absent; i++) {
		struct problem p = {
			.probe = xstrdup(plan->absent[i]),
			.code = PROBLEM_NOT_APPLICABLE,
			.detail = xstrdup("not built here"),
		};

		report_add_problem(report, &p);
	}
	for (i = 0; i < plan->n_brief; i++)
		report_brief(&plan->brief[i], report);
}

void plan_release(struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->n; i++)
		free(plan->paths[i]);
	*plan = (struct plan){ 0 };
}
