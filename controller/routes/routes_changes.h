/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet at a glance, and what of it has changed: whoever looks holds a call until something
 * has. The view of it is there while somebody looks, and for some minutes after.
 */
#pragma once

#include "lib/base/macro.h"

struct call;
struct controller_part;
struct service;

void routes_changes_get_fleet(void *context, struct call *call);
void routes_changes_get(void *context, struct call *call);

/* Calls that are held by who looks. */
unsigned routes_changes_held(const struct service *s);

/* Keeps the view with the store, and ends it with the controller. */
extern const struct controller_part routes_changes_part;
