/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that are programs of their own beside the probes (agents/join, agents/doctor), so that
 * `assay`, which runs before each job, needs no libcurl.
 */
#pragma once

/* Becomes assay-NAME with these arguments; back only when it cannot, with the exit status. */
int beside_run(const char *name, char **argv);
