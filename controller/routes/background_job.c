/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/background_job.h"

#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Length of a slice, the pause after it, and the limit for all of them. */
#define SLICE_US (10 * USEC_PER_MSEC)
#define PAUSE_US (2 * USEC_PER_MSEC)
#define SLICE_MOST_US (25 * USEC_PER_SEC)

/* A job in progress. */
struct background_job {
	struct service *service;
	struct call *call;
	const struct background_job_work *work;
	void *context;
	sd_event_source *timer;
	uint64_t deadline_us;
};

static void background_job_free(struct background_job *p)
{
	p->service->n_background_jobs--;
	(void)sd_event_source_disable_unref(p->timer);
	p->work->release(p->context);
	free(p);
}

static int on_slice(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	struct background_job *p = context;
	uint64_t end_us = clock_mono_us() + SLICE_US;
	struct err err = ERR_INIT;
	int r;

	do {
		r = p->work->step(p->context, &err);
	} while (r == 1 && clock_mono_us() < end_us);
	if (r == 1 && clock_mono_us() < p->deadline_us) {
		(void)sd_event_source_set_time_relative(source, PAUSE_US);
		return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	if (r < 0)
		refuse_store(p->call, r, &err);
	else if (r == 1)
		call_refuse(p->call, 422, "%s", p->work->too_long);
	else
		p->work->answer(p->context, p->call);
	background_job_free(p);
	return 0;
}

static void on_gone(void *context UNUSED, struct call *call)
{
	background_job_free(call_data(call));
	call_refuse(call, 503, "the caller is gone");
}

void background_job_begin(struct service *s, struct call *call,
			  const struct background_job_work *work, void *context)
{
	struct background_job *p;

	if (s->n_background_jobs == BACKGROUND_JOB_MAX) {
		call_refuse(call, 503, "too many such requests at once");
		work->release(context);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	*p = (struct background_job){ .service = s,
				      .call = call,
				      .work = work,
				      .context = context,
				      .deadline_us = clock_mono_us() + SLICE_MOST_US };
	s->n_background_jobs++;
	call_hold(call, on_gone, p);
	if (sd_event_add_time_relative(s->loop, &p->timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC,
				       on_slice, p) < 0) {
		call_refuse(call, 503, "cannot create a timer");
		background_job_free(p);
	}
}
