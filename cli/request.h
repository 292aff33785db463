/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line into a struct request. Pure except for the environment. */
#pragma once

#include "cli/command.h"

struct err;

/*
 * Parse argv[1..]: options may precede, separate and follow the words of the command; "--" ends
 * them. `ret->command` is NULL if only --help or --version was given. -EINVAL with a sentence
 * that says what to do.
 */
int request_parse(int argc, char *const *argv, struct request *ret, struct err *err);
