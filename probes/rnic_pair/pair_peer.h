/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of two hosts: --listen on one, --peer on the other. */
#pragma once

struct err;
struct pair_plan;

/*
 * Connect to the other side, which knows the token, measure with it, and emit. If it does not come
 * or goes away, samples of every rail say so, and a negative errno other than -EINVAL and -ENODEV
 * is returned; those two are about the options.
 */
int pair_peer_run(struct pair_plan *p, const char *token, struct err *err);
