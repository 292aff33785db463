/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes late ranks, slow links and stalls (lateness.h). Pure. */
#pragma once

#include <jansson.h>

struct lateness;
struct trace;

/* `lateness` in docs/formats.md. New reference. */
json_t *lateness_document(const struct trace *trace, const struct lateness *lateness);
