/* SPDX-License-Identifier: Apache-2.0 */
/* assay-attribute hang: who has stopped a job that stands still, from what it left behind. */
#pragma once

/* Run it: `argv[0]` is "hang". The exit status: 0 answered, 1 failed, 2 usage or unusable input. */
int hang_command(int argc, char **argv);
