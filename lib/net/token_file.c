/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

static const char b64token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			       "0123456789-._~+/=";

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int token_file_refresh(struct token_file *t, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	struct stat st;
	size_t len, token_len;
	int r;

	if (stat(t->path, &st) < 0)
		return err_errno(err, errno, "cannot read %s", t->path);
	if (t->header && same_file(&st, &t->read))
		return 0;
	r = file_read(AT_FDCWD, t->path, TOKEN_FILE_MAX, &text, &len, err);
	if (r < 0)
		return r;
	token_len = strspn(text, b64token);
	if (token_len == 0 || token_len + strspn(text + token_len, " \t\r\n") != len)
		return err_set(err, EINVAL, "%s: expected one line with a token", t->path);
	text[token_len] = '\0';
	free(t->header);
	t->header = xasprintf("Authorization: Bearer %s", text);
	t->read = st;
	return 0;
}

void token_file_forget(struct token_file *t)
{
	t->read = (struct stat){ 0 };
}

void token_file_release(struct token_file *t)
{
	free(t->path);
	free(t->header);
	*t = (struct token_file){ 0 };
}
