/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `assayctl` can do, as two const tables: options (option.c) and commands
 * (commands.c). Dispatch, --help, completion and the manual page all come from
 * them: a new command is a row.
 *
 * A command either shows a view of the fleet (`view`: fetched, then printed as
 * a table, as JSON or as key=value lines, once or again and again) or does
 * something of its own (`run`).
 */
#pragma once

#include <stdint.h>

#include "cli/option.h"
#include "lib/base/macro.h"

struct view;

enum { WORDS_MAX = 2, ARGUMENTS_MAX = 256, EXAMPLES_MAX = 3 };

enum status { STATUS_GOOD = 0, STATUS_NO = 1, STATUS_USAGE = 2, STATUS_UNKNOWN = 3 };

/* What an argument is: completion asks. */
enum argument_kind { ARGUMENT_NODE, ARGUMENT_JOB, ARGUMENT_FILE, ARGUMENT_SHELL, ARGUMENT_ID };

struct argument {
	const char *name; /* "NODE"; NULL: no argument */
	enum argument_kind kind;
	bool many; /* up to ARGUMENTS_MAX of them, each as if it stood alone; the name ends in "..." */
};

struct example {
	const char *line, *what;
};

struct request;

struct command {
	const char *group; /* what it and those after it are for, in the help; NULL: as before */
	const char *words[WORDS_MAX]; /* "policy", "check"; the second may be NULL */
	struct argument argument;     /* required when it has a name */
	uint64_t options;	      /* bits of enum option_id */
	uint64_t needs;		      /* those of them that must be there */
	uint64_t one_of;	      /* just one of these must be */
	const char *summary;	      /* a few words, no capital, no full stop */
	const char *description;      /* paragraphs with an empty line between */
	struct example examples[EXAMPLES_MAX];
	int (*check)(const struct request *request); /* first of all; NULL: nothing to check */
	const struct view *view;
	/* Of view_act: where it is sent, "{}" for the argument, and what would take it back. */
	const char *post, *undo;
	const char *done; /* what became of the hosts when it was: "cordoned" */
	bool apart;	  /* no budget is between the hosts: several requests at once */
	bool ends;	  /* it ends what another command began: a span of 0 */
	int (*run)(const struct request *request); /* enum status, when there is no view */
	/* The second word may also stand behind the argument: "investigation 41 cancel". */
	bool word_last;
	bool hidden; /* for the build, not for people */
};

/* What one command line asks for. Everything is borrowed from it. */
struct request {
	const struct command *command;
	const char *argument; /* NULL: none; where there may be many, the one that it is about now */
	const char *arguments[ARGUMENTS_MAX]; /* all of them */
	size_t n_arguments;
	struct settings settings;
	uint64_t given; /* bits of enum option_id: those of the command line */
};

/* The table, ended by a row without words. */
extern const struct command commands[];

/* "policy check"; new memory. */
char *command_name(const struct command *command);

/* Is the argument a policy file? */
int check_policy(const struct request *request);
int run_policy_check(const struct request *request);
int run_completion(const struct request *request);
int run_manual(const struct request *request);

/* Exit statuses in words, for help and the manual. */
#define STATUS_WORDS                                                                               \
	"0 shown or done; 1 refused, not done for every host, or not found; 2 wrong usage or bad " \
	"input: an option, a file, a token without the role; 3 could not tell: no controller, no " \
	"trust in it, no whole answer"
