/* SPDX-License-Identifier: Apache-2.0 */
/* Who can change a file that we trust. */
#pragma once

struct err;

/*
 * Returns 0 if nobody but root and our own user can change or replace the file: it and all
 * directories above belong to them and are not writable by group or others (in a directory with the
 * sticky bit others can create files, but not replace this one). Else -EACCES with the path, who
 * can, and what to do, or another errno if it cannot be checked. In a user namespace all outside
 * owners look alike (/proc/sys/kernel/overflowuid): nobody inside is one of them, so they count as
 * root.
 */
int writers_check(const char *path, struct err *err);
