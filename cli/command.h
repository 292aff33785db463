/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `assayctl` as two const tables: options (option.c) and commands (commands.c).
 * Dispatch, --help, completion and the manual page are generated from them: a new command is a
 * new row.
 *
 * A command either shows a view (`view`: fetched, then printed as a table, JSON or key=value
 * lines, once or repeatedly) or has a function of its own (`run`).
 */
#pragma once

#include <stdint.h>

#include "cli/option.h"
#include "lib/base/macro.h"

struct view;

enum { WORDS_MAX = 2, ARGUMENTS_MAX = 256, EXAMPLES_MAX = 3 };

enum status { STATUS_GOOD = 0, STATUS_NO = 1, STATUS_USAGE = 2, STATUS_UNKNOWN = 3 };

/* Type of an argument, for completion. */
enum argument_kind { ARGUMENT_NODE, ARGUMENT_JOB, ARGUMENT_FILE, ARGUMENT_SHELL, ARGUMENT_ID };

struct argument {
	const char *name; /* "NODE"; NULL: none */
	enum argument_kind kind;
	bool many; /* up to ARGUMENTS_MAX, each handled as if alone; the name ends in "..." */
};

struct example {
	const char *line, *what;
};

struct request;

struct command {
	const char *group;	      /* help heading from this row on; NULL: as before */
	const char *words[WORDS_MAX]; /* "policy", "check"; the second may be NULL */
	struct argument argument;     /* required if it has a name */
	uint64_t options;	      /* bits of enum option_id */
	uint64_t needs;		      /* those that are required */
	uint64_t one_of;	      /* exactly one of these is required */
	const char *summary;	      /* a few words, no capital, no full stop */
	const char *description;      /* paragraphs with an empty line between */
	struct example examples[EXAMPLES_MAX];
	int (*check)(const struct request *request); /* called first; NULL: no check */
	const struct view *view;
	/* For view_act: the path, with "{}" for the argument, and the command that reverts it. */
	const char *post, *undo;
	const char *done; /* past participle for the hosts: "cordoned" */
	bool apart;	  /* hosts share no budget: several requests in parallel */
	bool ends;	  /* ends what another command started: a span of 0 */
	int (*run)(const struct request *request); /* returns enum status; if there is no view */
	/* The second word may also follow the argument: "investigation 41 cancel". */
	bool word_last;
	bool hidden; /* for the build, not for users */
};

/* A parsed command line. Everything is borrowed from it. */
struct request {
	const struct command *command;
	const char *argument;		      /* NULL: none; of several, the current one */
	const char *arguments[ARGUMENTS_MAX]; /* all of them */
	size_t n_arguments;
	struct settings settings;
	uint64_t given; /* bits of enum option_id: those on the command line */
};

/* Terminated by a row without words. */
extern const struct command commands[];

/* "policy check"; the caller frees it. */
char *command_name(const struct command *command);

/* Check that the argument is a policy file. */
int check_policy(const struct request *request);
int run_policy_check(const struct request *request);
int run_completion(const struct request *request);
int run_manual(const struct request *request);

/* Exit statuses, for help and the manual. */
#define STATUS_WORDS                                                                               \
	"0 shown or done; 1 refused, not done for every host, or not found; 2 wrong usage or bad " \
	"input: an option, a file, a token without the role; 3 could not tell: no controller, no " \
	"trust in it, no whole answer"
