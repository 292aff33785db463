/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

enum { STATUS_UNKNOWN = 3 };

int beside_run(const char *name, char **argv)
{
	CLEANUP(freep) char *dir = paths_probes();
	CLEANUP(freep) char *program = xasprintf("%s/assay-%s", dir, name);

	(void)execv(program, argv);
	(void)fprintf(stderr, "assay %s: %s: %s%s\n", name, program, strerror(errno),
		      errno == ENOENT ? ": this build is without libcurl" : "");
	return STATUS_UNKNOWN;
}
