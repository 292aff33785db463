/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of alerts: they are posted to each Alertmanager of `alertmanagers` at once
 * when they begin or end, and every minute in between, by the leading controller. The alerts are in
 * alert.h, the state at each Alertmanager in alert_book.h, their sources in alerts_open.h, and
 * sending in alert_sender.h.
 *
 * Nothing waits for it: each Alertmanager has at most one post in flight, with a deadline, and a
 * back-off after failures. An alert ends only when its source says so; while that is unknown, as
 * after a start, it keeps firing.
 */
#pragma once

#include <jansson.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct controller_part;
struct service;

/* Longest interval of collecting the alerts; each second in which an incident changes. */
#define ALERTING_LOOK_US (3 * USEC_PER_SEC)
/* ... but at most one part in this many of our time. */
enum { ALERTING_SHARE = 20 };

/* How long to wait for a cluster to tell who leads; without another leader we send then. */
#define ALERTING_ALONE_US USEC_PER_MIN

/* Back-off after failed posts. */
#define ALERTING_AGAIN_US USEC_PER_SEC
#define ALERTING_AGAIN_MOST_US USEC_PER_MIN

extern const struct controller_part alerting_part;

/*
 * For metrics: {"open", "left_out", "to": [{"url", "delivered", "failed", "waiting", "oldest_s"}]}.
 * New reference.
 */
json_t *alerting_counts(const struct service *s);
