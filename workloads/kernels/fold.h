/*
 * Folds over i < n, for texts that are joined behind this one. A single lane keeps WAYS chains, so
 * that its loop vectorizes although no sum is ever reordered; several lanes have one chain each.
 */
#if LANES == 1
#define WAYS 16
#else
#define WAYS 1
#endif

/*
 * Before a loop over elements: many lanes have the loads of so many steps on their way at once.
 * NVRTC unrolls none of these loops by itself. A single lane's is the compiler's to vectorize.
 */
#if LANES == 1
#define IN_FLIGHT(steps)
#else
#define IN_FLIGHT(steps) UNROLL_N(steps)
#endif

/* gcc would unroll the chains before it looks for vectors, and finds none in a fold that selects.
 */
#if LANES == 1 && defined(__GNUC__) && !defined(__clang__)
#define FOLD_ROLLED UNROLL_N(1)
#else
#define FOLD_ROLLED
#endif

/*
 * Folds `term`, an expression in u64 i, into `ret`, which every lane gets. `group_fold` is the
 * collective that belongs to `fold`; the kernel has GROUP_SCRATCH.
 */
#define FOLD_OVER(ret, n, start, fold, group_fold, term)                                           \
    do {                                                                                           \
        f32 part_[WAYS], tail_ = (start);                                                          \
        const u64 whole_ = (n) / WAYS * WAYS;                                                      \
                                                                                                   \
        for (u32 w_ = 0; w_ < WAYS; w_++)                                                          \
            part_[w_] = (start);                                                                   \
        IN_FLIGHT(4)                                                                               \
        for (u64 b_ = LANE * WAYS; b_ < whole_; b_ += LANES * WAYS) {                              \
            FOLD_ROLLED                                                                            \
            for (u32 w_ = 0; w_ < WAYS; w_++) {                                                    \
                const u64 i = b_ + w_;                                                             \
                                                                                                   \
                part_[w_] = fold(part_[w_], (term));                                               \
            }                                                                                      \
        }                                                                                          \
        for (u64 i = whole_ + LANE; i < (n); i += LANES)                                           \
            tail_ = fold(tail_, (term));                                                           \
        for (u32 w_ = 0; w_ < WAYS; w_++)                                                          \
            tail_ = fold(tail_, part_[w_]);                                                        \
        (ret) = group_fold(tail_);                                                                 \
    } while (0)

/* Of a number and anything: what is no number is left out, as by F_MAX, in one instruction. */
INLINE f32 fold_max(f32 a, f32 b)
{
    return b > a ? b : a;
}

#define FOLD_ADD(a, b) ((a) + (b))
#define SUM_OVER(ret, n, term) FOLD_OVER(ret, n, 0.0f, FOLD_ADD, GROUP_SUM, term)
#define MAX_OVER(ret, n, term) FOLD_OVER(ret, n, -3.402823466e38f, fold_max, GROUP_MAX, term)
