/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libibverbs when the first device is asked for. A program for which RDMA is optional starts
 * without it, and one that needs it can report that it is missing.
 */
#pragma once

struct err;

/*
 * Load the library, once. -ENODEV: it is missing, and this host has no RDMA device either.
 * -ENOTSUP: there are devices, but it cannot be loaded or is too old; the message says what to
 * install.
 */
int verbs_calls_load(struct err *err);
