/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/topology/<digest>.json: topologies that reports of this host name, for
 * the controller that has not seen one. Written by whoever knows the hardware,
 * read by whoever sends; neither needs the other's libraries. The few that
 * were used last are kept.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

enum {
	TOPOLOGY_DIGEST_LEN = 64,	 /* hexadecimal digits of a SHA-256 */
	TOPOLOGY_TEXT_MAX = 1024 * 1024, /* bytes of one topology/1 */
	TOPOLOGY_FILES_MAX = 8,		 /* kept; the one used longest ago goes first */
};

/* Is this text a digest, and so safe in a path? */
bool topology_digest_ok(const char *digest);

/* Keep the topology `value` under its digest, unless it is there. -E2BIG, or what the disk says. */
int topology_file_keep(const char *digest, const json_t *value, struct err *err);

/* The text of one, new memory. -ENOENT when it is not kept here. */
int topology_file_read(const char *digest, char **ret_text, size_t *ret_len, struct err *err);
