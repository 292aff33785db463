/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the data of this host's sources into "groups" and "ranks" of assay-hang/1
 * (docs/hangs.md). Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

/* The rank's object in `ranks`, created if needed. Borrowed. */
json_t *hang_document_rank(json_t *ranks, json_int_t rank);

/* Add the name of a source to the rank, unless it is there. */
void hang_document_source(json_t *rank, const char *source);

/*
 * Merge the document of one source (well-formed: it was decoded before): new groups, missing
 * fields of ranks, and more positions and ops. Ranks that are not in `ranks` are skipped: they
 * are not on this host.
 */
void hang_document_add(json_t *groups, json_t *ranks, const json_t *from);

/*
 * Encode as one line of at most `size` bytes; the caller frees it. To make it fit, the operations
 * are dropped, then all positions and groups; "missing" names what was dropped. NULL if that is
 * still too long.
 */
char *hang_document_line(json_t *document, size_t size);
