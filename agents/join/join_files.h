/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a host that joins, in the directory of its configuration (lib/sys/paths.h): its
 * own token, the authority that it trusts, and assayd.yaml. What a person has written there is
 * never written over, and asking twice changes nothing.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum { JOIN_TOKEN_MAX = 4096 }; /* bytes of a file that holds a token */

struct join_files {
	char *dir;    /* owned, as all of these */
	char *token;  /* .../token */
	char *ca;     /* .../ca.pem */
	char *config; /* .../assayd.yaml */
};

struct join_files join_files_init(void);
void join_files_release(struct join_files *f);

/* What assayd.yaml says. `node` and `controller` hold no quotes; `ca` NULL: none. New memory. */
char *join_files_config(const struct join_files *f, const char *controller, const char *node,
			bool has_ca);

/*
 * May `config` be written: is there no such file, or one that says the same? The directory is
 * made. -EEXIST with a sentence that says what to do.
 */
int join_files_check(const struct join_files *f, const char *config, struct err *err);

/*
 * This host's own token: the one that is there, or a new one, written with mode 0600. New memory.
 * -EINVAL when what is there is none.
 */
int join_files_token(const struct join_files *f, char **ret_token, struct err *err);

/* Write the authority (NULL: none) and assayd.yaml. */
int join_files_write(const struct join_files *f, const char *ca_pem, const char *config,
		     struct err *err);

/* The one line of a file, "-": of standard input, without white space around it. New memory. */
int join_files_line(const char *path, char **ret_line, struct err *err);
