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
	STRIP_CHUNKS = 16,  /* written before the first of them is read: 512 MiB */
	CHUNK_US = 5000000, /* longest wait for one of them */
	PACE = 2000,	    /* bytes a microsecond that may be got through, at most */
};

/* Part of a GPU's memory that is tried at most. */
static const double tried_part = 0.5;

struct pass {
	struct gpu_device *d;
	struct accel_region *memory;
	struct accel_region *out, *back; /* of the host */
	struct pattern pattern;
	struct pattern_fault fault;
	struct err *err;
};

static uint64_t now_us(const struct gpu_plan *plan)
{
	return plan->ops->now_us(plan->accel);
}

/* One copy, done when it returns. */
static int move(struct pass *p, struct accel_at to, struct accel_at from)
{
	const struct gpu_plan *plan = p->d->plan;
	struct accel_stream *stream = p->d->queues[0].stream;
	int r = plan->ops->copy(stream, to, from, plan->copy_bytes, p->err);

	if (r == 0)
		r = plan->ops->stream_wait(stream, now_us(plan) + CHUNK_US, p->err);
	return r;
}

static int write_chunk(struct pass *p, uint64_t chunk)
{
	const uint64_t bytes = p->d->plan->copy_bytes, words = bytes / sizeof(uint64_t);

	pattern_fill(&p->pattern, p->out->ptr, words, chunk * words);
	return move(p, (struct accel_at){ p->memory, chunk * bytes },
		    (struct accel_at){ p->out, 0 });
}

static int read_chunk(struct pass *p, uint64_t chunk)
{
	const uint64_t bytes = p->d->plan->copy_bytes, words = bytes / sizeof(uint64_t);
	int r = move(p, (struct accel_at){ p->back, 0 },
		     (struct accel_at){ p->memory, chunk * bytes });

	if (r == 0)
		pattern_check(&p->pattern, p->back->ptr, words, chunk * words, &p->fault);
	return r;
}

/* Chunks [first, end) with the pattern, then with its complement. */
static int try_strip(struct pass *p, uint64_t first, uint64_t end)
{
	static const uint64_t inverts[] = { 0, UINT64_MAX };
	uint64_t chunk;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ARRAY_SIZE(inverts); i++) {
		p->pattern.invert = inverts[i];
		for (chunk = first; r == 0 && chunk < end; chunk++)
			r = write_chunk(p, chunk);
		for (chunk = first; r == 0 && chunk < end; chunk++)
			r = read_chunk(p, chunk);
	}
	return r;
}

/* The chunk of the first fault, with other values and the buffers swapped. */
static int try_again(const struct pass *first, uint64_t seed, bool *ret_wrong)
{
	const uint64_t words = first->d->plan->copy_bytes / sizeof(uint64_t);
	const uint64_t chunk = first->fault.index / words;
	struct pass again = *first;
	int r;

	again.out = first->back;
	again.back = first->out;
	again.pattern.key = pattern_key(~seed);
	again.fault = (struct pattern_fault){ 0 };
	r = try_strip(&again, chunk, chunk + 1);
	*ret_wrong = again.fault.wrong > 0;
	return r;
}

/* As much as there is and the time does for; at least one chunk. */
static int take_memory(struct gpu_device *d, uint64_t us, struct accel_region *ret, struct err *err)
{
	const struct gpu_plan *plan = d->plan;
	const uint64_t most = MIN((uint64_t)(tried_part * (double)d->info.memory_bytes), us * PACE);
	struct accel_memory memory = { ACCEL_DEVICE, -1,
				       most / plan->copy_bytes * plan->copy_bytes };
	int r = -ENOMEM;

	memory.size = MAX(memory.size, (size_t)plan->copy_bytes);
	while (r == -ENOMEM && memory.size >= plan->copy_bytes) {
		if (err)
			*err = (struct err)ERR_INIT;
		r = plan->ops->region_new(plan->accel, d->index, &memory, ret, err);
		memory.size = memory.size / 2 / plan->copy_bytes * plan->copy_bytes;
	}
	return r;
}

static void describe(const struct pass *p, uint64_t words, bool reproduced, struct sample *s)
{
	const struct pattern_fault *f = &p->fault;

	s->value = (double)f->wrong;
	s->ok = f->wrong ? TRI_NO : TRI_YES;
	s->n = words;
	if (!f->wrong)
		return;
	s->severity = reproduced ? SEVERITY_FATAL : SEVERITY_WARN;
	s->code = xstrdup(reproduced ? "pattern:reproduced" : "pattern:once");
	s->note = xasprintf("%" PRIu64 " of %" PRIu64
			    " words were wrong; the first, at offset 0x%" PRIx64
			    ": expected 0x%016" PRIx64 ", got 0x%016" PRIx64 "; %s",
			    f->wrong, words, f->index * sizeof(uint64_t), f->expected, f->got,
			    reproduced ? "wrong again with other values and buffers"
				       : "right when tried again with other values and buffers");
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
	const uint64_t now = now_us(plan);
	uint64_t n, first = 0, end;
	bool reproduced = false;
	int r = take_memory(d, end_us > now ? end_us - now : 0, &memory, err);

	n = memory.size / plan->copy_bytes;
	while (r == 0 && first < n && (first == 0 || now_us(plan) < end_us)) {
		end = MIN(n, first + STRIP_CHUNKS);
		r = try_strip(&p, first, end);
		first = end;
	}
	if (r == 0 && p.fault.wrong)
		r = try_again(&p, plan->seed, &reproduced);
	if (r == 0)
		describe(&p, first * (plan->copy_bytes / sizeof(uint64_t)), reproduced, s);
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
