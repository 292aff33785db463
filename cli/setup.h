/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl setup controller, setup certificate: what the controller of a site needs, in one
 * directory: an authority, a certificate that it signs, a first token, and settings. Nothing that
 * is there is written over; the settings come last, so that a unit starts with all of them.
 */
#pragma once

struct request;

/* Commands: enum status. */
int setup_controller(const struct request *request);
int setup_certificate(const struct request *request);
