/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token file of a test with other hosts, written from its order:
 *
 *	TOKEN
 *	passed HOST:PORT	a line for each host whose own tests passed
 *
 * in the format that rnic-pair and all-reduce read (docs/formats.md). It is $RUN/order/permit, private
 * to us, and exists only while the test runs. Only one test runs at a time, so the name is fixed.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct order_meeting;

/* Its path. The caller frees it. */
char *permit_file_path(void);

/* Write the file atomically, mode 0600, in a directory of mode 0700, replacing any other. */
int permit_file_write(const struct order_meeting *m, struct err *err);

/* Remove it, and the leftovers of an interrupted write. It need not exist. */
void permit_file_remove(void);
