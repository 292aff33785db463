/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate while all GPUs run all-reduces, as training does all the time. Neither a product nor a
 * collective alone shows it (they share SMs, memory and power). The product is that of gemm.rate;
 * the all-reduce has as many bytes as the product writes, which is what tensor parallelism reduces
 * after it.
 *
 * One thread drives both. coll_run() drives the collectives, many in one go; products are enqueued
 * and taken whenever it calls its watch, with some windows ahead as usual. A window counts if it
 * was taken before the end of a collective that completed.
 */
#include "probes/gemm/gemm_overlap.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/sys/term.h"
#include "probes/accel/watch.h"
#include "probes/coll/coll_data.h"
#include "probes/coll/nccl_load.h"
#include "probes/gemm/gemm_busy.h"
#include "probes/gemm/gemm_clock.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_window.h"

enum {
	ONCE_US = 5000000,	  /* limit for a go of coll_run() */
	GO_US = 200000,		  /* duration of a go */
	ALONE = 8,		  /* collectives without products, for comparison */
	BYTES_MIN = 64 * 1024,	  /* of a collective: below, launches dominate */
	FILL_BYTES = 1024 * 1024, /* of data, repeated over the buffer: never zeros */
	WARM_WINDOW_US = 50000,	  /* as for gemm.rate */
	MEMORY_PART = 16,	  /* divisor of a GPU's memory for each of two buffers */
	ALIGN = 16,		  /* bytes, of each rank's part: what NCCL moves fastest */
};
/* Part of the time before windows count. */
static const double warm_part = 0.25;

static uint64_t now_us(const struct overlap *o)
{
	return o->run->plan->ops->now_us(o->run->plan->accel);
}

/* --- the collective --- */

static void fail(struct overlap *o, int r, int suspect, const char *why)
{
	o->failed = r;
	o->suspect = suspect;
	(void)snprintf(o->why, sizeof(o->why), "%s", why);
}

/*
 * Run `times` collectives by the deadline. Returns true with their bus bandwidth if they completed.
 */
static bool go(struct overlap *o, unsigned times, const struct coll_watch *watch, double *ret)
{
	uint64_t last_us = MIN(now_us(o) + ONCE_US, o->run->plan->deadline_us);
	const struct coll_result *result = &o->coll->result;
	struct err err = ERR_INIT;
	double seconds = 0;
	unsigned i;
	int r;

	coll_repeat(o->coll, times);
	r = coll_run(o->coll, &o->op, last_us, watch, &err);
	if (r < 0)
		fail(o, r, COLL_NOBODY, err.msg);
	else if (result->state == COLL_LATE)
		fail(o, -ETIMEDOUT, result->suspect, result->why);
	else if (result->state != COLL_DONE)
		fail(o, o->coll->ops->whole->error(o->coll), result->suspect, result->why);
	for (i = 0; i < o->n; i++)
		seconds = fmax(seconds, o->coll->ops->whole->seconds(o->coll, i));
	*ret = coll_busbw(&o->op, o->n, seconds);
	return !o->failed;
}

bool gemm_overlap_try_alone(struct overlap *o, unsigned *ret_times)
{
	double seconds;

	if (o->failed)
		return false;
	/* The first one establishes connections. */
	if (!go(o, 1, NULL, &o->alone) || !go(o, ALONE, NULL, &o->alone))
		return false;
	seconds = o->coll->ops->whole->seconds(o->coll, 0);
	*ret_times = seconds * COLL_REPEAT_MAX * USEC_PER_SEC < GO_US
			     ? (unsigned)COLL_REPEAT_MAX
			     : (unsigned)MAX(GO_US * 1e-6 / seconds, 1.0);
	return true;
}

static void keep_go(struct overlap *o, double busbw)
{
	if (o->n_goes < OVERLAP_GOES_MAX)
		o->goes[o->n_goes++] = busbw;
}

bool gemm_overlap_go(struct overlap *o, unsigned times, const struct coll_watch *watch)
{
	double busbw;

	if (!go(o, times, watch, &busbw))
		return false;
	keep_go(o, busbw);
	return true;
}

/* --- products meanwhile --- */

static void begin_counting(struct overlap *o)
{
	uint64_t now = now_us(o);
	uint64_t left_us = (uint64_t)((1 - warm_part) * (double)o->run->plan->overlap_us);

	gemm_windows_count(o->run);
	o->stretch = (struct gemm_stretch){
		.window_us = left_us / GEMM_WINDOWS,
		.end_us = MIN(now + left_us, o->run->plan->deadline_us),
		.last_us = MIN(now + left_us + left_us / 4, o->run->plan->deadline_us),
		.counts = true,
	};
}

static void turn(struct overlap *o)
{
	bool more;

	if (o->over)
		return;
	more = gemm_windows_turn(o->run, &o->stretch, 0);
	if (!o->stretch.counts && now_us(o) >= o->stretch.end_us)
		begin_counting(o);
	else if (o->stretch.counts)
		o->over = !more;
}

/* Called continually by coll_run(); never gives up. */
static bool look(void *context, int *ret_suspect UNUSED, char ret_why[static COLL_WHY_SIZE] UNUSED)
{
	turn(context);
	return false;
}

static void keep_sure(struct overlap *o)
{
	unsigned i;

	for (i = 0; i < o->run->n; i++)
		o->n_sure[i] = o->run->devices[i].n_rates;
}

static void measure(struct overlap *o)
{
	const struct coll_watch watch = { look, o };
	uint64_t warm_us = (uint64_t)(warm_part * (double)o->run->plan->overlap_us);
	unsigned times = 1;
	double busbw;

	gemm_windows_warm(o->run);
	if (!gemm_overlap_try_alone(o, &times))
		return;
	o->stretch = (struct gemm_stretch){
		.window_us = WARM_WINDOW_US,
		.end_us = now_us(o) + warm_us,
		.last_us = o->run->plan->deadline_us,
	};
	while (!o->over && go(o, times, &watch, &busbw)) {
		if (o->stretch.counts)
			keep_go(o, busbw);
		keep_sure(o);
		turn(o);
	}
}

/* --- set-up --- */

static uint64_t bytes_for(const struct gemm_run *run)
{
	uint64_t part = (uint64_t)ALIGN * run->n;
	uint64_t bytes = MAX(gemm_sizes(&run->plan->shape).out, (size_t)BYTES_MIN);
	unsigned i;

	for (i = 0; i < run->n; i++)
		bytes = MIN(bytes, run->devices[i].info.memory_bytes / MEMORY_PART);
	return MAX(bytes / part, (uint64_t)1) * part;
}

/* Create communicators, and fill the send buffers. */
static void set_up(struct overlap *o)
{
	const struct gemm_plan *plan = o->run->plan;
	uint64_t last_us = plan->deadline_us - MIN(plan->overlap_us, plan->deadline_us);
	struct nccl_setup setup = {
		.library = &plan->nccl,
		.accel = plan->accel,
		.n = o->n,
		.bytes = o->op.bytes,
		.deadline_us = MIN(now_us(o) + NCCL_READY_US, last_us),
	};
	uint64_t part = (uint64_t)ALIGN * o->n;
	struct coll_op fill = { COLL_ALL_REDUCE, MIN(o->op.bytes, FILL_BYTES / part * part) };
	struct err err = ERR_INIT;
	int r = nccl_coll_new(&setup, &o->coll, &err);

	if (r == 0)
		r = coll_fill(o->coll, &fill, plan->seed, &err);
	if (r == 0)
		r = o->coll->ops->whole->spread(o->coll, fill.bytes, &err);
	if (r == 0)
		nccl_coll_apart(o->coll);
	if (r < 0)
		fail(o, r, COLL_NOBODY, err.msg);
}

/* A collective needs all GPUs: the first that is unusable, or NULL. */
static const struct gemm_device *find_absent(const struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		if (!gemm_live(&run->devices[i]))
			return &run->devices[i];
	}
	return NULL;
}

static void forget_clocks(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are run->n */
		run->devices[i].clock = (struct gemm_clock){ 0 };
	}
}

static struct overlap *make(struct gemm_run *run)
{
	struct overlap *o = xcalloc(1, sizeof(*o));

	o->run = run;
	o->n = run->n;
	o->suspect = COLL_NOBODY;
	o->alone = (double)NAN;
	o->op = (struct coll_op){ COLL_ALL_REDUCE, bytes_for(run) };
	return o;
}

struct overlap *gemm_overlap_new(struct gemm_run *run)
{
	struct overlap *o = make(run);
	const struct gemm_device *absent = find_absent(run);

	if (absent)
		fail(o, -ENODEV, COLL_NOBODY, absent->failed ? absent->why : absent->busy);
	else
		set_up(o);
	return o;
}

void gemm_overlap_free(struct overlap *o)
{
	if (!o)
		return;
	if (o->coll && !o->run->plan->leaves)
		o->coll->ops->close(o->coll);
	free(o->n_sure);
	free(o);
}

static int overlap_all(struct overlap *o)
{
	uint64_t start_us = now_us(o);
	int r;

	forget_clocks(o->run);
	gemm_busy_start(o->run);
	set_up(o);
	if (!o->failed)
		measure(o);
	gemm_busy_end(o->run, GEMM_MEASURED, now_us(o) - start_us);
	/* Report the GPU at fault before those that only waited. */
	r = overlap_emit_busbw(o, start_us);
	return r == 0 ? overlap_emit(o, start_us) : r;
}

static void free_overlap(struct overlap **o)
{
	gemm_overlap_free(*o);
}

int gemm_overlap(struct gemm_run *run)
{
	CLEANUP(free_overlap) struct overlap *o = NULL;
	const struct gemm_device *absent;

	if (!run->plan->overlap || run->n == 0)
		return 0;
	o = make(run);
	absent = find_absent(run);
	if (absent)
		return overlap_emit_absent(o, absent);
	o->n_sure = xcalloc(run->n, sizeof(*o->n_sure));
	return overlap_all(o);
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

/* A sample for one GPU, without a value yet. */
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

		gemm_sample_time(&s, o->run->plan, start_us, now_us(o));
		if (s.state == SAMPLE_MEASURED && !d->failed)
			set_overlap(&s, o, d);
		r = gemm_emit(o->run, &s);
	}
	return r;
}

/* The rank at fault, or the GPU that the message begins with, otherwise the subject of all. */
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
	gemm_sample_time(&s, o->run->plan, start_us, now_us(o));
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
