/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that prove a rank to have stopped from its own counters. Pure.
 *
 * R1, host idle: all that it enqueued has ended in every group, and somebody waits for what it has
 * not launched. So its process launches nothing: a lock, a loader, divergence, teardown. Where
 * peers have ended far more than it has launched, what is known of it is older than what is known
 * of them, or of another run: it is only a suspect. Unless more than half of all ranks
 * are known to wait, those that do may have called what the others rightly do not call (one batch
 * more, and the others have ended their epoch): all are suspects.
 *
 * R2, own completion behind: it has launched a synchronising operation that a peer has ended, and
 * on its side an earlier one has not ended. A peer ends such an operation only once this rank's GPU
 * has done its part, and operations of a communicator run in order: so its GPU did get past what it
 * reports, and its own device or context has stopped since. One operation alone is no proof:
 * of a collective that broke in the middle some members end it and others do not; in two groups of
 * different members it is. A peer that ended what this rank has not even launched did not need it,
 * or speaks of another time: that proves nothing.
 *
 * Stream: with starts (rings): its members have all launched, all but it have started, and it has
 * started nothing that has not ended: its own stream is blocked, or its GPU.
 *
 * Both were found on dumps of injected faults (NVIDIA/nvidia-resiliency-ext d8686d9).
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/* Each names its culprits with their evidence; how many. */
size_t hang_rules_idle(const struct hang_facts *facts, struct hang_verdict *verdict);
size_t hang_rules_stream(const struct hang_facts *facts, struct hang_verdict *verdict);

/* Those behind by one operation only become suspects. -ENOMEM. */
int hang_rules_own_gpu(const struct hang_facts *facts, struct hang_verdict *verdict,
		       struct err *err);
