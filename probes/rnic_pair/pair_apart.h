/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises separate networks on one host. */
#pragma once

#include "probes/rnic_pair/pair.h"

/*
 * The ports of a host may belong to separate networks (for jobs, for storage, one per rail).
 * Nothing arrives between those, but no link is bad. Two active ports that reach each other neither
 * directly nor through others are considered separate if each reaches some other port, or never did
 * in any run. If no port reaches any, they are if there are three or more ports, or if neither of
 * the two ever reached any. For each two networks, the verdict of the first pair becomes set-up and
 * says so; the other pairs are marked untold. Pure.
 */
void pair_tell_apart(struct pair_job *jobs, size_t n);

/*
 * To be called after pair_tell_apart(). Does each port have an IPv4 subnet of its own, and did none
 * ever reach another? Such rails are routed separately. Within one host the kernel resolves its own
 * addresses without using the wire (addr_resolve() in drivers/infiniband/core/addr.c), so packets
 * between two rails never get to a router, and nothing is wrong. Pure.
 */
bool pair_is_subnet_a_rail(const struct pair_job *jobs, size_t n);

/* Drop jobs between separate networks, keeping the order. Returns the number left. */
size_t pair_leave_apart(struct pair_job *jobs, size_t n);
