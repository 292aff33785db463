/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of 1F1B pipelines for tests: computes as given, transfers that cost nothing. */
#pragma once

#include "attribution/trace.h"

enum { PIPELINE_STEPS = 3 };

struct pipeline {
	uint32_t dp, pp, microbatches;
	double forward, backward; /* seconds of a stage */
	uint32_t slow_dp, slow_stage;
	double slow; /* times longer of that worker; 1: none */
	bool collectives;
	bool node_of_stage; /* each stage is a node of its own, else 8 workers are one */
	uint32_t stride;    /* 0: lines in order, else every so manieth, round and round */
	double clock;	    /* seconds between the starts of steps; 0: 100 */
	double scale;	    /* of all times; 0: 1 */
	void (*change)(struct trace_op *op); /* any last word on an operation, or NULL */
};

/* Seconds of what surrounds the computes of a step, with collectives. */
#define PIPELINE_FIXED 0.06604

/* The operations of the job into a builder; its order of lines is by step, rank and stage. */
struct trace_builder *pipeline_builder(const struct pipeline *pipeline);

/* The same, built. */
struct trace *pipeline_trace(const struct pipeline *pipeline);
