/* SPDX-License-Identifier: Apache-2.0 */
/* How readers fill a struct topology: bounded adds, then one topology_finish(). */
#pragma once

#include "lib/topology/topology.h"

/*
 * Add a node or link and take its strings, which must be on the heap; they are
 * freed on failure too. -E2BIG past the limit with a sentence, -EEXIST when the
 * id is there already.
 */
int topology_take_node(struct topology *t, struct topo_node node, struct err *err);
int topology_take_link(struct topology *t, struct topo_link link, struct err *err);

/* A link of ids `a` (below) and `b` (above), "a^b", speeds 0. New strings. */
struct topo_link topology_new_link(const char *a, const char *b);

/* A name for people: printable ASCII without '^', cut when long. New; NULL for NULL or "". */
char *topology_clean(const char *text);

/* Order nodes and links, compute the digest. Call once, when all is added. */
void topology_finish(struct topology *t);
