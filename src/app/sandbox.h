/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seccomp filter that makes promises hard: which signal calls the kernel lets this program make; and
 * what nobody may read of its memory.
 * The only door to libseccomp.
 */
#ifndef REAPER_APP_SANDBOX_H
#define REAPER_APP_SANDBOX_H

#include <stdbool.h>

#include "base/macro.h"

/**
 * Installs the filter for good. Refused with EPERM: kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo,
 * ptrace, process_vm_readv, process_vm_writev, process_madvise, pidfd_getfd, kcmp, bpf, perf_event_open, open_by_handle_at,
 * execve, execveat; pidfd_send_signal too, except (where signals are allowed) signal 9 or 15 with no siginfo
 * and flags 0; so are the owners and signals of descriptors (fcntl F_SETOWN, F_SETOWN_EX, F_SETSIG, ioctl
 * FIOSETOWN, SIOCSPGRP), TIOCSTI, and prlimit64 of another process. Other architectures' calls end the
 * program. It leaves no core file, and no program of its own user's may debug it (prctl(2),
 * PR_SET_DUMPABLE).
 *
 * @param may_signal	false for audit, explain, doctor, check-config, retire and every dry run.
 * @return 0; negative errno: the caller must not go on to act.
 */
int sandbox_enter(bool may_signal) _must_check_;

#endif
