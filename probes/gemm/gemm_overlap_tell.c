/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "lib/base/xalloc.h"
#include "lib/sys/term.h"
#include "probes/accel/watch.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_overlap.h"

static uint64_t now_us(const struct gemm_plan *plan)
{
	return plan->ops->now_us(plan->accel);
}

static void set_params(struct sample *s, const struct overlap *o)
{
	(void)json_object_set_new(s->params, "collective", json_string("all-reduce"));
	(void)json_object_set_new(s->params, "bytes", json_integer((json_int_t)o->op.bytes));
	(void)json_object_set_new(s->params, "ranks", json_integer(o->n));
	(void)json_object_set_new(s->params, "nccl", json_string(o->run->plan->nccl.version));
}

/* "91 % of its rate alone; SM clock ..." */
static char *compare(const struct gemm_device *d, double value)
{
	CLEANUP(freep) char *clock = gemm_clock_words(d);
	CLEANUP(freep)
	char *ratio = d->plain_rate > 0 ? xasprintf("%.1f %% of its rate without an all-reduce",
						    100 * value / d->plain_rate)
					: xstrdup("its rate without an all-reduce is unknown");

	return xasprintf("%s%s%s", ratio, clock ? "; " : "", clock ? clock : "");
}

static void set_overlap(struct sample *s, const struct overlap *o, const struct gemm_device *d)
{
	size_t n = o->n_sure[d->index];

	if (d->busy[0] && !d->plan->run_busy) {
		s->state = SAMPLE_BUSY;
		s->note = xstrdup(d->busy);
	} else if (n >= SAMPLE_WINDOWS_MIN) {
		sample_set_windows(s, d->rates, n);
		s->note = compare(d, s->value);
	} else if (o->failed) {
		s->state = o->failed == -ETIMEDOUT ? SAMPLE_TIMEOUT : SAMPLE_SET_UP;
		s->note = xasprintf("the concurrent all-reduce did not finish: %s", o->why);
	} else {
		s->state = SAMPLE_TIMEOUT;
		s->note = xasprintf("%zu of at least %d windows in time", n, SAMPLE_WINDOWS_MIN);
	}
}

/* Of one GPU, without a value yet. */
static struct sample overlap_sample(const struct overlap *o, const struct gemm_device *d)
{
	struct sample s = gemm_sample(d, "gemm.overlap");

	s.unit = xstrdup("FLOP/s");
	s.better = BETTER_HIGHER;
	set_params(&s, o);
	return s;
}

int overlap_emit(struct overlap *o, uint64_t start_us)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < o->run->n; i++) {
		const struct gemm_device *d = &o->run->devices[i];
		struct sample s = overlap_sample(o, d);

		gemm_sample_time(&s, o->run->plan, start_us, now_us(o->run->plan));
		if (s.state == SAMPLE_MEASURED && !d->failed)
			set_overlap(&s, o, d);
		r = gemm_emit(o->run, &s);
	}
	return r;
}

/* The rank at fault, or who the sentence begins with; all of them. */
static const char *blamed(const struct overlap *o)
{
	unsigned i;

	if (o->suspect != COLL_NOBODY)
		return o->run->devices[o->suspect].info.subject;
	for (i = 0; o->failed && i < o->run->n; i++) {
		if (starts_with(o->why, o->run->devices[i].info.subject))
			return o->run->devices[i].info.subject;
	}
	return GEMM_ALL_SUBJECT;
}

static void set_failure(struct sample *s, const struct overlap *o)
{
	accel_failure_fill(s, s->subject, o->failed, o->why);
	if (o->failed != -EPROTO)
		return;
	s->state = SAMPLE_MEASURED;
	s->ok = TRI_NO;
	s->severity = SEVERITY_WARN;
	s->code = xstrdup("nccl-error");
}

int overlap_emit_busbw(struct overlap *o, uint64_t start_us)
{
	struct sample s = sample_init();
	char alone[NUMBER_SIZE];

	s.check = xstrdup("gemm.overlap_busbw");
	s.subject = xstrdup(blamed(o));
	s.unit = xstrdup("B/s");
	s.better = BETTER_NONE;
	s.params = json_pack("{s:s}", "engine", "nccl");
	set_params(&s, o);
	gemm_sample_time(&s, o->run->plan, start_us, now_us(o->run->plan));
	if (o->failed) {
		set_failure(&s, o);
	} else if (o->n_goes) {
		sample_set_windows(&s, o->goes, o->n_goes);
		number_format(o->alone, s.unit, alone);
		s.note = xasprintf("%.0f %% of its rate without products, %s",
				   100 * s.value / o->alone, alone);
	} else {
		s.state = SAMPLE_TIMEOUT;
		s.note = xstrdup("no time was left for it");
	}
	return gemm_emit(o->run, &s);
}

int overlap_emit_absent(const struct overlap *o, const struct gemm_device *absent)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < o->run->n; i++) {
		const struct gemm_device *d = &o->run->devices[i];
		struct sample s = overlap_sample(o, d);

		if (gemm_live(d)) {
			s.state = SAMPLE_SET_UP;
			s.note = xasprintf("not without %s: %s", absent->info.subject,
					   absent->failed ? absent->why : absent->busy);
		}
		r = gemm_emit(o->run, &s);
	}
	return r;
}
