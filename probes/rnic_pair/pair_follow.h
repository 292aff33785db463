/* SPDX-License-Identifier: Apache-2.0 */
/* The side that listened: does what the leader asks for. */
#pragma once

struct err;
struct pair_session;

/* Until the leader says goodbye. Errors are of the line, and those of emitting. */
int pair_follow(struct pair_session *s, struct err *err);
