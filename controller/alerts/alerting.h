/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of alerts: what operators must hear is posted to each Alertmanager of
 * `alertmanagers`, at once when it begins or ends, and each minute while it lasts, by whoever
 * acts. What is told is alert.h, what each was told alert_book.h, who knows it alerts_open.h, and
 * how it gets there alert_sender.h.
 *
 * Nothing waits for it: each Alertmanager has one post under way at most, with a deadline, and
 * waits longer and longer between those that fail. An alert is over only when who knows says so; as
 * long as nobody knows, as after a start, what was told is told on.
 */
#pragma once

#include <jansson.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct controller_part;
struct service;

/* What is so is looked up so often at least, and each second in which an incident changes. */
#define ALERTING_LOOK_US (3 * USEC_PER_SEC)
/* ... and never more often than takes such a part of our time. */
enum { ALERTING_SHARE = 20 };

/* A cluster that does not say who acts is waited for so long; who hears of no other tells then. */
#define ALERTING_ALONE_US USEC_PER_MIN

/* Between posts that fail. */
#define ALERTING_AGAIN_US USEC_PER_SEC
#define ALERTING_AGAIN_MOST_US USEC_PER_MIN

extern const struct controller_part alerting_part;

/*
 * For metrics: {"open", "left_out", "to": [{"url", "delivered", "failed", "waiting", "oldest_s"}]}.
 * New reference.
 */
json_t *alerting_counts(const struct service *s);
