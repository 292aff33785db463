/* SPDX-License-Identifier: Apache-2.0 */
/* assay join: the program beside the probes that does it (agents/join/join.c). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agents/assay/commands.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

enum { STATUS_UNKNOWN = 3 };

int cmd_join(int argc UNUSED, char **argv)
{
	CLEANUP(freep) char *dir = paths_probes();
	CLEANUP(freep) char *program = xasprintf("%s/assay-join", dir);

	(void)execv(program, argv);
	(void)fprintf(stderr, "assay join: %s: %s%s\n", program, strerror(errno),
		      errno == ENOENT ? ": this build is without libcurl" : "");
	return STATUS_UNKNOWN;
}
