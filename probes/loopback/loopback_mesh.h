/* SPDX-License-Identifier: Apache-2.0 */
/* The order and company in which cells are measured, and the time that each gets. */
#pragma once

struct loopback_host;

/*
 * Measure the cells that the options of the probe ask for until its deadline,
 * on the clock of the engine. What there is no time for are samples of state
 * timeout. Fails only as probe_emit() does.
 */
int loopback_mesh(const struct loopback_host *host);
