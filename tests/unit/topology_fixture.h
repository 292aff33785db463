/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the topology tests. */
#pragma once

#include "lib/topology/topology.h"

/* Returns the contents of tests/fixtures/<name>. The caller frees it. */
char *fixture_text(const char *name);

/* Returns `text` with the first `from` after `after` replaced by `to`; `after` NULL: all of them.
 * The caller frees it. */
char *fixture_edit(const char *text, const char *after, const char *from, const char *to);

/*
 * Reads hwloc XML text as the file <name> with `sys_fd`. Without hwloc it skips
 * the test and returns false; any other error is a failed check. The caller
 * releases `ret`.
 */
bool fixture_read_at(const char *name, const char *xml, int sys_fd, struct topology *ret);
bool fixture_read(const char *name, const char *xml, struct topology *ret);

/* The same for the unmodified tests/fixtures/<name>. */
bool fixture_load(const char *name, struct topology *ret);

size_t fixture_count(const struct topology *t, enum topo_type type);

/* Returns the path as "a b c", "" if empty, "-N" for an error. The caller frees it. */
char *fixture_path(const struct topology *t, const char *from, const char *to);
