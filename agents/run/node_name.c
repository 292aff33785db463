/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/node_name.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"

static char *path_of_file(void)
{
	CLEANUP(freep) char *dir = paths_conf();
	const char *given = secure_getenv("ASSAY_CONFIG");

	return given && *given ? xstrdup(given) : xasprintf("%s/assayd.yaml", dir);
}

int node_name_adopt(struct err *err)
{
	CLEANUP(freep) char *path = path_of_file();
	CLEANUP(json_freep) json_t *value = NULL;
	const char *name;
	struct jval root, node;
	int r;

	/* A file that the user of a job cannot read names the host for nobody else either. */
	if (access(path, R_OK) < 0)
		return 0;
	r = yaml_read_file(path, &value, err);
	if (r < 0)
		return r;
	root = jval_root(value, path);
	node = jval_get(&root, "node");
	if (!node.value)
		return 0;
	name = json_string_value(node.value);
	if (!host_name_ok(name))
		return jval_fail(&node, err, HOST_NAME_WANTED);
	return setenv("ASSAY_NODE", name, true) < 0 ? -errno : 0;
}
