/* SPDX-License-Identifier: Apache-2.0 */
/* The side that dialled: asks for one step after the other. */
#pragma once

struct err;
struct pair_session;

/* All connections, then the rates of those that connect. Errors are of the line, and those of
 * emitting. */
int pair_lead(struct pair_session *s, struct err *err);
