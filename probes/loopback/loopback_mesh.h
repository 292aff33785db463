/* SPDX-License-Identifier: Apache-2.0 */
/* The order and combination in which cells are measured, and the time each gets. */
#pragma once

struct loopback_host;

/*
 * Measure the cells selected by the probe's options, until its deadline on the engine's clock.
 * Cells that there is no time for get samples of state timeout. Fails only as probe_emit() does.
 */
int loopback_mesh(const struct loopback_host *host);
