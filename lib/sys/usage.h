/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: argp, with one-line error messages. */
#pragma once

#include <argp.h>

/*
 * argp_parse(3), except for wrong usage: prints one line on standard error, without the advice to
 * try --help, and exits with argp_err_exit_status.
 */
error_t usage_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *ret_index,
		    void *input);

/* Parser for a command with one file and no options; `input` is a const char ** that is NULL. */
error_t usage_one_file(int key, char *arg, struct argp_state *state);
