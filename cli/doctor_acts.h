/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the controller's actions: the lines of assayctl doctor after the first answer. */
#pragma once

struct doctor_visit;

/* Mode and policy, breaker, hosts, cluster. */
void doctor_acts(struct doctor_visit *d);
