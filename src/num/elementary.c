#include "num/elementary.h"

#include "num/exact.h"

#include <math.h>

/* high + low, |low| at most half a unit of high. */
typedef struct Pair {
    double high, low;
} Pair;

static const Pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

static Pair fast_sum(double a, double b) { /* |a| >= |b| */
    double sum = a + b;
    return (Pair){sum, b - (sum - a)};
}

static Pair sum_of(double a, double b) {
    double sum = a + b, part = sum - a;
    return (Pair){sum, (a - (sum - part)) + (b - part)};
}

static Pair product_of(double a, double b) {
    double product = a * b;
    return (Pair){product, fma(a, b, -product)};
}

static Pair add(Pair a, Pair b) {
    Pair high = sum_of(a.high, b.high), low = sum_of(a.low, b.low);
    Pair sum = fast_sum(high.high, high.low + low.high);
    return fast_sum(sum.high, sum.low + low.low);
}

static Pair multiply(Pair a, Pair b) {
    Pair product = product_of(a.high, b.high);
    return fast_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static Pair divide(Pair a, Pair b) {
    double first = a.high / b.high;
    Pair rest = add(a, multiply(b, (Pair){-first, 0}));
    double second = rest.high / b.high;
    rest = add(rest, multiply(b, (Pair){-second, 0}));
    Pair sum = fast_sum(first, second);
    return add(sum, (Pair){rest.high / b.high, 0});
}

static Pair scale(Pair a, int exponent) {
    return (Pair){ldexp(a.high, exponent), ldexp(a.low, exponent)};
}

static double to_odd(Pair a) {
    return exact_to_odd(a.high, a.low);
}

/* e^r - 1 for |r| <= ln(2) / 2, by Horner's rule; r^24 / 25! is below 2^-110. */
static Pair small_expm1(Pair r) {
    Pair sum = {1, 0};
    for (int n = 24; n >= 2; n--)
        sum = add((Pair){1, 0}, divide(multiply(r, sum), (Pair){n, 0}));
    return multiply(r, sum);
}

/* e^x for |x| < 300, as a fraction and a power of two. */
static Pair reduced_exp(double x, int *exponent, Pair *expm1) {
    double k = nearbyint(x / ln2.high);
    Pair r = add(sum_of(x, 0), multiply((Pair){-k, 0}, ln2));
    /* ln2 to 159 bits: k * its third part still matters when r is small. */
    r = add(r, (Pair){-k * 0x1.7b57a079a1934p-111, 0});
    *exponent = (int)k;
    *expm1 = small_expm1(r);
    return add((Pair){1, 0}, *expm1);
}

static Pair pair_exp(double x) {
    int exponent;
    Pair expm1, value = reduced_exp(x, &exponent, &expm1);
    return scale(value, exponent);
}

/* e^x - 1 for 0 <= x < 300. */
static Pair pair_expm1(double x) {
    int exponent;
    Pair expm1, value = reduced_exp(x, &exponent, &expm1);
    return exponent == 0 ? expm1 : add(scale(value, exponent), (Pair){-1, 0});
}

double elementary_exp(double x) {
    if (isnan(x) || x == 0)
        return isnan(x) ? x : 1;
    if (fabs(x) > 200)
        return isinf(x) ? (x > 0 ? x : 0) : ldexp(1, x > 0 ? 300 : -300);
    return to_odd(pair_exp(x));
}

double elementary_exp2(double x) {
    if (isnan(x))
        return x;
    if (fabs(x) > 250)
        return isinf(x) ? (x > 0 ? x : 0) : ldexp(1, x > 0 ? 300 : -300);
    double whole = nearbyint(x);
    if (whole == x)
        return ldexp(1, (int)whole);
    Pair value = add((Pair){1, 0}, small_expm1(multiply((Pair){x - whole, 0}, ln2)));
    return to_odd(scale(value, (int)whole));
}

/* x = fraction * 2^exponent, fraction in [sqrt(1/2), sqrt(2)): the logarithm of the fraction, by
 * the series 2 (s + s^3 / 3 + …) of s = (fraction - 1) / (fraction + 1), |s| < 0.172. */
static Pair fraction_log(double x, int *exponent) {
    double fraction = frexp(x, exponent);
    if (fraction < 0x1.6a09e667f3bcdp-1) {
        fraction *= 2;
        *exponent -= 1;
    }
    Pair s = divide((Pair){fraction - 1, 0}, sum_of(fraction, 1)), square = multiply(s, s);
    Pair sum = {0, 0};
    for (int n = 45; n >= 1; n -= 2)
        sum = add(multiply(sum, square), divide((Pair){2, 0}, (Pair){n, 0}));
    return multiply(sum, s);
}

static double log_limits(double x) {
    if (x == 0)
        return -INFINITY;
    return x > 0 ? x : NAN;
}

double elementary_log(double x) {
    if (!(x > 0) || isinf(x))
        return log_limits(x);
    int exponent;
    Pair fraction = fraction_log(x, &exponent);
    if (exponent == 0 && fraction.high == 0)
        return 0;
    return to_odd(add(multiply((Pair){exponent, 0}, ln2), fraction));
}

double elementary_log2(double x) {
    if (!(x > 0) || isinf(x))
        return log_limits(x);
    int exponent;
    Pair fraction = fraction_log(x, &exponent);
    if (fraction.high == 0)
        return exponent;
    return to_odd(add((Pair){exponent, 0}, divide(fraction, ln2)));
}

double elementary_tanh(double x) {
    if (isnan(x) || x == 0)
        return x;
    double magnitude = fabs(x);
    if (isinf(x))
        return copysign(1, x);
    /* From here on it is 1 less something below the last bit of a double, not 1. */
    if (magnitude > 30)
        return copysign(0x1.fffffffffffffp-1, x);
    /* Below, the series x - x^3 / 3 has no third term that a double shows. */
    if (magnitude < 0x1p-40)
        return exact_to_odd(x, -x);
    Pair e = pair_expm1(2 * magnitude);
    return copysign(to_odd(divide(e, add(e, (Pair){2, 0}))), x);
}

double elementary_sigmoid(double x) {
    if (isnan(x))
        return x;
    if (isinf(x))
        return x > 0 ? 1 : 0;
    if (x > 60)
        return 0x1.fffffffffffffp-1;
    if (x < -200)
        return ldexp(1, -300);
    if (x == 0)
        return 0.5;
    return to_odd(divide((Pair){1, 0}, add((Pair){1, 0}, pair_exp(-x))));
}

double elementary_divide(double x, double y) {
    double quotient = x / y;
    return exact_to_odd(quotient, fma(-quotient, y, x) * (y > 0 ? 1 : -1));
}

double elementary_sqrt(double x) {
    double root = sqrt(x);
    return exact_to_odd(root, fma(-root, root, x));
}

double elementary_inverse_sqrt(double x) {
    /* r = 1 / sqrt(x) - error; 1 - x r^2 has the sign of the error. */
    double r = 1 / sqrt(x);
    Pair square = product_of(r, r);
    Pair product = multiply(square, (Pair){x, 0});
    Pair rest = add((Pair){1, 0}, (Pair){-product.high, -product.low});
    /* Newton's step makes r the nearest double. */
    Pair better = fast_sum(r, rest.high * r / 2);
    return to_odd(better);
}
