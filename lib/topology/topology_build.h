/* SPDX-License-Identifier: Apache-2.0 */
/* For readers that fill a struct topology: bounded adds, then one topology_finish(). */
#pragma once

#include "lib/topology/topology.h"

/*
 * Add a node or link and take its strings, which must be on the heap and are freed on failure too.
 * -E2BIG past the limit with a sentence, -EEXIST if the id already exists.
 */
int topology_take_node(struct topology *t, struct topo_node node, struct err *err);
int topology_take_link(struct topology *t, struct topo_link link, struct err *err);

/* A link "a^b" of ids `a` (below) and `b` (above), with speeds 0. New strings. */
struct topo_link topology_new_link(const char *a, const char *b);

/* A name for people: printable ASCII without '^', truncated. New; NULL for NULL or "". */
char *topology_clean(const char *text);

/* Sorts nodes and links and computes the digest. Call once, after all adds. */
void topology_finish(struct topology *t);
