/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `assay`, one file each (cmd_<name>.c). argv[0] is "assay <name>". The return
 * value is the exit status: 0 success or yes, 1 failure or no, 2 usage error or bad input, 3
 * inconclusive.
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
 * Print a usage or input error on stderr, as one line. A message that begins with a file name is
 * printed as it is; one that begins with an option is prefixed with the command.
 */
struct err;
void command_complain(const char *command, const struct err *err);

/*
 * Print a result for programs: as JSON (indented on a terminal) or, for OUTPUT_KV, as paths and
 * values.
 */
void command_print(const json_t *value, enum output output);

/*
 * Exit status of a command that has printed its result: 0, or 1 with a line on stderr if writing
 * to stdout failed (e.g. the disk is full).
 */
int command_written(void);
