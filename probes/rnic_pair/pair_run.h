/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of one host: the time that each gets, and what becomes of it. */
#pragma once

struct err;
struct probe;
struct rdma_engine;

/* All ordered pairs of `engine` that the options ask for. Errors as struct probe_desc's run(). */
int pair_run(struct probe *probe, struct rdma_engine *engine, struct err *err);
