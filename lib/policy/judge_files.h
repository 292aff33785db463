/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that people write for the judges, read and decoded: the shell
 * around the pure decoders of lib/judge. "FILE: path.to.key: what" and -EINVAL
 * for a bad one; the errno of reading it otherwise.
 */
#pragma once

struct err;
struct policy;
struct sku;

int policy_file_read(const char *path, struct policy *ret, struct err *err);
int sku_file_read(const char *path, struct sku *ret, struct err *err);
