/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet in overview, and changes to it: clients hold a call until something has changed. The
 * view is kept while somebody is watching, and for some minutes after.
 */
#pragma once

#include "lib/base/macro.h"

struct call;
struct controller_part;
struct service;

void routes_changes_get_fleet(void *context, struct call *call);
void routes_changes_get(void *context, struct call *call);

/* Number of calls held. */
unsigned routes_changes_held(const struct service *s);

/* Keeps the view in sync with the store, and frees it with the controller. */
extern const struct controller_part routes_changes_part;
