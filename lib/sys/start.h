/* SPDX-License-Identifier: Apache-2.0 */
/* What every program does before anything else, whoever started it. */
#pragma once

/*
 * Put something behind those of the descriptors 0, 1 and 2 that are closed:
 * else the next file that is opened (a lock, a database, a socket) is one of
 * them, and gets the samples or the words. Reading 0 and writing 1 or 2 go on
 * to fail as they do when closed.
 */
void start_hold_standard(void);

/*
 * The same, and a limit on file sizes (RLIMIT_FSIZE) is -EFBIG of the write
 * that meets it instead of the end of the program by SIGXFSZ.
 */
void start_program(void);
