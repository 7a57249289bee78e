#include "protocols/stats/crossover.h"

#include <math.h>

#include "protocols/stats/distribution.h"

/* The chance of seeing a difference where there is none. */
#define RISK 0.01

struct crossover crossover_find(const double *differences, const bool *b_first, size_t count)
{
    struct crossover ret = {0};
    double means[2] = {0}, squares = 0, n[2] = {0}, error, mean;

    for (size_t i = 0; b_first && i < count; i++) {
        means[b_first[i]] += differences[i];
        n[b_first[i]]++;
    }
    if (n[0] < 2 || n[1] < 2)
        return ret;
    mean = (means[0] + means[1]) / (n[0] + n[1]);
    means[0] /= n[0];
    means[1] /= n[1];
    for (size_t i = 0; i < count; i++)
        squares += pow(differences[i] - means[b_first[i]], 2);
    error = sqrt(squares / ((double)count - 2) * (1 / n[0] + 1 / n[1]));
    ret.tested = true;
    ret.a_first = means[0];
    ret.b_first = means[1];
    ret.reach = fmax(fabs(means[0] - mean), fabs(means[1] - mean));
    if (error > 0)
        ret.p = 2 * student_cdf(-fabs(means[0] - means[1]) / error, (double)count - 2);
    else
        ret.p = means[0] == means[1] ? 1 : 0;
    ret.seen = ret.p < RISK;
    return ret;
}
