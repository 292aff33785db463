/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-hang/1: what one host says of its ranks of one job, as JSON (docs/hangs.md). Documents of
 * many hosts are added to one case: ranks by number, groups by name, size and known members. A
 * document that lists no members of a group gives the places of its own ranks, so the groups fill
 * up as hosts answer.
 *
 * A rank claimed by two hosts belongs to the first one; what the other says of it is left out and
 * noted in the case's `missing`. Unknown keys, from later versions, are ignored. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/hang/hang_case.h"
#include "lib/hang/hang_part.h"

#define HANG_FORMAT "assay-hang/1"

struct jval;

/* True if it is a document of this format. */
bool hang_json_is(const json_t *document);

/* Reads a document. -EINVAL with "FILE: path: what", -ENOMEM; then `ret` is unchanged. */
int hang_json_read(const struct jval *document, struct hang_part *ret, struct err *err);

/*
 * Reads a document and joins it to the case; fills `head` (may be NULL). -EINVAL with "FILE: path:
 * what", -E2BIG, -ENOMEM; the case is then half-filled, so try untrusted documents on an empty case
 * first.
 */
int hang_json_add(struct hang_case *c, const struct jval *document, struct hang_head *head,
		  struct err *err);

/* The document for all ranks of the case that have a source. New reference. */
json_t *hang_json_encode(const struct hang_case *c, const struct hang_head *head);
