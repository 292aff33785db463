/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses by the convention of the caller: assay, NHC, Nagios, node-problem-detector. */
#pragma once

#include "lib/base/macro.h"
#include "lib/judge/verdict.h"

enum exit_style { EXIT_ASSAY, EXIT_NHC, EXIT_NAGIOS, EXIT_NPD };

/* "assay", "nhc", "nagios", "npd", NULL */
extern const char *const exit_style_names[];

/* -EINVAL if it is none of the names. */
int exit_style_parse(const char *text, enum exit_style *ret);

int exit_status_of(enum exit_style style, enum verdict_level level);

/* Status when a valid run could not be started: no processes left, disk full. */
int exit_status_set_up(enum exit_style style);

/*
 * Status for usage errors: bad options, bad files. Never one that means healthy: nobody would
 * notice a typing error that looks like a healthy host.
 */
int exit_status_usage(enum exit_style style);

/*
 * The style named on a command line, found before the options are parsed, so that a usage error
 * exits with that style's status. EXIT_ASSAY if none or an unknown one is named.
 */
enum exit_style exit_style_peek(int argc, char *const *argv);
