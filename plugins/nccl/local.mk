# SPDX-License-Identifier: Apache-2.0
# plugins/nccl: libassay-nccl-profiler.so, loaded by NCCL into jobs; it links nothing but libc. Included by Makefile.am.
EXTRA_DIST += plugins/nccl/local.mk
