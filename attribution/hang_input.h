/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a hung job left behind, known by what is in them and put into one case: flight
 * recorder dumps (pickle or JSON), documents of hosts (assay-hang/1), answers of NCCL's RAS
 * (JSON or text), stacks by py-spy (JSON; the number at the end of the file's name is the rank).
 */
#pragma once

#include <stddef.h>

#include "lib/hang/hang_case.h"

enum {
	HANG_INPUT_BYTES_MAX = 64 << 20, /* of a file */
	HANG_INPUT_FILES_MAX = 65536,
};

/*
 * Read files and folders (whose files that are nothing of this kind are passed over). A dump that
 * was cut is missing, with the reason, as long as another file can be read. What is refused,
 * or is of no known kind though it was named, is -EINVAL with one line that names it; so is a
 * document of another job, or of another run, than one before it.
 */
int hang_input_read(char *const *paths, size_t n, struct hang_case *c, struct err *err);
