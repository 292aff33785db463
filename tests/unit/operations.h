/* SPDX-License-Identifier: Apache-2.0 */
/* Small jobs specified operation by operation, and queries on their graph. */
#pragma once

#include "attribution/graph.h"
#include "lib/base/err.h"

enum { OPERATIONS_STEPS = 3 };

/* An operation on every lane. */
struct row {
	uint32_t stage;
	enum optype type;
	int64_t seq, mc;
	double start, end;
};

/* Parallelism of the job. */
struct shape {
	uint32_t dp, pp, vpp;
};

/* A trace of OPERATIONS_STEPS steps, with the same rows on each lane, and its graph. */
struct result {
	struct trace *trace;
	struct graph *graph;
	int r;
	struct err err;
};

struct result graph_of(struct shape shape, const struct row *rows, size_t n);
void result_release(struct result *result);

uint32_t key_of(const struct result *result, uint32_t stage, enum optype type, uint32_t seq);

/* Does `key` depend directly on `from`? */
bool waits(const struct result *result, uint32_t key, uint32_t from);
size_t n_waits(const struct result *result, uint32_t key);

const struct graph_unit *unit_of(const struct result *result, uint32_t key);
