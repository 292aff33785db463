/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl: the command line of an operator. The table drives dispatch and help. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "lib/log.h"
#include "lib/macro.h"
#include "lib/xalloc.h"

enum { STATUS_USAGE = 2 };

struct command {
	const char *words[2]; /* "policy" "check"; the second may be NULL */
	const char *summary;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ { "policy", "check" }, "check a policy file: FILE", ctl_policy_check },
};

/* What will be answered once there is a controller to ask. */
static const char *const not_yet[] = {
	"nodes",   "node",  "why",	"incidents", "actions",	    "baselines", "jobs",
	"job",	   "plan",  "cordon",	"uncordon",  "repair-done", "override",	 "silence",
	"breaker", "drift", "evidence", "policy",    "completion",
};

const char *argp_program_version = "assayctl " PACKAGE_VERSION;

static int help(FILE *out)
{
	size_t i;

	(void)fputs("Usage: assayctl COMMAND [OPTION...]\n"
		    "Shows and steers what the fleet's hosts are judged to be.\n\n",
		    out);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		(void)fprintf(out, "  %s %-10s %s\n", commands[i].words[0],
			      commands[i].words[1] ? commands[i].words[1] : "", commands[i].summary);
	(void)fputs("\nExit status: 0 done or yes, 1 no or failed, 2 usage or bad input, 3 could "
		    "not tell.\n",
		    out);
	return 0;
}

/* How many words of argv the command is; 0 when it is another. */
static int match(const struct command *command, int argc, char **argv)
{
	if (argc < 2 || !streq(argv[1], command->words[0]))
		return 0;
	if (!command->words[1])
		return 1;
	return argc > 2 && streq(argv[2], command->words[1]) ? 2 : 0;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	const char *second = command->words[1];
	CLEANUP(freep)
	char *name = xasprintf("assayctl %s%s%s", command->words[0], second ? " " : "",
			       second ? second : "");

	argv[0] = name;
	return command->run(argc, argv);
}

static int refuse(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(not_yet); i++) {
		if (streq(word, not_yet[i])) {
			log_error("%s: not built yet", word);
			return STATUS_USAGE;
		}
	}
	log_error("'%.64s' is no command; see assayctl --help", word);
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : NULL;
	size_t i;

	log_init("assayctl", LOG_INFO);
	argp_err_exit_status = STATUS_USAGE;
	if (!first) {
		(void)help(stderr);
		return STATUS_USAGE;
	}
	if (streq(first, "help") || streq(first, "--help") || streq(first, "-?"))
		return help(stdout);
	if (streq(first, "--version") || streq(first, "-V"))
		return puts(argp_program_version) < 0;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		int words = match(&commands[i], argc, argv);

		if (words)
			return run_command(&commands[i], argc - words, argv + words);
	}
	return refuse(first);
}
