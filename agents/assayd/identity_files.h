/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that say whom we trust and who we are (ca, cert, key), noticed
 * when they change: certificates are renewed while we run. A file and its
 * partner are seldom replaced at one moment, so a change counts once nothing
 * has moved for a while. Tokens need none of this: lib/net/token_file.h.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct identity_files;
struct sd_event;

enum { IDENTITY_FILES_MAX = 3 };

#define IDENTITY_FILES_QUIET_US UINT64_C(500000)

/* `changed` is called from the loop when a file is another one or has other content. */
struct identity_files *identity_files_new(struct sd_event *event, void (*changed)(void *context),
					  void *context);
void identity_files_free(struct identity_files *files);

/* These from now on (copied, each may be NULL), as they are now. */
void identity_files_set(struct identity_files *files,
			const char *const paths[static IDENTITY_FILES_MAX]);

/* Look now, in case nobody told us. */
void identity_files_look(struct identity_files *files);
