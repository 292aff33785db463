/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host has one name, whatever runs on it: ASSAY_NODE, else `node` of
 * $CONF/assayd.yaml, else the host's own name (lib/host.h). assayd puts the
 * name that it goes by into ASSAY_NODE of what it starts.
 */
#pragma once

#include "lib/macro.h"

struct err;

/*
 * Unless ASSAY_NODE is set, set it to the `node` of $CONF/assayd.yaml: host_name() of this
 * program and of those that it starts is that from then on. Without the file, or when this user
 * may not read it, or without the key, nothing changes. -EINVAL with the place when the file is
 * bad. Before any thread.
 */
int node_name_adopt(struct err *err);
