/* SPDX-License-Identifier: Apache-2.0 */
/* Results of requests, following controller/cluster/cluster.h. */
#pragma once

#include "tests/actor_driver/driver.h"

/* Executes the request or makes it fail; field_answer() delivers the result later. */
void field_serve(struct driver *d, struct request *r);

/* Calls the request's callback, after the watch has reported what was written. */
void field_answer(struct controller *c, const struct request *r);

/* Reports the current node to the watcher, unless it has this version (field.c). */
void field_show(struct controller *c, unsigned node);
