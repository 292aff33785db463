/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cordoned nodes are drained, and when.
 *
 * Most gangs restart as a whole when one of their pods goes, on any node that takes work. So all
 * bad nodes of a job are cordoned before the first is drained, and the next one is drained only
 * after the gang has had time to come back.
 */
#pragma once

struct deciding;

/* Decides the drains; uses the nodes' scratch. */
void decide_drains(struct deciding *d);
