/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the library on the loop. */
#pragma once

struct api;

/* Run the library, and arm its next wake-up. */
void api_run(struct api *api);
