/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules based on what hosts say of processes and devices. Pure.
 *
 * A process that is stopped by a signal, held by a debugger, hanging in a device or file system, or
 * that has ended while the others live, launches nothing, whatever its counters say. A fatal Xid is
 * the GPU's own report. If nothing counts operations (a job over gloo, no plug-in), what the
 * processes wait in decides: most of them in the same kind of waiting call, and one of them
 * elsewhere.
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/*
 * How long a process must be seen in a state that it can also pass through: uninterruptible sleep,
 * held by a debugger, one frame. Several polls of a collector (15 s, docs/hangs.md).
 */
#define HANG_STATE_LEAST_S 30.0

/* Makes ranks with a fatal Xid culprits; returns how many. */
size_t hang_hosts_xid(const struct hang_facts *facts, struct hang_verdict *verdict);

/* Ranks whose process cannot go on, unless nobody is known to wait for them; returns how many. */
size_t hang_hosts_process(const struct hang_facts *facts, struct hang_verdict *verdict);

/*
 * Ranks that are elsewhere than all others: culprits, or suspects if that is uncertain. Returns the
 * number of culprits.
 */
size_t hang_hosts_elsewhere(const struct hang_facts *facts, struct hang_verdict *verdict);
