/* SPDX-License-Identifier: MIT */
/* columns.c -- the columns of every table of a profile.
 *
 * One row of these tables is one field of the model and one column in a file. Sorted or
 * slowly changing columns are stored as differences. */
#include "columns.h"

#include <string.h>

#include "shared/compiler.h"
#include "tool/model/series.h"

#define SIZE_(type, field) sizeof(((struct type *)0)->field)

#define COL_(type, field, kind_, n, ...)                                                 \
	{                                                                                \
		.off = offsetof(struct type, field), .bytes = SIZE_(type, field) / (n),  \
		.kind = (kind_), .count = (n), __VA_ARGS__                               \
	}
#define UINT(type, field) COL_(type, field, PROF_COL_UINT, 1, .max = UINT64_MAX)
#define UINT_MAX_(type, field, most) COL_(type, field, PROF_COL_UINT, 1, .max = (most))
#define UINT_DELTA(type, field)                                                          \
	COL_(type, field, PROF_COL_UINT, 1, .max = UINT64_MAX, .delta = true)
#define UINTS(type, field, n) COL_(type, field, PROF_COL_UINT, n, .max = UINT64_MAX)
#define INT(type, field) COL_(type, field, PROF_COL_INT, 1, .max = UINT64_MAX)
#define REAL(type, field) COL_(type, field, PROF_COL_REAL, 1, .max = UINT64_MAX)
#define STR(type, field) COL_(type, field, PROF_COL_STR, 1, .max = UINT32_MAX)
#define ROW(type, field, to)                                                             \
	COL_(type, field, PROF_COL_ROW, 1, .max = UINT32_MAX, .table = (to))
#define ROW_DELTA(type, field, to)                                                       \
	COL_(type, field, PROF_COL_ROW, 1, .max = UINT32_MAX, .table = (to),             \
	     .delta = true)
#define BACK(type, field) COL_(type, field, PROF_COL_BACK, 1, .max = UINT32_MAX)
#define SPAN(type, field, to, ...)                                                       \
	COL_(type, field, PROF_COL_SPAN, 1, .max = UINT32_MAX, .table = (to), __VA_ARGS__)

static const struct prof_col prof_cols_meta[] = {
	UINT_MAX_(prof, has_names, 1),
	UINT(prof, blocks_dropped),
};

static const struct prof_col prof_cols_processes[] = {
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
	UINT(prof_process, cut_ms),
	UINT(prof_process, stack_kib),
	UINT(prof_process, static_kib),
	UINT(prof_process, threads_most),
	UINT_MAX_(prof_process, oom, PROF_OOM_SURE),
	UINT(prof_process, limit_bytes),
	UINT(prof_process, usage_bytes),
	STR(prof_process, replaced_by),
	UINT(prof_process, peak_error_bytes),
	UINT(prof_process, going_on),
	UINT(prof_process, malloc_kib),
	UINT(prof_process, outside_ms),
	STR(prof_process, outside_little),
	UINT(prof_process, outside_little_kib),
};

static const struct prof_col prof_cols_modules[] = {
	STR(prof_module, path),
	UINT_MAX_(prof_module, build_id_bytes, PROF_BUILD_ID_MAX),
	UINTS(prof_module, build_id, PROF_BUILD_ID_MAX),
	STR(prof_module, why_no_names),
	STR(prof_module, other_id),
};

static const struct prof_col prof_cols_locs[] = {
	ROW(prof_loc, module, PROF_TAB_MODULES),
	UINT_MAX_(prof_loc, kind, PROF_LOC_CLASS),
	UINT_MAX_(prof_loc, exact, 1),
	UINT_DELTA(prof_loc, offset),
	SPAN(prof_loc, frames, PROF_TAB_FRAMES, .delta = true),
	UINT(prof_loc, nframes),
};

static const struct prof_col prof_cols_nodes[] = {
	BACK(prof_node, parent),
	ROW(prof_node, loc, PROF_TAB_LOCS),
};

static const struct prof_col prof_cols_sites[] = {
	ROW(prof_site, process, PROF_TAB_PROCESSES),
	ROW_DELTA(prof_site, node, PROF_TAB_NODES),
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
	SPAN(prof_site, buckets, PROF_TAB_BUCKETS, .delta = true),
	UINT(prof_site, nbuckets),
	UINT(prof_site, samples),
	UINT(prof_site, live_samples),
	REAL(prof_site, var_alloc_bytes),
	REAL(prof_site, var_live_bytes),
	STR(prof_site, type),
};

static const struct prof_col prof_cols_buckets[] = {
	UINT(prof_bucket, count),
	UINT_MAX_(prof_bucket, number, PROF_SIZE_BUCKETS + PROF_LIFE_BUCKETS - 1),
};

static const struct prof_col prof_cols_frames[] = {
	STR(prof_frame, function),
	STR(prof_frame, linkage),
	STR(prof_frame, file),
	UINT(prof_frame, line),
	STR(prof_frame, source),
	UINT(prof_frame, symbol_off),
	UINT_MAX_(prof_frame, inlined, 1),
	UINT_MAX_(prof_frame, lang, PROF_LANGS - 1),
};

static const struct prof_col prof_cols_threads[] = {
	ROW(prof_thread, process, PROF_TAB_PROCESSES),
	UINT(prof_thread, tid),
	UINT(prof_thread, serial),
	STR(prof_thread, name),
	UINT_MAX_(prof_thread, ended, 1),
};

static const struct prof_col prof_cols_cells[] = {
	ROW_DELTA(prof_cell, site, PROF_TAB_SITES),
	ROW(prof_cell, thread, PROF_TAB_THREADS),
	UINT(prof_cell, allocs),
	UINT(prof_cell, frees),
	UINT(prof_cell, alloc_bytes),
	UINT(prof_cell, free_bytes),
};

static const struct prof_col prof_cols_marks[] = {
	ROW(prof_mark, process, PROF_TAB_PROCESSES),
	UINT(prof_mark, number),
	STR(prof_mark, name),
	UINT(prof_mark, ms),
	INT(prof_mark, live_bytes),
	SPAN(prof_mark, rows, PROF_TAB_MARK_ROWS, ),
	UINT(prof_mark, nrows),
};

static const struct prof_col prof_cols_mark_rows[] = {
	ROW_DELTA(prof_mark_row, site, PROF_TAB_SITES),
	INT(prof_mark_row, live_bytes),
	INT(prof_mark_row, live_blocks),
};

static const struct prof_col prof_cols_points[] = {
	ROW(prof_point, process, PROF_TAB_PROCESSES),
	UINT_DELTA(prof_point, ms),
	UINT(prof_point, rss_kib),
	INT(prof_point, live_bytes),
	UINT(prof_point, own_kib),
};

static const struct prof_col prof_cols_ranges[] = {
	ROW(prof_range, process, PROF_TAB_PROCESSES),
	ROW(prof_range, module, PROF_TAB_MODULES),
	UINT_DELTA(prof_range, start),
	UINT_DELTA(prof_range, end),
	UINT_DELTA(prof_range, bias),
	UINT(prof_range, loaded_ms),
	UINT(prof_range, unloaded_ms),
};

static const struct prof_col prof_cols_damages[] = {
	STR(prof_damage, what),
	UINT(prof_damage, count),
};

static const struct prof_col prof_cols_blocks[] = {
	ROW(prof_block, process, PROF_TAB_PROCESSES),
	UINT_DELTA(prof_block, addr),
	UINT(prof_block, bytes),
	ROW(prof_block, site, PROF_TAB_SITES),
	UINT_DELTA(prof_block, ms),
	UINT(prof_block, thread_serial),
	UINT_MAX_(prof_block, kind, 7),
};

static const struct prof_col prof_cols_looks[] = {
	ROW(prof_look, process, PROF_TAB_PROCESSES),
	SPAN(prof_look, rows, PROF_TAB_LOOK_ROWS, ),
	UINT(prof_look, nrows),
	UINT_DELTA(prof_look, ms),
};

static const struct prof_col prof_cols_look_rows[] = {
	ROW_DELTA(prof_look_row, site, PROF_TAB_SITES),
	INT(prof_look_row, allocs),
	INT(prof_look_row, frees),
	INT(prof_look_row, alloc_bytes),
	INT(prof_look_row, free_bytes),
};

static const struct prof_col prof_cols_checks[] = {
	ROW(prof_check, process, PROF_TAB_PROCESSES),
	UINT_MAX_(prof_check, done, 1),
	UINT_MAX_(prof_check, loose, 1),
	STR(prof_check, why),
	UINT(prof_check, threads),
	UINT(prof_check, stop_ns),
	UINT(prof_check, pause_ns),
	UINTS(prof_check, heuristic_blocks, PROF_HEURISTICS),
	UINTS(prof_check, heuristic_bytes, PROF_HEURISTICS),
	UINT(prof_check, younger_blocks),
	UINT(prof_check, younger_bytes),
};

static const struct prof_col prof_cols_losses[] = {
	ROW_DELTA(prof_loss, site, PROF_TAB_SITES),
	UINT_MAX_(prof_loss, kind, PROF_LOSS_REACHABLE),
	UINT(prof_loss, blocks),
	UINT(prof_loss, bytes),
	UINT(prof_loss, indirect_bytes),
	STR(prof_loss, called),
	UINT(prof_loss, leftover_blocks),
	UINT(prof_loss, leftover_bytes),
};

static const struct prof_col prof_cols_olds[] = {
	ROW(prof_old, process, PROF_TAB_PROCESSES),
	UINT_DELTA(prof_old, size_class),
	UINT(prof_old, watched),
	UINT(prof_old, blocks),
	UINT(prof_old, bytes),
	UINTS(prof_old, died, PROF_OLD_PARTS),
	UINTS(prof_old, died_bytes, PROF_OLD_PARTS),
};

static const struct prof_col prof_cols_errors[] = {
	ROW(prof_error, process, PROF_TAB_PROCESSES),
	UINT_MAX_(prof_error, kind, REC_ERROR_KINDS - 1),
	UINT_MAX_(prof_error, func, REC_FUNCS - 1),
	UINT_MAX_(prof_error, where, REC_WHERES - 1),
	UINT_MAX_(prof_error, block_kind, REC_KIND_INHERITED),
	UINT_MAX_(prof_error, freed_func, REC_FUNCS - 1),
	ROW(prof_error, at, PROF_TAB_NODES),
	ROW(prof_error, alloc, PROF_TAB_NODES),
	ROW(prof_error, freed, PROF_TAB_NODES),
	UINT(prof_error, thread),
	UINT(prof_error, where_thread),
	ROW(prof_error, where_module, PROF_TAB_MODULES),
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

static const struct prof_col prof_cols_holders[] = {
	ROW_DELTA(prof_holder, site, PROF_TAB_SITES),
	STR(prof_holder, name),
	UINT(prof_holder, blocks),
	UINT(prof_holder, of),
};

static const struct prof_col prof_cols_memories[] = {
	ROW(prof_memory, process, PROF_TAB_PROCESSES),
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

static const struct prof_col prof_cols_rounds[] = {
	ROW(prof_round, process, PROF_TAB_PROCESSES),
	STR(prof_round, why),
	UINT_DELTA(prof_round, ms),
	UINT(prof_round, checks),
	UINT(prof_round, lost_blocks),
	UINT(prof_round, lost_bytes),
	UINT(prof_round, possible_blocks),
	UINT(prof_round, possible_bytes),
	UINT(prof_round, again_blocks),
	UINT(prof_round, again_bytes),
	UINT(prof_round, unfollowed_blocks),
	UINT(prof_round, stop_ns),
	UINT(prof_round, late),
};

static const struct prof_col prof_cols_moments[] = {
	ROW_DELTA(prof_moment, site, PROF_TAB_SITES),
	UINT_MAX_(prof_moment, kind, PROF_LOSS_REACHABLE),
	UINT_DELTA(prof_moment, from_ms),
	UINT_DELTA(prof_moment, to_ms),
	UINT(prof_moment, blocks),
	UINT(prof_moment, bytes),
};

static const struct prof_col prof_cols_ticks[] = {
	ROW(prof_tick, process, PROF_TAB_PROCESSES),
	UINT_DELTA(prof_tick, ms),
	INT(prof_tick, live_bytes),
};

static const struct prof_col prof_cols_steps[] = {
	ROW_DELTA(prof_step, site, PROF_TAB_SITES),
	UINT_DELTA(prof_step, moment),
	INT(prof_step, live_bytes),
};

static const struct prof_col prof_cols_labels[] = {
	ROW(prof_label, site, PROF_TAB_SITES),
	STR(prof_label, key),
	STR(prof_label, text),
	INT(prof_label, number),
	STR(prof_label, unit),
};

static const struct prof_col prof_cols_snapshots[] = {
	ROW(prof_snapshot, process, PROF_TAB_PROCESSES),
	STR(prof_snapshot, unit),
	UINT(prof_snapshot, number),
	UINT(prof_snapshot, time),
	INT(prof_snapshot, heap_bytes),
	INT(prof_snapshot, extra_bytes),
	INT(prof_snapshot, stacks_bytes),
	UINT_MAX_(prof_snapshot, tree, PROF_TREE_PEAK),
};

#define TABLE(field, first_, needed_)                                                    \
	{                                                                                \
		.name = #field, .cols = prof_cols_##field,                               \
		.ncols = ARRAY_LEN(prof_cols_##field),                                   \
		.row_bytes = sizeof(*((struct prof *)0)->field),                         \
		.rows_off = offsetof(struct prof, field),                                \
		.n_off = offsetof(struct prof, n##field),                                \
		.cap_off = offsetof(struct prof, cap##field), .first = (first_),         \
		.needed = (needed_)                                                      \
	}

const struct prof_tab prof_tabs[PROF_TABS] = {
	[PROF_TAB_META] = {.name = "meta",
			   .cols = prof_cols_meta,
			   .ncols = ARRAY_LEN(prof_cols_meta)},
	[PROF_TAB_STRINGS] = {.name = "strings", .needed = true},
	[PROF_TAB_PROCESSES] = TABLE(processes, 1, true),
	[PROF_TAB_MODULES] = TABLE(modules, 1, true),
	[PROF_TAB_LOCS] = TABLE(locs, 1, true),
	[PROF_TAB_NODES] = TABLE(nodes, 1, true),
	[PROF_TAB_SITES] = TABLE(sites, 1, true),
	[PROF_TAB_FRAMES] = TABLE(frames, 0, false),
	[PROF_TAB_THREADS] = TABLE(threads, 1, false),
	[PROF_TAB_CELLS] = TABLE(cells, 0, false),
	[PROF_TAB_MARKS] = TABLE(marks, 0, false),
	[PROF_TAB_MARK_ROWS] = TABLE(mark_rows, 0, false),
	[PROF_TAB_POINTS] = TABLE(points, 0, false),
	[PROF_TAB_RANGES] = TABLE(ranges, 0, false),
	[PROF_TAB_DAMAGES] = TABLE(damages, 0, false),
	[PROF_TAB_BLOCKS] = TABLE(blocks, 0, false),
	[PROF_TAB_LOOKS] = TABLE(looks, 0, false),
	[PROF_TAB_LOOK_ROWS] = TABLE(look_rows, 0, false),
	[PROF_TAB_CHECKS] = TABLE(checks, 0, false),
	[PROF_TAB_LOSSES] = TABLE(losses, 0, false),
	[PROF_TAB_OLDS] = TABLE(olds, 0, false),
	[PROF_TAB_ERRORS] = TABLE(errors, 0, false),
	[PROF_TAB_HOLDERS] = TABLE(holders, 0, false),
	[PROF_TAB_MEMORIES] = TABLE(memories, 0, false),
	[PROF_TAB_BUCKETS] = TABLE(buckets, 0, false),
	[PROF_TAB_ROUNDS] = TABLE(rounds, 0, false),
	[PROF_TAB_MOMENTS] = TABLE(moments, 0, false),
	[PROF_TAB_TICKS] = TABLE(ticks, 0, false),
	[PROF_TAB_STEPS] = TABLE(steps, 0, false),
	[PROF_TAB_LABELS] = TABLE(labels, 0, false),
	[PROF_TAB_SNAPSHOTS] = TABLE(snapshots, 0, false),
};

unsigned char *
prof_tab_rows(const struct prof *p, const struct prof_tab *t, uint32_t *ret_n)
{
	unsigned char *rows;

	memcpy(&rows, (const unsigned char *)p + t->rows_off, sizeof rows);
	memcpy(ret_n, (const unsigned char *)p + t->n_off, sizeof *ret_n);
	return rows;
}
