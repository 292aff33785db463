/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts over HTTP: POST /api/v2/alerts of Alertmanager (its api/v2/openapi.yaml). A build without
 * libcurl has alert_sender_http_none.c, which refuses.
 */
#pragma once

#include "controller/alerts/alert_sender.h"

extern const struct alert_sender alert_sender_http;
