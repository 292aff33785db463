/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl: the operator's command line. */
#include <stdio.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/request.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/sys/term.h"

/* Write errors on stdout are reported, unless its reader closed it. */
static int written(int status)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || term_unread(stdout))
		return status;
	log_error("standard output cannot be written");
	return STATUS_UNKNOWN;
}

static int run(const struct request *request)
{
	const struct command *command = request->command;
	int r = STATUS_GOOD;
	unsigned width = isatty(STDOUT_FILENO) ? term_width(stdout) : 100;

	if (request->settings.version) {
		(void)puts("assayctl " PACKAGE_VERSION);
		return STATUS_GOOD;
	}
	if (request->settings.help && command)
		help_command(command, stdout, width);
	else if (request->settings.help)
		help_all(stdout, width);
	else if (!command->check || (r = command->check(request)) == STATUS_GOOD)
		r = command->view ? ask_run(request) : command->run(request);
	return r;
}

int main(int argc, char **argv)
{
	struct request request;
	struct err err = ERR_INIT;

	log_init("assayctl", LOG_INFO);
	if (argc < 2) {
		help_all(stderr, 100);
		return STATUS_USAGE;
	}
	if (request_parse(argc, argv, &request, &err) < 0) {
		log_error("%s", err.msg);
		return STATUS_USAGE;
	}
	return written(run(&request));
}
