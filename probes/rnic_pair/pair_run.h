/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the pairs of one host within the budget. */
#pragma once

struct err;
struct probe;
struct rdma_engine;

/* Measure all ordered pairs selected by the options. Errors as for run() of struct probe_desc. */
int pair_run(struct probe *probe, struct rdma_engine *engine, struct err *err);
