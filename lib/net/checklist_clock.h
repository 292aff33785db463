/* SPDX-License-Identifier: Apache-2.0 */
/* What a doctor says of the clocks of this host and of the controller. */
#pragma once

struct checklist;
struct http_once;

/* A line "clock" by the header Date that `answer` was asked for; none when it has no such date. */
void checklist_clock(struct checklist *list, const struct http_once *answer);
