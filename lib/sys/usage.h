/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: argp, whose complaints are one line. */
#pragma once

#include <argp.h>

/*
 * argp_parse(3), but for wrong use: one line on standard error without the advice
 * to try --help, then the end with argp_err_exit_status.
 */
error_t usage_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *ret_index,
		    void *input);

/* The parser of a command that takes one file and no options; `input` is a const char ** of NULL. */
error_t usage_one_file(int key, char *arg, struct argp_state *state);
