/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $RUN/spool.prom, for the textfile collector of the node exporter: what waits for the controller
 * on this host, since when, and whether the controller is heard of. It is what says so while the
 * controller cannot. docs/metrics.md lists it; a test holds it against the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct spool_metrics {
	char *text;  /* as it was written last; NULL: not yet */
	bool failed; /* it could not be written, and the log says so */
};

/* Write what is so now, if it is not what was written. */
void spool_metrics_tell(struct spool_metrics *m, bool connected);
void spool_metrics_release(struct spool_metrics *m);
