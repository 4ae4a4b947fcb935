/* The generated tower: its bytes and the outputs of the host network against published values. */
#include "shell.h"
#include "testing.h"

#include "base/random.h"
#include "image/image.h"
#include "num/f8.h"
#include "num/scale.h"
#include "quant/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Names {
    char *names[80];
    uint64_t counts[80], fan_in[80];
    size_t count;
} Names;

static Status collect(void *context, const char *name, uint32_t rank, const uint64_t *dims) {
    Names *names = context;
    uint64_t count = 1;
    for (uint32_t axis = 0; axis < rank; axis++)
        count *= dims[axis];
    names->names[names->count] = mem_strdup(name);
    names->counts[names->count] = count;
    names->fan_in[names->count++] = count / dims[0];
    return STATUS_OK;
}

static size_t least_name(const Names *names, const char *after) {
    size_t best = names->count;
    for (size_t i = 0; i < names->count; i++)
        if ((!after || strcmp(names->names[i], after) > 0) &&
            (best == names->count || strcmp(names->names[i], names->names[best]) < 0))
            best = i;
    return best;
}

static void test_generator(void **state) {
    (void)state;
    Names names = {0};
    assert_int_equal(siglip_each_tensor(&siglip_tiny, collect, &names), STATUS_OK);
    assert_int_equal(names.count, 64);
    uint64_t parameters = 0;
    uint32_t crc = 0;
    double sum = 0;
    const char *last = NULL;
    for (size_t n = 0; n < names.count; n++) {
        size_t i = least_name(&names, last);
        last = names.names[i];
        float *values = mem_alloc(names.counts[i], sizeof *values);
        generate_tensor(last, names.counts[i], names.fan_in[i], values);
        crc = image_crc32(crc, values, names.counts[i] * sizeof *values);
        parameters += names.counts[i];
        for (uint64_t k = 0; k < names.counts[i]; k++)
            sum += values[k];
        mem_free(values);
    }
    assert_int_equal(parameters, 823120);
    assert_int_equal(crc, 0xD5D17717);
    assert_float_equal(sum, 1194.62372485, 1e-6);
    for (size_t i = 0; i < names.count; i++)
        mem_free(names.names[i]);

    crc = 0;
    for (int image = 0; image < 6; image++) {
        char name[32];
        snprintf(name, sizeof name, "pixel_values.%d", image);
        static float pixels[2700];
        generate_tensor(name, COUNT_OF(pixels), 0, pixels);
        crc = image_crc32(crc, pixels, sizeof pixels);
    }
    assert_int_equal(crc, 0x10CAD327);
    Random random = random_tensor("vision_model.head.probe", 143);
    assert_int_equal(random_next(&random), 0x1652A45E092302BA);
}

/* F143 codes of the encoder's weights at their own scales, in the order in which layers use them.
 */
static void test_codes(void **state) {
    (void)state;
    static const char *const linears[] = {"self_attn.q_proj", "self_attn.k_proj",
                                          "self_attn.v_proj", "self_attn.out_proj",
                                          "mlp.fc1",          "mlp.fc2"};
    Names names = {0};
    assert_int_equal(siglip_each_tensor(&siglip_tiny, collect, &names), STATUS_OK);
    uint32_t crc = 0;
    uint64_t bytes = 0;
    for (int layer = 0; layer < 3; layer++)
        for (size_t l = 0; l < COUNT_OF(linears); l++) {
            char end[64];
            snprintf(end, sizeof end, "layers.%d.%s.weight", layer, linears[l]);
            size_t i = 0;
            while (!strstr(names.names[i], end))
                assert_true(++i < names.count);
            size_t count = names.counts[i];
            float *values = mem_alloc(count, sizeof *values);
            uint8_t *codes = mem_alloc(count, 1);
            generate_tensor(names.names[i], count, names.fan_in[i], values);
            int scale = scale_for_magnitude(scale_magnitude_f32(values, count), F8_F143);
            f8_encode_f32(codes, values, count, F8_F143, scale, F8_HOST);
            crc = image_crc32(crc, codes, count);
            bytes += count;
            mem_free(values);
            mem_free(codes);
        }
    assert_int_equal(bytes, 594432);
    assert_int_equal(crc, 0x1C5239E0);
    for (size_t i = 0; i < names.count; i++)
        mem_free(names.names[i]);
}

static void test_so400m(void **state) {
    (void)state;
    Names *names = mem_alloc(1, sizeof *names);
    SiglipConfig config = siglip_so400m;
    config.layers = 1;
    assert_int_equal(siglip_each_tensor(&config, collect, names), STATUS_OK);
    uint64_t parameters = 0;
    for (size_t i = 0; i < names->count; i++) {
        parameters += names->counts[i];
        mem_free(names->names[i]);
    }
    assert_int_equal(parameters + 26 * 15239504ull, 428225600);
    mem_free(names);
}

/* Runs the float network over one generated image. */
static void run_float(Net *net, int image, NetSample *sample) {
    Diag diag = {0};
    char name[32];
    snprintf(name, sizeof name, "pixel_values.%d", image);
    assert_int_equal(net_sample_make(net, name, 16, sample, &diag), STATUS_OK);
    generate_tensor(name, 2700, 0, sample->buffers[SIGLIP_PIXELS]);
    NetRun run = {0};
    for (size_t stage = 0; stage < net->stage_count; stage++) {
        assert_int_equal(net_load(net, stage, NULL, &diag), STATUS_OK);
        assert_int_equal(net_run(net, stage, sample, &run, &diag), STATUS_OK);
        net_unload(net, stage);
    }
    diag_free(&diag);
}

static void test_forward(void **state) {
    (void)state;
    static const struct {
        float first[6];
        double norm, sum;
    } golden[] = {
        {{0.1311029f, -0.1110606f, -0.6919417f, 0.6142887f, -0.3782116f, 1.5390225f},
         11.19926878,
         -11.24911872},
        {{0.5823888f, 1.0247712f, -0.8889867f, 0.7283207f, 0.0084541f, 0.7086088f},
         10.98211622,
         -17.40332255},
        {{0.7410729f, 1.4188188f, -1.5517963f, 0.7789502f, -0.0847120f, 1.2024051f},
         11.67075240,
         -20.31671581},
        {{0.1248519f, 1.2050663f, -0.4237664f, 0.2993105f, -0.3805073f, 1.4579002f},
         11.10226317,
         -11.72356755},
        {{-0.4527285f, 0.2369518f, -0.4896580f, 0.0111527f, 0.2303457f, 1.1462537f},
         10.64524439,
         -18.92677818},
        {{-0.5178609f, 0.5785110f, -1.1800322f, 0.6624532f, -0.1138153f, 1.3451907f},
         11.53875782,
         -18.02540569},
    };
    char folder[] = "/tmp/tilework-siglip-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *model = mem_printf("%s/tiny", folder), *config_path = mem_printf("%s/config.json", model);
    Diag diag = {0};
    assert_int_equal(generate_model(&siglip_tiny, model, 6, &diag), STATUS_OK);
    SiglipConfig config;
    assert_int_equal(siglip_read_config(config_path, &config, &diag), STATUS_OK);
    assert_int_equal(siglip_tokens(&config), 16);

    Checkpoint *checkpoint;
    Net net;
    Pool *pool = pool_create(2);
    assert_int_equal(checkpoint_open(model, &checkpoint, &diag), STATUS_OK);
    assert_int_equal(siglip_build(&config, &net, &diag), STATUS_OK);
    assert_int_equal(net.stage_count, 5);
    assert_int_equal(net.linears.count, 18);
    assert_int_equal(net.sites.count, 12);
    assert_int_equal(net_bind(&net, checkpoint, &diag), STATUS_OK);
    assert_int_equal(net_prepare(&net, pool, 16, &diag), STATUS_OK);
    for (int image = 0; image < 6; image++) {
        NetSample sample;
        run_float(&net, image, &sample);
        const float *pooled = sample.buffers[SIGLIP_POOLED], *last = sample.buffers[SIGLIP_LAST];
        double squares = 0, sum = 0;
        for (int i = 0; i < 144; i++) {
            squares += (double)pooled[i] * pooled[i];
            sum += pooled[i];
        }
        for (int i = 0; i < 6; i++)
            assert_float_equal(pooled[i], golden[image].first[i], 1e-5);
        assert_float_equal(sqrt(squares), golden[image].norm, 1e-4);
        assert_float_equal(sum, golden[image].sum, 1e-4);
        if (image == 0) {
            assert_float_equal(last[0], -0.0923307, 1e-5);
            assert_float_equal(last[3], 0.2585945, 1e-5);
            assert_float_equal(last[15 * 144], -0.3425779, 1e-5);
            assert_float_equal(last[15 * 144 + 3], 1.3093827, 1e-5);
        }
        net_sample_free(&net, &sample);
    }
    net_free(&net);
    checkpoint_close(checkpoint);
    pool_free(pool);
    diag_free(&diag);
    char *command = mem_printf("rm -rf %s", folder);
    assert_int_equal(shell_run(command), 0);
    mem_free(command);
    mem_free(model);
    mem_free(config_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generator),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_so400m),
        cmocka_unit_test(test_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
