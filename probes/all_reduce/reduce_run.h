/* SPDX-License-Identifier: Apache-2.0 */
/* The probe on one host: ports, the session over them, and its outcome. */
#pragma once

struct err;
struct pair_plan;
struct probe;
struct rdma_engine;
struct reduce_session;

/*
 * Run the session over open connections: rank 0's `peers` by rank, or the one to rank 0. Returns 0
 * if all rails were measured and emitted. Otherwise the rest has been emitted as not measured, and
 * `err` has the reason.
 */
int reduce_session_run(struct reduce_session *s, struct err *err);
/* Copy the opened ports and options of this host into the session; borrowed. */
void reduce_session_take(struct reduce_session *s, const struct pair_plan *plan);

/* No connection open, nobody suspected. */
void reduce_session_init(struct reduce_session *s);
void reduce_session_release(struct reduce_session *s);

/* Run the probe. Errors as for run() of struct probe_desc. */
int reduce_run(struct probe *probe, struct rdma_engine *engine, struct err *err);
