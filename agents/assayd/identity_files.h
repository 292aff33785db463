/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the files of our identity and trust (ca, cert, key): certificates are renewed while we
 * run. A certificate and its key are seldom replaced at the same moment, so a change counts once
 * the files have been unchanged for a while. Tokens do not need this: lib/net/token_file.h.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct identity_files;
struct sd_event;

enum { IDENTITY_FILES_MAX = 3 };

#define IDENTITY_FILES_QUIET_US UINT64_C(500000)

/* `changed` is called from the loop when a file was replaced or modified. */
struct identity_files *identity_files_new(struct sd_event *event, void (*changed)(void *context),
					  void *context);
void identity_files_free(struct identity_files *files);

/* Watch these files (paths are copied, each may be NULL), starting from their present state. */
void identity_files_set(struct identity_files *files,
			const char *const paths[static IDENTITY_FILES_MAX]);

/* Check now, in case an event was missed. */
void identity_files_look(struct identity_files *files);
