/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller says of what it does: the lines of assayctl doctor behind the first answer. */
#pragma once

struct doctor_visit;

/* Its mode and policy, its breaker, its hosts, its cluster. */
void doctor_acts(struct doctor_visit *d);
