/*
 * adamw - Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay
 * Regularization", ICLR 2019, algorithm 2, with the schedule's multiplier as part of the rate):
 *
 *     m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2
 *     w = w - rate * ((m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) + decay * w)
 *
 * t counts from 1. This is also what common frameworks compute.
 */
#ifndef ASSAY_WORKLOADS_MODELS_ADAMW_H
#define ASSAY_WORKLOADS_MODELS_ADAMW_H

#include <stdint.h>

struct adamw {
    double rate, beta1, beta2, epsilon, decay;
};

/* One element in fp64; m and v are updated in place, the new weight is returned. */
double adamw_reference(const struct adamw *adamw, uint64_t step, double decay, double weight,
                       double gradient, double *m, double *v);

#endif
