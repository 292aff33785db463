/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/join/join_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum { CONFIG_MAX = 1024 * 1024 };

static const char token_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

struct join_files join_files_init(void)
{
	struct join_files f = { .dir = paths_conf() };

	f.token = xasprintf("%s/token", f.dir);
	f.ca = xasprintf("%s/ca.pem", f.dir);
	f.config = xasprintf("%s/assayd.yaml", f.dir);
	return f;
}

void join_files_release(struct join_files *f)
{
	free(f->dir);
	free(f->token);
	free(f->ca);
	free(f->config);
}

char *join_files_config(const struct join_files *f, const char *controller, const char *node,
			bool has_ca)
{ /* lint: allow parameters: what the file says */
	CLEANUP(freep) char *ca = has_ca ? xasprintf("ca: \"%s\"\n", f->ca) : xstrdup("");

	return xasprintf("# Written by `assay join`. docs/assayd.md has every key.\n"
			 "v: 1\n"
			 "controller: \"%s\"\n"
			 "node: \"%s\"\n"
			 "token_file: \"%s\"\n"
			 "%s",
			 controller, node, f->token, ca);
}

int join_files_check(const struct join_files *f, const char *config, struct err *err)
{
	CLEANUP(freep) char *there = NULL;
	int r = file_mkdirs(f->dir, err);

	if (r < 0)
		return r;
	if (access(f->dir, W_OK) != 0)
		return err_set(err, errno, "%s: cannot write there: run it as root", f->dir);
	r = file_read(AT_FDCWD, f->config, CONFIG_MAX, &there, NULL, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (!streq(there, config))
		return err_set(err, EEXIST,
			       "%s: already exists with other settings: move it away and join "
			       "again, or set controller, node, token_file and ca in it by hand",
			       f->config);
	return 0;
}

/* Trim in place. */
static char *trimmed(char *text)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	for (n = strlen(text); n > 0 && strchr(" \t\r\n", text[n - 1]); n--)
		text[n - 1] = '\0';
	return text;
}

int join_files_line(const char *path, char **ret_line, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	char *line;
	int r = 0;

	if (streq(path, "-")) {
		text = xcalloc(1, JOIN_TOKEN_MAX + 1);
		if (fread(text, 1, JOIN_TOKEN_MAX, stdin) == 0 && ferror(stdin))
			return err_set(err, EIO, "standard input cannot be read");
	} else {
		r = file_read(AT_FDCWD, path, JOIN_TOKEN_MAX, &text, NULL, err);
	}
	if (r < 0)
		return r;
	line = trimmed(text);
	if (!*line || strspn(line, token_letters) != strlen(line))
		return err_set(err, EINVAL, "%s: expected one line with a token",
			       streq(path, "-") ? "standard input" : path);
	*ret_line = xstrdup(line);
	return 0;
}

int join_files_token(const struct join_files *f, char **ret_token, struct err *err)
{
	char text[RANDOM_TOKEN_LETTERS + 1];
	mode_t before;
	int r = join_files_line(f->token, ret_token, err);

	if (r != -ENOENT)
		return r;
	r = random_token(text, RANDOM_TOKEN_LETTERS, clock_mono_us() + 10 * USEC_PER_SEC, err);
	if (r < 0)
		return r;
	before = umask(0177);
	r = file_replace(AT_FDCWD, f->token, text, strlen(text), err);
	(void)umask(before);
	if (r == 0)
		*ret_token = xstrdup(text);
	return r;
}

int join_files_write(const struct join_files *f, const char *ca_pem, const char *config,
		     struct err *err)
{
	mode_t before = umask(022);
	int r = ca_pem ? file_replace(AT_FDCWD, f->ca, ca_pem, strlen(ca_pem), err) : 0;

	/* Last, because assayd and its timers start once it exists. */
	if (r == 0)
		r = file_replace(AT_FDCWD, f->config, config, strlen(config), err);
	(void)umask(before);
	return r;
}
