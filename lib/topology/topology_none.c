/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces topology_hwloc.c in builds without hwloc. */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/topology/topology.h"

int topology_from_xml(const char *path, int sys_fd UNUSED, struct topology *ret UNUSED,
		      struct err *err)
{
	return err_set(
		err, ENOTSUP,
		"%s: this build has no hwloc and reads topology/1 JSON only (a name that ends "
		"in .json)",
		path);
}

int topology_live(struct topology *ret UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP,
		       "this build has no hwloc, so the topology of this host is unknown; "
		       "ASSAY_TOPOLOGY may name a topology/1 JSON file");
}
