/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/topology/<digest>.json: topologies named by reports of this host, for a controller that
 * has not seen them. Written by the program that knows the hardware, read by the one that sends;
 * neither needs the other's libraries. Only the most recently used ones are kept.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

enum {
	TOPOLOGY_DIGEST_LEN = 64,	 /* hexadecimal digits of a SHA-256 */
	TOPOLOGY_TEXT_MAX = 1024 * 1024, /* bytes of one topology/1 */
	TOPOLOGY_FILES_MAX = 8,		 /* the least recently used one goes first */
};

/* True if this text is a digest, and so safe in a path. */
bool topology_digest_ok(const char *digest);

/* Stores the topology `value` under its digest, unless it exists. -E2BIG, or errno of the disk. */
int topology_file_keep(const char *digest, const json_t *value, struct err *err);

/* The text of one, new memory. -ENOENT if it is not stored here. */
int topology_file_read(const char *digest, char **ret_text, size_t *ret_len, struct err *err);
