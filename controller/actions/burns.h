/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Burns ordered by a person: hosts that are out of service and free run the profile `burn`, as many
 * at a time as burn_queue.h allows. No rule and no campaign orders one. The result arrives as a
 * report and is judged like any other.
 *
 * The queue is in memory: after a restart, waiting requests have to be repeated; running burns go
 * on.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct controller_part;
struct err;
struct report;
struct service;

extern const struct controller_part burns_part;

/*
 * Request a burn of the host. Returns a sentence about what will happen in new memory. -ENOENT: no
 * such host; -EBUSY: it is in service, runs a job or a test, or must not be touched; -EALREADY;
 * -EDQUOT.
 */
int burns_ask(struct service *s, const char *node, char **ret_words, struct err *err);

/* Would the request be accepted? Errors as of burns_ask(); nothing is requested. */
int burns_check(const struct service *s, const char *node, struct err *err);

/* Returns the order to send to the host if it may begin now, a new reference, or NULL. */
json_t *burns_order(struct service *s, const char *node);

/* Handle a report, which may answer an order. */
void burns_report(struct service *s, const struct report *report);
