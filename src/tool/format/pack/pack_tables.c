/* SPDX-License-Identifier: MIT */
/* pack_tables.c -- the columns of every section of a packed recording.
 *
 * One row of these tables is one column in the file, in this order. Both directions
 * walk them, so that a field cannot be written and forgotten in reading. Sorted or
 * slowly changing columns are kept as differences. */
#include "pack_impl.h"

#include "shared/compiler.h"
#include "shared/recording.h"
#include "tool/model/prof.h"

#define SIZE_(type, field) sizeof(((struct type *)0)->field)

#define COL_(type, field, kind_, n, ...)                                                 \
	{                                                                                \
		.off = offsetof(struct type, field), .bytes = SIZE_(type, field) / (n),  \
		.kind = (kind_), .count = (n), __VA_ARGS__                               \
	}
#define UINT(type, field) COL_(type, field, PACK_UINT, 1, .max = UINT64_MAX)
#define UINT_MAX_(type, field, most) COL_(type, field, PACK_UINT, 1, .max = (most))
#define UINT_DELTA(type, field)                                                          \
	COL_(type, field, PACK_UINT, 1, .max = UINT64_MAX, .delta = true)
#define UINTS(type, field, n) COL_(type, field, PACK_UINT, n, .max = UINT64_MAX)
#define UINT_7(type, field) COL_(type, field, PACK_UINT, 1, .max = UINT64_MAX, .since = 7)
#define STR_7(type, field) COL_(type, field, PACK_STR, 1, .max = UINT32_MAX, .since = 7)
#define UINT_9(type, field) COL_(type, field, PACK_UINT, 1, .max = UINT64_MAX, .since = 9)
#define INT(type, field) COL_(type, field, PACK_INT, 1, .max = UINT64_MAX)
#define REAL(type, field) COL_(type, field, PACK_REAL, 1, .max = UINT64_MAX)
#define STR(type, field) COL_(type, field, PACK_STR, 1, .max = UINT32_MAX)
#define ROW(type, field, to)                                                             \
	COL_(type, field, PACK_ROW, 1, .max = UINT32_MAX, .table = (to))
#define ROW_DELTA(type, field, to)                                                       \
	COL_(type, field, PACK_ROW, 1, .max = UINT32_MAX, .table = (to), .delta = true)
#define BACK(type, field) COL_(type, field, PACK_BACK, 1, .max = UINT32_MAX)

static const struct pack_col pack_meta[] = {
	UINT_MAX_(prof, has_names, 1),
	UINT(prof, blocks_dropped),
};

static const struct pack_col pack_processes[] = {
	UINT(prof_process, pid),
	UINT(prof_process, ppid),
	UINT(prof_process, uid),
	STR(prof_process, exe),
	STR(prof_process, cmdline),
	STR(prof_process, host),
	STR(prof_process, cwd),
	STR(prof_process, allocator),
	STR(prof_process, not_recorded),
	UINT(prof_process, flags),
	UINT_MAX_(prof_process, mode, PROF_SAMPLED),
	UINT_MAX_(prof_process, end, PROF_END_EXEC),
	UINT(prof_process, arch),
	INT(prof_process, status),
	UINT(prof_process, rate_bytes),
	UINT(prof_process, run_id),
	UINT(prof_process, process_ticks),
	UINT(prof_process, start_ns),
	UINT(prof_process, duration_ms),
	UINT(prof_process, exit_ms),
	INT(prof_process, live_bytes),
	INT(prof_process, peak_bytes),
	UINT(prof_process, peak_ms),
	UINTS(prof_process, lost, PROF_LOST_MAX),
	UINT(prof_process, frees_inherited),
	UINT(prof_process, frees_unknown),
	UINT(prof_process, paused_allocs),
	UINT(prof_process, frees_unseen),
	UINT(prof_process, threads_seen),
	UINT(prof_process, threads_ended),
	UINT(prof_process, recorder_kib),
	UINT(prof_process, rss_kib),
	UINT(prof_process, rss_peak_kib),
	UINT(prof_process, anon_kib),
	STR(prof_process, coverage),
	UINT_MAX_(prof_process, paused, 1),
	UINT(prof_process, inherited_blocks),
	UINT(prof_process, inherited_bytes),
	UINT(prof_process, inherited_frees),
	UINT(prof_process, inherited_free_bytes),
	INT(prof_process, inherited_at_peak_bytes),
	INT(prof_process, inherited_at_peak_blocks),
	COL_(prof_process, cut_ms, PACK_UINT, 1, .max = UINT64_MAX, .since = 6),
	UINT_7(prof_process, stack_kib),
	UINT_7(prof_process, static_kib),
	UINT_7(prof_process, threads_most),
	COL_(prof_process, oom, PACK_UINT, 1, .max = PROF_OOM_SURE, .since = 7),
	UINT_7(prof_process, limit_bytes),
	UINT_7(prof_process, usage_bytes),
	STR_7(prof_process, replaced_by),
	COL_(prof_process, peak_error_bytes, PACK_UINT, 1, .max = UINT64_MAX,
	     .since = 10),
};

static const struct pack_col pack_modules[] = {
	STR(prof_module, path),
	UINT_MAX_(prof_module, build_id_bytes, PROF_BUILD_ID_MAX),
	UINTS(prof_module, build_id, PROF_BUILD_ID_MAX),
	STR(prof_module, why_no_names),
	COL_(prof_module, other_id, PACK_STR, 1, .max = UINT32_MAX, .since = 11),
};

static const struct pack_col pack_locs[] = {
	ROW(prof_loc, module, PACK_MODULES), UINT_MAX_(prof_loc, kind, PROF_LOC_CLASS),
	UINT_MAX_(prof_loc, exact, 1),	     UINT_DELTA(prof_loc, offset),
	UINT_DELTA(prof_loc, frames),	     UINT(prof_loc, nframes),
};

static const struct pack_col pack_nodes[] = {
	BACK(prof_node, parent),
	ROW(prof_node, loc, PACK_LOCS),
};

static const struct pack_col pack_sites[] = {
	ROW(prof_site, process, PACK_PROCESSES),
	ROW_DELTA(prof_site, node, PACK_NODES),
	UINT(prof_site, allocs),
	UINT(prof_site, frees),
	UINT(prof_site, alloc_bytes),
	UINT(prof_site, free_bytes),
	INT(prof_site, live_blocks),
	INT(prof_site, live_bytes),
	UINT(prof_site, temps),
	UINT(prof_site, temp_bytes),
	INT(prof_site, peak_bytes),
	UINT(prof_site, peak_ms),
	UINT(prof_site, first_ms),
	INT(prof_site, at_peak_bytes),
	INT(prof_site, at_peak_blocks),
	INT(prof_site, at_exit_bytes),
	INT(prof_site, at_exit_blocks),
	UINTS(prof_site, sizes, PROF_SIZE_BUCKETS),
	COL_(prof_site, lifetimes, PACK_UINT, PROF_LIFE_BUCKETS, .max = UINT64_MAX,
	     .before_life = PACK_OLD_LIFE_BUCKETS),
	UINT(prof_site, samples),
	UINT(prof_site, live_samples),
	REAL(prof_site, var_alloc_bytes),
	REAL(prof_site, var_live_bytes),
};

static const struct pack_col pack_frames[] = {
	STR(prof_frame, function),
	STR(prof_frame, linkage),
	STR(prof_frame, file),
	UINT(prof_frame, line),
	STR(prof_frame, source),
	UINT(prof_frame, symbol_off),
	UINT_MAX_(prof_frame, inlined, 1),
	UINT_MAX_(prof_frame, lang, PROF_JS),
};

static const struct pack_col pack_threads[] = {
	ROW(prof_thread, process, PACK_PROCESSES),
	UINT(prof_thread, tid),
	UINT(prof_thread, serial),
	STR(prof_thread, name),
	UINT_MAX_(prof_thread, ended, 1),
};

static const struct pack_col pack_cells[] = {
	ROW_DELTA(prof_cell, site, PACK_SITES),
	ROW(prof_cell, thread, PACK_THREADS),
	UINT(prof_cell, allocs),
	UINT(prof_cell, frees),
	UINT(prof_cell, alloc_bytes),
	UINT(prof_cell, free_bytes),
};

static const struct pack_col pack_marks[] = {
	ROW(prof_mark, process, PACK_PROCESSES),
	UINT(prof_mark, number),
	STR(prof_mark, name),
	UINT(prof_mark, ms),
	INT(prof_mark, live_bytes),
	UINT(prof_mark, rows),
	UINT(prof_mark, nrows),
};

static const struct pack_col pack_mark_rows[] = {
	ROW_DELTA(prof_mark_row, site, PACK_SITES),
	INT(prof_mark_row, live_bytes),
	INT(prof_mark_row, live_blocks),
};

static const struct pack_col pack_points[] = {
	ROW(prof_point, process, PACK_PROCESSES),
	UINT_DELTA(prof_point, ms),
	UINT(prof_point, rss_kib),
	INT(prof_point, live_bytes),
	UINT_7(prof_point, own_kib),
};

static const struct pack_col pack_ranges[] = {
	ROW(prof_range, process, PACK_PROCESSES),
	ROW(prof_range, module, PACK_MODULES),
	UINT_DELTA(prof_range, start),
	UINT_DELTA(prof_range, end),
	UINT_DELTA(prof_range, bias),
	UINT(prof_range, loaded_ms),
	UINT(prof_range, unloaded_ms),
};

static const struct pack_col pack_damages[] = {
	STR(prof_damage, what),
	UINT(prof_damage, count),
};

static const struct pack_col pack_blocks[] = {
	ROW(prof_block, process, PACK_PROCESSES),
	UINT_DELTA(prof_block, addr),
	UINT(prof_block, bytes),
	ROW(prof_block, site, PACK_SITES),
	UINT_DELTA(prof_block, ms),
	UINT(prof_block, thread_serial),
	UINT_MAX_(prof_block, kind, 7),
};

static const struct pack_col pack_looks[] = {
	ROW(prof_look, process, PACK_PROCESSES),
	UINT(prof_look, rows),
	UINT(prof_look, nrows),
	UINT_DELTA(prof_look, ms),
};

static const struct pack_col pack_look_rows[] = {
	ROW_DELTA(prof_look_row, site, PACK_SITES),
	INT(prof_look_row, allocs),
	INT(prof_look_row, frees),
	INT(prof_look_row, alloc_bytes),
	INT(prof_look_row, free_bytes),
};

static const struct pack_col pack_checks[] = {
	ROW(prof_check, process, PACK_PROCESSES),
	UINT_MAX_(prof_check, done, 1),
	UINT_MAX_(prof_check, loose, 1),
	STR(prof_check, why),
	UINT(prof_check, threads),
	UINT(prof_check, stop_ns),
	UINT(prof_check, pause_ns),
	UINTS(prof_check, heuristic_blocks, PROF_HEURISTICS),
	UINTS(prof_check, heuristic_bytes, PROF_HEURISTICS),
	UINT_9(prof_check, younger_blocks),
	UINT_9(prof_check, younger_bytes),
};

static const struct pack_col pack_losses[] = {
	ROW_DELTA(prof_loss, site, PACK_SITES),
	UINT_MAX_(prof_loss, kind, PROF_LOSS_REACHABLE),
	UINT(prof_loss, blocks),
	UINT(prof_loss, bytes),
	UINT(prof_loss, indirect_bytes),
	STR(prof_loss, called),
	UINT_9(prof_loss, leftover_blocks),
	UINT_9(prof_loss, leftover_bytes),
};

static const struct pack_col pack_olds[] = {
	ROW(prof_old, process, PACK_PROCESSES),
	UINT_DELTA(prof_old, size_class),
	UINT(prof_old, watched),
	UINT(prof_old, blocks),
	UINT(prof_old, bytes),
	UINTS(prof_old, died, PROF_OLD_PARTS),
	UINTS(prof_old, died_bytes, PROF_OLD_PARTS),
};

static const struct pack_col pack_errors[] = {
	ROW(prof_error, process, PACK_PROCESSES),
	UINT_MAX_(prof_error, kind, REC_ERROR_KINDS - 1),
	UINT_MAX_(prof_error, func, REC_FUNCS - 1),
	UINT_MAX_(prof_error, where, REC_WHERES - 1),
	UINT_MAX_(prof_error, block_kind, REC_KIND_INHERITED),
	UINT_MAX_(prof_error, freed_func, REC_FUNCS - 1),
	ROW(prof_error, at, PACK_NODES),
	ROW(prof_error, alloc, PACK_NODES),
	ROW(prof_error, freed, PACK_NODES),
	UINT(prof_error, thread),
	UINT(prof_error, where_thread),
	ROW(prof_error, where_module, PACK_MODULES),
	STR(prof_error, symbol),
	UINT(prof_error, symbol_off),
	UINT(prof_error, count),
	UINT(prof_error, addr),
	UINT(prof_error, given),
	UINT(prof_error, source),
	UINT(prof_error, block),
	UINT(prof_error, block_bytes),
	UINT(prof_error, where_off),
	UINT(prof_error, ms),
};

static const struct pack_col pack_holders[] = {
	ROW_DELTA(prof_holder, site, PACK_SITES),
	STR(prof_holder, name),
	UINT(prof_holder, blocks),
	UINT(prof_holder, of),
};

static const struct pack_col pack_memories[] = {
	ROW(prof_memory, process, PACK_PROCESSES),
	STR(prof_memory, kind),
	UINT(prof_memory, first_kib),
	UINT(prof_memory, last_kib),
	REAL(prof_memory, slope),
	REAL(prof_memory, error),
	UINT(prof_memory, grew),
	UINT(prof_memory, intervals),
	UINT_MAX_(prof_memory, grows, 1),
	STR(prof_memory, remedy),
	UINT(prof_memory, limit_bytes),
	UINT(prof_memory, used_bytes),
	UINT_MAX_(prof_memory, limit_machine, 1),
	UINT(prof_memory, before_kib),
};

#define TABLE(field, first_, needed_)                                                    \
	{                                                                                \
		.name = #field, .cols = pack_##field, .ncols = ARRAY_LEN(pack_##field),  \
		.row_bytes = sizeof(*((struct prof *)0)->field),                         \
		.rows_off = offsetof(struct prof, field),                                \
		.n_off = offsetof(struct prof, n##field),                                \
		.cap_off = offsetof(struct prof, cap##field), .first = (first_),         \
		.needed = (needed_)                                                      \
	}

const struct pack_table pack_tables[PACK_TYPES] = {
	[PACK_META] = {.name = "meta", .cols = pack_meta, .ncols = ARRAY_LEN(pack_meta)},
	[PACK_STRINGS] = {.name = "strings", .needed = true},
	[PACK_PROCESSES] = TABLE(processes, 1, true),
	[PACK_MODULES] = TABLE(modules, 1, true),
	[PACK_LOCS] = TABLE(locs, 1, true),
	[PACK_NODES] = TABLE(nodes, 1, true),
	[PACK_SITES] = TABLE(sites, 1, true),
	[PACK_FRAMES] = TABLE(frames, 0, false),
	[PACK_THREADS] = TABLE(threads, 1, false),
	[PACK_CELLS] = TABLE(cells, 0, false),
	[PACK_MARKS] = TABLE(marks, 0, false),
	[PACK_MARK_ROWS] = TABLE(mark_rows, 0, false),
	[PACK_POINTS] = TABLE(points, 0, false),
	[PACK_RANGES] = TABLE(ranges, 0, false),
	[PACK_DAMAGES] = TABLE(damages, 0, false),
	[PACK_BLOCKS] = TABLE(blocks, 0, false),
	[PACK_LOOKS] = TABLE(looks, 0, false),
	[PACK_LOOK_ROWS] = TABLE(look_rows, 0, false),
	[PACK_CHECKS] = TABLE(checks, 0, false),
	[PACK_LOSSES] = TABLE(losses, 0, false),
	[PACK_OLDS] = TABLE(olds, 0, false),
	[PACK_ERRORS] = TABLE(errors, 0, false),
	[PACK_HOLDERS] = TABLE(holders, 0, false),
	[PACK_MEMORIES] = TABLE(memories, 0, false),
};
