/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/report.h"
#include "lib/watched.h"
#include "lib/xalloc.h"
#include "probes/accel/accel.h"

int accel_watch(accel_work *work, void *context, uint64_t deadline_us, struct err *err)
{
	int r = watched_run(work, context, deadline_us, NULL, err);

	if (r != -ETIMEDOUT)
		return r;
	accel_leave_at_once();
	return err_set(err, ETIMEDOUT, "the GPU driver does not answer");
}

/* On the heap: a driver that comes back late still has it. */
struct opening {
	const struct accel_ops *ops;
	struct accel *accel;
};

static int open_engine(void *context, struct err *err)
{
	struct opening *o = context;

	return o->ops->open(&o->accel, err);
}

int accel_open_watched(const struct accel_ops *ops, uint64_t deadline_us, struct accel **ret,
		       struct err *err)
{
	struct opening *o = xcalloc(1, sizeof(*o));
	int r;

	o->ops = ops;
	r = accel_watch(open_engine, o, deadline_us, err);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "the GPU driver does not come back from its start");
	if (r == 0)
		*ret = o->accel;
	free(o);
	return r;
}

int accel_blocked(const struct accel *a, struct sample *s, struct err *err)
{
	const char *subject = a->ops->asked(a);

	if (!subject[0])
		return err_set(err, ETIMEDOUT, "the GPU driver does not answer");
	s->subject = xstrdup(subject);
	s->locality = xstrdup("self");
	s->state = SAMPLE_TIMEOUT;
	s->start = (double)clock_real_us() * 1e-6;
	s->note = xstrdup("a call of the GPU driver for it did not come back");
	return err_set(err, ETIMEDOUT, "%s: a call of the GPU driver did not come back", subject);
}

void accel_failure_fill(struct sample *s, const char *subject, int failed, const char *why)
{
	/* The subject of a GPU is long, and is told beside it. */
	if (subject && starts_with(why, subject)) {
		why += strlen(subject);
		why += strspn(why, " ,:");
	}
	s->note = xstrdup(why);
	switch (failed) {
	case -ETIMEDOUT:
		s->state = SAMPLE_TIMEOUT;
		return;
	case -ENODEV: /* it was there when the engine was opened */
		s->ok = TRI_NO;
		s->severity = SEVERITY_FATAL;
		s->code = xstrdup("device-lost");
		return;
	case -EIO:
		s->ok = TRI_NO;
		s->severity = SEVERITY_WARN;
		s->code = xstrdup("device-error");
		return;
	default:
		s->state = SAMPLE_SET_UP;
	}
}
