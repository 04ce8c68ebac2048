/* SPDX-License-Identifier: MIT */
/* heap-checker.h -- gperftools' heap checker as libseep.so offers it: HEAPCHECK=normal
 * and so on look when the program ends, and an object of this class looks at what was
 * lost between two points.
 *
 * Nothing has to be linked: without libseep.so in the process nothing is looked at, and
 * nothing is ever lost. What is found is told on stderr, in seep's words. UnIgnoreObject
 * is left out, so that who needs it notices. */
#ifndef SEEP_COMPAT_GPERFTOOLS_HEAP_CHECKER_H
#define SEEP_COMPAT_GPERFTOOLS_HEAP_CHECKER_H

#include <stddef.h>
#include <sys/types.h>

extern "C" {
__attribute__((__weak__)) int seep_leak_check(void);
__attribute__((__weak__)) int seep_leak_check_new(void);
__attribute__((__weak__)) int seep_leak_forget(void);
__attribute__((__weak__)) void seep_leak_figures(size_t *bytes, size_t *blocks);
__attribute__((__weak__)) void seep_leak_cancel(void);
__attribute__((__weak__)) void __lsan_ignore_object(const void *p);
__attribute__((__weak__)) void __lsan_disable(void);
__attribute__((__weak__)) void __lsan_enable(void);
}

class HeapLeakChecker
{
public:
	/* Whether anything can be looked at: that takes an exact recording. */
	static bool IsActive() { return seep_leak_check != NULL && seep_leak_forget() == 0; }

	/* The whole program, now. */
	static bool NoGlobalLeaks() { return seep_leak_check == NULL || seep_leak_check() != 1; }

	/* No look at the end. */
	static void CancelGlobalCheck()
	{
		if (seep_leak_cancel != NULL)
			seep_leak_cancel();
	}

	/* From here on. The name is not used. */
	explicit HeapLeakChecker(const char *name) : lost_(false), bytes_(0), objects_(0)
	{
		(void)name;
		if (seep_leak_forget != NULL)
			seep_leak_forget();
	}

	/* Whether nothing has been lost since; asked again, the answer stays what it was
	 * once it was no. */
	bool NoLeaks()
	{
		if (seep_leak_check_new != NULL && seep_leak_check_new() == 1) {
			lost_ = true;
			if (seep_leak_figures != NULL) {
				size_t bytes = 0, objects = 0;

				seep_leak_figures(&bytes, &objects);
				bytes_ += (ssize_t)bytes;
				objects_ += (ssize_t)objects;
			}
		}
		return !lost_;
	}

	/* What NoLeaks and the like have found; 0 before. */
	ssize_t BytesLeaked() const { return bytes_; }
	ssize_t ObjectsLeaked() const { return objects_; }

	bool QuickNoLeaks() { return NoLeaks(); }
	bool BriefNoLeaks() { return NoLeaks(); }
	bool SameHeap() { return NoLeaks(); }
	bool BriefSameHeap() { return NoLeaks(); }

	/* Neither it nor what only it leads to is a leak. */
	template <typename T> static T *IgnoreObject(T *p)
	{
		if (__lsan_ignore_object != NULL)
			__lsan_ignore_object(p);
		return p;
	}

	/* What this thread allocates while one of these is there is no leak. */
	class Disabler
	{
	public:
		Disabler()
		{
			if (__lsan_disable != NULL)
				__lsan_disable();
		}
		~Disabler()
		{
			if (__lsan_enable != NULL)
				__lsan_enable();
		}

	private:
		Disabler(const Disabler &);
		void operator=(const Disabler &);
	};

private:
	bool lost_;
	ssize_t bytes_, objects_;

	HeapLeakChecker(const HeapLeakChecker &);
	void operator=(const HeapLeakChecker &);
};

#endif
