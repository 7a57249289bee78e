"""Student's t."""

import functools
import math


def beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function, by Lentz's method."""
    tiny, c, total = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = total = 1 / (total or tiny)
    for m in range(1, 10000):
        for part in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d, c = 1 / (1 + part * d or tiny), 1 + part / c or tiny
            total *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return total


def beta(a, b, x):
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


@functools.lru_cache(maxsize=None)
def student(chance, df):
    """The quantile of a chance above 1/2."""
    low, high = 0.0, 1.0

    def upper(t):
        return beta(df / 2, 0.5, df / (df + t * t)) / 2
    while upper(high) > 1 - chance:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if upper(middle) > 1 - chance else (low, middle)
    return high
