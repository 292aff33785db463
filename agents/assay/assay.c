/* SPDX-License-Identifier: Apache-2.0 */
/* assay: the command line of a node. The table of commands drives dispatch and help. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <argp.h>

#include "agents/assay/commands.h"
#include "lib/base/distance.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

enum { STATUS_USAGE = 2, STATUS_UNKNOWN = 3 };

struct command {
	const char *name;
	const char *summary;
	/*
	 * NULL: it is the separate program assay-NAME, installed with the probes, so that
	 * `assay`, which runs before each job, does not link libcurl.
	 */
	int (*run)(int argc, char **argv);
	bool hidden; /* for our own programs */
};

static const struct command commands[] = {
	{ "run", "run the probes of a profile and judge what they found", cmd_run },
	{ "admit", "decide whether a job may start on this host", cmd_admit },
	{ "list", "list the probes and what each can find", cmd_list },
	{ "topology", "show this host's devices and how fast their links run", cmd_topology },
	{ "explain", "show which link is slow: heat maps and a sentence", cmd_explain },
	{ "localise", "name the link that explains the slow paths in a set of samples",
	  cmd_localise },
	{ "join", "join this host to a controller", NULL },
	{ "doctor", "check that this host is set up to measure and to report", NULL },
	{ "rhythm", "measure how long a step of this host's job takes, from its counters", NULL },
	{ "config", "print a YAML file as JSON, for programs that cannot read YAML", cmd_config },
	{ "completion", "print a completion script for bash, zsh or fish", cmd_completion },
	{ "keep", "judge what assayd has observed, and keep it as a report", cmd_keep,
	  .hidden = true },
};

const char *argp_program_version = "assay " PACKAGE_VERSION;

static int help(FILE *out)
{
	size_t i;

	(void)fputs("Usage: assay COMMAND [OPTION...]\n"
		    "Tests whether this host is worth trusting with a training job.\n\n",
		    out);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!commands[i].hidden)
			(void)fprintf(out, "  %-10s  %s\n", commands[i].name, commands[i].summary);
	}
	(void)fputs("\nSee `assay COMMAND --help` for details. Exit status: 0 done or yes, 1 no or "
		    "failed,\n2 usage or bad input, 3 could not tell.\n",
		    out);
	return 0;
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (streq(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

/* The command most similar to `name`, or NULL. */
static const char *near_command(const char *name)
{
	const char *near = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *other = commands[i].name;

		if (!commands[i].hidden && distance_is_near(name, other) &&
		    (!near || distance_between(name, other) < distance_between(name, near)))
			near = other;
	}
	return near;
}

static int refuse(const char *name)
{
	const char *near = near_command(name);

	if (near)
		log_error("no command '%.64s'; did you mean %s?", name, near);
	else
		log_error("no command '%.64s'; see assay --help", name);
	return STATUS_USAGE;
}

/* exec the program. Returns only on failure. */
static int become(const char *name, char **argv)
{
	CLEANUP(freep) char *dir = paths_probes();
	CLEANUP(freep) char *program = xasprintf("%s/assay-%s", dir, name);

	(void)execv(program, argv);
	(void)fprintf(stderr, "assay %s: %s: %s%s\n", name, program, strerror(errno),
		      errno == ENOENT ? ": built without libcurl" : "");
	return STATUS_UNKNOWN;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	CLEANUP(freep) char *name = xasprintf("assay %s", command->name);

	argv[0] = name;
	argp_err_exit_status = STATUS_USAGE;
	return command->run ? command->run(argc, argv) : become(command->name, argv);
}

static bool is_any(const char *word, const char *const *words)
{
	for (; *words; words++) {
		if (streq(word, *words))
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static const char *const helps[] = { "help", "--help", "-h", "-?", NULL };
	static const char *const versions[] = { "version", "--version", "-V", NULL };
	char ask[] = "--help";
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	log_init("assay", LOG_INFO);
	if (!name) {
		(void)help(stderr);
		return STATUS_USAGE;
	}
	if (argc == 3 && streq(name, "help")) { /* "help run" is "run --help" */
		name = argv[1] = argv[2];
		argv[2] = ask;
	} else if (is_any(name, helps)) {
		return help(stdout);
	}
	if (is_any(name, versions))
		return puts(argp_program_version) < 0;
	command = find(name);
	return command ? run_command(command, argc - 1, argv + 1) : refuse(name);
}
