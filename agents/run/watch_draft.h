/* SPDX-License-Identifier: Apache-2.0 */
/* What assayd writes into watch.json of a report that is not kept yet: its number, time and samples. */
#pragma once

struct err;
struct report;

/*
 * Take number, time, boot and samples of the draft in `file` into `report`. -EINVAL, or the errno
 * of reading it, with the place; the report may then have some of them.
 */
int watch_draft_read(const char *file, struct report *report, struct err *err);
