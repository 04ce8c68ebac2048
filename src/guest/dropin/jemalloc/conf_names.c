/* SPDX-License-Identifier: MIT */
/* conf_names.c -- jemalloc's options that have nothing to do with profiling, of releases
 * 5.0 to 5.3: accepted without a word, because recipes set them beside those that matter
 * here. */
#include "guest/dropin/jemalloc/conf.h"

#include "guest/rt/rt_text.h"
#include "shared/compiler.h"

#include <string.h>

static const char *const names[] = {
	"abort",
	"abort_conf",
	"background_thread",
	"bin_shards",
	"cache_oblivious",
	"calloc_madvise_threshold",
	"confirm_conf",
	"debug_double_free_max_scan",
	"dirty_decay_ms",
	"disable_large_size_classes",
	"dss",
	"experimental_hpa_enforce_hugify",
	"experimental_hpa_max_purge_nhp",
	"experimental_hpa_start_huge_if_thp_always",
	"experimental_hpa_strict_min_purge_interval",
	"experimental_infallible_new",
	"experimental_tcache_gc",
	"hpa",
	"hpa_dirty_mult",
	"hpa_hugification_threshold",
	"hpa_hugification_threshold_ratio",
	"hpa_hugify_delay_ms",
	"hpa_hugify_sync",
	"hpa_min_purge_interval_ms",
	"hpa_sec_batch_fill_extra",
	"hpa_sec_bytes_after_flush",
	"hpa_sec_max_alloc",
	"hpa_sec_max_bytes",
	"hpa_sec_nshards",
	"hpa_slab_max_alloc",
	"huge_arena_pac_thp",
	"junk",
	"lg_extent_max_active_fit",
	"lg_san_uaf_align",
	"lg_tcache_flush_large_div",
	"lg_tcache_flush_small_div",
	"lg_tcache_max",
	"lg_tcache_nslots_mul",
	"log",
	"max_background_threads",
	"metadata_thp",
	"mutex_max_spin",
	"muzzy_decay_ms",
	"narenas",
	"narenas_ratio",
	"oversize_threshold",
	"percpu_arena",
	"process_madvise_max_batch",
	"remote_free_max",
	"remote_free_max_batch",
	"retain",
	"san_guard_large",
	"san_guard_small",
	"slab_sizes",
	"stats_interval",
	"stats_interval_opts",
	"stats_print",
	"stats_print_opts",
	"tcache",
	"tcache_gc_delay_bytes",
	"tcache_gc_incr_bytes",
	"tcache_max",
	"tcache_ncached_max",
	"tcache_nslots_large",
	"tcache_nslots_small_max",
	"tcache_nslots_small_min",
	"thp",
	"trust_madvise",
	"utrace",
	"xmalloc",
	"zero",
	"zero_realloc",
};

bool
conf_is_other(const char *key, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (text_len(names[i]) == bytes && memcmp(names[i], key, bytes) == 0)
			return true;
	return false;
}
