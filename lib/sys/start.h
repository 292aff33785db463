/* SPDX-License-Identifier: Apache-2.0 */
/* What every program does first, whoever started it. */
#pragma once

/*
 * Opens those of the descriptors 0, 1 and 2 that are closed: otherwise the next file that is opened
 * (a lock, a database, a socket) becomes one of them, and receives samples or messages. Reading 0
 * and writing 1 or 2 still fail as if closed.
 */
void start_hold_standard(void);

/*
 * The same; also makes a limit on file sizes (RLIMIT_FSIZE) an -EFBIG of the write that exceeds it,
 * instead of killing the program by SIGXFSZ.
 */
void start_program(void);
