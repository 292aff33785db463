/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole probe on one host: ports, the session over them, and what it came to.
 */
#pragma once

struct err;
struct pair_plan;
struct probe;
struct rdma_engine;
struct reduce_session;

/* Over lines that are open: rank 0's `peers` by rank, or the line to it. 0 with all emitted;
 * else what was not measured has been emitted with the reason, and is in `err` too. */
int reduce_session_run(struct reduce_session *s, struct err *err);
/* What the ports of this host, made ready, and its options say; borrowed. */
void reduce_session_take(struct reduce_session *s, const struct pair_plan *plan);

/* No line is open, nobody suspected. */
void reduce_session_init(struct reduce_session *s);
void reduce_session_release(struct reduce_session *s);

/* The whole probe. Errors as struct probe_desc's run(). */
int reduce_run(struct probe *probe, struct rdma_engine *engine, struct err *err);
