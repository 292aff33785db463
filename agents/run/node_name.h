/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host has one name, whatever runs on it and whoever starts it: `node` in assayd.yaml, else
 * ASSAY_NODE, else the hostname (lib/sys/host.h). The file is $ASSAY_CONFIG, else
 * $CONF/assayd.yaml. assayd sets both variables for the programs that it starts.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

/*
 * Set ASSAY_NODE to the `node` of assayd.yaml, which makes it the host_name() of this program and
 * its children. No effect if there is no such file or key, or the user may not read it. -EINVAL,
 * with the place, if the file is bad. Call before starting threads.
 */
int node_name_adopt(struct err *err);
