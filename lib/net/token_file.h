/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token in a file, read again when the file is another one or changed. */
#pragma once

#include <sys/stat.h>

#include "lib/base/macro.h"

struct err;

enum { TOKEN_FILE_MAX = 256 * 1024 };

struct token_file {
	char *path;	  /* owned */
	char *header;	  /* "Authorization: Bearer ...", owned; NULL: not read yet */
	struct stat read; /* of the file as it was read */
};

/*
 * Bring `header` up to date. -EINVAL when the file does not hold one line with
 * a token (b64token of RFC 6750 2.1); the usual errno when it cannot be read. `header`
 * stays as it was then.
 */
int token_file_refresh(struct token_file *t, struct err *err);

/* Read it again next time, whatever stat(2) says. */
void token_file_forget(struct token_file *t);

void token_file_release(struct token_file *t);
