#!/usr/bin/env python3
"""Writes distributions.txt: 30 digits of every distribution function that the engine has.

Needs mpmath (BSD). Run by hand when a function is added; the tests read the table alone.
Arguments are the doubles that their decimal spelling reads as, so that a difference is the
function's and not the argument's.
"""
from mpmath import mp, mpf, betainc, gammainc, log, loggamma, erfc, quad, sqrt, exp, gamma, nstr

mp.dps = 50


def d(x):
    return mpf(float(x))


def normal_cdf(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def student_cdf(t, df):
    tail = betainc(df / 2, mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


def beta_cdf(x, a, b):
    return betainc(a, b, 0, x, regularized=True)


def noncentral(t, df, delta):
    scale = 2 * (df / 2) ** (df / 2) / gamma(df / 2)
    points = [0, mpf(1) / 4, mpf(1) / 2, mpf(3) / 4, 1, mpf(5) / 4, mpf(3) / 2, 2, 3, 5, 9]
    return quad(lambda s: normal_cdf(t * s - delta) * scale * s ** (df - 1) * exp(-df * s * s / 2), points)


def invert(f, p, lo, hi):
    """Bisection to 12 digits, then the secant rule at full precision."""
    full, mp.dps = mp.dps, 20
    for _ in range(48):
        mid = (lo + hi) / 2
        if f(mid) < p:
            lo = mid
        else:
            hi = mid
    mp.dps = full
    a, b = +lo, +hi
    fa, fb = f(a) - p, f(b) - p
    for _ in range(6):
        if fa == fb:
            break
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = f(b) - p
    return b


rows = []


def put(name, args, value):
    rows.append(f"{name} {' '.join(args)} {nstr(value, 30, min_fixed=0, max_fixed=0)}")


for x in "1e-8 0.001 0.1 0.5 0.999 1.001 1.5 1.999 2.001 3.25 9.5 14.9 15.1 100 12345.678 1e8".split():
    put("log_gamma", [x], loggamma(d(x)))
for x in "-37 -12.5 -8 -5 -3.3 -1.96 -1 -0.1 1e-9 0.5 1 1.64485 3 5 7".split():
    put("normal_cdf", [x], normal_cdf(d(x)))
probabilities = "1e-15 1e-6 0.0005 0.005 0.025 0.05 0.2 0.4 0.55 0.8 0.9 0.95 0.975 0.995 0.9995".split()
for p in probabilities:
    put("normal_quantile", [p], invert(normal_cdf, d(p), mpf(-12), mpf(12)))
for df in "0.5 1 2 4 9 30.5 999".split():
    for t in "-40 -2.262 -1 -0.001 0.3 4".split():
        put("student_cdf", [t, df], student_cdf(d(t), d(df)))
    for p in "0.0005 0.025 0.4 0.95 0.975".split():
        hi = mpf(10) ** 7 if float(df) < 2 else mpf(100)
        put("student_quantile", [p, df], invert(lambda v: student_cdf(v, d(df)), d(p), -hi, hi))
for a, b in (("0.5", "0.5"), ("0.5", "7"), ("1", "1"), ("2", "3.5"), ("10", "990"), ("990.5", "10"),
             ("50", "50"), ("500", "500.25")):
    m = float(a) / (float(a) + float(b))
    for f in (0.05, 0.7, 0.95, 1.0, 1.05, 1.3):
        x = m * f
        if x < 1:
            put("beta_cdf", [repr(x), a, b], beta_cdf(d(repr(x)), d(a), d(b)))
    for p in "0.001 0.025 0.5 0.975".split():
        put("beta_quantile", [p, a, b], invert(lambda v: beta_cdf(v, d(a), d(b)), d(p), mpf(0), mpf(1)))
for k, n, p in (("0", "5", "0.5"), ("3", "1000", "0.01"), ("4", "1000", "0.01"), ("985.5", "1000", "0.99"),
                ("17.25", "34.5", "0.5"), ("4999", "10000", "0.5")):
    put("binomial_cdf", [k, n, p], betainc(d(n) - d(k), d(k) + 1, 0, 1 - d(p), regularized=True))
for a in "0.01 0.4444444444444444 1 2.5 100".split():
    for f in "1e-6 0.1 0.7 0.999 1.5 4 30".split():
        x = repr(float(f) * (float(a) + 1))
        put("gamma_upper_log", [a, x], log(gammainc(d(a), d(x), mp.inf, regularized=True)))
mp.dps = 35
for df in ("2", "9", "39"):
    for t, delta in (("2.262", "0"), ("2.262", "1"), ("2.262", "4.472"), ("-2.262", "0.5"), ("0", "2"), ("5", "4")):
        put("student_noncentral_cdf", [t, df, delta], noncentral(d(t), d(df), d(delta)))

with open("distributions.txt", "w") as out:
    out.write("# function arguments value; written by distributions.py with mpmath at 50 digits\n")
    out.write("\n".join(rows) + "\n")
