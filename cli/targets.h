/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the hosts of a command: named as arguments, in a file, or matched. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct request;
struct settings;

enum {
	TARGETS_MAX = 16384,		    /* hosts per command */
	TARGETS_FILE_MAX = 4 * 1024 * 1024, /* bytes of the file that names them */
};

struct targets {
	char **names; /* owned, no duplicates; in the order given, or sorted */
	size_t n;
};

/* Does the command select hosts in any way other than a single name? */
bool targets_are_many(const struct request *request);

/*
 * Find the hosts. -EINVAL for a file that cannot be read or has an invalid host name (with its
 * line); -ENOENT if nothing matches or the file is empty; else as link_list().
 */
int targets_find(struct link *link, const struct request *request, struct targets *ret,
		 struct err *err);
void targets_release(struct targets *targets);

/* Path of the list of hosts, with the fields that targets_match() needs. */
const char *targets_path(const struct settings *settings);

/* Does a host of that list match --sku, --rack and --selector? */
bool targets_match(const json_t *node, const struct settings *settings);

/* -ENOTSUP if the list, from an older controller, lacks fields that the settings need. */
int targets_check(const json_t *nodes, const struct settings *settings, struct err *err);
