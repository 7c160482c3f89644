/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads by which a JVM feeds its workers. Spark up to 3.5 and pyjava have one for each task,
 * "stdout writer for <python>" (core/src/main/scala/org/apache/spark/api/python/PythonRunner.scala),
 * which ends when it has written all; Spark 4 writes from the thread that reads, or, where UDFs are
 * pipelined, from one of "python-udf-pipe...". A kernel name has 15 bytes: HotSpot keeps the first
 * 15, in later releases the first 7, "..", and the last 6.
 */
#ifndef REAPER_OBSERVE_HOST_THREADS_H
#define REAPER_OBSERVE_HOST_THREADS_H

#include "base/macro.h"
#include "model/audit.h"

enum {
	HOST_THREADS_MAX = 65536, /* threads of one host that are looked at */
};

/**
 * Lists when the threads of a host that write to workers began.
 *
 * @param dirfd	its pinned directory.
 * @param ret	filled on success, else left as it is; ret->began_ms is owned by the caller.
 * @return 0; -ENOMEM; -E2BIG: too many threads; other negative errno: not all could be read.
 */
int host_threads_writers(int dirfd, struct writers *ret) _must_check_;

#endif
