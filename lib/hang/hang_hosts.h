/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules on what hosts say of processes and devices. Pure.
 *
 * A process that a signal stopped, that a debugger holds, that hangs in a device or file system, or
 * that has ended while the others live, launches nothing, whatever its counters say. A fatal Xid is
 * the GPU's own account. Where nothing counts operations (a job over gloo, no plug-in) what
 * processes wait in does: most of them in one and the same call of a waiting kind, and one of
 * them elsewhere.
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/*
 * How long a process must be seen in a state that is also passed through: uninterruptible sleep,
 * a debugger's hold, one frame. Several polls of a collector (15 s, docs/hangs.md).
 */
#define HANG_STATE_LEAST_S 30.0

/* Ranks with a fatal Xid become culprits; how many. */
size_t hang_hosts_xid(const struct hang_facts *facts, struct hang_verdict *verdict);

/* Ranks whose process cannot go on, as long as nobody is known not to wait for them; how many. */
size_t hang_hosts_process(const struct hang_facts *facts, struct hang_verdict *verdict);

/* Ranks that are elsewhere than all others: culprits, or suspects where that is not sure; how many
 * culprits. */
size_t hang_hosts_elsewhere(const struct hang_facts *facts, struct hang_verdict *verdict);
