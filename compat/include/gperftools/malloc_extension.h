/* SPDX-License-Identifier: MIT */
/* malloc_extension.h -- the same as malloc_extension_c.h in C++'s clothes, and the
 * profile as a string. */
#ifndef SEEP_COMPAT_GPERFTOOLS_MALLOC_EXTENSION_H
#define SEEP_COMPAT_GPERFTOOLS_MALLOC_EXTENSION_H

#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension_c.h>

#include <cstdlib>
#include <string>

class MallocExtension
{
      public:
	static MallocExtension *
	instance()
	{
		static MallocExtension it;

		return &it;
	}

	bool
	GetNumericProperty(const char *name, size_t *value)
	{
		return MallocExtension_GetNumericProperty(name, value) != 0;
	}
	void
	GetStats(char *buffer, int length)
	{
		MallocExtension_GetStats(buffer, length);
	}
	void
	ReleaseFreeMemory()
	{
		MallocExtension_ReleaseFreeMemory();
	}
	size_t
	GetAllocatedSize(const void *p)
	{
		return MallocExtension_GetAllocatedSize(p);
	}
	size_t
	GetEstimatedAllocatedSize(size_t size)
	{
		return MallocExtension_GetEstimatedAllocatedSize(size);
	}

	/* The heap profile, if the profiler is on: exact, not a sample. */
	void
	GetHeapSample(std::string *to)
	{
		char *text = GetHeapProfile();

		if (text != NULL)
			to->append(text);
		std::free(text);
	}

	/* Hints to tcmalloc's thread caches, of which there are none. */
	void
	MarkThreadIdle()
	{
	}
	void
	MarkThreadBusy()
	{
	}
};

#endif
