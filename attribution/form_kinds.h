/* SPDX-License-Identifier: Apache-2.0 */
/* Output formats other than JSON; forms.h explains the arguments. */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct attribution;

/* Text: tables and a paragraph. */
void form_table(const struct attribution *attribution, size_t i, bool more, FILE *out);

/* SVG: workers coloured by slowdown, over all steps and step by step. */
void form_heatmap(const struct attribution *attribution, size_t i, bool more, FILE *out);

/* Chrome trace format: the recording, and beside it the ideal. */
void form_timeline(const struct attribution *attribution, size_t i, bool more, FILE *out);
