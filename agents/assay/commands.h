/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `assay`, one file each (cmd_<name>.c). argv[0] is
 * "assay <name>"; the result is the exit status: 0 done/yes, 1 no/failed,
 * 2 usage or bad input, 3 could not tell.
 */
#pragma once

#include <jansson.h>

#include "lib/sys/term.h"

int cmd_run(int argc, char **argv);
int cmd_admit(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_localise(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_topology(int argc, char **argv);
int cmd_keep(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_completion(int argc, char **argv);

/*
 * Wrong use or bad input on standard error, one line. What begins with a file is left as it is;
 * what begins with an option gets the command before it.
 */
struct err;
void command_complain(const char *command, const struct err *err);

/* Print a result for programs, as JSON (on a terminal over several lines) or, for OUTPUT_KV, as
 * paths and values. */
void command_print(const json_t *value, enum output output);

/*
 * The exit status of a command that has printed its result: 0, or 1 with a
 * line on stderr when stdout did not take all of it (a full disk).
 */
int command_written(void);
