/* SPDX-License-Identifier: Apache-2.0 */
/* The listening side of two hosts: does what the leader asks for. */
#pragma once

struct err;
struct pair_session;

/* Returns when the leader says goodbye, or with an error of the connection or of emitting. */
int pair_follow(struct pair_session *s, struct err *err);
