/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report that assayd has not kept yet, as it writes it into watch.json: its number, time and
 * samples.
 */
#pragma once

struct err;
struct report;

/*
 * Read the number, time, boot and samples of the draft in `file` into `report`. -EINVAL, or the
 * errno of reading it, with the place; `report` may then be partly filled.
 */
int watch_draft_read(const char *file, struct report *report, struct err *err);
