/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the controller was told to run: defaults < controller.yaml < options.
 * The file has the names of the options as keys and is strict.
 */
#pragma once

#include <stdint.h>

#include "lib/macro.h"

struct err;

enum cluster { CLUSTER_EMBEDDED, CLUSTER_KUBERNETES };

struct settings {
	char *listen; /* "ADDR:PORT" */
	char *db;
	int cluster; /* enum cluster */
	char *kubeconfig;
	int mode; /* enum policy_mode */
	char *policy;
	char *tokens, *tls_cert, *tls_key, *client_ca; /* files, or NULL */
	bool insecure;
	uint64_t connections_max, nodes_max;
	uint64_t report_rate, report_burst; /* per node: a second, and at once */
};

/* The defaults; release it. */
struct settings settings_init(void);
void settings_release(struct settings *s);

/* Read `path` over what is there. -EINVAL with "FILE: key: what"; -ENOENT. */
int settings_read(const char *path, struct settings *s, struct err *err);

/* Names of values, NULL-terminated. */
extern const char *const cluster_names[];

/* May it run so? -EINVAL with a sentence that says what to do. */
int settings_check(const struct settings *s, struct err *err);
