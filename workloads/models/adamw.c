#include "workloads/models/adamw.h"

#include <math.h>

double adamw_reference(const struct adamw *adamw, uint64_t step, double decay, double weight,
                       double gradient, double *m, double *v)
{
    double first, second;

    *m = adamw->beta1 * *m + (1.0 - adamw->beta1) * gradient;
    *v = adamw->beta2 * *v + (1.0 - adamw->beta2) * gradient * gradient;
    first = *m / (1.0 - pow(adamw->beta1, (double)step));
    second = *v / (1.0 - pow(adamw->beta2, (double)step));
    return weight - adamw->rate * (first / (sqrt(second) + adamw->epsilon) + decay * weight);
}
