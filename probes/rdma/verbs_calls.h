/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libibverbs, loaded when the first device is asked for: a program that does other things too
 * starts where there is none, and one that cannot do without says so.
 */
#pragma once

struct err;

/*
 * Load it, once. -ENODEV: it is not there, and this host has no RDMA device either. -ENOTSUP: there
 * are devices, and it cannot be loaded or is too old; the sentence says what to install.
 */
int verbs_calls_load(struct err *err);
