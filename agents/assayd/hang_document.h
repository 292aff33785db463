/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "groups" and "ranks" of assay-hang/1 (docs/hangs.md) put together from what each source of this
 * host says. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

/* The rank's object in `ranks`, borrowed, made if it is new. */
json_t *hang_document_rank(json_t *ranks, json_int_t rank);

/* Add the name of a source to the rank's, once. */
void hang_document_source(json_t *rank, const char *source);

/*
 * Add what a document of one source says (well-formed: it was decoded before): its groups, equal
 * ones once, and of its ranks what is not known of them yet, positions and ops to what is there. A
 * rank that is not in `ranks` is left out: it is none of this host's.
 */
void hang_document_add(json_t *groups, json_t *ranks, const json_t *from);

/*
 * The document as one line of at most `size` bytes, new memory. What does not fit goes and is named
 * in "missing": the operations, then all positions and groups. NULL: even that is not enough.
 */
char *hang_document_line(json_t *document, size_t size);
