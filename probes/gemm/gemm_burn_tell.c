/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a burn: one per GPU and check, with the values over time as windows. */
#include "probes/gemm/gemm_burn_tell.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_device.h"

/* Checks with one value per slot. */
static const struct series {
	const char *check, *unit;
	int better;
	enum burn_what what;
} all[] = {
	{ "gemm.burn_rate", "FLOP/s", BETTER_HIGHER, BURN_RATE },
	{ "gemm.burn_hbm_temp", "1", BETTER_LOWER, BURN_MEMORY_C },
	{ "gemm.burn_gpu_temp", "1", BETTER_LOWER, BURN_GPU_C },
	{ "gemm.burn_clock", "Hz", BETTER_NONE, BURN_CLOCK },
	{ "gemm.burn_power", "W", BETTER_NONE, BURN_POWER },
};

/*
 * A sample for one GPU, without a value. The duration, and whether there were all-reduces, must be
 * equal for comparison.
 */
static struct sample sample_of(const struct burn *b, unsigned i, const char *check)
{
	const struct gemm_device *d = &b->run->devices[i];
	struct sample s = gemm_sample(d, check);

	(void)json_object_set_new(s.params, "burn_s", json_integer(lround(d->plan->burn_s)));
	(void)json_object_set_new(s.params, "links", json_boolean(b->links != NULL));
	if (s.state == SAMPLE_MEASURED && d->busy[0] && !d->plan->run_busy) {
		s.state = SAMPLE_BUSY;
		s.note = xstrdup(d->busy);
	} else if (s.state == SAMPLE_MEASURED && b->slot < BURN_SLOTS) {
		s.state = SAMPLE_TIMEOUT;
		s.note = xasprintf("time ran out after %zu of %d parts", b->slot, BURN_SLOTS);
	}
	return s;
}

/* Returns false if too little is known. */
static bool set_series(struct sample *s, const struct burn_series *series, enum burn_what what,
		       double value)
{
	double values[BURN_SLOTS];
	size_t n = 0, i;

	for (i = 0; i < BURN_SLOTS; i++) {
		double v = series->slots[i].is[what];

		if (v > 0)
			values[n++] = v;
	}
	if (n < SAMPLE_WINDOWS_MIN || !(value > 0))
		return false;
	sample_set_windows(s, values, n);
	s->value = value;
	return true;
}

static int emit(const struct burn *b, struct sample *s, uint64_t start_us, uint64_t end_us)
{
	gemm_sample_time(s, b->run->plan, start_us, end_us);
	return gemm_emit(b->run, s);
}

static void warn(struct sample *s, const char *code, const char *words)
{
	CLEANUP(freep) char *note = s->note;

	s->ok = TRI_NO;
	s->severity = SEVERITY_WARN;
	s->code = xstrdup(code);
	s->note = xasprintf("%s; %s", words, note);
}

/* The note for a GPU that was measured. */
static char *note_of(const struct burn *b, const struct burn_sum *sums, unsigned i)
{
	const struct gemm_device *d = &b->run->devices[i];
	CLEANUP(freep) char *words = gemm_burn_words(sums, b->run->n, i);

	if (!d->busy[0])
		return TAKE(words);
	return xasprintf("measured although %s; %s", d->busy, words);
}

static int tell_series(const struct burn *b, const struct burn_sum *sums, unsigned i,
		       const struct series *one, uint64_t start_us, uint64_t end_us)
{ /* lint: allow parameters: what is told, and of when */
	struct sample s = sample_of(b, i, one->check);
	CLEANUP(freep) char *hot = NULL;
	bool known;

	s.unit = xstrdup(one->unit);
	s.better = one->better;
	known = s.state == SAMPLE_MEASURED && !b->run->devices[i].failed &&
		set_series(&s, &b->series[i], one->what, sums[i].last[one->what]);
	/* A missing measurement is reported only once, with the rate. */
	if (!known && one != all) {
		sample_release(&s);
		return 0;
	}
	if (known && one->better != BETTER_NONE)
		s.note = note_of(b, sums, i);
	if (known && one->what == BURN_MEMORY_C && gemm_burn_hot(sums, b->run->n, i, &hot))
		warn(&s, "hot-memory", hot);
	return emit(b, &s, start_us, end_us);
}

static int tell_kept(const struct burn *b, const struct burn_sum *sums, unsigned i,
		     uint64_t start_us, uint64_t end_us)
{
	struct sample s = sample_of(b, i, "gemm.burn_kept");
	CLEANUP(freep) char *cause = NULL;
	const char *code = NULL;

	s.unit = xstrdup("1");
	s.better = BETTER_HIGHER;
	if (s.state != SAMPLE_MEASURED || b->run->devices[i].failed || !(sums[i].kept > 0)) {
		sample_release(&s);
		return 0;
	}
	s.value = sums[i].kept;
	s.note = note_of(b, sums, i);
	if (gemm_burn_slower(sums, b->run->n, i, &code, &cause))
		warn(&s, code, cause);
	return emit(b, &s, start_us, end_us);
}

int gemm_burn_tell(const struct burn *b, uint64_t start_us, uint64_t end_us)
{
	CLEANUP(freep) struct burn_sum *sums = xcalloc(b->run->n, sizeof(*sums));
	unsigned i;
	size_t k;
	int r = 0;

	for (i = 0; i < b->run->n; i++)
		gemm_burn_sum(&b->series[i], &sums[i]);
	for (i = 0; r == 0 && i < b->run->n; i++) {
		r = tell_kept(b, sums, i, start_us, end_us);
		for (k = 0; r == 0 && k < ARRAY_SIZE(all); k++)
			r = tell_series(b, sums, i, &all[k], start_us, end_us);
	}
	return r;
}
