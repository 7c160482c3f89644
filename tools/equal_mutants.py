# SPDX-License-Identifier: Apache-2.0
"""Mutants of tools/mutate-guards that no unit test can notice, and why each of them is none.

By file, and by what mutate-guards says is broken. One that a test does notice must not stand here.
"""

# Those that only a test of memory that runs out can notice: the others have all that they ask for. They are
# mutants like all, but tried on the _memory tests of their module.
WITHOUT_MEMORY: dict[str, frozenset[str]] = {
    "src/correlate/ledger.c": frozenset({
        "identify: `err < 0` is false",
        "ledger_new: `!l` is false",
        "need_log: `!log` is false, 2",
    }),
    "src/correlate/ledger_answer.c": frozenset({
        "ledger_ask: `err < 0` is false",
        "resolve: `err < 0` is false",
    }),
    "src/correlate/ledger_index.c": frozenset({
        "ledger_index_put: `err < 0` is false",
        "widen: `!wide.slots` is false",
    }),
    "src/correlate/ledger_log.c": frozenset({
        "ledger_log_new: `!log` is false",
    }),
    "src/correlate/ledger_scope.c": frozenset({
        "ledger_scope_new: `!s` is false",
    }),
    "src/correlate/ledger_state.c": frozenset({
        "make_scope: `!s` is false",
    }),
    "src/correlate/ledger_store.c": frozenset({
        "ledger_store_need: `err == 0` is true",
        "set_name: `!at` is false",
    }),
}

EQUAL: dict[str, dict[str, str]] = {
    "src/act/act.c": {
        "act_pin: `pidfd < 0` with <=": "the directory, opened before, took the lowest free number",
    },
    "src/app/reap.c": {
        "add_intent: `s` is true": "who is pinned still was seen by the second look",
        "pause_a_little: `getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice)` is false":
            "without a random number the pause is as short as it may be",
        "pause_a_little: `getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice)` is true":
            "the clock's last byte is as uneven, to whoever does not know when a sweep begins",
        "reap_step: `added < 0` with <=": "there is no error yet, and 0 is none",
    },
    "src/app/reap_helpers.c": {
        "add_helper: `r->config->protect.wants_cgroup` is true":
            "where no rule asks, nobody looks at what was read",
        "reap_find_new_helpers: `err > 0` with >=":
            "none was added then, and audit_log_append() of no lines does nothing",
    },
    "src/base/fs.c": {
        "fs_close: `*fd >= 0` is true": "close(2) of no descriptor does nothing but set errno",
        "fs_open_pinned: `fd < 0` with <=": "where 0 is free, the pin has it",
        "fs_read_all: `room > max / 2` is true": "it takes more memory at once, and reads the same",
        "fs_read_all: `room > max / 2` with >=": "twice the half is the limit, or one less",
        "fs_read_some: `len < size` is true": "a read of no bytes ends it as well",
        "fs_read_some: `len < size` with <=": "a read of no bytes ends it as well",
        "fs_replace: `asprintf(&aside, \"%s.%016\" PRIx64, path, suffix) < 0` with <=":
            "it prints something",
        "fs_replace: `r < 0` is true": "what was renamed has that name no more",
        "fs_replace: `r < 0` with <=": "what was renamed has that name no more",
        "fs_undo_append: `written > 0` with >=": "a file that is cut to its own size stays as it is",
        "fs_write_all: `n < 0` with <=": "no write(2) of something takes nothing",
        "fs_write_all: `n < 0` with <=, 2": "no write(2) of something takes nothing",
    },
    "src/base/pin.c": {
        "pin_make_room: `setrlimit(RLIMIT_NOFILE, &limit) < 0` with <=":
            "asked again, the kernel says what was set",
        "pin_pidfd: `pid < 1` is false": "pidfd_open(2) refuses such a number with EINVAL",
    },
    "src/correlate/exits.c": {
        "exits_ask: `count > CRASHES_MAX` with >=":
            "of exactly so many none is left out either way",
        "exits_ask: `ret->count` is true": "memcpy() of no bytes copies nothing",
        "insert: `all[at - 1].at_ms > crash->at_ms` with >=": "of two of one moment either may be first",
    },
    "src/correlate/growth.c": {
        "growth_prune: `kept != i` is true": "a series that is copied onto itself stays as it is",
        "growth_until: `t->anon_per_s <= 0` with <":
            "divided by 0 it is endless or no number, and unknown as well",
        "is_new: `sample->ms > last->ms` with >=": "at the same moment the spacing is too short",
        "lower_bound: `width * width * unit < square` with <=":
            "no number of samples makes them equal",
        "rise_of: `!q[i].count` is false": "an empty quarter's floor is 0, which no rise leads to",
    },
    "src/correlate/history.c": {
        "prune_entries: `kept` is true": "qsort() of no entries does nothing",
        "prune_kills: `h->kill_count` is true": "memmove() of no bytes moves nothing",
    },
    "src/correlate/ledger.c": {
        "detach: `s->logs` is false":
            "who drops looks only at writers without a log, and `left` is set when the last one goes",
        "ledger_free: `!l` is true":
            "only memory is left behind, which the sanitizer build (tools/check sanitize) finds",
        "writer_of: `m->event == MARKER_DAEMON` is true":
            "marker_parse() leaves the daemon of an operator's record 0",
    },
    "src/correlate/ledger_answer.c": {
        "add_bindings: `w->forgotten` is true":
            "an end at 0 in epoch 0, which is none, changes nothing",
        "add_open: `begin_ms < f->open_since_ms` with <=": "it is the same time",
        "find_end: `host == s` is false":
            "what is open in a scope has no end there, nor has its job",
        "find_twin: `worker == LEDGER_NONE` is false":
            "nothing is bound to a worker of that number",
        "learn: `s->learned == learn_key(c)` is false":
            "a shortcut that saves time only: what has ended is not open any more",
        "ledger_case_worker: `id.pid` is true":
            "no record names a worker 0, and no pair of ports is 0",
        "resolve: `q->lport` is true": "no record names the port 0",
        "resolve: `q->dport` is true": "no record names the port 0",
    },
    "src/correlate/ledger_index.c": {
        "widen: `ix->slots[i].item` is true":
            "a free slot that is put leaves the slot that it gets free",
    },
    "src/correlate/ledger_log.c": {
        "ledger_log_beat: `log->beat_ms == UNKNOWN_U64` is false":
            "every time of a record is earlier than UNKNOWN_U64",
        "ledger_log_promise: `m->pool_timeout_ms > log->pool_timeout_ms` with >=":
            "it is the same time",
    },
    "src/correlate/ledger_proof.c": {
        "earliest_open: `s->opened == c->ledger->changes + 1` is false":
            "a shortcut that saves time only: no task begins or ends where no record came",
        "find_stretch: `from == UNKNOWN_U64` is false":
            "quiet_from() finds nothing from there on, and the next line of the loop says so",
        "prove_host_idle: `q->last_byte_ms == UNKNOWN_U64` is false":
            "from UNKNOWN_U64 on there is no stretch",
        "quiet_from: `from != UNKNOWN_U64` is true":
            "where no moment was found nobody looks at the end",
        "quiet_from: `from != UNKNOWN_U64` is true, 2":
            "where no moment was found the next turn does nothing",
        "quiet_from: `from != UNKNOWN_U64` is true, 3": "no gap ends later, so a search from there finds none",
    },
    "src/correlate/ledger_state.c": {
        "ledger_state_local: `name->ns_pid` is true": "pid 0 is no name, whatever its start",
    },
    "src/correlate/ledger_store.c": {
        "drop_name: `e->name_len > LEDGER_NAME_HERE` is false": "a leak: the sanitizers hold it",
        "is_entry: `e->is_job == is_job` is true":
            "one name has another hash as a job than as a task",
        "ledger_store_move: `e->list != LIST_NONE` is true": "what is in no list has no neighbours",
    },
    "src/correlate/ledger_times.c": {
        "add_gap: `to <= from` with <": "a gap of no length is too short anyway",
        "ledger_beats_reach: `b->run[i].to > ms` with >=": "the next run begins too far from there",
        "ledger_gaps_cut: `g->gap[g->count - 1].to <= from` is false": "it saves time only",
        "ledger_gaps_cut: `g->gap[g->count - 1].to <= from` with <": "it saves time only",
        "thin_out: `i >= b->count / 2` with >": "the half is an even number, which is kept anyway",
    },
    "src/correlate/members.c": {
        "add_if_below: `worker >= 0` is false": "a helper does not use what was found",
        "add_if_below: `worker >= 0` with >": "a helper does not use what was found",
        "compare_places: `(p->worker >= 0) != (q->worker >= 0)` is true":
            "helpers come by number, and glibc's qsort() keeps the order of equals",
        "compare_places: `(p->worker >= 0) != (q->worker >= 0)` with >":
            "workers come first, and glibc's qsort() asks for two in the order they came in",
        "compare_places: `p_daemon < q_daemon` with <=": "they are not equal here",
        "compare_places: `p_worker < q_worker` with <=": "they are not equal here",
        "find_subject: `a->subjects[middle].id.pid < pid` with <=": "they are not equal here",
        "lost_daemon: `!in->daemon_count` is false": "a search among none finds none",
        "remembered: `!in->memory_count` is false": "a search among none finds none",
        "set_label: `len` is true": "nothing is copied then",
        "was_helper: `in->helper_count` is true": "a search among none finds none",
        "sort_subjects: `places` is true": "there are none to sort",
    },
    "src/correlate/oom.c": {
        "is_sooner: `a->oom_score > b->oom_score` with >=": "they are not equal here",
        "is_sooner: `a->rss_bytes > b->rss_bytes` with >=": "they are not equal here",
        "is_sooner: `ident_compare(a->id, b->id) < 0` with <=": "no two of a census are one",
    },
    "src/correlate/tree.c": {
        "cut_subjects: `s->worker < 0` with <=":
            "the helpers of the first follow it; their place stays 0",
        "tree_build: `a->host_count` is true": "qsort() of no hosts does nothing",
        "tree_daemons: `count` is true": "qsort() of no daemons does nothing",
        "tree_helpers: `!known` is false": "a search among none finds none",
        "tree_helpers: `count` is true": "qsort() of nobody does nothing",
        "tree_leader_gone: `p->pgrp != p->id.pid` is true":
            "it is asked of the living, and who leads itself has a living leader",
    },
    "src/correlate/wait.c": {
        "no case TIMEOUT_HIDDEN": "the default says the same",
    },
    "src/decide/plan.c": {
        "compare: `p->blocked_ms > q->blocked_ms` with >=": "they are not equal here",
        "compare: `p->bytes > q->bytes` with >=": "they are not equal here",
        "plan_make: `count` is true": "qsort(3) sorts none then; only UBSan minds its NULL",
        "plan_make: `limits->per_hour > kills_last_hour` with >=": "their difference is 0, too",
    },
    "src/observe/diag_reply.c": {
        "message_next: `left < sizeof(ret->head)` is false":
            "no message is shorter than its head; that it is read too far the sanitizers hold",
    },
    "src/observe/marker_file.c": {
        "marker_file_continues: `(uint64_t)st->st_size < f->offset` is false":
            "the bytes before the offset cannot be read where the file ends before it",
        "marker_file_read: `n > 0` with >=, 2": "of no bytes nothing is taken, and the end is the end",
        "marker_file_read: `f->offset != begin` is true": "the same bytes have the same hash",
    },
    "src/observe/marker_keys.c": {
        "is_named: `*want == *name` is true": "memcmp(3) compares the first bytes, too",
    },
    "src/observe/marker_parse.c": {
        "came_before: `t.len > name.len` is true":
            "a blank stands behind a shorter word, and no name holds one",
        "came_before: `t.len > name.len` with >=":
            "a blank stands behind a word of that length, and no =",
        "marker_parse: `bad` is true": "a record that is taken has only printable bytes",
        "read_pair: `key == KEY_COUNT` is false, 2": "no event has a key of that number",
        "read_pair: `key == KEY_COUNT` is true": "what is a key is of the bytes of a key",
        "read_words: `ret->event == MARKER_UNKNOWN` is true":
            "what is an event is of the bytes of a name",
        "take_token: `blank` is true": "no line ends behind address 0",
    },
    "src/observe/marker_value.c": {
        "no case FORM_CODE": "what no case names is read as an exit code",
    },
}
