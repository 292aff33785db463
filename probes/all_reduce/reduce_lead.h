/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0: asks all others, waits for their answers, and tells them when it is over. */
#pragma once

struct err;
struct reduce_session;

int reduce_lead(struct reduce_session *s, struct err *err);
