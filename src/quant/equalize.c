#include "quant/equalize.h"

#include "base/mem.h"
#include "quant/vector.h"

#include <math.h>

enum { ALPHAS = 5 };

typedef struct Scoring {
    const EqualizeConsumer *consumer;
    uint32_t inputs;
    const float *t;        /* NULL: ones */
    const double *weights; /* of squared errors, by column */
    Granularity granularity;
    int scale;      /* of the whole tensor */
    float **rows;   /* scratch of each thread: 64 rows scaled, one projected */
    double *errors; /* by tile of rows */
} Scoring;

static float scaled_largest(const Scoring *job, uint32_t row, uint32_t first, uint32_t width,
                            float *out) {
    const float *w = job->consumer->weight + (size_t)row * job->inputs + first;
    float largest = 0;
    for (uint32_t c = 0; c < width; c++) {
        out[c] = job->t ? w[c] * job->t[first + c] : w[c];
        largest = fmaxf(largest, fabsf(out[c]));
    }
    return largest;
}

static void largest_of_tile(void *context, size_t tile, unsigned worker) {
    const Scoring *job = context;
    uint32_t row = (uint32_t)tile * SCALE_BLOCK,
             end = MIN_OF(row + SCALE_BLOCK, job->consumer->outputs);
    float largest = 0;
    for (; row < end; row++)
        largest = fmaxf(largest, scaled_largest(job, row, 0, job->inputs, job->rows[worker]));
    job->errors[tile] = (double)largest;
}

static double row_error(const Scoring *job, const float *w, float *q, uint32_t first,
                        uint32_t width, int scale) {
    double sum = 0;
    vector_get()->project(q, w, width, scale);
    for (uint32_t c = 0; c < width; c++) {
        double error = (double)w[c] - (double)q[c];
        sum += error * error * job->weights[first + c];
    }
    return sum;
}

static void score_tile(void *context, size_t tile, unsigned worker) {
    const Scoring *job = context;
    uint32_t row = (uint32_t)tile * SCALE_BLOCK,
             end = MIN_OF(row + SCALE_BLOCK, job->consumer->outputs);
    uint32_t step = job->granularity == GRANULARITY_TENSOR ? job->inputs : SCALE_BLOCK;
    float *scaled = job->rows[worker], *q = scaled + (size_t)SCALE_BLOCK * step;
    double sum = 0;
    for (uint32_t first = 0; first < job->inputs; first += step) {
        uint32_t width = MIN_OF(step, job->inputs - first);
        float largest = 0;
        for (uint32_t r = row; r < end; r++)
            largest = fmaxf(
                largest, scaled_largest(job, r, first, width, scaled + (size_t)(r - row) * width));
        int scale = job->granularity == GRANULARITY_TENSOR
                        ? job->scale
                        : scale_for_magnitude((double)largest, F8_F143);
        for (uint32_t r = row; r < end; r++)
            sum += row_error(job, scaled + (size_t)(r - row) * width, q, first, width, scale);
    }
    job->errors[tile] = sum;
}

static double score_consumer(Scoring *job, Pool *pool) {
    size_t tiles = (size_t)div_up(job->consumer->outputs, SCALE_BLOCK);
    if (job->granularity == GRANULARITY_TENSOR) {
        double largest = 0;
        pool_run(pool, tiles, largest_of_tile, job);
        for (size_t i = 0; i < tiles; i++)
            largest = fmax(largest, job->errors[i]);
        job->scale = scale_for_magnitude(largest, F8_F143);
    }
    pool_run(pool, tiles, score_tile, job);
    double sum = 0;
    for (size_t i = 0; i < tiles; i++)
        sum += job->errors[i];
    return sum;
}

/* Root mean square of each column over all rows of the stacked consumers. */
static void measure_columns(const EqualizeConsumer *consumers, size_t count, uint32_t inputs,
                            double *rms) {
    uint64_t rows = 0;
    for (uint32_t c = 0; c < inputs; c++)
        rms[c] = 0;
    for (size_t i = 0; i < count; i++) {
        rows += consumers[i].outputs;
        for (uint32_t r = 0; r < consumers[i].outputs; r++) {
            const float *w = consumers[i].weight + (size_t)r * inputs;
            for (uint32_t c = 0; c < inputs; c++)
                rms[c] += (double)w[c] * (double)w[c];
        }
    }
    for (uint32_t c = 0; c < inputs; c++)
        rms[c] = fmax(sqrt(rms[c] / (double)rows), 1e-8);
}

static void make_t(const double *moments, const double *rms, uint32_t inputs, double alpha,
                   double limit, float *t) {
    double least = INFINITY, most = 0;
    for (uint32_t c = 0; c < inputs; c++) {
        double a = fmax(sqrt(moments[c]), 1e-8);
        double value = pow(a, alpha) / pow(rms[c], 1 - alpha);
        t[c] = (float)value;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    double middle = sqrt(least * most);
    for (uint32_t c = 0; c < inputs; c++) {
        double a = fmax(sqrt(moments[c]), 1e-8);
        double value = pow(a, alpha) / pow(rms[c], 1 - alpha) / middle;
        t[c] = (float)fmin(fmax(value, 1 / limit), limit);
    }
}

typedef struct Room {
    double *rms, *weights, *errors;
    float *t, **rows;
    unsigned threads;
} Room;

static bool make_room(Room *room, const EqualizeConsumer *consumers, size_t count, uint32_t inputs,
                      unsigned threads) {
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = MAX_OF(most, consumers[i].outputs);
    *room = (Room){mem_alloc(inputs, sizeof(double)),
                   mem_alloc(inputs, sizeof(double)),
                   mem_alloc(div_up(most, SCALE_BLOCK), sizeof(double)),
                   mem_alloc(inputs, sizeof(float)),
                   mem_alloc(threads, sizeof(float *)),
                   threads};
    bool made = room->rms && room->weights && room->errors && room->t && room->rows;
    for (unsigned i = 0; i < threads && made; i++)
        made =
            (room->rows[i] = mem_alloc(
                 (SCALE_BLOCK + 1) * (size_t)MAX_OF(inputs, (uint32_t)SCALE_BLOCK), sizeof(float)));
    return made;
}

static void free_room(Room *room) {
    for (unsigned i = 0; room->rows && i < room->threads; i++)
        mem_free(room->rows[i]);
    mem_free(room->rows);
    mem_free(room->rms);
    mem_free(room->weights);
    mem_free(room->errors);
    mem_free(room->t);
}

static double score(const EqualizeConsumer *consumers, size_t count, Scoring *job, Pool *pool) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        job->consumer = &consumers[i];
        sum += score_consumer(job, pool);
    }
    return sum;
}

static void choose(const EqualizeConsumer *consumers, size_t count, uint32_t inputs,
                   const double *moments, Granularity granularity, double limit, Pool *pool,
                   Room *room, Equalized *result) {
    Scoring job = {.inputs = inputs,
                   .weights = moments,
                   .granularity = granularity,
                   .rows = room->rows,
                   .errors = room->errors};
    double baseline = score(consumers, count, &job, pool), best = INFINITY;
    measure_columns(consumers, count, inputs, room->rms);
    for (int i = 0; i < ALPHAS; i++) {
        double alpha = 0.25 * i;
        make_t(moments, room->rms, inputs, alpha, limit, room->t);
        for (uint32_t c = 0; c < inputs; c++)
            room->weights[c] = moments[c] / ((double)room->t[c] * (double)room->t[c]);
        job.t = room->t;
        job.weights = room->weights;
        double found = score(consumers, count, &job, pool);
        if (!(found < best))
            continue;
        best = found;
        result->alpha = alpha;
        for (uint32_t c = 0; c < inputs; c++)
            result->t[c] = room->t[c];
    }
    result->ratio = baseline > 0 ? best / baseline : 0;
    result->least = INFINITY;
    for (uint32_t c = 0; c < inputs; c++) {
        result->least = fmin(result->least, (double)result->t[c]);
        result->most = fmax(result->most, (double)result->t[c]);
    }
}

Status equalize_group(const EqualizeConsumer *consumers, size_t count, uint32_t inputs,
                      const double *moments, Granularity granularity, double limit, Pool *pool,
                      Equalized *result, Diag *diag) {
    Room room;
    *result = (Equalized){.t = mem_alloc(inputs, sizeof *result->t)};
    bool made = make_room(&room, consumers, count, inputs, pool_threads(pool)) && result->t;
    if (made)
        choose(consumers, count, inputs, moments, granularity, limit, pool, &room, result);
    else
        mem_free(result->t);
    free_room(&room);
    return made ? STATUS_OK
                : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE,
                             "no memory left for the equalization");
}
