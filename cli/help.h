/* SPDX-License-Identifier: Apache-2.0 */
/* Generates --help from the tables in command.h and option.h. */
#pragma once

#include <stdio.h>

struct command;

/* All commands, a line each; or one command with its options and examples. */
void help_all(FILE *out, unsigned width);
void help_command(const struct command *command, FILE *out, unsigned width);

/* "-o FORMAT, --output=FORMAT", "--watch[=INTERVAL]". The caller frees it. */
struct option_row;
char *help_option(const struct option_row *row);
