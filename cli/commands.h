/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `assayctl`, one file each. argv[0] is "assayctl <words>";
 * the result is the exit status: 0 done/yes, 1 no/failed, 2 usage or bad
 * input, 3 could not tell.
 */
#pragma once

int ctl_policy_check(int argc, char **argv);
