/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and decodes the files that people write for the judges: the shell around the pure decoders
 * of lib/judge. Returns -EINVAL with "FILE: path.to.key: what" for an invalid file, or the errno of
 * reading it.
 */
#pragma once

struct err;
struct policy;
struct sku;

int policy_file_read(const char *path, struct policy *ret, struct err *err);
int sku_file_read(const char *path, struct sku *ret, struct err *err);
