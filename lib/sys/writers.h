/* SPDX-License-Identifier: Apache-2.0 */
/* Who may change a file that is believed. */
#pragma once

struct err;

/*
 * 0 when nobody but root and the user we run as can change the file, nor put another in its place:
 * it and all directories above are theirs and not writable by group or others (a directory with
 * the sticky bit lets others make files, not replace this one). Else -EACCES with the path, who may,
 * and what to do. Other errno: it cannot be looked at. In a user namespace the owners outside of it
 * all look alike (/proc/sys/kernel/overflowuid): nobody inside is one of them, so they pass for root.
 */
int writers_check(const char *path, struct err *err);
