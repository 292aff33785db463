/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cordoned nodes are drained, and when.
 *
 * Most gangs start again as a whole when one of their pods goes, and then anywhere that takes
 * work: so all bad nodes of a job are cordoned before the first is drained, and the next is
 * not drained before the gang has had time to come back.
 */
#pragma once

struct deciding;

/* Which cordoned nodes are drained; it uses the nodes' scratch. */
void decide_drains(struct deciding *d);
