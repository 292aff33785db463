/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of 1F1B pipelines for tests: computes of given durations, transfers of zero cost. */
#pragma once

#include "attribution/trace.h"

enum { PIPELINE_STEPS = 3 };

struct pipeline {
	uint32_t dp, pp, microbatches;
	double forward, backward; /* seconds per stage */
	uint32_t slow_dp, slow_stage;
	double slow; /* slowdown factor of that worker; 1: none */
	bool collectives;
	bool node_of_stage; /* each stage is a node; else 8 workers are a node */
	uint32_t stride;    /* 0: lines in order, else every stride-th line, cyclically */
	double clock;	    /* seconds between the starts of steps; 0: 100 */
	double scale;	    /* multiplies all times; 0: 1 */
	void (*change)(struct trace_op *op); /* may modify each operation; or NULL */
};

/* Seconds of the operations around the computes of a step, with collectives. */
#define PIPELINE_FIXED 0.06604

/* Returns a builder with the operations of the job, ordered by step, rank and stage. */
struct trace_builder *pipeline_builder(const struct pipeline *pipeline);

/* The same, as a finished trace. */
struct trace *pipeline_trace(const struct pipeline *pipeline);
