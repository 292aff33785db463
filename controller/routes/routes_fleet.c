/* SPDX-License-Identifier: Apache-2.0 */
/* Data about the fleet as a whole. */
#include <errno.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/fleet/drift.h"
#include "controller/http/api.h"
#include "controller/routes/background_job.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_backup.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

void get_incidents(void *context, struct call *call)
{
	struct service *s = context;
	const char *state = call_argument(call, "state");
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (state && !streq(state, "open") && !streq(state, "all")) {
		call_refuse(call, 400, "state: expected open or all");
		return;
	}
	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_incidents(s->store, &range, streq(state, "open"), &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

void get_incident(void *context, struct call *call)
{
	struct service *s = context;
	json_t *incident = NULL;
	struct err err = ERR_INIT;
	int64_t id;
	int r = routes_number(call, "incident", &id, &err);

	if (r == 0)
		r = store_incident(s->store, id, &incident, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply(call, 200, incident);
}

void get_baselines(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *all = baselines_encode(&s->baselines);
	struct store_range range;
	struct store_page page;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	page = cut_page(all, &range);
	reply_page(call, &page);
}

/* --- a copy of the store --- */

/* A fixed path: callers must not choose which file is overwritten. */
static char *backup_path(const struct service *s)
{
	return xasprintf("%s-backup", s->settings->db);
}

static json_t *backup_json(const struct service *s)
{
	static const char *const names[] = { "none", "running", "done", "failed" };
	const struct store_backup b = store_backup_state(s->store);
	CLEANUP(freep) char *path = backup_path(s);

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s?}", "state", names[b.state], "file", path,
			 "made", (json_int_t)b.made, "pages", (json_int_t)b.pages, "left",
			 (json_int_t)b.left, "error", b.error);
}

void post_backup(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(freep) char *path = backup_path(s);
	struct err err = ERR_INIT;
	int r = store_backup_begin(s->store, path, &err);

	if (r == 0)
		call_reply(call, 202, backup_json(s));
	else
		call_refuse(call, r == -EBUSY ? 409 : 503, "%s", err.msg);
}

void get_backup(void *context, struct call *call)
{
	call_reply(call, 200, backup_json(context));
}

/* --- drift --- */

/* Hosts read per step. */
enum { STEP_HOSTS = 100 };

struct drifting {
	struct service *service;
	struct drift *drift;
	char *after; /* the last host read, or NULL */
	char *cursor;
	size_t limit;
};

static int step(void *context, struct err *err)
{
	struct drifting *d = context;
	const struct store_range range = { d->after, STEP_HOSTS };
	struct store_page page = { 0 };
	size_t i;
	int r = store_envs(d->service->store, &range, clock_real_us(), &page, err);

	if (r < 0)
		return r;
	for (i = 0; i < json_array_size(page.items); i++)
		drift_add(d->drift, json_array_get(page.items, i));
	json_decref(page.items);
	free(d->after);
	d->after = page.next;
	return d->after != NULL;
}

static void answer(void *context, struct call *call)
{
	const struct drifting *d = context;
	const struct store_range range = { d->cursor, d->limit };
	CLEANUP(json_freep) json_t *all = drift_items(d->drift);
	struct store_page page = cut_page(all, &range);

	reply_page(call, &page);
}

static void release(void *context)
{
	struct drifting *d = context;

	drift_free(d->drift);
	free(d->after);
	free(d->cursor);
	free(d);
}

void get_drift(void *context, struct call *call)
{
	static const struct background_job_work work = { step, answer, release,
							 "too many hosts to compare within 25 s" };
	struct service *s = context;
	struct store_range range;
	struct drifting *d;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	d = xcalloc(1, sizeof(*d));
	*d = (struct drifting){ .service = s,
				.drift = drift_new(),
				.cursor = xstrdup(range.cursor),
				.limit = range.limit };
	background_job_begin(s, call, &work, d);
}
