/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of one host that have nothing to do with each other. */
#pragma once

#include "probes/rnic_pair/pair.h"

/*
 * Ports may be of networks that have nothing to do with each other (for the job, for storage, a
 * rail each): between those nothing arrives, and no link is sick. So of two ports that each reach
 * others, and by no way each other; of one that never reached any in an earlier run either; and of
 * three or more of which none reaches any. The verdict of one pair of each two networks becomes
 * set-up and says so, the others' are untold. Pure.
 */
void pair_tell_apart(struct pair_job *jobs, size_t n);

/*
 * After pair_tell_apart(): has each port an IPv4 subnet of its own, and none met another, ever? So
 * where each rail is routed by itself: the kernel finds an address of its own host without the wire
 * (addr_resolve() of drivers/infiniband/core/addr.c), so no packet between two rails of one host
 * ever meets a router, and nothing is sick. Pure.
 */
bool pair_is_subnet_a_rail(const struct pair_job *jobs, size_t n);

/* Jobs whose ports are of two networks go; how many stay, in their order. */
size_t pair_leave_apart(struct pair_job *jobs, size_t n);
