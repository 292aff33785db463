/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device has the reliable connections that all else here is made of. */
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>

/*
 * Does the device make queue pairs of reliable connections? Not EFA (Amazon; its transport is
 * unspecified), usNIC and iWARP by their transport; nor those that call it InfiniBand and refuse
 * such a queue pair (MANA with older drivers). One that fails otherwise is taken for one that does:
 * what is sick tells itself when it is used.
 */
bool verbs_kind_connects(struct ibv_context *context);
