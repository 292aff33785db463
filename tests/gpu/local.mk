# SPDX-License-Identifier: Apache-2.0
# tests/gpu: programs that scripts/on-gpu runs on a host with a GPU. Included by Makefile.am.
GPU_REFERENCES = tests/gpu/ref_copy tests/gpu/ref_driver tests/gpu/ref_gemm tests/gpu/ref_nccl tests/gpu/ref_nvml
EXTRA_PROGRAMS += $(GPU_REFERENCES)
tests_gpu_ref_copy_SOURCES = tests/gpu/ref.h tests/gpu/ref_copy.c
tests_gpu_ref_copy_LDADD =
tests_gpu_ref_driver_SOURCES = tests/gpu/ref.h tests/gpu/ref_driver.c
tests_gpu_ref_driver_LDADD =
tests_gpu_ref_gemm_SOURCES = tests/gpu/ref.h tests/gpu/ref_gemm.c
tests_gpu_ref_gemm_LDADD = -lm
tests_gpu_ref_nccl_SOURCES = tests/gpu/ref.h tests/gpu/ref_nccl.c
tests_gpu_ref_nccl_LDADD =
tests_gpu_ref_nvml_SOURCES = tests/gpu/ref.h tests/gpu/ref_nvml.c
tests_gpu_ref_nvml_LDADD =
# Our own code, as far as it can be tested without an RNIC.
EXTRA_PROGRAMS += tests/gpu/try_region
tests_gpu_try_region_SOURCES = tests/gpu/try_region.c
tests_gpu_try_region_LDADD = libloopback.a libaccelcuda.a libaccel.a $(PROBE_LIBS)

tests/gpu/shim.so: tests/gpu/shim.c probes/accel/cuda_abi.h
	$(AM_V_CCLD)$(MKDIR_P) tests/gpu && $(CC) -std=gnu11 -D_GNU_SOURCE -I$(srcdir) $(WARN_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/tests/gpu/shim.c

# Faults in real time, against the fakes (scripts/test real-time).
EXTRA_DIST += tests/gpu/real_time

EXTRA_DIST += tests/gpu/shim.c
CLEANFILES += $(GPU_REFERENCES) tests/gpu/try_region tests/gpu/shim.so
