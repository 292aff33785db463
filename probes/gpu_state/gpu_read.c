/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gpu_state/gpu_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/cuda_load.h"
#include "probes/accel/worker.h"
#include "probes/gpu_state/gpu_look.h"

/* Reading one GPU. */
struct one {
	struct session *session;
	struct worker *worker; /* NULL: no thread could be created */
	struct nvml_device *device;
	struct gpu_reading reading;
};

/* Everything that threads may access; if one hangs, this is never freed. */
struct session {
	struct nvml_calls calls;
	struct worker *worker;
	uint64_t last_us;
	bool started; /* no GPU has to be started by its first call */
	unsigned result;
	unsigned n;
	struct nvml_event_set *events;
	struct one all[GPU_MAX];
	struct gpu_event seen[GPU_EVENTS_MAX];
	size_t n_seen;
	bool unnamed_lost; /* as in struct gpus */
	char driver[80];   /* the same, and the next two */
	bool knows_cc;
	struct nvml_cc cc;
};

/* --- inside the worker ---------------------------------------------------------------------- */

static void start(struct worker *w, void *context)
{
	struct session *s = context;

	worker_step(w, "nvmlInit_v2");
	s->result = s->calls.base.init();
	if (s->result != NVML_OK)
		return;
	worker_step(w, "nvmlDeviceGetCount_v2");
	s->result = s->calls.health.count(&s->n);
	worker_step(w, "nvmlSystemGetDriverVersion");
	if (s->calls.base.driver_version(s->driver, sizeof(s->driver)) != NVML_OK)
		s->driver[0] = '\0';
	if (s->calls.base.cc) {
		worker_step(w, nvml_names.base.cc);
		s->knows_cc = s->calls.base.cc(&s->cc) == NVML_OK;
	}
	if (!s->calls.health.event_set || !s->calls.health.event_register ||
	    !s->calls.health.event_wait || !s->calls.health.event_free)
		return;
	worker_step(w, "nvmlEventSetCreate");
	if (s->calls.health.event_set(&s->events) != NVML_OK)
		s->events = NULL;
}

static void look_at_one(struct worker *w, void *context)
{
	struct one *one = context;
	const struct session *s = one->session;

	one->device = gpu_look(&s->calls, s->driver, w, &one->reading);
	if (!one->device || !s->events || one->reading.result != NVML_OK)
		return;
	worker_step(w, nvml_names.health.event_register);
	(void)gpu_took(&s->calls, &one->reading, nvml_names.health.event_register,
		       s->calls.health.event_register(one->device, NVML_EVENT_XID, s->events));
}

static void take_events(struct worker *w, struct session *s)
{
	struct nvml_event event = { .device = NULL };
	unsigned i, rounds;

	for (rounds = 0; rounds < GPU_EVENTS_MAX; rounds++) {
		unsigned result;

		worker_step(w, nvml_names.health.event_wait);
		result = s->calls.health.event_wait(s->events, &event, 0);
		s->unnamed_lost = result == NVML_GPU_IS_LOST;
		if (result != NVML_OK)
			return;
		for (i = 0; i < s->n && s->all[i].device != event.device; i++)
			;
		if (i < s->n && event.type == NVML_EVENT_XID)
			s->seen[s->n_seen++] =
				(struct gpu_event){ .gpu = i, .xid = (unsigned)event.data };
	}
}

static void end(struct worker *w, void *context)
{
	struct session *s = context;

	if (s->events) {
		take_events(w, s);
		worker_step(w, "nvmlEventSetFree");
		(void)s->calls.health.event_free(s->events);
	}
	worker_step(w, "nvmlShutdown");
	(void)s->calls.base.shutdown();
}

/* --- outside the worker ------------------------------------------------------------------- */

static int start_session(struct session *s, struct gpus *ret, struct err *err)
{
	int r = worker_new(GPU_CALL_US, &s->worker, err);

	if (r < 0)
		return r;
	worker_until(s->worker, s->last_us);
	if (worker_do(s->worker, start, s, NULL) < 0) {
		ret->stuck_at = worker_stuck_at(s->worker);
		ret->cut = worker_was_cut(s->worker);
		ret->stuck = true;
		return 0;
	}
	s->n = MIN(s->n, (unsigned)GPU_MAX);
	switch (s->result) {
	case NVML_OK:
		return 0;
	case NVML_DRIVER_NOT_LOADED:
	case NVML_LIBRARY_NOT_FOUND:
	case NVML_GPU_NOT_FOUND:
		return err_set(err, ENODEV, "no GPU driver: NVML: %s",
			       s->calls.base.error_string(s->result));
	case NVML_NO_PERMISSION:
	case NVML_OPERATING_SYSTEM:
		return err_set(err, EACCES,
			       "NVML does not start: %s: may this process open /dev/nvidiactl and "
			       "/dev/nvidia0 (owner, mode, devices of its container)?",
			       s->calls.base.error_string(s->result));
	default:
		return err_set(err, EIO, "NVML does not start: %s",
			       s->calls.base.error_string(s->result));
	}
}

/* Copy what was known before the call that hangs; the thread no longer writes to these members. */
static void take_name(struct gpu_reading *to, const struct gpu_reading *from, const char *stuck_at)
{
	to->stuck = true;
	to->at = stuck_at;
	if (streq(stuck_at, nvml_names.health.by_index) || streq(stuck_at, nvml_names.health.pci))
		return;
	memcpy(to->pci, from->pci, sizeof(to->pci));
	memcpy(to->model, from->model, sizeof(to->model));
	if (!streq(stuck_at, nvml_names.health.uuid))
		memcpy(to->subject, from->subject, sizeof(to->subject));
}

static void begin_all(struct session *s)
{
	unsigned i;

	for (i = 0; i < s->n; i++) {
		struct one *one = &s->all[i];

		one->session = s;
		one->reading = (struct gpu_reading){ .index = i, .module = -1 };
		if (worker_new(GPU_CALL_US, &one->worker, NULL) < 0)
			continue;
		worker_until(one->worker, s->last_us);
		worker_begin(one->worker, look_at_one, one);
	}
}

/* A call was given up: the GPU does not answer, or has not started. */
static void take_stuck(const struct session *s, struct one *one, uint64_t begun_us,
		       struct gpu_reading *ret)
{
	const char *at = worker_stuck_at(one->worker);

	take_name(ret, &one->reading, at);
	ret->cut = worker_was_cut(one->worker);
	ret->start_us = clock_mono_us() - begun_us;
	ret->starting = streq(at, nvml_names.health.by_index);
	/* Nothing had to be started, so this call had its time like any other. */
	if (!ret->starting || !s->started || ret->start_us <= GPU_CALL_US)
		return;
	ret->starting = ret->cut = false;
}

/* Read all GPUs at once, each within the time limits of its calls; then collect late answers. */
static void read_all(struct session *s, struct gpus *ret)
{
	const uint64_t begun_us = clock_mono_us();
	const char *slow[GPU_MAX] = { NULL };
	uint64_t late_us;
	unsigned i;

	begin_all(s);
	for (i = 0; i < s->n; i++) {
		if (s->all[i].worker && worker_wait(s->all[i].worker, NULL) < 0)
			slow[i] = worker_stuck_at(s->all[i].worker);
	}
	late_us = MIN(clock_mono_us() + GPU_LATE_US, s->last_us);
	for (i = 0; i < s->n; i++) {
		struct one *one = &s->all[i];

		ret->all[i].index = i;
		ret->all[i].skipped = !one->worker;
		if (!one->worker)
			continue;
		if (slow[i] && !worker_came_back(one->worker, late_us)) {
			take_stuck(s, one, begun_us, &ret->all[i]);
			ret->stuck = true;
			continue;
		}
		ret->all[i] = one->reading;
		ret->all[i].slow = slow[i];
		worker_free(one->worker);
	}
}

static void end_session(struct session *s, struct gpus *ret)
{
	if (!ret->stuck && worker_do(s->worker, end, s, NULL) == 0) {
		ret->n_events = s->n_seen;
		memcpy(ret->events, s->seen, s->n_seen * sizeof(s->seen[0]));
		ret->unnamed_lost = s->unnamed_lost;
	} else if (!ret->stuck) {
		ret->stuck_at = worker_stuck_at(s->worker);
		ret->cut = worker_was_cut(s->worker);
		ret->stuck = true;
	}
	worker_free(s->worker);
	if (!ret->stuck)
		free(s);
}

int gpus_read(bool started, uint64_t last_us, struct gpus *ret, struct err *err)
{
	struct session *s = xcalloc(1, sizeof(*s));
	struct err why = ERR_INIT;
	int r = nvml_load(&s->calls, &why);

	s->last_us = last_us;
	s->started = started;
	if (r < 0) {
		free(s);
		return err_set(err, ENODEV, "no GPU driver: %s", why.msg);
	}
	r = start_session(s, ret, err);
	if (r == 0 && !ret->stuck) {
		memcpy(ret->driver, s->driver, sizeof(ret->driver));
		ret->knows_cc = s->knows_cc;
		ret->cc = s->cc;
		ret->n = s->n;
		ret->all = xcalloc(ret->n + 1, sizeof(*ret->all));
		read_all(s, ret);
	}
	if (s->worker)
		end_session(s, ret);
	else
		free(s);
	return r;
}

void gpus_release(struct gpus *gpus)
{
	free(gpus->all);
	*gpus = (struct gpus){ .all = NULL };
}
