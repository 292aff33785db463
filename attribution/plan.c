/* SPDX-License-Identifier: Apache-2.0 */
/* assay-plan: what a job can do about bad or lost hosts, by published planners. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include "attribution/plan_eval.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/sys/usage.h"

enum { STATUS_GOOD = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct options {
	const char *command, *file;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!options->command) {
			options->command = arg;
			if (!streq(arg, "eval"))
				argp_error(state, "unknown command '%s': expected eval", arg);
		} else if (options->file) {
			argp_error(state, "unexpected argument '%s': give one file", arg);
		} else {
			options->file = arg;
		}
		return 0;
	case ARGP_KEY_END:
		if (!options->command)
			argp_error(state, "which command? eval FILE");
		if (!options->file)
			argp_error(state, "which questions? A file, or - for standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse_option,
	.args_doc = "eval FILE",
	.doc = "Plans pipelines for jobs whose hosts are slow or gone.\vFILE has one JSON object "
	       "per line, {\"op\": NAME, ...}; - is standard input. Each is answered by one line "
	       "of JSON. Exit status: 0 answered, 1 failed, 2 usage or an invalid line (the others "
	       "are still "
	       "answered).",
};

int main(int argc, char **argv)
{
	struct options options = { .command = NULL };
	struct err err = ERR_INIT;
	int r;

	argp_err_exit_status = STATUS_USAGE;
	argp_program_version = "assay-plan " PACKAGE_VERSION;
	log_init("assay-plan", LOG_INFO);
	(void)usage_parse(&argp, argc, argv, 0, NULL, &options);
	r = plan_eval(options.file, stdout, &err);
	if (r == 0)
		return STATUS_GOOD;
	if (r == -ENOMEM || r == -EIO) {
		log_error("%s", err.msg);
		return STATUS_FAILED;
	}
	/* No prefix: it begins with the name of the bad file. */
	(void)fprintf(stderr, "%s\n", err.msg);
	return STATUS_USAGE;
}
