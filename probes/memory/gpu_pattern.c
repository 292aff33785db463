/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_pattern.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/memory/gpu_device.h"
#include "probes/memory/pattern.h"

enum {
	STRIP_CHUNKS = 16,	  /* sent by the host, then copied on: 512 MiB, more than any L2 */
	CHUNK_US = 5000000,	  /* longest wait for a copy, or a strip of them */
	PACE = 2000,		  /* upper bound of the host's rate, bytes per microsecond */
	SAMPLE_BYTES = 64 * 1024, /* of each strip, read after all are written */
	TAKES_MAX = 48,		  /* attempts with less memory */
	PASSES = 2,		  /* the pattern, and its complement */
};

/*
 * Maximum part of a GPU's memory to test: the driver's own memory, and some for processes that
 * start meanwhile, is left. No more than half if others have work on it (--busy run), or if the
 * host uses it as memory (NVLink-C2C).
 */
static const double tried_part = 0.98, shared_part = 0.5;
/* If it was too much, the part to try next. */
static const double less_part = 0.875;
/* Part of a pass for copying on; the rest is for reading. */
static const double spread_part = 0.8;

struct pass {
	struct gpu_device *d;
	struct accel_region *memory;
	struct accel_region *out, *back; /* host buffers */
	uint64_t strip;			 /* chunks per strip, sent by the host: 1 to STRIP_CHUNKS */
	struct pattern pattern;
	struct pattern_fault fault; /* index: words from the start of the memory */
	struct err *err;
};

static uint64_t now_us(const struct gpu_plan *plan)
{
	return plan->ops->now_us(plan->accel);
}

static uint64_t words_of(const struct pass *p)
{
	return p->d->plan->copy_bytes / sizeof(uint64_t);
}

/* --- which chunk holds what --- */

/*
 * How far a strip is rotated. No two strips a power of two apart (up to 128 strips of 16 chunks)
 * have the same contents in the same place, so a faulty address line returns a different word.
 */
static uint64_t turn_of(const struct pass *p, uint64_t strip)
{
	return (strip + strip / p->strip) % p->strip;
}

/* The chunk where the strip holds chunk `sent` of those that the host sent. */
static uint64_t place_of(const struct pass *p, uint64_t strip, uint64_t sent)
{
	return strip * p->strip + (sent + turn_of(p, strip)) % p->strip;
}

/* The inverse: which sent chunk this chunk holds. */
static uint64_t sent_to(const struct pass *p, uint64_t chunk)
{
	return (chunk % p->strip + p->strip - turn_of(p, chunk / p->strip)) % p->strip;
}

/* --- copies --- */

/* Copy synchronously. */
static int move(struct pass *p, struct accel_at to, struct accel_at from, uint64_t bytes)
{
	const struct gpu_plan *plan = p->d->plan;
	struct accel_stream *stream = p->d->queues[0].stream;
	int r = plan->ops->copy(stream, to, from, bytes, p->err);

	if (r == 0)
		r = plan->ops->stream_wait(stream, now_us(plan) + CHUNK_US, p->err);
	return r;
}

static int write_chunk(struct pass *p, uint64_t chunk)
{
	const uint64_t bytes = p->d->plan->copy_bytes;

	pattern_fill(&p->pattern, p->out->ptr, words_of(p), sent_to(p, chunk) * words_of(p));
	return move(p, (struct accel_at){ p->memory, chunk * bytes },
		    (struct accel_at){ p->out, 0 }, bytes);
}

/* Read and check the first `bytes` of a chunk. */
static int read_chunk(struct pass *p, uint64_t chunk, uint64_t bytes)
{
	const uint64_t first = sent_to(p, chunk) * words_of(p);
	struct pattern_fault found = { 0 };
	int r = move(p, (struct accel_at){ p->back, 0 },
		     (struct accel_at){ p->memory, chunk * p->d->plan->copy_bytes }, bytes);

	if (r < 0)
		return r;
	pattern_check(&p->pattern, p->back->ptr, bytes / sizeof(uint64_t), first, &found);
	if (found.wrong && !p->fault.wrong) {
		p->fault = found;
		p->fault.index += chunk * words_of(p) - first;
	} else {
		p->fault.wrong += found.wrong;
	}
	return 0;
}

/* Copy a strip, or as much of it as fits, from the previous one. */
static int copy_strip(struct pass *p, uint64_t strip, uint64_t end)
{
	const struct gpu_plan *plan = p->d->plan;
	struct accel_stream *stream = p->d->queues[0].stream;
	uint64_t chunk;
	int r = 0;

	for (chunk = strip * p->strip; r == 0 && chunk < end; chunk++) {
		const uint64_t from = place_of(p, strip - 1, sent_to(p, chunk));

		r = plan->ops->copy(stream, (struct accel_at){ p->memory, chunk * plan->copy_bytes },
				    (struct accel_at){ p->memory, from * plan->copy_bytes },
				    plan->copy_bytes, p->err);
	}
	return r == 0 ? plan->ops->stream_wait(stream, now_us(plan) + CHUNK_US, p->err) : r;
}

/* --- a pass --- */

/* Write the first of `n` chunks and copy them on; `*ret` is how many hold the pattern then. */
static int write_all(struct pass *p, uint64_t n, uint64_t end_us, uint64_t *ret)
{
	uint64_t done = 0, strip;
	int r = 0;

	for (; r == 0 && done < p->strip; done++)
		r = write_chunk(p, done);
	for (strip = 1; r == 0 && done < n && now_us(p->d->plan) < end_us; strip++) {
		done = MIN(n, done + p->strip);
		r = copy_strip(p, strip, done);
	}
	*ret = done;
	return r;
}

/* Read the last chunk of each chain of copies, which has the faults of all before it. */
static int read_ends(struct pass *p, uint64_t n)
{
	const uint64_t whole = n / p->strip, bytes = p->d->plan->copy_bytes;
	uint64_t i;
	int r = 0;

	for (i = 0; r == 0 && i < p->strip; i++)
		r = read_chunk(p, place_of(p, whole - 1, i), bytes);
	for (i = whole * p->strip; r == 0 && i < n; i++)
		r = read_chunk(p, i, bytes);
	return r;
}

/* Read a piece of each strip: what was written last may have overwritten others. */
static int read_samples(struct pass *p, uint64_t n)
{
	const uint64_t bytes = MIN(p->d->plan->copy_bytes, (uint64_t)SAMPLE_BYTES);
	uint64_t strip;
	int r = 0;

	for (strip = 0; r == 0 && strip < n / p->strip; strip++)
		r = read_chunk(p, strip * p->strip + strip % p->strip, bytes);
	return r;
}

/* Find the first strip that has the first fault, from where it was copied on. */
static int find_source(struct pass *p)
{
	const uint64_t seen = p->fault.index / words_of(p), sent = sent_to(p, seen);
	uint64_t low = 0, high = seen / p->strip;
	int r = 0;

	while (r == 0 && low < high) {
		const uint64_t strip = (low + high) / 2, wrong = p->fault.wrong;
		struct pass one = *p;

		one.fault = (struct pattern_fault){ 0 };
		r = read_chunk(&one, place_of(p, strip, sent), p->d->plan->copy_bytes);
		if (!one.fault.wrong) {
			low = strip + 1;
			continue;
		}
		high = strip;
		p->fault = one.fault;
		p->fault.wrong = wrong;
	}
	return r;
}

/* `*ret` is the number of the `n` chunks that were tested. */
static int try_pass(struct pass *p, uint64_t n, uint64_t end_us, uint64_t *ret)
{
	const uint64_t before = p->fault.wrong, now = now_us(p->d->plan);
	const uint64_t left_us = end_us > now ? end_us - now : 0;
	int r = write_all(p, n, now + (uint64_t)(spread_part * (double)left_us), ret);

	if (r == 0)
		r = read_ends(p, *ret);
	if (r == 0 && p->fault.wrong == before)
		r = read_samples(p, *ret);
	return r == 0 && before == 0 && p->fault.wrong ? find_source(p) : r;
}

/* Retest the chunk of the first fault with other values and the buffers swapped. */
static int try_again(const struct pass *first, uint64_t seed, bool *ret_wrong)
{
	static const uint64_t inverts[PASSES] = { 0, UINT64_MAX };
	const uint64_t chunk = first->fault.index / words_of(first);
	struct pass again = *first;
	size_t i;
	int r = 0;

	again.out = first->back;
	again.back = first->out;
	again.pattern.key = pattern_key(~seed);
	again.fault = (struct pattern_fault){ 0 };
	for (i = 0; r == 0 && i < PASSES; i++) {
		again.pattern.invert = inverts[i];
		r = write_chunk(&again, chunk);
		if (r == 0)
			r = read_chunk(&again, chunk, first->d->plan->copy_bytes);
	}
	*ret_wrong = again.fault.wrong > 0;
	return r;
}

/* --- the whole test --- */

static double part_of(const struct gpu_device *d)
{
	return d->plan->run_busy || d->info.c2c ? shared_part : tried_part;
}

/* Allocate as much as possible, at least one chunk; memory of others is not available. */
static int take_memory(struct gpu_device *d, struct accel_region *ret, struct err *err)
{
	const struct gpu_plan *plan = d->plan;
	double most = part_of(d) * (double)d->info.memory_bytes;
	int r = -ENOMEM;
	unsigned i;

	for (i = 0; r == -ENOMEM && i < TAKES_MAX; i++) {
		const uint64_t chunks = MAX((uint64_t)most / plan->copy_bytes, UINT64_C(1));
		const struct accel_memory memory = { ACCEL_DEVICE, -1, chunks * plan->copy_bytes };

		if (err)
			*err = (struct err)ERR_INIT;
		r = plan->ops->region_new(plan->accel, d->index, &memory, ret, err);
		if (chunks == 1)
			break;
		most *= less_part;
	}
	return r;
}

/* The amount that was tested. The caller frees it. */
static char *share_words(const struct pass *p, uint64_t chunks)
{
	const struct gpu_device *d = p->d;
	const double bytes = (double)(chunks * d->plan->copy_bytes);
	const bool all = chunks == p->memory->size / d->plan->copy_bytes;

	return xasprintf("%.1f GB, %.0f %% of its memory%s", bytes * 1e-9,
			 100 * bytes / (double)MAX(d->info.memory_bytes, UINT64_C(1)),
			 !all ? ": time ran out" : "");
}

static void describe(const struct pass *p, uint64_t chunks, bool reproduced, struct sample *s)
{
	const struct pattern_fault *f = &p->fault;
	CLEANUP(freep) char *share = share_words(p, chunks);

	s->value = (double)f->wrong;
	s->ok = f->wrong ? TRI_NO : TRI_YES;
	s->n = chunks * words_of(p);
	if (!f->wrong) {
		s->note = TAKE(share);
		return;
	}
	s->severity = reproduced ? SEVERITY_FATAL : SEVERITY_WARN;
	s->code = xstrdup(reproduced ? "pattern:reproduced" : "pattern:once");
	s->note = xasprintf("%" PRIu64 " of %" PRIu64
			    " words were wrong; the first, at offset 0x%" PRIx64
			    ": expected 0x%016" PRIx64 ", got 0x%016" PRIx64 "; %s; tried: %s",
			    f->wrong, s->n, f->index * sizeof(uint64_t), f->expected, f->got,
			    reproduced ? "wrong again with other values and buffers"
				       : "correct when retried with other values and buffers",
			    share);
}

/* Run both passes. `*ret` is the number of the `n` chunks that both tested. */
static int try_all(struct pass *p, uint64_t n, uint64_t end_us, uint64_t *ret)
{
	static const uint64_t inverts[PASSES] = { 0, UINT64_MAX };
	uint64_t tried = n;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < PASSES; i++) {
		const uint64_t now = now_us(p->d->plan);
		const uint64_t left_us = end_us > now ? end_us - now : 0;
		uint64_t done = 0;

		p->pattern.invert = inverts[i];
		r = try_pass(p, tried, now + left_us / (PASSES - i), &done);
		tried = MIN(tried, done);
	}
	*ret = tried;
	return r;
}

static int try_memory(struct gpu_device *d, uint64_t end_us, struct sample *s, struct err *err)
{
	struct gpu_plan *plan = d->plan;
	struct gpu_pages *pages = &d->pages[GPU_NEAR];
	struct accel_region memory = { 0 };
	struct pass p = {
		.d = d,
		.memory = &memory,
		.out = &pages->source,
		.back = &pages->target,
		.pattern = { .key = pattern_key(plan->seed) },
		.err = err,
	};
	const uint64_t now = now_us(plan), us = end_us > now ? end_us - now : 0;
	/* In each pass the host sends it and reads it back. */
	const uint64_t sent =
		MIN(us * PACE / (2 * PASSES) / plan->copy_bytes, (uint64_t)STRIP_CHUNKS);
	uint64_t n, tried = 0;
	bool reproduced = false;
	int r = take_memory(d, &memory, err);

	n = memory.size / plan->copy_bytes;
	p.strip = MAX(MIN(n, sent), UINT64_C(1));
	if (r == 0)
		r = try_all(&p, n, end_us, &tried);
	if (r == 0 && p.fault.wrong)
		r = try_again(&p, plan->seed, &reproduced);
	if (r == 0)
		describe(&p, tried, reproduced, s);
	if (memory.accel)
		plan->ops->region_free(&memory);
	return r;
}

int gpu_pattern(struct gpu_device *d, uint64_t end_us)
{
	struct gpu_plan *plan = d->plan;
	const struct gpu_pages *pages = &d->pages[GPU_NEAR];
	const uint64_t start_us = now_us(plan);
	struct sample s = sample_init();
	struct err err = ERR_INIT;
	int r = 0;

	s.check = xstrdup("memory.pattern");
	s.subject = xstrdup(d->info.subject);
	s.unit = xstrdup("1");
	s.better = BETTER_LOWER;
	s.locality = xstrdup("self");
	s.params = json_pack("{s:s, s:I}", "engine", plan->ops->name, "size",
			     (json_int_t)plan->copy_bytes);
	s.start = ((double)start_us + (double)plan->epoch_us) * 1e-6;
	if (gpu_live(d) && !pages->failed)
		r = try_memory(d, end_us, &s, &err);
	if (r == -ENOMEM)
		accel_failure_fill(&s, d->info.subject, r, err.msg);
	else if (r < 0)
		gpu_fail(d, r, &err);
	s.seconds = (double)(now_us(plan) - start_us) * 1e-6;
	if (d->failed)
		accel_failure_fill(&s, d->info.subject, d->failed, d->why);
	else if (pages->failed)
		accel_failure_fill(&s, d->info.subject, pages->failed, pages->why);
	else if (!gpu_live(d)) {
		s.state = SAMPLE_BUSY;
		s.note = xstrdup(d->busy);
	}
	r = plan->emit(plan->context, &s);
	return r < 0 ? r : 0;
}
