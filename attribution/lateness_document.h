/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes late, which link is slow and who stood still (lateness.h), for those who read it. Pure. */
#pragma once

#include <jansson.h>

struct lateness;
struct trace;

/* `lateness` of docs/formats.md. New reference. */
json_t *lateness_document(const struct trace *trace, const struct lateness *lateness);
