/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device supports reliable connections, which everything else here needs. */
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>

/*
 * Can the device create queue pairs of reliable connections? EFA (Amazon; its transport is
 * unspecified), usNIC and iWARP are ruled out by their transport; others claim InfiniBand but
 * refuse such a queue pair (MANA with older drivers). A device that fails in another way counts as
 * capable: if it is broken, that shows when it is used.
 */
bool verbs_kind_connects(struct ibv_context *context);
