/* SPDX-License-Identifier: Apache-2.0 */
/* Data for alerts (controller/alerts), and the alerts sent to Alertmanagers. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/windows.h"

struct err;
struct store;

/* An alert that an Alertmanager may have. All borrowed. */
struct store_alert {
	const char *alertmanager; /* URL */
	const char *labels, *sentence;
	uint64_t since_us;
	bool ended; /* it is over, which is still to be sent */
};

/* Store it in the open transaction, or delete it. */
int store_put_alert(struct store *s, const struct store_alert *alert, struct err *err);
int store_drop_alert(struct store *s, const char *alertmanager, const char *labels, struct err *err);

/* Call `each` for all of them. */
int store_alerts(struct store *s, void (*each)(void *context, const struct store_alert *alert),
		 void *context, struct err *err);

/* An open incident whose rule has an action other than observe. All borrowed. */
struct store_incident_told {
	int64_t id;
	const char *node, *check, *action, *sentence;
	bool fatal;
	uint64_t opened_us;
	uint64_t seen_us; /* when its host last reported; 0: not a host */
	struct windows windows;
	unsigned n; /* good runs that end it; 0: no run does */
};

/* Call `each` for the `limit` oldest. */
int store_incidents_to_tell(struct store *s, size_t limit,
			    void (*each)(void *context, const struct store_incident_told *incident),
			    void *context, struct err *err);

/* A job as shown by its windows. All borrowed. */
struct store_job_told {
	int64_t id;
	const char *name, *state;
	const char *suspect, *sentence; /* or NULL */
	double slowdown;
	uint64_t last_us; /* last heard of */
};

/* Call `each` for jobs with an analysed window that were heard of after `since_us`. */
int store_jobs_to_tell(struct store *s, uint64_t since_us,
		       void (*each)(void *context, const struct store_job_told *job), void *context,
		       struct err *err);
