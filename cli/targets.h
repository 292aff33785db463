/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts a command is about: those that it names, that a file names, or that match. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct request;
struct settings;

enum {
	TARGETS_MAX = 16384,		    /* hosts of one command */
	TARGETS_FILE_MAX = 4 * 1024 * 1024, /* bytes that name them */
};

struct targets {
	char **names; /* owned, each once, in the order they were named in; or by name */
	size_t n;
};

/* Is the command about other than the one host that it may name? */
bool targets_are_many(const struct request *request);

/*
 * Find them. -EINVAL for a file that cannot be read or names what can be no host (with its line);
 * -ENOENT when nothing matches or the file names none; else as link_list().
 */
int targets_find(struct link *link, const struct request *request, struct targets *ret,
		 struct err *err);
void targets_release(struct targets *targets);

/* Where hosts are listed, with what targets_match() asks for. */
const char *targets_path(const struct settings *settings);

/* Of a host of that list: does it match --sku, --rack and --selector? */
bool targets_match(const json_t *node, const struct settings *settings);

/* -ENOTSUP when this list of hosts, of an older controller, lacks what the settings ask for. */
int targets_check(const json_t *nodes, const struct settings *settings, struct err *err);
