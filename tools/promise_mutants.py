# SPDX-License-Identifier: Apache-2.0
"""What tools/mutate-promises takes out: of each promise of docs/SAFETY.md the mechanisms that are named there.

Each row changes one place of one file. `old` stands there once; `new` is what is there without the mechanism.
`test` is the test that must turn red: `module::name` of tests/unit, or a node of pytest, which is run against
a program that was built with the change.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    promise: str
    what: str
    file: str
    old: str
    new: str
    test: str
    hangs: bool = False  # it is red by not coming to an end


def guard(promise: str, reason: str, function: str, suspects: str = "true") -> Row:
    return Row(promise, f"the guard `{function}`", "src/decide/guard.c",
               f"\t{{ REASON_{reason}, {function}, {suspects} }},\n", "", "guard::each_objects_alone")


def fact(promise: str, line: str, test: str = "correlate::guards") -> Row:
    """A fact on which a guard decides is not filled in."""
    return Row(promise, f"the fact `{line.split(' ')[0]}`", "src/correlate/correlate.c", f"\tf->{line};\n", "", test)


def call(promise: str, name: str) -> Row:
    return Row(promise, f"no {name}(2)", "src/app/sandbox.c", f"\tALWAYS({name}),\n", "",
               "sandbox::calls_that_are_refused_in_both_modes")


def call_when(promise: str, what: str, row: str, test: str = "calls_that_are_refused_by_argument") -> Row:
    return Row(promise, what, "src/app/sandbox.c", f"\t{row},\n", "", f"sandbox::{test}")


def signal(what: str, row: str, promise: str = "N4", test: str = "only_kill_and_term_to_a_process") -> Row:
    return call_when(promise, what, f"WHEN(pidfd_send_signal, {row})", test)


def filter_is_there(promise: str, command: str) -> Row:
    return Row(promise, "the filter is installed", "src/app/main.c", "err = sandbox_enter(may_signal(o));",
               "err = may_signal(o) ? 0 : 0;", f"tests/system/test_dry_run.py::test_filter_is_installed[{command}]")


def filter_comes_first(promise: str, command: str) -> Row:
    return Row(promise, "the filter is installed before the first look", "src/app/main.c",
               "\tstatus = confine(&options);\n\tif (status) {\n\t\tconfig_free(config);\n\t\treturn status;\n\t}\n"
               "\tstatus = run(&options, config, &caps);\n",
               "\tstatus = run(&options, config, &caps);\n\tif (confine(&options))\n\t\treturn EXIT_BLIND;\n",
               f"tests/system/test_dry_run.py::test_filter_is_installed[{command}]")


def config_line(what: str, old: str, new: str) -> Row:
    return Row("N12", what, "src/app/config_parse.c", old, new, "config::what_is_refused")


NO_DIFFERENCE = "before_signal::who_is_not_quite_the_same_at_the_second_look_is_spared"
HANDLERS = "before_signal::who_catches_sigterm_is_not_sent_it"
NO_ROOM = "before_signal::a_record_that_has_no_room_holds_the_signal"
NO_DISK = "before_signal::a_record_that_does_not_reach_the_disk_holds_the_signal"
FIFO = "markers_trust::what_becomes_a_fifo_is_neither_awaited_nor_believed"
MOUNTS = "fs::opens_nothing_that_is_mounted_here"
STRANGERS = "markers_trust::strangers_are_not_read"
ABOVE = "correlate::ancestors_hosts_and_daemons"
LAST_CHECK = "reap::the_last_check"
ALONE = "reap_helpers::each_guard_spares_alone"
RELOAD = "look::a_reload_begins_with_fresh_windows"

PROMISES = [
    # N1: the very process whose evidence was read
    Row("N1", "the pidfd is of the process whose directory was opened", "src/base/pin.c",
        "\tr = pin_ask(dirfd);\n", "\tr = 0;\n", "pin::a_pin_outlives_its_process_and_names_no_other"),
    Row("N1", "two looks at another process differ", "src/correlate/correlate.c",
        "\tif (!ident_equal(first->id, second->id))\n", "\tif (false)\n", "correlate_looks::differences"),
    Row("N1", "two looks at another program or user differ", "src/correlate/correlate.c",
        '\t\treturn "its identity changed";\n', "\t\treturn NULL;\n", "correlate_looks::differences"),
    Row("N1", "who cannot be pinned is no victim", "src/app/reap.c",
        "\tif (err < 0)\n\t\treturn err;\n\tv[r->count++].worker = worker;\n", "\tv[r->count++].worker = worker;\n",
        "tests/system/test_bad_days.py::test_kernel_without_pidfds"),

    # N2: a proof
    Row("N2", "peer-closed asks for the host's end", "src/decide/fence.c",
        "\treturn fence_host_end_closed(f);\n", "\treturn TRI_YES;\n", "fence::holds"),
    Row("N2", "host-gone asks for the host's end", "src/decide/fence.c",
        "return f->host_gone == TRI_YES ? closed : TRI_UNKNOWN;", "return f->host_gone;", "fence::holds"),
    Row("N2", "signed-off asks for the last call of the protocol", "src/decide/fence.c",
        " && f->in_signoff_call);", ");", "fence::holds"),
    Row("N2", "retired asks for somebody's word", "src/decide/fence.c",
        "\tif (!f->retired)\n\t\treturn TRI_NO;\n", "", "fence::holds"),
    Row("N2", "task-ended asks for more than the end of a task", "src/decide/fence.c",
        "!f->leased && no_late_byte(f) &&\n\t\t      is_unpooled(f));", "!f->leased && no_late_byte(f));",
        "fence::holds"),
    Row("N2", "no time of silence is one, unless the operator says so", "src/decide/fence.c",
        "\tif (policy->assume_leaked_after_ms == UNKNOWN_U64)\n\t\treturn TRI_NO;\n", "", "fence::holds"),
    Row("N2", "a program that stands alone, only where its class says so", "src/decide/decide.c",
        "(!facts->single || facts->may_kill)", "true", "decide_singles::proven"),

    # N3: blocked without progress, and two looks
    guard("N3", "PROGRESS", "progress"),
    Row("N3", "work and bytes are progress", "src/correlate/activity.c",
        "\tif ((main_moved(e, b) && !loop) || bytes_moved(s, b))\n\t\treturn TRI_YES;\n", "",
        "correlate_activity::rows"),
    Row("N3", "work begins the wait anew", "src/correlate/activity.c",
        "same_wait(e, b) && !worked;", "same_wait(e, b);", "correlate_looks::work_begins_the_wait_anew"),
    Row("N3", "for `timeout`, and for as long since the proof", "src/decide/decide.c",
        "\treturn policy->timeout_ms - MIN(waited, policy->timeout_ms);\n", "\treturn waited & 0;\n", "decide::due"),
    Row("N3", "nobody is ended without a second look", "src/app/reap.c",
        "\terr = look_again(r);\n\tif (err < 0)\n\t\treturn err;\n", "\terr = look_again(r);\n",
        "before_signal::without_a_second_look_nobody_is_signalled"),
    Row("N3", "the two looks are compared", "src/app/reap.c",
        "\t\t\tspare_changed(r, first, &r->victims[i]);\n", "\t\t\t(void)first;\n", NO_DIFFERENCE),
    Row("N3", "the second finds it where the first did", "src/app/reap.c",
        "\tif (!is || is->ev.vanished) {", "\tif (!is) {", NO_DIFFERENCE),
    Row("N3", "the second says the same", "src/app/reap.c",
        "\tif (is->verdict.action != ACTION_REAP) {", "\tif (false) {", NO_DIFFERENCE),
    Row("N3", "from the same evidence", "src/app/reap.c", "\tif (differs)\n", "\tif (false)\n", NO_DIFFERENCE),
    Row("N3", "it is looked at right before each signal", "src/app/reap.c",
        "is_about_to_be_signalled(v, now_ms) ? reap_check(r, v) : NULL;", "NULL;",
        "reap::what_changed_since_the_second_look_is_spared"),
    Row("N3", "... for its users", "src/app/reap_check.c",
        "\tif (!reap_same_uids(&now, &then->ev) || now.exe_setuid)\n", "\tif (false)\n", LAST_CHECK),
    Row("N3", "... for its program", "src/app/reap_check.c",
        "(now->exe.ino && !file_id_equal(now->exe, then->exe)))\n", "false)\n", LAST_CHECK),
    Row("N3", "... for a worker's exec(2) of its own program", "src/app/reap_check.c",
        "(v->role == ROLE_WORKER && !(now->flags & PROC_FORKNOEXEC)) ||\n", "false ||\n", LAST_CHECK),
    Row("N3", "... for a debugger", "src/app/reap_check.c",
        "\tif (now.tracer || now.dumping == TRI_YES)\n", "\tif (false)\n", LAST_CHECK),
    Row("N3", "... for a stop", "src/app/reap_check.c",
        'now->stopped ? "it is stopped" : NULL;', "NULL;", LAST_CHECK),

    # N4: only SIGTERM and SIGKILL, only to a process, only by a pidfd
    filter_is_there("N4", "sweep"),
    filter_comes_first("N4", "sweep"),
    call("N4", "kill"),
    call("N4", "tkill"),
    call("N4", "tgkill"),
    call("N4", "rt_sigqueueinfo"),
    call("N4", "rt_tgsigqueueinfo"),
    call_when("N4", "no signal by F_SETOWN", "WHEN_LOW(fcntl, 1, F_SETOWN)"),
    call_when("N4", "no signal by F_SETOWN_EX", "WHEN_LOW(fcntl, 1, F_SETOWN_EX)"),
    call_when("N4", "no signal by F_SETSIG", "WHEN_LOW(fcntl, 1, F_SETSIG)"),
    call_when("N4", "no signal by FIOSETOWN", "WHEN_LOW(ioctl, 1, FIOSETOWN)"),
    call_when("N4", "no signal by SIOCSPGRP", "WHEN_LOW(ioctl, 1, SIOCSPGRP)"),
    call_when("N4", "no signal by another's RLIMIT_CPU", "WHEN(prlimit64, 0, NE, 0)"),
    signal("no signal below SIGKILL", "1, LT, SIGKILL"),
    signal("no signal 10", "1, EQ, 10"),
    signal("no signal 11", "1, EQ, 11"),
    signal("no signal 12", "1, EQ, 12"),
    signal("no signal 13", "1, EQ, 13"),
    signal("no signal 14", "1, EQ, 14"),
    signal("no signal above SIGTERM", "1, GT, SIGTERM"),
    signal("no forged sender", "2, NE, 0", test="no_other_form_of_them"),
    signal("no process group", "3, NE, 0", test="no_other_form_of_them"),

    # N5: who is never signalled
    Row("N5", "it is asked once more for uninterruptible sleep", "src/app/reap_check.c",
        "\tif (now->uninterruptible && v->stage == ACT_PINNED)\n", "\tif (false)\n", LAST_CHECK),
    guard("N5", "SELF", "self"),
    guard("N5", "ANCESTOR", "ancestor"),
    guard("N5", "TRACED", "traced"),
    guard("N5", "DUMPING", "dumping"),
    guard("N5", "STOPPED", "stopped"),
    guard("N5", "UNINTERRUPTIBLE", "uninterruptible"),
    fact("N5", "is_self = s->id.pid == in->self", "correlate::rules_and_self"),
    fact("N5", "is_ancestor = is_ancestor(in->audit, s)", ABOVE),
    fact("N5", "traced = e->tracer"),
    fact("N5", "dumping = e->dumping == TRI_YES"),
    fact("N5", "stopped = e->stopped"),
    fact("N5", "uninterruptible = e->uninterruptible"),
    Row("N5", "pid 1", "src/correlate/correlate.c", "s->id.pid == 1 || (p && ", "(p && ", ABOVE),
    Row("N5", "a worker lives below it", "src/correlate/correlate.c", "p->above || p->listed", "p->listed", ABOVE),
    Row("N5", "a host or a daemon", "src/correlate/correlate.c", "p->above || p->listed", "p->above", ABOVE),
    Row("N5", "a kernel thread", "src/correlate/correlate.c", " || (p->flags & PROC_KTHREAD)", "", ABOVE),
    Row("N5", "who is above reaper is marked", "src/correlate/correlate.c", "\tmark_above(a, self);\n", "",
        "correlate_marks::ancestors_are_marked"),
    Row("N5", "who is above a worker is marked", "src/correlate/correlate.c",
        "\t\t\tmark_above(a, a->subjects[i].id.pid);\n", "\t\t\t(void)0;\n", "correlate_marks::ancestors_are_marked"),
    Row("N5", "a helper that is a host or a daemon", "src/app/reap_helpers.c",
        "\tif (p->listed)\n", "\tif (false)\n", "reap_looks::a_helper_that_may_be_a_daemons_is_spared"),
    Row("N5", "a helper above a worker", "src/app/reap_helpers.c", "\tif (p->above)\n", "\tif (false)\n", ALONE),
    Row("N5", "a helper that is traced or dumps core", "src/app/reap_helpers.c",
        "\tif (e->tracer || e->dumping == TRI_YES)\n", "\tif (false)\n", ALONE),

    # N6: SIGTERM to nobody who catches it, nothing to the young
    Row("N6", "a worker that catches SIGTERM is told from others", "src/app/reap.c",
        "v->role == ROLE_WORKER && !s->facts.term_default;", "false;", HANDLERS),
    Row("N6", "a helper is asked too", "src/app/reap.c",
        "\t\treap_prepare_helper(r, v, &s->ev);\n", "\t\t(void)0;\n", HANDLERS),
    Row("N6", "a helper in its worker's process group that catches it is told from others", "src/app/reap_helpers.c",
        "\t\t\t  !correlate_term_is_default(e);\n", "\t\t\t  false;\n", HANDLERS),
    Row("N6", "who catches, ignores or blocks it is known", "src/correlate/correlate.c",
        "(e->sig_blocked | e->sig_ignored | e->sig_caught)", "(e->sig_blocked | e->sig_ignored)", "correlate::guards"),
    Row("N6", "SIGKILL at once for who catches SIGTERM", "src/act/act.c",
        "v->kill_at_once ? SIGKILL : SIGTERM", "SIGTERM", "act::who_catches_sigterm_gets_sigkill_at_once"),
    guard("N6", "TOO_YOUNG", "too_young", "false"),

    # N7: markers of its owner, processes of its user
    guard("N7", "FOREIGN_UID", "foreign_uid"),
    guard("N7", "OTHER_PIDNS", "other_pidns"),
    fact("N7", "foreign_uid = e->ids_known && (!d || d->ev.ids_known) && has_foreign_uid(e, d)"),
    fact("N7", "other_pidns =\n\t\te->ns_pid == 1 || (d && d->ev.pid_ns && e->pid_ns && d->ev.pid_ns != e->pid_ns)"),
    Row("N7", "a helper of another user", "src/app/reap_helpers.c",
        "\tif (!reap_same_uids(e, worker) || e->exe_setuid)\n", "\tif (false)\n", ALONE),
    Row("N7", "a helper in another pid namespace", "src/app/reap_helpers.c",
        "\tif (!e->pid_ns || e->pid_ns != worker->pid_ns || e->ns_pid == 1)\n", "\tif (false)\n", ALONE),
    Row("N7", "a directory that others may write to is not believed", "src/observe/marker_file.c",
        "\tif (!why && fs_distrust_dir(dir, st.st_uid))\n", "\tif (false)\n",
        "markers_trust::a_log_in_somebody_elses_directory_is_not_opened"),
    Row("N7", "a log of another owner than is asked for is not believed", "src/base/fs.c",
        "\tif (st->st_uid != 0 && st->st_uid != owner)\n", "\tif (false)\n", "fs::distrust"),
    Row("N7", "a log that all may write to is not believed", "src/base/fs.c",
        "\tif (st->st_mode & S_IWOTH)\n", "\tif (false)\n", STRANGERS),
    Row("N7", "a log that its group may write to is not believed", "src/base/fs.c",
        "\tif (st->st_mode & S_IWGRP)\n", "\tif (false)\n", STRANGERS),
    Row("N7", "a log that has a second name is not believed", "src/base/fs.c",
        "\tif (st->st_nlink != 1)\n", "\tif (false)\n", STRANGERS),
    Row("N7", "what is mounted is not asked whose it is", "src/base/fs.c", "= RESOLVE_NO_XDEV | ", "= ", MOUNTS),
    Row("N7", "... nor where there is no openat2(2)", "src/base/fs.c",
        "\tr = fs_is_mount(dirfd, pin);\n", "\tr = 0 * fs_is_mount(dirfd, pin);\n", MOUNTS),
    Row("N7", "a log is believed for its owner's workers", "src/correlate/ledger_answer.c",
        "ledger_state_named(l, MARKER_HOST, &q->host, q->uid, c.scope)",
        "ledger_state_named(l, MARKER_HOST, &q->host, 0, c.scope)", "ledger_names::names_are_those_of_the_writer"),
    Row("N7", "writers are told apart by their owner", "src/correlate/ledger_state.c",
        " &&\n\t       a->owner == b->owner;", ";", "ledger_names::equal_hashes_are_not_equal_owners"),
    Row("N7", "who is another user's is not remembered as a daemon's", "src/correlate/correlate.c",
        "\tif (f->foreign_uid)\n\t\te->daemon = ", "\tif (false)\n\t\te->daemon = ",
        "correlate_looks::whose_worker_it_was"),

    # N8: unknown keeps
    Row("N8", "what was never filled in is unknown", "src/model/tri.h",
        "\tTRI_UNKNOWN,\n\tTRI_NO,\n", "\tTRI_NO,\n\tTRI_UNKNOWN,\n", "model::truth_is_known_or_not"),
    guard("N8", "UNREADABLE", "unreadable"),
    Row("N8", "a thread that is not known to sleep runs", "src/decide/guard.c",
        "return f->asleep != TRI_YES;", "return f->asleep == TRI_NO;", "guard::unknown_objects"),
    Row("N8", "progress that is not known is progress", "src/decide/guard.c",
        "return f->progress != TRI_NO;", "return f->progress == TRI_YES;", "guard::unknown_objects"),
    Row("N8", "an age that is not known is young", "src/decide/guard.c",
        "f->age_ms == UNKNOWN_U64 || f->age_ms", "f->age_ms", "guard::unknown_objects"),
    fact("N8", "unreadable = is_unreadable(e, d)"),
    Row("N8", "a kill needs who it is", "src/correlate/correlate.c",
        "\tif (!has_identity(e) || (d && !has_identity(&d->ev)))\n\t\treturn true;\n", "", "correlate::guards"),
    Row("N8", "a kill needs its descriptors, signals and threads", "src/correlate/correlate.c",
        "\tif (e->fds_known != TRI_YES || !e->signals_known || e->asleep == TRI_UNKNOWN)\n\t\treturn true;\n", "",
        "correlate::guards"),

    # N9: a dry run
    filter_is_there("N9", "-n sweep"),
    filter_comes_first("N9", "-n sweep"),
    Row("N9", "no signal where none is allowed", "src/app/sandbox.c", "\tALWAYS(pidfd_send_signal),\n", "",
        "sandbox::only_kill_and_term_to_a_process"),
    Row("N9", "no plan is made", "src/app/round.c", "\tif (r->options->dry_run)\n\t\treturn 0;\n\tr->reap",
        "\tr->reap", "round::a_dry_run_ends_nobody"),

    # N10: a record on the disk first
    Row("N10", "a record that is not written holds the signal", "src/app/reap.c",
        "\treturn err < 0 ? err : audit_log_append(r->log, &lines, true);\n",
        "\tif (err == 0)\n\t\t(void)!audit_log_append(r->log, &lines, true);\n\treturn err;\n", NO_ROOM),
    Row("N10", "all that is due waits for all records", "src/app/reap.c",
        "\terr = write_intents(r);\n\tif (err < 0)\n\t\treturn err;\n", "\t(void)!write_intents(r);\n", NO_ROOM),
    Row("N10", "the record is to be on the disk", "src/app/reap.c",
        "\treturn err < 0 ? err : audit_log_append(r->log, &lines, true);\n",
        "\treturn err < 0 ? err : audit_log_append(r->log, &lines, false);\n", NO_DISK),
    Row("N10", "the disk is waited for", "src/report/audit_log.c",
        "\tif (r == 0 && sync && fdatasync(fd) < 0)\n", "\tif (false)\n", NO_DISK),
    Row("N10", "half a record is none", "src/report/audit_log.c", "n < want ? -ENOSPC : 0;", "0;",
        "audit_log::takes_back_what_had_no_room"),
    Row("N10", "a helper that was forked meanwhile has its record too", "src/app/reap_helpers.c",
        "\t\terr = written < 0 ? written : err;\n", "\t\t(void)written;\n",
        "before_signal::a_helper_without_its_record_is_not_signalled"),

    # N11: no more than the limits
    Row("N11", "no more than the limits", "src/decide/plan.c",
        "\tp.count = MIN(count, allowed);\n", "\tp.count = count;\n", "plan::order_and_limits"),
    Row("N11", "no more in a sweep", "src/decide/plan.c", "MIN(left, limits->per_sweep)", "left",
        "plan::order_and_limits"),
    Row("N11", "no more in an hour", "src/decide/plan.c", "MIN(left, limits->per_sweep)", "limits->per_sweep",
        "plan::order_and_limits"),
    Row("N11", "what was ended in the last hour counts", "src/app/round.c",
        "history_kills(&r->look->history, clock_boot_ms()), &plan);", "0, &plan);",
        "round::what_was_ended_within_the_hour_counts"),
    Row("N11", "who is ended is counted", "src/app/reap.c",
        "history_kill(&r->look->history, clock_boot_ms()) == 0)", "true)",
        "before_signal::a_kill_is_counted_before_it_happens"),
    Row("N11", "what cannot be counted on disk is not ended", "src/app/reap.c",
        "\treturn history_file_save(l->config->state_dir, l->self.boot_id, &l->history);\n",
        "\t(void)l;\n\treturn 0;\n", "reap_looks::what_cannot_be_counted_on_disk_is_not_ended"),
    Row("N11", "the count outlives a crash", "src/app/history_file.c",
        "\treturn history_kill(h, ms);\n", "\treturn 0;\n", "history_file::reads_and_writes_the_same"),

    # N12: a wrong configuration
    config_line("bytes that inih misreads", "\t\tif ((byte < ' ' && byte != '\\t') || byte == 0x7f)\n",
                "\t\tif (false)\n"),
    config_line("a carriage return", "\t\tif (byte == '\\r')\n", "\t\tif (false)\n"),
    config_line("a line that inih would cut", "\tif (len > CONFIG_LINE_MAX)\n", "\tif (false)\n"),
    config_line("a line that inih would take for the one before", "\tif (blanks)\n", "\tif (false)\n"),
    config_line("a key that stands there twice", "\t} else if (find_line(c, key)) {\n", "\t} else if (false) {\n"),
    config_line("a key before any section", "\tif (!c->in_section)\n", "\tif (false)\n"),
    Row("N12", "a file that others may write", "src/app/config_file.c",
        "\twhy = fs_distrust(&st, geteuid());\n", "\twhy = NULL;\n", "config::files_that_are_not"),
    Row("N12", "at a reload a bad file changes nothing", "src/app/watch.c",
        "\tif (config_load(o->config_path, o->sets, o->set_count, &fresh, &problem) < 0) {",
        "\tif (config_load(o->config_path, o->sets, o->set_count, &fresh, &problem) < 0 &&\n"
        "\t    config_load_text(\"\", NULL, 0, o->sets, o->set_count, &fresh, &problem) < 0) {",
        "tests/system/test_watch.py::test_bad_reload"),

    # N13: nothing on disk justifies a signal
    Row("N13", "a history of another boot", "src/app/state_file.c",
        " && strcmp(line + len, boot_id) == 0", "", "history_file::what_starts_afresh"),
    Row("N13", "a history that is not whole", "src/app/history_file.c",
        "\tif (r < 0)\n\t\thistory_done(h);\n", "", "history_file::what_starts_afresh"),
    Row("N13", "a history of times to come", "src/app/history_file.c",
        "\tif (!r && speaks_of_the_future(h, now_ms))\n", "\tif (false)\n", "history_file::which_files_it_believes"),
    Row("N13", "a history of another's, or that others may write", "src/app/state_file.c",
        "\tif (st.st_uid != geteuid() || (st.st_mode & 07777) != FILE_MODE)\n", "\tif (false)\n",
        "history_file::which_files_it_believes"),
    Row("N13", "a history with a second name", "src/app/state_file.c",
        "\tif (fs_distrust(&st, geteuid()))\n", "\tif (false)\n", "history_file::links_and_other_kinds"),
    Row("N13", "a history in a directory that others may write to", "src/app/state_file.c",
        "\tif (fs_distrust_dir(&st, geteuid()))\n", "\tif (false)\n", "history_file::which_files_it_believes"),
    Row("N13", "memory of times to come", "src/app/memory_file.c",
        "\tif (!r && speaks_of_the_future(g, now_ms))\n", "\tif (false)\n", "memory_file::what_is_not_loaded"),
    Row("N13", "memory that is not whole", "src/app/memory_file.c",
        "\tif (r < 0)\n\t\tgrowth_done(g);\n", "", "memory_file::what_starts_afresh"),
    Row("N13", "a reload forgets since when a proof stands", "src/app/look.c",
        "\t\t\tl->history.entries[i].fence_ms[f] = UNKNOWN_U64;\n", "\t\t\t(void)f;\n", RELOAD),
    Row("N13", "a reload forgets since when it waits", "src/app/look.c",
        "\t\tl->history.entries[i].wait_known = false;\n", "", RELOAD),
    Row("N13", "a reload forgets the looks of a loop", "src/app/look.c",
        "\t\tl->history.entries[i].looks = 0;\n", "", RELOAD),

    # N14: clocks and suspends
    Row("N14", "what the machine was suspended for is no silence", "src/correlate/history.c",
        "\t\tbegin_later(&e->wait_ms, ms, now_ms);\n", "", "history::a_suspended_machine_lets_no_wait_grow"),
    Row("N14", "nor is it an age of a proof", "src/correlate/history.c",
        "\t\t\tbegin_later(&e->fence_ms[f], ms, now_ms);\n", "\t\t\t(void)f;\n",
        "history::a_suspended_machine_lets_no_wait_grow"),
    Row("N14", "each look asks for it", "src/app/look.c",
        "\thistory_suspended(&l->history, clock_suspended_ms(), a->boot_ms);\n", "",
        "look::each_look_asks_whether_the_machine_was_suspended"),
    Row("N14", "no age across a step of the clock", "src/correlate/ledger.c",
        "\t\t\tledger_scope_step(l->scopes[i], now_ms);\n", "\t\t\t(void)now_ms;\n",
        "ledger_idle::host_idle"),
    Row("N14", "each look asks for a step", "src/app/look_judge.c",
        "\t\tledger_clock_stepped(l->ledger, a->wall_ms);\n", "\t\t(void)a;\n",
        "look::a_step_of_the_clock_is_told"),
    Row("N14", "... when all was read that may be older", "src/app/look_judge.c",
        "\tint err = markers_read(l->markers, take_record, forget_log, l, &l->marker_counts);\n",
        "\tint err;\n\n\tnotice_clock_step(l, a);\n"
        "\terr = markers_read(l->markers, take_record, forget_log, l, &l->marker_counts);\n",
        "look::a_step_is_told_when_all_that_may_be_older_was_read"),
    Row("N14", "a run that begins knows of steps before it", "src/app/look_judge.c",
        "\tledger_trust_from(l->ledger, history_unstepped_ms(h));\n", "",
        "look::a_step_is_told_when_all_that_may_be_older_was_read"),
    Row("N14", "... from what the one before left", "src/app/history_file.c",
        "h->wall_minus_boot_ms,\n\t\t\t   h->stepped_ms);\n", "h->wall_minus_boot_ms,\n\t\t\t   UINT64_C(0));\n",
        "history_file::reads_and_writes_the_same"),
    Row("N14", "... and believes no beats of the silent", "src/app/look_judge.c",
        "\t\tledger_doubt_silent(l->ledger, a->wall_ms - SILENT_MS);\n", "\t\t(void)a;\n",
        "look::a_reader_that_begins_doubts_the_silent_once"),
    Row("N14", "ages by a clock that stepped count for nothing", "src/correlate/correlate.c",
        "!unix_ms || !m->ages_trusted || ", "!unix_ms || ", "correlate_marks::markers"),

    # N15: files of others
    Row("N15", "no link to a log", "src/base/fs.c", """(flags | O_NOFOLLOW | O_CLOEXEC),
\t\t.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,""", """(flags | O_CLOEXEC),
\t\t.resolve = RESOLVE_NO_XDEV,""", STRANGERS),
    Row("N15", "regular files only", "src/base/fs.c", "\tif (kind)\n", "\tif (false)\n", STRANGERS),
    Row("N15", "no log is waited for", "src/observe/marker_file.c", "O_RDONLY | O_NONBLOCK |", "O_RDONLY |", FIFO,
        hangs=True),
    Row("N15", "what counts is what was opened", "src/observe/marker_file.c",
        "by now. */\n\t\twhy = fs_distrust(&st, st.st_uid);\n", "by now. */\n", FIFO),
    Row("N15", "no more of a log in one look", "src/observe/marker_file.c",
        "MIN(max, (uint64_t)MARKER_UNREAD_MAX)", "max", "markers::takes_16_mib_of_one_log_in_one_call"),
    Row("N15", "no more of all logs of an owner in one look", "src/observe/markers.c",
        "\t*left -= MIN(*left, f->offset - begin);\n", "\t(void)begin;\n",
        "markers_owner::its_logs_share_what_one_look_reads"),
    Row("N15", "no link to the audit log", "src/report/audit_log.c", "O_CREAT | O_NOFOLLOW |", "O_CREAT |",
        "audit_log::refuses_what_is_no_plain_file_with_one_name"),
    Row("N15", "the audit log is a file with one name", "src/report/audit_log.c",
        "\tif (!S_ISREG(st.st_mode) || st.st_nlink > 1)\n", "\tif (false)\n",
        "audit_log::refuses_what_is_no_plain_file_with_one_name"),
    Row("N15", "no link to the history", "src/app/state_file.c", "O_RDONLY | O_NOFOLLOW |", "O_RDONLY |",
        "history_file::links_and_other_kinds"),
    Row("N15", "the history is not waited for", "src/app/state_file.c", "O_NOFOLLOW | O_NONBLOCK |", "O_NOFOLLOW |",
        "history_file::links_and_other_kinds", hangs=True),
    Row("N15", "no link to the configuration", "src/app/config_file.c", "O_RDONLY | O_NOFOLLOW |", "O_RDONLY |",
        "config::files_that_are_not"),

    # N16: foreign names
    Row("N16", "JSON escapes foreign names", "src/report/jsonw.c",
        "json_string(log_escape(raw, len, text, size))", "json_string(raw)",
        "json::strings_are_printable_whatever_they_name"),
    Row("N16", "JSON is ASCII", "src/report/jsonw.c", "size_t flags = JSON_ENSURE_ASCII | ", "size_t flags = ",
        "json::strings_are_printable_whatever_they_name"),
    Row("N16", "control characters are escaped", "src/base/log.c",
        "\t\treturn c >= 0x20 && c != 0x7f;\n", "\t\treturn 1;\n", "log::escape"),
    Row("N16", "so are those of the upper half", "src/base/log.c", " || c < 0xa0)", ")", "log::escape"),
    Row("N16", "and what is no UTF-8", "src/base/log.c",
        "\t\tif ((raw[i] & 0xc0) != 0x80)\n\t\t\treturn 0;\n", "", "log::escape"),
    Row("N16", "and what turns a line around", "src/base/log.c",
        "\tif (c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||\n", "\tif (\n", "log::escape"),
    Row("N16", "text escapes foreign names", "src/base/log.c",
        "\t\treturn c >= 0x20 && c != 0x7f;\n", "\t\treturn 1;\n", "text::escapes_and_cuts_foreign_names"),
    Row("N16", "messages escape what they quote", "src/base/log.c",
        "\tlog_escape(raw, len, line + sizeof(name) - 1, LOG_LINE_MAX);\n",
        "\tmemcpy(line + sizeof(name) - 1, raw, len + 1);\n", "log::one_line_each"),

    # N17: bounds
    Row("N17", "argv is cut", "src/observe/processes.c",
        "\tbool cut = !f->whole && f->len == f->max;\n", "\tbool cut = false;\n",
        "processes::cuts_argv_before_an_element"),
    Row("N17", "a file system that never answers is not asked", "src/observe/marker_dirs.c",
        "took = fs_stat_here(d->fd, name, &st);", "took = fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW);",
        "tests/system/test_bad_markers.py::test_somebodys_file_system[a directory that never answers]"),
    Row("N17", "a file is read up to its limit", "src/base/fs.c",
        "\t\tif (room == max)\n\t\t\treturn -EFBIG;\n", "\t\tif (room == max)\n\t\t\tmax *= 2;\n",
        "fs::read_all_refuses_more"),
    Row("N17", "a file that does not answer is left", "src/observe/mm_file.c",
        "\t\tr->left = late && !r->over;\n", "\t\tr->left = late && false;\n",
        "mm_file::one_that_does_not_answer_holds_up_no_other", hangs=True),
    Row("N17", "those who answer late take turns", "src/observe/mm_file.c",
        "done == r->count || now_ms() >= r->turn_ms", "done == r->count",
        "mm_file::those_who_answer_late_have_an_end_and_hold_up_no_other_owner"),
    Row("N17", "all that answer late have an end", "src/observe/mm_file.c",
        "end_ms = now_ms() + MM_FILE_BUDGET_MS;", "end_ms = UINT64_MAX;",
        "mm_file::those_who_answer_late_have_an_end_and_hold_up_no_other_owner"),
    Row("N17", "so many that do not answer, and no more", "src/observe/mm_file.c",
        "\tif (stuck.count == MM_FILE_STUCK_MAX)\n", "\tif (false)\n", "mm_file::so_many_do_not_answer_and_no_more"),
    Row("N17", "so many descriptors, and no more", "src/observe/evidence_fds.c",
        "\t\tif (++w->count > EVIDENCE_FDS_MAX)\n", "\t\tif (false)\n",
        "evidence_fds::more_descriptors_than_are_looked_at"),
    Row("N17", "so many threads, and no more", "src/observe/evidence_threads.c",
        "whole = all->listed < EVIDENCE_THREADS_MAX;", "whole = true;",
        "evidence_threads::as_many_as_are_looked_at_and_one_more"),
    Row("N17", "so many processes are remembered, and no more", "src/correlate/history.c",
        "h->count < HISTORY_ENTRIES_MAX ? add(h, id) : &h->refused;", "add(h, id);",
        "history::when_full_a_newcomer_is_not_remembered"),
    Row("N17", "so many records of a host are remembered, and no more", "src/correlate/ledger_store.c",
        "\twhile (!has_room(s))\n", "\twhile (false)\n", "ledger_store::a_busy_host_is_remembered_within_limits"),

    # N18: nobody is stopped, traced, or written to
    filter_is_there("N18", "audit"),
    filter_comes_first("N18", "audit"),
    call("N18", "ptrace"),
    call("N18", "process_vm_readv"),
    call("N18", "process_vm_writev"),
    call("N18", "process_madvise"),
    call("N18", "pidfd_getfd"),
    call("N18", "kcmp"),
    call("N18", "perf_event_open"),
    call("N18", "bpf"),
    call("N18", "open_by_handle_at"),
    call_when("N18", "no bytes into a terminal", "WHEN_LOW(ioctl, 1, TIOCSTI)"),
    signal("no SIGSTOP", "1, GT, SIGTERM", "N18"),
    Row("N18", "only who gets SIGKILL may get a higher priority", "src/act/act.c",
        "\tif (sig == SIGKILL)\n\t\thurry(v);\n", "\thurry(v);\n", "act::sigterm_raises_no_priority"),
]
