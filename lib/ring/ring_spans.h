/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole step of a rank (ring_steps.h) as operations of optrace/1: what rings tell, and computing,
 * which is what lies between.
 *
 * With stages: a forward ends where its send begins, a backward likewise, and each begins when its
 * input is there and the one before is done. On the last stage a forward and the backward of the
 * same micro-batch follow each other with nothing between, on the first a backward and the next
 * forward: these are cut so that the forward takes what forwards alone take there (on the last
 * stage, where none is alone, a third), the same each time. So their sum is right, and neither can
 * be seen to go with the other, which would say that sequences are of uneven length.
 *
 * Without stages: between two collectives of the replicas all is one compute: a forward up to the
 * first gradients, a backward after them. Many are pooled, by number and not by time, so that all
 * ranks have the same operations.
 *
 * The optimizer is what lies between the last collective of a step and the parameters of the next,
 * or its first receive. Where the first stage gathers none, its first forward is taken to last as
 * others do, and the optimizer (or the loader) what is before it. Without stages and
 * parameters it is part of the next step's forward.
 * Pure.
 */
#pragma once

#include "lib/ring/ring_line.h"
#include "lib/ring/ring_steps.h"

enum {
	/* Of a step: more collectives are pooled. Packed by gzip a line takes 11 bytes: 2 KiB. */
	RING_SPANS_USUAL = 184,
	/* Sends and receives cannot be pooled: so many at most, and 16 bytes each. */
	RING_SPANS_MAX = 2048,
};

struct ring_span {
	double start, end;   /* seconds from `base` */
	uint32_t stands_for; /* operations of rings; 0: computing */
	uint8_t work;	     /* enum ring_work */
};

/* The host's time of a stamp of the GPU: seconds. */
struct ring_spans_clock {
	uint64_t base;		/* stamp of the GPU that is 0 */
	struct ring_line ahead; /* of ring_clock_host() */
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
	/* ring_spans_prepare() finds what this rank usually takes; NAN: not seen by itself. */
	double forward_s, backward_s, both_s;
};

/* What computes usually take, from all steps: for where one cannot be seen. */
void ring_spans_prepare(struct ring_spans_job *job);

/* -ENODATA with a sentence: forwards and backwards do not match, or there are too many operations. */
int ring_spans_of(const struct ring_spans_job *job, const struct ring_step *step,
		  struct ring_spans *ret, struct err *err);
