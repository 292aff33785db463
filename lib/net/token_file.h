/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token in a file; read again when the file is replaced or changed. */
#pragma once

#include <sys/stat.h>

#include "lib/base/macro.h"

struct err;

enum { TOKEN_FILE_MAX = 256 * 1024 };

struct token_file {
	char *path;	  /* owned */
	char *header;	  /* "Authorization: Bearer ...", owned; NULL: not read yet */
	struct stat read; /* status of the file when it was read */
};

/*
 * Updates `header`. -EINVAL if the file is not one line with a token (b64token of RFC 6750 2.1),
 * the usual errno if it is not readable; then `header` is unchanged.
 */
int token_file_refresh(struct token_file *t, struct err *err);

/* Read it again next time, even if stat(2) shows no change. */
void token_file_forget(struct token_file *t);

void token_file_release(struct token_file *t);
