/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a hang verdict as text: which rank stopped, the evidence, and where all ranks are. */
#pragma once

#include <stdio.h>

#include "lib/hang/hang_judge.h"

enum { HANG_TABLE_ROWS_MAX = 64 }; /* ranks: first those named in the verdict, then the lowest */

void hang_table_write(const struct hang_case *c, const struct hang_verdict *verdict, FILE *out);
