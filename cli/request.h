/* SPDX-License-Identifier: Apache-2.0 */
/* A command line as a struct request. Pure but for the environment. */
#pragma once

#include "cli/command.h"

struct err;

/*
 * Read argv[1..]: options may stand before, within and after the words of the
 * command; "--" ends them. `ret->command` is NULL when only --help or
 * --version was asked for. -EINVAL with one sentence that says what to do.
 */
int request_parse(int argc, char *const *argv, struct request *ret, struct err *err);
