/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay config FILE: prints a YAML file as one line of JSON. assayd reads its configuration with
 * it and so links no YAML parser.
 */
#include <argp.h>
#include <stdio.h>

#include "agents/assay/commands.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/usage.h"

enum { STATUS_USAGE = 2 };

int cmd_config(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = usage_one_file,
		.args_doc = "FILE",
		.doc = "Prints a YAML file as one line of JSON.\v"
		       "Exit status: 0 done, 2 usage or bad input.",
	};
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *line = NULL;
	struct err err = ERR_INIT;
	const char *file = NULL;

	if (usage_parse(&argp, argc, argv, 0, NULL, &file) != 0)
		return STATUS_USAGE;
	if (yaml_read_file(file, &value, &err) < 0) {
		/* No prefix: it begins with the name of the bad file. */
		(void)fprintf(stderr, "%s\n", err.msg);
		return STATUS_USAGE;
	}
	line = json_line(value);
	(void)puts(line);
	return command_written();
}
