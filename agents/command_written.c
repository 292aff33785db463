/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "agents/commands.h"
#include "lib/log.h"

int command_written(void)
{
	if (!ferror(stdout) && fflush(stdout) == 0)
		return 0;
	log_error("cannot write the result");
	return 1;
}
