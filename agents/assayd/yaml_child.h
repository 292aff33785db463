/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML for a program that links no parser: `assay config FILE`, which is
 * installed beside it, prints the file as JSON. A child that lives for
 * milliseconds costs the daemon nothing afterwards, a parser that crashes
 * takes no daemon with it, and there is one reader of YAML in the suite.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

/* Waits for 5 s at most. New reference. -EINVAL with the complaint about a bad file. */
int yaml_child_read(const char *path, json_t **ret_value, struct err *err);
