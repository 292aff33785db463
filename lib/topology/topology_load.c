/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a topology from any source. Separate: programs that only decode one do not link hwloc. */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/topology/topology.h"

enum { JSON_FILE_MAX = 2 * 1024 * 1024 };

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && streq(text + n - m, suffix);
}

static int from_json_file(const char *path, struct topology *ret, struct err *err)
{
	json_auto_t *document = NULL;
	struct jval root;
	int r = json_read_file(path, JSON_FILE_MAX, &document, err);

	if (r < 0)
		return r;
	root = jval_root(document, path);
	return topology_decode(&root, ret, err);
}

int topology_from_file(const char *path, struct topology *ret, struct err *err)
{
	CLEANUP(closep) int sys_fd = -1;

	if (ends_with(path, ".json"))
		return from_json_file(path, ret, err);
	/* The /sys of this host does not describe the host in the file; a given sysroot does. */
	if (*paths_sysroot())
		sys_fd = paths_open_sys("/sys");
	return topology_from_xml(path, sys_fd, ret, err);
}

int topology_load(struct topology *ret, struct err *err)
{
	const char *path = secure_getenv("ASSAY_TOPOLOGY");

	return path && *path ? topology_from_file(path, ret, err) : topology_live(ret, err);
}
