/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token file of a test with other hosts, written from its order:
 *
 *	TOKEN
 *	passed HOST:PORT	one line for each host whose own tests passed
 *
 * as rnic-pair and all-reduce read it (docs/formats.md). It is $RUN/order/permit,
 * for us alone, and there only while the test runs: there is one at a time, so its
 * name has nothing of the order in it.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct order_meeting;

/* Where it is. New memory. */
char *permit_file_path(void);

/* Write it whole, mode 0600, in a directory of mode 0700, in place of any other. */
int permit_file_write(const struct order_meeting *m, struct err *err);

/* Remove it, and what a write that was interrupted left. Nothing there is fine. */
void permit_file_remove(void);
