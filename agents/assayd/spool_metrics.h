/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $RUN/spool.prom, for the textfile collector of the node exporter: how many reports wait for the
 * controller, since when, and whether it is reachable. It works while the controller does not.
 * docs/metrics.md lists the metrics; a test compares the two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct spool_metrics {
	char *text;  /* as last written; NULL: never */
	bool failed; /* writing failed, which was logged */
};

/* Write the file if its contents have changed. */
void spool_metrics_tell(struct spool_metrics *m, bool connected);
void spool_metrics_release(struct spool_metrics *m);
