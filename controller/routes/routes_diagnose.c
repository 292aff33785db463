/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for the diagnosis of a job, or for what it would do. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/diagnosis_plan.h"
#include "controller/job/jobs.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_jobs.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct body {
	char *reason, *by;
	bool plan;
};

static void body_release(struct body *b)
{
	free(b->reason);
	free(b->by);
}

static const struct jfield fields[] = {
	{ "reason", J_STRING, offsetof(struct body, reason), J_REQUIRED },
	{ "by", J_STRING, offsetof(struct body, by), 0 },
	{ "plan", J_BOOL, offsetof(struct body, plan), 0 },
};

static void refuse(struct service *s, struct call *call, int r, const struct err *err)
{
	switch (-r) {
	case EALREADY:
		call_refuse(call, 409, "%s", err->msg);
		return;
	case EINVAL:
		call_refuse(call, 422, "%s", err->msg);
		return;
	case EAGAIN:
		call_refuse(call, 503, "%s", err->msg);
		return;
	case ENOENT:
		break;
	default:
		service_failed(s, err);
	}
	refuse_store(call, r, err);
}

static void answer(struct service *s, struct call *call, json_t *plan)
{
	const bool begun = json_is_integer(json_object_get(plan, "id"));
	const struct waiting waiting = { .call = call, .status = 202, .answer = plan };

	if (begun)
		service_wait(s, &waiting);
	else
		call_reply(call, 200, plan);
}

void routes_jobs_diagnose(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(body_release) struct body body = { 0 };
	CLEANUP(freep) char *who = NULL;
	CLEANUP(freep) char *reason = NULL;
	struct diagnosis_ask ask;
	json_t *plan = NULL;
	struct err err = ERR_INIT;
	int64_t job;
	int r;

	if (routes_take_no_order(s, call))
		return;
	r = routes_order_body(call, fields, ARRAY_SIZE(fields), &body, &body.reason, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	who = operator_name(call_identity(call), body.by);
	reason = utf8_clean(body.reason);
	ask = (struct diagnosis_ask){ who, reason, 0, body.plan };
	r = routes_jobs_number(call, &job, &err);
	if (r == 0)
		r = jobs_diagnose(s, job, &ask, &plan, &err);
	if (r < 0)
		refuse(s, call, r, &err);
	else
		answer(s, call, plan);
}
