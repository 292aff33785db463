/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/verify.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/memory/buffer.h"
#include "probes/memory/team.h"

enum {
	PAGE_WORDS = 512,	/* retested around a fault */
	BLOCK_WORDS = 8 * 1024, /* between clock readings */
	PASSES = 2,		/* the pattern, and its complement */
	MOVES = 2 * PASSES,	/* each pass writes and reads each word */
};

/* Part of the time to plan for: a verifying read is slightly slower than a plain one. */
#define TIME_SHARE 0.7

struct job {
	struct arena *arena;
	struct pattern pattern;
	const struct verify_hook *hook;
	uint64_t deadline_us;
	bool reading;
	size_t *todo;		      /* words per array, by thread; reduced when late */
	struct pattern_fault *faults; /* by thread */
};

static uint64_t *words_of(const struct arena *arena, size_t array)
{
	void *at = arena->buffer->arrays[array];

	return at;
}

/* Index of the first word of an array among all words of the arena. */
static uint64_t first_index(const struct arena *arena, size_t array)
{
	return array * (arena->array_bytes / sizeof(uint64_t));
}

static void one_block(struct job *job, size_t thread, size_t array, size_t at, size_t n)
{
	uint64_t *words = words_of(job->arena, array) + at;
	uint64_t index = first_index(job->arena, array) + at;

	if (job->reading)
		pattern_check(&job->pattern, words, n, index, &job->faults[thread]);
	else
		pattern_fill(&job->pattern, words, n, index);
}

static void verify_part(void *context, size_t i, size_t n)
{
	struct job *job = context;
	size_t first, end, at, array;

	arena_part(job->arena->array_bytes, i, n, &first, &end);
	for (at = 0; at < job->todo[i]; at += BLOCK_WORDS) {
		if (clock_mono_us() >= job->deadline_us) {
			job->todo[i] = at;
			break;
		}
		for (array = 0; array < BUFFER_ARRAYS; array++)
			one_block(job, i, array, first + at,
				  MIN((size_t)BLOCK_WORDS, job->todo[i] - at));
	}
	kernel_fence();
}

/* Words per array for each thread: as many as the time allows, at most its part. */
static size_t plan(struct job *job, double bytes)
{
	size_t n = team_size(job->arena->team), total = 0, i;
	const double each = bytes / sizeof(uint64_t) / MOVES / BUFFER_ARRAYS / (double)n;

	for (i = 0; i < n; i++) {
		size_t first, end;

		arena_part(job->arena->array_bytes, i, n, &first, &end);
		job->todo[i] = end - first;
		if (each < (double)job->todo[i])
			job->todo[i] = (size_t)each / PAGE_WORDS * PAGE_WORDS;
		total += job->todo[i];
	}
	return total;
}

static void run_pass(struct job *job, uint64_t invert)
{
	size_t array;

	job->pattern.invert = invert;
	job->reading = false;
	team_run(job->arena->team, verify_part, job);
	for (array = 0; job->hook && job->hook->settle && array < BUFFER_ARRAYS; array++)
		job->hook->settle(job->hook->context, words_of(job->arena, array),
				  job->arena->array_bytes / sizeof(uint64_t));
	job->reading = true;
	team_run(job->arena->team, verify_part, job);
}

/* Merge the faults of all threads: the first position, and the sum. */
static void gather(const struct job *job, struct verify *v)
{
	size_t i;

	for (i = 0; i < team_size(job->arena->team); i++) {
		const struct pattern_fault *f = &job->faults[i];
		uint64_t wrong = v->fault.wrong + f->wrong;

		if (f->wrong && (v->fault.wrong == 0 || f->index < v->fault.index))
			v->fault = *f;
		v->fault.wrong = wrong;
		v->words += job->todo[i] * BUFFER_ARRAYS;
	}
}

static void flush_cache(void *context UNUSED, uint64_t *words, size_t n)
{
	kernel_flush(words, n * sizeof(*words));
}

/* Locate the first fault and retest its page. */
static void try_again(const struct job *job, uint64_t seed, struct verify *v)
{
	const uint64_t per_array = job->arena->array_bytes / sizeof(uint64_t);
	uint64_t word = v->fault.index % per_array, page = word / PAGE_WORDS * PAGE_WORDS;
	const bool hooked = job->hook && job->hook->settle;
	uint64_t *words;

	v->array = v->fault.index / per_array;
	v->offset = word * sizeof(uint64_t);
	words = words_of(job->arena, v->array) + page;
	v->reproduced = pattern_reproduces(words, MIN((uint64_t)PAGE_WORDS, per_array - page), seed,
					   hooked ? job->hook->settle : flush_cache,
					   hooked ? job->hook->context : NULL);
}

static void run(struct job *job, uint64_t seed, struct verify *ret)
{
	const uint64_t began = clock_mono_us();
	struct verify v = { 0 };

	run_pass(job, 0);
	run_pass(job, UINT64_MAX);
	gather(job, &v);
	if (v.fault.wrong)
		try_again(job, seed, &v);
	v.seconds = (double)(clock_mono_us() - began) / (double)USEC_PER_SEC;
	*ret = v;
}

int verify_arena(struct arena *arena, uint64_t seed, uint64_t us, double bytes_per_s,
		 const struct verify_hook *hook, struct verify *ret)
{
	struct job job = {
		.arena = arena,
		.pattern = { .key = pattern_key(seed) },
		.hook = hook,
		.deadline_us = clock_mono_us() + us,
		.todo = xcalloc(team_size(arena->team), sizeof(*job.todo)),
		.faults = xcalloc(team_size(arena->team), sizeof(*job.faults)),
	};
	int r = -ETIME;

	if (plan(&job, bytes_per_s * TIME_SHARE * (double)us / (double)USEC_PER_SEC)) {
		run(&job, seed, ret);
		r = 0;
	}
	free(job.todo);
	free(job.faults);
	return r;
}
