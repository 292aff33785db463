/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats: a job reports its last step (docs/jobs.md, 10). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/beats.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_jobs.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct body {
	uint64_t step;
	struct jreals seconds;
	double age_s;
	bool done;
};

static void body_release(struct body *b)
{
	free(b->seconds.v);
}

/* Other invalid values are reported by standstill_check(), each with a sentence. */
static const struct jfield fields[] = {
	{ "step", J_U64, offsetof(struct body, step), J_REQUIRED, .min = 0,
	  .max = (double)STANDSTILL_STEP_MAX },
	{ "seconds", J_REALS, offsetof(struct body, seconds), 0, .max = STANDSTILL_BLOCK },
	{ "age", J_REAL, offsetof(struct body, age_s), 0, .min = 0, .max = STANDSTILL_AGE_MAX_S },
	{ "done", J_BOOL, offsetof(struct body, done), 0 },
};

static int read_body(struct call *call, struct body *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = parse_order_body(call, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "body");
	/* Not strict: the program may be newer than we are. */
	return jval_decode(&root, fields, ARRAY_SIZE(fields), 0, ret, err);
}

static void refuse(struct service *s, struct call *call, int r, const struct beats_taken *taken,
		   const struct err *err)
{
	switch (-r) {
	case EAGAIN:
		call_retry_within(call, taken->wait_s);
		call_refuse(call, 429, "%s", err->msg);
		return;
	case EEXIST:
		call_refuse(call, 409, "%s", err->msg);
		return;
	case EINVAL:
		call_refuse(call, 422, "%s", err->msg);
		return;
	case EDQUOT:
		break;
	default:
		service_failed(s, err);
	}
	call_refuse(call, 503, "the beat could not be stored: %s", err->msg);
}

static void answer(struct service *s, struct call *call, const struct standstill_beat *beat,
		   const struct beats_taken *taken)
{
	json_t *said = json_pack("{s:s, s:o, s:I, s:I}", "job", call_argument(call, "job"), "id",
				 json_sprintf("j%" PRId64, taken->job), "run",
				 (json_int_t)beat->run, "step", (json_int_t)beat->step);
	const struct waiting waiting = { .call = call, .status = 200, .answer = said };

	if (taken->made)
		service_wait(s, &waiting);
	else
		call_reply(call, 200, said);
}

void routes_jobs_post_steps(void *context, struct call *call)
{
	CLEANUP(body_release) struct body body = { 0 };
	struct service *s = context;
	struct standstill_beat beat = { 0 };
	struct beats_taken taken;
	struct err err = ERR_INIT;
	const char *job = NULL;
	int r;

	if (stands_by(s, call))
		return;
	r = routes_jobs_of(call, &job, &beat.run, &err);
	if (r < 0) {
		call_refuse(call, 400, "%s", err.msg);
		return;
	}
	if (!routes_jobs_may_send(s, call, job, "beats"))
		return;
	r = read_body(call, &body, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	if (service_full(s)) {
		call_refuse(call, 503, "too many requests at once");
		return;
	}
	beat.step = body.step;
	beat.seconds = body.seconds.v;
	beat.n = body.seconds.n;
	beat.age_s = body.age_s;
	beat.done = body.done;
	r = beats_take(s, job, &beat, &taken, &err);
	if (r < 0)
		refuse(s, call, r, &taken, &err);
	else
		answer(s, call, &beat, &taken);
}
