/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a whole step of a rank (ring_steps.h) to operations of optrace/1: what rings show, and
 * computing, which is what lies between.
 *
 * With stages: a forward ends where its send begins, a backward likewise, and each begins when its
 * input is there and the previous one is done. On the last stage a forward and the backward of the
 * same micro-batch follow each other with nothing in between, on the first a backward and the next
 * forward. These are divided so that the forward takes as long as forwards alone take there (on the
 * last stage, where none is alone, a third), the same each time. So their sum is right, and neither
 * can appear to vary with the other, which would suggest that sequences are of uneven length.
 *
 * Without stages: everything between two collectives of the replicas is one compute: a forward up
 * to the first gradients, a backward after them. If there are many they are pooled, by number and
 * not by time, so that all ranks have the same operations.
 *
 * The optimizer is what lies between the last collective of a step and the parameters of the next,
 * or its first receive. If the first stage gathers none, its first forward is assumed to last as
 * long as others, and what precedes it is the optimizer (or the loader). Without stages and
 * parameters it is part of the next step's forward.
 *
 * Pure.
 */
#pragma once

#include "lib/ring/ring_line.h"
#include "lib/ring/ring_steps.h"

enum {
	/* Per step; more collectives are pooled. A line takes 11 bytes with gzip: 2 KiB. */
	RING_SPANS_USUAL = 184,
	/* Sends and receives cannot be pooled: the limit, at 16 bytes each. */
	RING_SPANS_MAX = 2048,
};

struct ring_span {
	double start, end;   /* seconds from `base` */
	uint32_t stands_for; /* operations of rings; 0: computing */
	uint8_t work;	     /* enum ring_work */
};

/* Converts GPU timestamps to host time in seconds. */
struct ring_spans_clock {
	uint64_t base;		/* GPU timestamp that is 0 */
	struct ring_line ahead; /* from ring_clock_host() */
};

/* Room for one step. */
struct ring_spans {
	struct ring_span list[RING_SPANS_MAX];
	size_t n;
};

struct ring_spans_job {
	const struct ring_steps *steps;
	struct ring_shape shape;
	struct ring_spans_clock clock;
	/* Usual durations on this rank, from ring_spans_prepare(); NAN: not seen alone. */
	double forward_s, backward_s, both_s;
};

/* Finds usual durations of computes from all steps, for those that cannot be seen. */
void ring_spans_prepare(struct ring_spans_job *job);

/* -ENODATA with a sentence: forwards and backwards do not match, or too many operations. */
int ring_spans_of(const struct ring_spans_job *job, const struct ring_step *step,
		  struct ring_spans *ret, struct err *err);
