/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the topology share. */
#pragma once

#include "lib/topology/topology.h"

/* The text of tests/fixtures/<name>; free it. */
char *fixture_text(const char *name);

/* `text` with the first `from` after `after` (NULL: all of them) replaced; free it. */
char *fixture_edit(const char *text, const char *after, const char *from, const char *to);

/*
 * Read hwloc XML text as the file <name> with `sys_fd`. False, and the test is
 * skipped, without hwloc; any other failure is a failed check. Release `ret`.
 */
bool fixture_read_at(const char *name, const char *xml, int sys_fd, struct topology *ret);
bool fixture_read(const char *name, const char *xml, struct topology *ret);

/* The same from tests/fixtures/<name> as it is. */
bool fixture_load(const char *name, struct topology *ret);

size_t fixture_count(const struct topology *t, enum topo_type type);

/* "a b c" of the path, "" when empty, "-N" for an error; free it. */
char *fixture_path(const struct topology *t, const char *from, const char *to);
