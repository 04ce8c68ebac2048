/* SPDX-License-Identifier: MIT */
/* objects.h -- the ELF objects of a running process: where they are mapped, in which
 * order symbols are looked up in them, and what they define.
 *
 * Mappings and dynamic sections are read from the process's memory, symbols from the
 * files behind its mappings, whatever its mount namespace is. */
#ifndef SEEP_TARGET_OBJECTS_H
#define SEEP_TARGET_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/target/trace/tracee.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct object {
	char *path;		     /* as in maps */
	uint64_t start, end;	     /* mapped range */
	uint64_t bias;		     /* address = ELF virtual address + bias */
	uint64_t eh_hdr;	     /* address of PT_GNU_EH_FRAME; 0 = none */
	uint64_t dynamic;	     /* address of PT_DYNAMIC; 0 = none */
	uint64_t map_start, map_end; /* the first row of maps, for map_files */
	uint64_t inode;
	unsigned dev_major, dev_minor;
	int order;	  /* in which symbols are looked up; -1 = not by the loader */
	bool program;	  /* the executable */
	bool interpreted; /* it asks for a loader */
	uint64_t spare;	  /* address of 8 unused bytes, zero and read-only; 0 = none */
	struct tracee_span loads[8]; /* what the file says is mapped */
	unsigned nloads;
};

struct objects_vec VEC_BODY(struct object);
struct objects_gaps VEC_BODY(struct tracee_span);

struct objects {
	struct objects_vec all;	  /* by address */
	uint64_t loader_state;	  /* address of r_debug.r_state; 0 = no loader */
	uint64_t stack_end;	  /* of the first thread */
	struct objects_gaps gaps; /* where nothing is mapped and nothing will grow */
};

/* Start with `= {0}`; objects_done is legal at any time. */
int objects_read(const struct tracee *t, struct objects *ret, struct err *e);
void objects_done(struct objects *o);

/* A function or object that is defined. `exported`: others can be bound to it. */
struct object_symbol {
	const char *name; /* borrowed, for the call */
	uint64_t addr, bytes;
	bool exported, function;
};

typedef void object_visitor(void *ctx, const struct object_symbol *s);

/* Visits the definitions of an object, those for the loader first. */
int object_symbols(const struct tracee *t, const struct object *o, object_visitor *each,
		   void *ctx, struct err *e);

/* Address of its .eh_frame, for objects without a header for it; 0 = none. */
uint64_t object_eh_frame(const struct tracee *t, const struct object *o);

/* The same for the words that the loader has bound to other objects' symbols: `addr` is
 * the word. */
int object_bindings(const struct tracee *t, const struct object *o, object_visitor *each,
		    void *ctx, struct err *e);

#endif
