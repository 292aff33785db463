/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Burns by order of a person: hosts that are out of service and free run the profile `burn`, as
 * many at once as burn_queue.h allows. Nothing else orders one: no rule, no campaign. What it finds
 * comes as a report and is judged as any other.
 *
 * In memory: what waited when the controller ended is to be ordered again; what burned goes on.
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
 * Order one of the host; the sentence of what will happen, new memory. -ENOENT: no such host; -EBUSY:
 * it is in service, a job or a test runs on it, or it must not be touched; -EALREADY; -EDQUOT.
 */
int burns_ask(struct service *s, const char *node, char **ret_words, struct err *err);

/* Would it be taken? As burns_ask(), and nothing is ordered. */
int burns_check(const struct service *s, const char *node, struct err *err);

/* The order for the host, when it may begin now; new reference, or NULL. */
json_t *burns_order(struct service *s, const char *node);

/* A report, which may answer one. */
void burns_report(struct service *s, const struct report *report);
