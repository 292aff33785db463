/* SPDX-License-Identifier: Apache-2.0 */
/* A launcher holds a call until there is new advice, as an agent does for its orders. */
#include "controller/routes/routes_advice.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/job_advice.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_jobs.h"
#include "controller/store/store.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	WAIT_MAX_S = 300,
	HOLDS_MAX = 1024, /* held calls for all jobs: as many as there may be jobs */
};

#define WAIT_ACCURACY_US (100 * USEC_PER_MSEC)

/* A held call. */
struct advice_hold {
	struct advice_hold *next;
	struct service *service;
	struct call *call;
	sd_event_source *timer;
	int64_t job, after;
};

/* With `advice`, of which it takes ownership, or for NULL with an empty answer. */
static void answer(struct call *call, json_t *advice)
{
	if (advice)
		call_reply(call, 200, advice);
	else
		call_reply_empty(call, 204);
}

static void end(struct advice_hold *hold, json_t *advice)
{
	struct advice_hold **place = &hold->service->advice_holds;
	struct call *call = hold->call;

	while (*place != hold)
		place = &(*place)->next;
	*place = hold->next;
	(void)sd_event_source_disable_unref(hold->timer);
	free(hold);
	answer(call, advice);
}

static int on_time(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	end(context, NULL);
	return 0;
}

static void on_gone(void *context UNUSED, struct call *call)
{
	end(call_data(call), NULL);
}

void routes_advice_wake(struct service *s)
{
	struct advice_hold *hold, *next;

	for (hold = s->advice_holds; hold; hold = next) {
		json_t *advice = NULL;
		struct err err = ERR_INIT;

		next = hold->next;
		if (job_advice_show(s->store, hold->job, hold->after, clock_real_us(), &advice,
				    &err) < 0)
			log_warning("advice of j%" PRId64 " cannot be read: %s", hold->job, err.msg);
		if (advice)
			end(hold, advice);
	}
}

/* --- access --- */

/* May the caller act for this job? If not it is refused, without the job's name. */
static bool may_ask(struct service *s, struct call *call, const char *job)
{
	const struct identity *who = call_identity(call);
	struct err err = ERR_INIT;
	bool may = who->role != ROLE_SUBMIT || (who->jobs && glob_match(who->jobs, job));

	if (who->role == ROLE_NODE &&
	    store_has_placement(s->store, job, who->node, &may, &err) < 0) {
		refuse_store(call, -EIO, &err);
		return false;
	}
	if (!may)
		call_refuse(call, 403, "this token does not cover that job");
	return may;
}

/* The job in the path, if the caller may access it; else the call is refused. */
static bool job_of(struct service *s, struct call *call, int64_t *ret)
{
	CLEANUP(json_freep) json_t *job = NULL;
	struct err err = ERR_INIT;
	int r = routes_jobs_number(call, ret, &err);

	if (r == 0)
		r = store_job(s->store, *ret, &job, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return false;
	}
	return may_ask(s, call, json_string_value(json_object_get(job, "job")));
}

/* An integer argument of the query; returns false after refusing the call. */
static bool number_of(struct call *call, const char *name, int64_t usual, int64_t most, int64_t *ret)
{
	const char *text = call_argument(call, name);
	char *end_of = NULL;

	*ret = usual;
	if (!text)
		return true;
	errno = 0;
	*ret = strtoll(text, &end_of, 10);
	if (!errno && isdigit((unsigned char)text[0]) && !*end_of && *ret <= most)
		return true;
	call_refuse(call, 400, "%s: expected a number, 0 to %" PRId64, name, most);
	return false;
}

static size_t count(const struct service *s)
{
	const struct advice_hold *hold;
	size_t n = 0;

	for (hold = s->advice_holds; hold; hold = hold->next)
		n++;
	return n;
}

static void hold(struct service *s, struct call *call, const struct advice_hold *asked,
		 uint64_t wait_us)
{
	struct advice_hold *hold = xcalloc(1, sizeof(*hold));

	*hold = *asked;
	hold->next = s->advice_holds;
	s->advice_holds = hold;
	call_hold(call, on_gone, hold);
	if (sd_event_add_time_relative(s->loop, &hold->timer, CLOCK_MONOTONIC, wait_us,
				       WAIT_ACCURACY_US, on_time, hold) < 0)
		end(hold, NULL);
}

/* Advice is acted on at once, so it has to be durable first. Takes ownership of `advice`. */
static void tell(struct service *s, struct call *call, json_t *advice)
{
	const struct waiting waiting = { .call = call, .status = 200, .answer = advice };

	if (!store_dirty(s->store)) {
		answer(call, advice);
	} else if (service_full(s)) {
		json_decref(advice);
		call_refuse(call, 503, "too many requests at once");
	} else {
		service_wait(s, &waiting);
	}
}

void routes_advice_get(void *context, struct call *call)
{
	struct service *s = context;
	struct advice_hold asked = { .service = s, .call = call };
	struct err err = ERR_INIT;
	json_t *advice = NULL;
	int64_t wait_s;

	if (stands_by(s, call) || !job_of(s, call, &asked.job) ||
	    !number_of(call, "wait", 0, WAIT_MAX_S, &wait_s) ||
	    !number_of(call, "after", -1, INT64_MAX, &asked.after))
		return;
	if (job_advice_show(s->store, asked.job, asked.after, clock_real_us(), &advice, &err) < 0) {
		refuse_store(call, -EIO, &err);
		return;
	}
	if (!advice && wait_s > 0 && count(s) >= HOLDS_MAX)
		call_refuse(call, 503, "%d calls are already waiting for advice", HOLDS_MAX);
	else if (advice)
		tell(s, call, advice);
	else if (wait_s == 0)
		answer(call, NULL);
	else
		hold(s, call, &asked, (uint64_t)wait_s * USEC_PER_SEC);
}

/* --- acknowledging --- */

/* The number in the body; returns false after refusing the call. */
static bool id_of(struct call *call, int64_t *ret)
{
	CLEANUP(json_freep) json_t *body = NULL;
	struct err err = ERR_INIT;
	const json_t *id;

	if (parse_order_body(call, &body, &err) < 0) {
		call_refuse(call, 400, "%s", err.msg);
		return false;
	}
	id = json_object_get(body, "id");
	if (!json_is_integer(id) || json_integer_value(id) < 0) {
		call_refuse(call, 400, "id: expected the number of the advice");
		return false;
	}
	*ret = json_integer_value(id);
	return true;
}

void routes_advice_post(void *context, struct call *call)
{
	struct waiting waiting = { .call = call, .status = 200 };
	struct service *s = context;
	struct err err = ERR_INIT;
	int64_t job, id;
	int r;

	if (stands_by(s, call) || !job_of(s, call, &job) || !id_of(call, &id))
		return;
	if (service_full(s)) {
		call_refuse(call, 503, "too many requests at once");
		return;
	}
	r = job_advice_acknowledge(s->store, job, id, clock_real_us(), &waiting.answer, &err);
	if (r == -EEXIST || r == -ETIME) {
		call_refuse(call, r == -ETIME ? 410 : 409, "%s", err.msg);
	} else if (r < 0) {
		service_failed(s, &err);
		call_refuse(call, 503, "the answer could not be stored: %s", err.msg);
	} else {
		service_wait(s, &waiting);
	}
}
