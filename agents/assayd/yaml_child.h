/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML for a daemon that links no parser: `assay config FILE`, installed beside it, prints the
 * file as JSON. A short-lived child leaves no memory behind, a parser crash does not take the
 * daemon down, and the suite has a single YAML reader.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

/* Blocks for at most 5 s. New reference. -EINVAL with the error of a bad file. */
int yaml_child_read(const char *path, json_t **ret_value, struct err *err);
