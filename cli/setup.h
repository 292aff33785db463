/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl setup controller, setup certificate: create what a site's controller needs in one
 * directory: a CA, a certificate signed by it, a first token, and settings. Existing files are
 * never overwritten. The settings are written last, so that a unit that starts has everything.
 */
#pragma once

struct request;

/* The commands. Return enum status. */
int setup_controller(const struct request *request);
int setup_certificate(const struct request *request);
