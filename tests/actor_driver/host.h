/* SPDX-License-Identifier: Apache-2.0 */
/* The agents: they report, ask for orders and answer them. */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* When one of them does something next; UINT64_MAX: never. */
uint64_t host_due(const struct driver *d);

/* Do what is due now. */
void host_go_on(struct driver *d);

/* It reports now, to every controller that runs. */
void host_report(struct driver *d, unsigned node);

/* Another machine has its name from now on, and reports. */
void host_replace(struct driver *d, unsigned node);

/* Its agent asks for orders soon. */
void host_wake(struct controller *c, unsigned node);

/* Tests with others that the policy wants are done, later. */
void host_pairs(struct controller *c);
