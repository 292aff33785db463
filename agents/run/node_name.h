/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host has one name, whatever runs on it and whoever starts it: `node` of assayd.yaml, else
 * ASSAY_NODE, else the host's own name (lib/sys/host.h). The file is that of ASSAY_CONFIG, else
 * $CONF/assayd.yaml. assayd puts its file and its name into both variables of what it starts.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

/*
 * Set ASSAY_NODE to the `node` of assayd.yaml: host_name() of this
 * program and of those that it starts is that from then on. Without the file, or when this user
 * may not read it, or without the key, nothing changes. -EINVAL with the place when the file is
 * bad. Before any thread.
 */
int node_name_adopt(struct err *err);
