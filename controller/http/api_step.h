/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as seen by the library: its header, pieces of its body, its end, and again when a held one
 * is resumed.
 */
#pragma once

#include <microhttpd.h>

/* Callbacks of the library; `context` is the struct api. */
enum MHD_Result api_step(void *context, struct MHD_Connection *connection, const char *url,
			 const char *method, const char *version, const char *data,
			 size_t *data_size, void **state);
void api_step_done(void *context, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode code);
