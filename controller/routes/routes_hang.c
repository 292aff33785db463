/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hangs: a host's report on the ranks of a job that stands still (assay-hang/1), and the position
 * of all ranks of a job according to its hosts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/beats.h"
#include "controller/job/hangs.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_jobs.h"
#include "controller/store/store.h"
#include "controller/store/store_jobs.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* --- reports of hosts --- */

static int parse(struct call *call, json_t **ret, struct err *err)
{
	size_t length;
	bool gzip = false;
	const void *bytes = call_body(call, &length, &gzip);
	int r;

	if (gzip)
		return err_set(err, EBADMSG, "hang: must not be compressed");
	r = json_parse(bytes, length, "hang", ret, err);
	return r == -EINVAL ? -EBADMSG : r;
}

static void refuse(struct call *call, int r, const struct err *err)
{
	switch (-r) {
	case EBADMSG:
	case EINVAL:
		call_refuse(call, status_of_content(r), "%s", err->msg);
		return;
	case EPERM:
		call_refuse(call, 403, "%s", err->msg);
		return;
	case EDQUOT:
	case ENOMEM:
		call_refuse(call, 503, "%s", err->msg);
		return;
	default:
		refuse_store(call, r, err);
	}
}

void routes_put_hang(void *context, struct call *call)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct service *s = context;
	struct err err = ERR_INIT;
	int r;

	if (!routes_may_speak(s, call, "the state of its ranks") || stands_by(s, call))
		return;
	r = parse(call, &doc, &err);
	if (r == 0)
		r = hangs_take(s, call_segment(call), doc, &err);
	if (r < 0)
		refuse(call, r, &err);
	else
		call_reply_empty(call, 204);
}

/* --- positions of ranks --- */

/* The run according to the hang, else the heartbeats or windows. Borrowed. */
static json_t *run_of(const json_t *job)
{
	static const char *const from[] = { "hang", "beats" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		json_t *run = json_object_get(json_object_get(job, from[i]), "run");

		if (json_is_integer(run))
			return run;
	}
	return json_is_integer(json_object_get(job, "run")) ? json_object_get(job, "run")
							    : json_null();
}

static json_t *verdict_of(const json_t *said)
{
	json_t *verdict = json_object_get(json_object_get(said, "hang"), "verdict");

	return verdict ? verdict : json_null();
}

/* The data of the job with one page of ranks. */
static json_t *ranks_of(const struct service *s, json_t *job, const struct store_range *range)
{
	const size_t first = range->cursor ? strtoul(range->cursor, NULL, 10) : 0;
	const char *name = json_string_value(json_object_get(job, "job"));
	bool more = false;
	json_t *said;

	beats_show(s, job);
	hangs_show(s, job);
	said = hangs_ranks(s, name, first, range->limit, &more);
	(void)json_object_set(said, "job", json_object_get(job, "job"));
	(void)json_object_set(said, "id", json_object_get(job, "id"));
	(void)json_object_set(said, "state", json_object_get(job, "state"));
	(void)json_object_set(said, "run", run_of(job));
	(void)json_object_set(said, "verdict", verdict_of(said));
	(void)json_object_set_new(said, "next",
				  more ? json_sprintf("%zu", first + range->limit) : json_null());
	return said;
}

void routes_jobs_ranks(void *context, struct call *call)
{
	CLEANUP(json_freep) json_t *job = NULL;
	struct service *s = context;
	struct store_range range;
	struct err err = ERR_INIT;
	int64_t id;
	int r = routes_jobs_number(call, &id, &err);

	if (r == 0)
		r = store_job(s->store, id, &job, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	if (routes_range_of(call, CURSOR_NUMBER, &range))
		call_reply(call, 200, ranks_of(s, job, &range));
}
