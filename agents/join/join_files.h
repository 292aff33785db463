/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a host that joins, in the configuration directory (lib/sys/paths.h): the host's
 * own token, the CA that it trusts, and assayd.yaml. Files that a person has written are never
 * overwritten, and joining twice changes nothing.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum { JOIN_TOKEN_MAX = 4096 }; /* bytes of a file that holds a token */

struct join_files {
	char *dir;    /* owned, like the others */
	char *token;  /* .../token */
	char *ca;     /* .../ca.pem */
	char *config; /* .../assayd.yaml */
};

struct join_files join_files_init(void);
void join_files_release(struct join_files *f);

/*
 * Contents of assayd.yaml. `node` and `controller` contain no quotes; `ca` is left out unless
 * `has_ca`. The caller frees it.
 */
char *join_files_config(const struct join_files *f, const char *controller, const char *node,
			bool has_ca);

/*
 * May `config` be written, i.e. is there no such file, or one with the same contents? Creates the
 * directory. -EEXIST with a sentence that says what to do.
 */
int join_files_check(const struct join_files *f, const char *config, struct err *err);

/*
 * This host's own token: the existing one, or a new one, written with mode 0600. The caller frees
 * it. -EINVAL if the existing file is not a token.
 */
int join_files_token(const struct join_files *f, char **ret_token, struct err *err);

/* Write the CA certificate (NULL: none) and assayd.yaml. */
int join_files_write(const struct join_files *f, const char *ca_pem, const char *config,
		     struct err *err);

/* The only line of a file ("-": stdin), trimmed. The caller frees it. */
int join_files_line(const char *path, char **ret_line, struct err *err);
