/* SPDX-License-Identifier: Apache-2.0 */
/* assay-attribute hang: which rank stopped a hung job, from the data that it left behind. */
#pragma once

/* `argv[0]` is "hang". Exit status: 0 success, 1 failure, 2 usage error or unusable input. */
int hang_command(int argc, char **argv);
