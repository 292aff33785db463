/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks that dialled: they do what rank 0 asks for, and stop when it says so. */
#pragma once

struct err;
struct reduce_session;

int reduce_follow(struct reduce_session *s, struct err *err);
