/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of a request, as controller/cluster/cluster.h has it. */
#pragma once

#include "tests/actor_driver/driver.h"

/* Do what it asks, or let it go wrong; its answer is given later. */
void field_serve(struct driver *d, struct request *r);

/* Tell who asked; what was written is shown first. */
void field_answer(struct controller *c, const struct request *r);

/* Tell whoever watches of the node as it is, unless that is known (field.c). */
void field_show(struct controller *c, unsigned node);
