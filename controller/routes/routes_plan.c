/* SPDX-License-Identifier: Apache-2.0 */
/* What would help a job, and what becomes of it without some hosts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/job_plan.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_jobs.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

/* Splits "gpu-17,gpu-18" into `names`, without duplicates. */
static int read_hosts(const char *text, json_t *names, struct err *err)
{
	while (text) {
		const size_t length = strcspn(text, ",");
		CLEANUP(freep) char *name = xstrndup(text, length);

		if (!node_name_ok(name))
			return err_set(err, EINVAL,
				       "without: '%.80s' is not a host name: expected NAME,NAME",
				       name);
		json_insert_text(names, name);
		if (json_array_size(names) > JOB_PLAN_WITHOUT_MAX)
			return err_set(err, EINVAL, "without: expected at most %d hosts",
				       JOB_PLAN_WITHOUT_MAX);
		text = text[length] ? text + length + 1 : NULL;
	}
	return 0;
}

static int read_steps(const char *text, double *ret, struct err *err)
{
	char *end = NULL;
	double steps;

	if (!text)
		return 0;
	steps = strtod(text, &end);
	if (end == text || *end || !(steps >= 0) || steps > JOB_PLAN_STEPS_MAX)
		return err_set(err, EINVAL,
			       "steps: expected the number of steps left, from 0 to %.0f",
			       JOB_PLAN_STEPS_MAX);
	*ret = steps;
	return 0;
}

void routes_jobs_plan(void *context, struct call *call)
{
	const char *without = call_argument(call, "without");
	CLEANUP(json_freep) json_t *names = json_array();
	struct job_plan_ask ask = { without ? names : NULL, NAN };
	struct service *s = context;
	struct err err = ERR_INIT;
	json_t *plan = NULL;
	int64_t id;
	int r = read_hosts(without, names, &err);

	if (r == 0)
		r = read_steps(call_argument(call, "steps"), &ask.remaining, &err);
	if (r < 0) {
		call_refuse(call, 400, "%s", err.msg);
		return;
	}
	r = routes_jobs_number(call, &id, &err);
	if (r == 0)
		r = job_plan(s, id, &ask, &plan, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply(call, 200, plan);
}
