# SPDX-License-Identifier: Apache-2.0
# probes/accel: CPU and GPU engines. Included by Makefile.am.
noinst_LIBRARIES += libaccel.a
libaccel_a_SOURCES = probes/accel/accel.c probes/accel/accel.h probes/accel/watch.c probes/accel/watch.h

# GPUs: CUDA is loaded at run time, so this is always built.
noinst_LIBRARIES += libaccelcuda.a
libaccelcuda_a_SOURCES = probes/accel/cuda.c probes/accel/cuda.h probes/accel/cuda_abi.h probes/accel/cuda_context.c \
	probes/accel/cuda_context.h probes/accel/cuda_gemm.c probes/accel/cuda_gemm.h probes/accel/cuda_host.c probes/accel/cuda_host.h \
	probes/accel/cuda_load.c \
	probes/accel/cuda_load.h probes/accel/cuda_memory.c probes/accel/cuda_memory.h probes/accel/cuda_nvml.c probes/accel/cuda_nvml.h \
	probes/accel/cuda_stream.c probes/accel/cuda_stream.h \
	probes/accel/cuda_users.c probes/accel/cuda_users.h probes/accel/gpu_users.c probes/accel/gpu_users.h probes/accel/library.c \
	probes/accel/library.h probes/accel/nvml_abi.h probes/accel/nvml_field.c probes/accel/nvml_field.h probes/accel/nvml_process.c \
	probes/accel/nvml_process.h probes/accel/worker.c probes/accel/worker.h
libaccelhost_a_SOURCES = probes/accel/host.c probes/accel/host.h \
	probes/accel/host_event.c probes/accel/host_event.h probes/accel/host_gemm.c probes/accel/host_gemm.h probes/accel/host_memory.c \
	probes/accel/host_memory.h \
	probes/accel/host_stream.c probes/accel/host_stream.h probes/accel/host_topology.c probes/accel/host_topology.h
if HAVE_CBLAS
noinst_LIBRARIES += libaccelhost.a
libaccelhost_a_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
ACCEL_LIBS = libaccelhost.a libaccelcuda.a libaccel.a $(PROBE_LIBS) $(CBLAS_LIBS)
else
ACCEL_LIBS = libaccelcuda.a libaccel.a $(PROBE_LIBS)
endif
