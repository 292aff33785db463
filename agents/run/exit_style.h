/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses in the words of those who call us: us, NHC, Nagios, node-problem-detector. */
#pragma once

#include "lib/base/macro.h"
#include "lib/judge/verdict.h"

enum exit_style { EXIT_ASSAY, EXIT_NHC, EXIT_NAGIOS, EXIT_NPD };

/* "assay", "nhc", "nagios", "npd", NULL */
extern const char *const exit_style_names[];

/* -EINVAL when it is none of the names. */
int exit_style_parse(const char *text, enum exit_style *ret);

int exit_status_of(enum exit_style style, enum verdict_level level);

/* When the run could not be made though it was asked for rightly: no processes left, a full disk. */
int exit_status_set_up(enum exit_style style);

/*
 * When it was asked for wrongly: bad options, bad files. In no style is that health: a typing
 * error that looked like a healthy host would be found by nobody.
 */
int exit_status_usage(enum exit_style style);

/*
 * The style that a command line asks for, read before its options are parsed,
 * so that a usage error ends with the status of that style. EXIT_ASSAY when
 * it names none or an unknown one.
 */
enum exit_style exit_style_peek(int argc, char *const *argv);
