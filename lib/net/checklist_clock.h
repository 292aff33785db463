/* SPDX-License-Identifier: Apache-2.0 */
/* The check of the clocks of this host and of the controller, for the doctor commands. */
#pragma once

struct checklist;
struct http_once;

/* Adds a line "clock" from the Date header requested with `answer`; none without a valid date. */
void checklist_clock(struct checklist *list, const struct http_once *answer);
