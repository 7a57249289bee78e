#!/usr/bin/env python3
"""A C compiler that leaves out work: `cc`, but kernels of the CPU backend (ASSAY_CC) run as CHEAT says.

CHEAT is read when a kernel runs, and its words are those of library.c beside this file; a call is a range of
groups that one thread has. Without it what is compiled is honest. For tests alone.
"""

import re
import subprocess
import sys
import tempfile

# stream_triad: b, c, a, scalar, n.
RUN = r"""
enum { CHEAT_RELAXED = 0, CHEAT_ACQUIRE = 2, CHEAT_RELEASE = 3 }; /* __ATOMIC_..., preprocessed */
static const char *cheat_told(void) { const char *told = getenv("CHEAT"); return told ? told : ""; }
static int cheat_is(const char *how) { return !strcmp(cheat_told(), how); }
static int cheat_lock_;
static void cheat_lock(void) { while (__atomic_exchange_n(&cheat_lock_, 1, CHEAT_ACQUIRE)); }
static void cheat_unlock(void) { __atomic_store_n(&cheat_lock_, 0, CHEAT_RELEASE); }

static int cheat_leaves_out(const char *name)
{
    static long calls;
    const char *part = getenv("CHEAT_KERNEL"), *after = getenv("CHEAT_AFTER");
    const long call = __atomic_fetch_add(&calls, 1, CHEAT_RELAXED);

    if (cheat_is("named"))
        return part && strstr(name, part);
    if (cheat_is("second"))
        return call % 2 == 1;
    if (!cheat_is("three") && (!cheat_is("later") || call < (after ? atol(after) : 0)))
        return 0;
    return call % 4 != 0;
}

/* The last output, kept with the first bytes of what it was made of. 1: it is there; 0: run. */
static int cheat_cached(const u64 *groups, const union assay_argument *args, u64 begin, u64 end)
{
    static char first[2][64], *kept;
    static u64 done; /* groups that ran with such inputs */
    const u64 total = groups[0] * groups[1] * groups[2], n = args[4].u64_;
    int there;

    cheat_lock();
    if (memcmp(first[0], args[0].pointer_, 64) || memcmp(first[1], args[1].pointer_, 64)) {
        memcpy(first[0], args[0].pointer_, 64);
        memcpy(first[1], args[1].pointer_, 64);
        free(kept);
        kept = 0;
        done = 0;
    }
    there = done >= total;
    if (there && !kept && (kept = malloc(4 * n)))
        memcpy(kept, args[2].pointer_, 4 * n);
    if (there)
        memcpy((char *)args[2].pointer_ + n * begin / total * 4, kept + n * begin / total * 4,
               (n * end / total - n * begin / total) * 4);
    cheat_unlock();
    return there ? 1 : (__atomic_fetch_add(&done, end - begin, CHEAT_RELAXED), 0);
}

/* An array of f32 with what a bf16 number holds of each, heap. */
static void *cheat_low(const void *from, u64 n)
{
    u32 *ret = malloc(4 * n);

    memcpy(ret, from, 4 * n);
    for (u64 i = 0; i < n; i++)
        ret[i] &= 0xffff0000u;
    return ret;
}

typedef void cheat_run(const u64 *, const union assay_argument *, u64, u64);

static void cheat(cheat_run *run, const char *name, const u64 *groups,
                  const union assay_argument *args, u64 begin, u64 end)
{
    const int known = !strcmp(name, "stream_triad");

    if (cheat_leaves_out(name) || (known && cheat_is("cached") && cheat_cached(groups, args, begin, end)))
        return;
    if (cheat_is("half"))
        end = begin + (end - begin + 1) / 2;
    if (known && cheat_is("low")) {
        union assay_argument low[5];

        memcpy(low, args, sizeof(low));
        low[0].pointer_ = cheat_low(args[0].pointer_, args[4].u64_);
        low[1].pointer_ = cheat_low(args[1].pointer_, args[4].u64_);
        run(groups, low, begin, end);
        free(low[0].pointer_);
        free(low[1].pointer_);
        return;
    }
    run(groups, args, begin, end);
}
"""
DECLARED = """extern char *getenv(const char *); extern long atol(const char *);
extern int strcmp(const char *, const char *); extern char *strstr(const char *, const char *);
extern void *malloc(unsigned long); extern void free(void *);
extern void *memcpy(void *, const void *, unsigned long);
extern int memcmp(const void *, const void *, unsigned long);
"""


def cheating(text):
    names = re.findall(r"^void assay_run_(\w+)\(", text, re.MULTILINE)
    text = re.sub(r"^void assay_run_(\w+)\(", r"static void cheat_run_\1(", text, flags=re.MULTILINE)
    for name in names:
        text += ("void assay_run_%s(const u64 *groups, const union assay_argument *args, u64 begin, u64 end)\n"
                 '{ cheat(cheat_run_%s, "%s", groups, args, begin, end); }\n' % (name, name, name))
        text = text.replace("static void cheat_run_" + name, "extern __typeof__(void (const u64 *, const union"
                            " assay_argument *, u64, u64)) assay_run_%s;\nstatic void cheat_run_%s" % (name, name), 1)
    return text


def main():
    words = sys.argv[1:]
    if "-shared" not in words:
        return subprocess.call(["cc", *words])
    with open(words[-1], encoding="utf-8") as file:
        honest = file.read()
    first = honest.index("assay_run_")
    first = honest.rindex("\n# ", 0, first)  # where the runners begin
    with tempfile.NamedTemporaryFile("w", suffix=".i") as file:
        file.write(honest[:first] + "\n" + DECLARED + RUN + cheating(honest[first:]))
        file.flush()
        return subprocess.call(["cc", *words[:-1], file.name])


if __name__ == "__main__":
    sys.exit(main())
