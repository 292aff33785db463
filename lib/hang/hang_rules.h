/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that prove from its own counters that a rank has stopped. Pure.
 *
 * R1, host idle: everything that it enqueued has ended in every group, and somebody waits for
 * something it has not launched. So its process launches nothing: a lock, a loader, divergence,
 * teardown. If peers have ended far more than it has launched, the data about it are older, or from
 * another run, and it is only a suspect. Unless more than half of all ranks are known to wait,
 * those that do may have made a call that the others rightly do not make (one more batch, while the
 * others have ended their epoch), and all are suspects.
 *
 * R2, own completion behind: it has launched a synchronising operation that a peer has ended, but
 * by its own account an earlier one has not ended. A peer ends such an operation only once this
 * rank's GPU has done its part, and operations of a communicator run in order: so its GPU did get
 * further than it reports, and its own device or context has stopped since. A single operation is
 * no proof, since some members end a collective that broke in the middle and others do not; two
 * groups with different members are. A peer that ended something this rank has not even launched
 * did not need it, or its data are from another time: that proves nothing.
 *
 * Stream, with starts (rings): all members have launched, all but this one have started, and it has
 * started nothing that has not ended: its own stream is blocked, or its GPU.
 *
 * Both were found on dumps of injected faults (NVIDIA/nvidia-resiliency-ext d8686d9).
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/* Each names its culprits with their evidence; returns how many. */
size_t hang_rules_idle(const struct hang_facts *facts, struct hang_verdict *verdict);
size_t hang_rules_stream(const struct hang_facts *facts, struct hang_verdict *verdict);

/* Ranks behind by a single operation only become suspects. -ENOMEM. */
int hang_rules_own_gpu(const struct hang_facts *facts, struct hang_verdict *verdict,
		       struct err *err);
