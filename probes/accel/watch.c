/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/watched.h"
#include "probes/accel/accel.h"

int accel_watch(accel_work *work, void *context, uint64_t deadline_us, struct err *err)
{
	int r = watched_run(work, context, deadline_us, NULL, err);

	if (r != -ETIMEDOUT)
		return r;
	accel_leave_at_once();
	return err_set(err, ETIMEDOUT, "the GPU driver does not answer");
}

/* On the heap: a driver call that returns late still uses it. */
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
		return err_set(err, ETIMEDOUT, "the GPU driver hangs while it starts");
	if (r == 0)
		*ret = o->accel;
	free(o);
	return r;
}

/* One after the other; the engine's own calls have deadlines. */
static void start_in_turn(accel_work *work, struct watched_part *parts, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		parts[i].err = (struct err)ERR_INIT;
		parts[i].r = work(parts[i].context, &parts[i].err);
	}
}

static bool is_late(const struct watched_part *part)
{
	return part->r == -ETIMEDOUT && !part->err.code; /* the work's own has a message */
}

/*
 * If most others were faster, the device is slow; otherwise it is the driver, or too little time.
 */
static void tell_late(struct watched_part *part, unsigned late, unsigned n, double s)
{
	if (2 * late < n)
		(void)err_set(&part->err, ETIMEDOUT,
			      "slow to start: not ready after %.1f s, when %u of %u GPUs were", s,
			      n - late, n);
	else
		(void)err_set(&part->err, ETIMEDOUT,
			      "still starting after %.1f s: %u of %u GPUs were ready", s, n - late,
			      n);
}

unsigned accel_start_all(const struct accel *a, accel_work *work, struct watched_part *parts,
			 unsigned n, uint64_t deadline_us)
{
	const uint64_t begun_us = clock_mono_us();
	unsigned i, late = 0;
	double s;

	if (!a->ops->threads) {
		start_in_turn(work, parts, n);
		return 0;
	}
	watched_run_all(work, parts, n, deadline_us);
	s = (double)(clock_mono_us() - begun_us) / USEC_PER_SEC;
	for (i = 0; i < n; i++)
		late += is_late(&parts[i]);
	for (i = 0; i < n; i++) {
		if (is_late(&parts[i]))
			tell_late(&parts[i], late, n, s);
	}
	if (late)
		accel_leave_at_once();
	return late;
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
	s->note = xstrdup("a call to the GPU driver for it did not return");
	return err_set(err, ETIMEDOUT, "%s: a call to the GPU driver did not return", subject);
}

void accel_failure_fill(struct sample *s, const char *subject, int failed, const char *why)
{
	/* A GPU's subject is long, and is shown next to the note anyway. */
	if (subject && starts_with(why, subject)) {
		why += strlen(subject);
		why += strspn(why, " ,:");
	}
	s->note = xstrdup(why);
	switch (failed) {
	case -ETIMEDOUT:
		s->state = SAMPLE_TIMEOUT;
		return;
	case -ENODEV: /* it was present when the engine was opened */
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
