/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files that a hung job left behind into one case. Types are recognized by content: flight
 * recorder dumps (pickle or JSON), documents of hosts (assay-hang/1), output of NCCL's RAS (JSON
 * or text), stacks from py-spy (JSON; the number at the end of the file name is the rank).
 */
#pragma once

#include <stddef.h>

#include "lib/hang/hang_case.h"

enum {
	HANG_INPUT_BYTES_MAX = 64 << 20, /* per file */
	HANG_INPUT_FILES_MAX = 65536,
};

/*
 * Read files and folders (files of other types in folders are skipped). A truncated dump is
 * listed as missing, with the reason, as long as another file can be read. -EINVAL, with one line
 * naming the file, for a file that is invalid, for a named file of unknown type, and for a
 * document of another job or run than an earlier one.
 */
int hang_input_read(char *const *paths, size_t n, struct hang_case *c, struct err *err);
