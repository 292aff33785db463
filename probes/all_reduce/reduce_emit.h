/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank prints of a rail: only what it saw itself, and whom rank 0 found slow. */
#pragma once

struct reduce_message;
struct reduce_session;

/* What the rail came to; errors of emit(). */
int reduce_emit(struct reduce_session *s, const struct reduce_message *result);

/* All rails that were not told of: nothing was measured there, for `why`. */
int reduce_emit_rest(struct reduce_session *s, int state, const char *why);
