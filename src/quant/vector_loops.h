/* Included by vector.c once for each level, with NAME, TARGET and Bytes: the loops whose sums must
 * stay in registers. Eight vectors of eight hold the rows of a tile. */

#define EACH(statement)                                                                            \
    do {                                                                                           \
        statement(0);                                                                              \
        statement(1);                                                                              \
        statement(2);                                                                              \
        statement(3);                                                                              \
        statement(4);                                                                              \
        statement(5);                                                                              \
        statement(6);                                                                              \
        statement(7);                                                                              \
    } while (0)

/* The corrections of a column are taken when its turn comes, in the order in which the loop would
 * have spread them: the same values. */
TARGET static void NAME(loop)(float *out, const float *w, float *error, const float *ut,
                              size_t width, const int *scales) {
    const float least = 1.1920929e-7f;
    for (size_t j = 0; j < width; j++) {
        const float *u = ut + j * width;
        const Wide *from = (const Wide *)(w + j * VECTOR_ROWS);
        Wide v0 = from[0], v1 = from[1], v2 = from[2], v3 = from[3];
        Wide v4 = from[4], v5 = from[5], v6 = from[6], v7 = from[7];
        for (size_t i = 0; i < j; i++) {
            const Wide *e = (const Wide *)(error + i * VECTOR_ROWS);
#define TAKE(l) v##l -= e[l] * u[i]
            EACH(TAKE);
#undef TAKE
        }
        float value[VECTOR_ROWS], *q = out + j * VECTOR_ROWS;
        Wide *to = (Wide *)value;
#define KEEP(l) to[l] = v##l
        EACH(KEEP);
#undef KEEP
        project_body(q, value, VECTOR_ROWS, scales[j]);
        float divisor = u[j] > least ? u[j] : least;
        for (size_t r = 0; r < VECTOR_ROWS; r++)
            error[j * VECTOR_ROWS + r] = (value[r] - q[r]) / divisor;
    }
}

TARGET static double NAME(quadratic)(const float *e, const float *h, size_t width) {
    double sum = 0;
    for (size_t j = 0; j < width; j++) {
        Wide t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, t4 = {0}, t5 = {0}, t6 = {0}, t7 = {0};
        for (size_t k = 0; k < j; k++) {
            const Wide *x = (const Wide *)(e + k * VECTOR_ROWS);
            float factor = h[j * width + k];
#define ADD(l) t##l += x[l] * factor
            EACH(ADD);
#undef ADD
        }
        const Wide *own = (const Wide *)(e + j * VECTOR_ROWS);
        float diagonal = h[j * width + j];
        Wide lanes = {0};
#define CLOSE(l) lanes += own[l] * (2.0f * t##l + own[l] * diagonal)
        EACH(CLOSE);
#undef CLOSE
        for (int l = 0; l < 8; l++)
            sum += (double)lanes[l];
    }
    return sum;
}

/* Comparing with the few values that occur is faster than a table whose counts wait for each other.
 * Zeros may be far below the rest: they come first. */
TARGET static void NAME(histogram)(uint64_t *counts, const uint8_t *bytes, size_t count,
                                   unsigned most) {
    size_t whole = count / sizeof(Bytes) * sizeof(Bytes);
    for (size_t i = whole; i < count; i++)
        counts[bytes[i]]++;
    Bytes zeros = {0};
    for (size_t i = 0; i < whole; i += sizeof zeros)
        zeros -= (Bytes)(*(const Bytes *)(bytes + i) == 0);
    uint64_t found = sum_bytes_body(&zeros, sizeof zeros);
    counts[0] += found;
    for (unsigned bin = most & ~3u; found < whole; bin -= 4) {
        Bytes n0 = {0}, n1 = {0}, n2 = {0}, n3 = {0};
        Bytes v0 = n0 + (uint8_t)bin, v1 = v0 + 1, v2 = v0 + 2, v3 = v0 + 3;
        for (size_t i = 0; i < whole; i += sizeof v0) {
            Bytes x = *(const Bytes *)(bytes + i);
            n0 -= (Bytes)(x == v0);
            n1 -= (Bytes)(x == v1);
            n2 -= (Bytes)(x == v2);
            n3 -= (Bytes)(x == v3);
        }
        uint64_t sums[4] = {bin ? sum_bytes_body(&n0, sizeof n0) : 0,
                            sum_bytes_body(&n1, sizeof n1), sum_bytes_body(&n2, sizeof n2),
                            sum_bytes_body(&n3, sizeof n3)};
        for (int i = 0; i < 4; i++) {
            counts[bin + (unsigned)i] += sums[i];
            found += sums[i];
        }
    }
}

#undef EACH
#undef NAME
#undef TARGET
