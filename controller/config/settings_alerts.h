/* SPDX-License-Identifier: Apache-2.0 */
/* The section `alertmanagers` of controller.yaml: who is told what operators must hear. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	ALERTMANAGERS_MAX = 8,
	ALERTMANAGER_URL_MAX = 1024,  /* bytes */
	ALERTMANAGER_FILE_MAX = 4096, /* bytes of a file with a name and a password */
};

/* One of them. Texts are owned; files or NULL. */
struct settings_alertmanager {
	char *url;	       /* without a slash at its end */
	char *token_file;      /* one line: the token of Authorization: Bearer */
	char *basic_auth_file; /* one line: NAME:PASSWORD */
	char *cacert;	       /* who signed its certificate; NULL: whom the system trusts */
};

struct settings_alerts {
	struct settings_alertmanager of[ALERTMANAGERS_MAX];
	size_t n;
};

/* Of J_CUSTOM: a list of {url, token-file, basic-auth-file, cacert} into a struct settings_alerts. */
int settings_alerts_decode(const struct jval *v, void *member, struct err *err);

/* Of J_CUSTOM: an address of http or https into a char *, without a slash at its end. */
int settings_alerts_decode_url(const struct jval *v, void *member, struct err *err);

void settings_alerts_release(struct settings_alerts *alerts);
bool settings_alerts_same(const struct settings_alerts *a, const struct settings_alerts *b);

/* Are the files that it names there, and what they should be? -EINVAL and others with a sentence. */
int settings_alerts_check(const struct settings_alerts *alerts, struct err *err);

/* NAME:PASSWORD of a file as `basic_auth_file` is one, new memory. -EINVAL. */
int settings_alerts_read_password(const char *path, char **ret, struct err *err);
