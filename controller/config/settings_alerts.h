/* SPDX-License-Identifier: Apache-2.0 */
/* The section `alertmanagers` of controller.yaml: where alerts are sent. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	ALERTMANAGERS_MAX = 8,
	ALERTMANAGER_URL_MAX = 1024,  /* bytes */
	ALERTMANAGER_FILE_MAX = 4096, /* bytes of a file with name and password */
};

/* An Alertmanager. Texts are owned; files or NULL. */
struct settings_alertmanager {
	char *url;	       /* without trailing slash */
	char *token_file;      /* one line: token for Authorization: Bearer */
	char *basic_auth_file; /* one line: NAME:PASSWORD */
	char *cacert;	       /* CA of its certificate; NULL: the system's */
};

struct settings_alerts {
	struct settings_alertmanager of[ALERTMANAGERS_MAX];
	size_t n;
};

/* For J_CUSTOM: [{url, token-file, basic-auth-file, cacert}] into a struct settings_alerts. */
int settings_alerts_decode(const struct jval *v, void *member, struct err *err);

/* For J_CUSTOM: an http or https URL into a char *, without trailing slash. */
int settings_alerts_decode_url(const struct jval *v, void *member, struct err *err);

void settings_alerts_release(struct settings_alerts *alerts);
bool settings_alerts_same(const struct settings_alerts *a, const struct settings_alerts *b);

/* Do the named files exist with valid content? -EINVAL and others with a sentence. */
int settings_alerts_check(const struct settings_alerts *alerts, struct err *err);

/* Read NAME:PASSWORD from a `basic_auth_file`, new memory. -EINVAL. */
int settings_alerts_read_password(const char *path, char **ret, struct err *err);
