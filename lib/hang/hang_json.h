/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-hang/1: what one host says of the ranks of one job that it has, as JSON (docs/hangs.md).
 * Documents of many hosts are added to one case: ranks by number, groups by name, size and known
 * members. A document that gives no member of a group gives the places of its own ranks, so
 * that the groups fill up as hosts answer.
 *
 * A rank that two hosts claim is the first one's; the other's words of it are left out, and that is
 * noted in the case's `missing`. Unknown keys are tomorrow's: they are passed over. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/hang/hang_case.h"
#include "lib/hang/hang_part.h"

#define HANG_FORMAT "assay-hang/1"

struct jval;

/* Is it a document of this format? */
bool hang_json_is(const json_t *document);

/* Read a document. -EINVAL with "FILE: path: what", -ENOMEM: `ret` is left alone. */
int hang_json_read(const struct jval *document, struct hang_part *ret, struct err *err);

/*
 * Read one, and join it to the case. `head` (may be NULL) is filled. -EINVAL with "FILE: path:
 * what", -E2BIG, -ENOMEM: the case is then half filled, so try a document of strangers on an empty
 * case first.
 */
int hang_json_add(struct hang_case *c, const struct jval *document, struct hang_head *head,
		  struct err *err);

/* The document of all ranks of the case that have a source. New reference. */
json_t *hang_json_encode(const struct hang_case *c, const struct hang_head *head);
