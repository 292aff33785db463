/* SPDX-License-Identifier: Apache-2.0 */
/* The forms that are not JSON; forms.h says what each argument is. */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct attribution;

/* Tables for people, and a paragraph. */
void form_table(const struct attribution *attribution, size_t i, bool more, FILE *out);

/* SVG: workers coloured by their slowdown, of all steps and step by step. */
void form_heatmap(const struct attribution *attribution, size_t i, bool more, FILE *out);

/* Chrome trace format: what was, and beside it what should be. */
void form_timeline(const struct attribution *attribution, size_t i, bool more, FILE *out);
