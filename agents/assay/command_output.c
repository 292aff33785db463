/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "agents/assay/commands.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/json/kv.h"

void command_print(const json_t *value, enum output output)
{
	CLEANUP(freep) char *text = NULL;

	if (output == OUTPUT_KV) {
		kv_print(value, stdout);
		return;
	}
	text = isatty(STDOUT_FILENO) ? json_pretty(value) : json_line(value);
	(void)puts(text);
}

int command_written(void)
{
	if ((!ferror(stdout) && fflush(stdout) == 0) || term_unread(stdout))
		return 0;
	log_error("cannot write the result");
	return 1;
}

void command_complain(const char *command, const struct err *err)
{
	const bool bare = err->msg[0] != '-' && err->msg[0] != '\'';

	(void)fprintf(stderr, "%s%s%s\n", bare ? "" : command, bare ? "" : ": ", err->msg);
}
