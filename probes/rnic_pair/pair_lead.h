/* SPDX-License-Identifier: Apache-2.0 */
/* The dialling side of two hosts: asks for one step after the other. */
#pragma once

struct err;
struct pair_session;

/*
 * Test all connections, then measure the rates of those that connect. Returns errors of the
 * connection to the other side, and of emitting.
 */
int pair_lead(struct pair_session *s, struct err *err);
