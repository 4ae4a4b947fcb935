/* Hidden columns in blocks: what is cut, into what, and which codes the pieces have. */
#include "testing.h"

#include "graph/graph.h"

#include <string.h>

static Graph *prepare(const char *text) {
    Graph *graph, *expanded, *split;
    assert_int_equal(graph_parse(text, strlen(text), "g", &graph, NULL), STATUS_OK);
    assert_int_equal(graph_expand(graph, &expanded, NULL), STATUS_OK);
    assert_int_equal(graph_split(expanded, &split, NULL), STATUS_OK);
    graph_free(graph);
    graph_free(expanded);
    return split;
}

/* Cut as `text` says; it can be read back. */
static void expect_cut(const Graph *graph, uint32_t blocks, const char *text) {
    Graph *cut, *read;
    assert_int_equal(graph_cut_hidden(graph, blocks, &cut, NULL), STATUS_OK);
    assert_non_null(cut);
    char *print = graph_print(cut);
    assert_string_equal(print, text);
    assert_int_equal(graph_parse(print, strlen(print), "cut", &read, NULL), STATUS_OK);
    mem_free(print);
    graph_free(read);
    graph_free(cut);
}

/* Both weights transposed or not, a bias, a residual; blocks are whole panels, the last is less. */
static const char mlp[] = "input %x \"x\" : f16[3,8]\n"
                          "parameter %up.w \"up\" : f16[8,70]\n"
                          "parameter %b \"b\" : f16[70]\n"
                          "parameter %down.w \"down\" : f8f143(s=-4)[8,70]\n"
                          "%up = gemm %x, %up.w : f16[3,70]\n"
                          "%s = add %up, %b : f16[3,70]\n"
                          "%h = gelu %s : f16[3,70]\n"
                          "%c = cast %h : f8f143(s=-4)[3,70]\n"
                          "%down = gemm %c, %down.w {transpose_right=true} : f16[3,8]\n"
                          "%r = add %down, %x : f16[3,8]\n"
                          "output %r \"y\"\n";

static void test_blocks(void **state) {
    (void)state;
    Graph *graph = prepare(mlp);
    expect_cut(graph, 2,
               "input %x \"x\" : f16[3,8]\n"
               "parameter %up.w.0 \"up[:,0:64]\" : f16[8,64]\n"
               "parameter %up.w.1 \"up[:,64:70]\" : f16[8,6]\n"
               "parameter %b.0 \"b[0:64]\" : f16[64]\n"
               "parameter %b.1 \"b[64:70]\" : f16[6]\n"
               "parameter %down.w.0 \"down[:,0:64]\" : f8f143(s=-4)[8,64]\n"
               "parameter %down.w.1 \"down[:,64:70]\" : f8f143(s=-4)[8,6]\n"
               "%up.0 = gemm %x, %up.w.0 : f16[3,64]\n"
               "%s.0 = add %up.0, %b.0 : f16[3,64]\n"
               "%h.0 = gelu %s.0 : f16[3,64]\n"
               "%c.0 = cast %h.0 : f8f143(s=-4)[3,64]\n"
               "%down.part.0 = gemm %c.0, %down.w.0 {transpose_right=true} : f16[3,8]\n"
               "%up.1 = gemm %x, %up.w.1 : f16[3,6]\n"
               "%s.1 = add %up.1, %b.1 : f16[3,6]\n"
               "%h.1 = gelu %s.1 : f16[3,6]\n"
               "%c.1 = cast %h.1 : f8f143(s=-4)[3,6]\n"
               "%down.part.1 = gemm %c.1, %down.w.1 {transpose_right=true} : f16[3,8]\n"
               "%down = add %down.part.0, %down.part.1 : f16[3,8]\n"
               "%r = add %down, %x : f16[3,8]\n"
               "output %r \"y\"\n");
    graph_free(graph);
}

/* No more blocks than there are panels; operations of later blocks know those of the first one. */
static void test_marks(void **state) {
    (void)state;
    Graph *graph = prepare(mlp), *cut;
    assert_int_equal(graph_cut_hidden(graph, 100, &cut, NULL), STATUS_OK);
    uint32_t products = 0, first[2] = {GRAPH_NONE, GRAPH_NONE};
    for (uint32_t i = 0; i < cut->ops.count; i++) {
        const GraphOp *op = &cut->ops.items[i];
        if (op->kind != GRAPH_GEMM) {
            assert_true(op->kind != GRAPH_INPUT || op->first_block == GRAPH_NONE);
            continue;
        }
        uint32_t *expected = &first[products++ % 2];
        if (*expected == GRAPH_NONE)
            *expected = i;
        assert_int_equal(op->first_block, *expected);
    }
    assert_int_equal(products, 2 * 3);
    graph_free(cut);
    graph_free(graph);
}

static void test_codes(void **state) {
    (void)state;
    Graph *graph = prepare(mlp), *cut;
    assert_int_equal(graph_cut_hidden(graph, 2, &cut, NULL), STATUS_OK);
    uint16_t x[24] = {0}, up[8 * 70], bias[70];
    uint8_t down[8 * 70];
    for (uint16_t i = 0; i < 8 * 70; i++) {
        up[i] = i;
        down[i] = (uint8_t)(i * 7);
        bias[i % 70] = (uint16_t)(i % 70 + 1000);
    }
    const void *given[16] = {x, up, bias, down}, *pieces[32] = {NULL};
    Arena arena = {0};
    assert_true(graph->values.count <= 16 && cut->values.count <= 32);
    assert_int_equal(graph_cut_codes(graph, cut, given, &arena, pieces, NULL), STATUS_OK);
    const uint16_t *up_last = pieces[2], *bias_last = pieces[4];
    const uint8_t *down_first = pieces[5], *down_last = pieces[6];
    assert_ptr_equal(pieces[0], x);
    for (uint32_t row = 0; row < 8; row++) {
        for (uint32_t column = 64; column < 70; column++) {
            assert_int_equal(up_last[row * 6 + column - 64], up[row * 70 + column]);
            assert_int_equal(down_last[row * 6 + column - 64], down[row * 70 + column]);
            assert_int_equal(bias_last[column - 64], bias[column]);
        }
        assert_int_equal(down_first[row * 64 + 63], down[row * 70 + 63]);
    }
    assert_null(pieces[7]);
    arena_free(&arena);
    graph_free(cut);
    graph_free(graph);
}

/* A second use of what lies between, a weight that is no parameter or used twice, or one block. */
static void test_nothing_to_cut(void **state) {
    (void)state;
    static const char *const texts[] = {
        "input %x \"x\" : f16[3,8]\nparameter %u \"u\" : f16[8,70]\nparameter %d \"d\" : "
        "f16[70,8]\n"
        "%a = gemm %x, %u : f16[3,70]\n%y = gemm %a, %d : f16[3,8]\noutput %y \"y\"\n"
        "output %a \"a\"\n",
        "input %x \"x\" : f16[3,8]\nparameter %u \"u\" : f16[8,70]\ninput %d \"d\" : f16[70,8]\n"
        "%a = gemm %x, %u : f16[3,70]\n%y = gemm %a, %d : f16[3,8]\noutput %y \"y\"\n",
        "input %x \"x\" : f16[3,70]\nparameter %u \"u\" : f16[70,70]\n"
        "%a = gemm %x, %u : f16[3,70]\n%y = gemm %a, %u : f16[3,70]\noutput %y \"y\"\n",
        "input %x \"x\" : f16[3,8]\nparameter %u \"u\" : f16[8,32]\nparameter %d \"d\" : "
        "f16[32,8]\n"
        "%a = gemm %x, %u : f16[3,32]\n%y = gemm %a, %d : f16[3,8]\noutput %y \"y\"\n",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Graph *graph = prepare(texts[i]), *cut;
        assert_int_equal(graph_cut_hidden(graph, 4, &cut, NULL), STATUS_OK);
        assert_null(cut);
        graph_free(graph);
    }
}

static void test_without_memory(void **state) {
    (void)state;
    Graph *graph = prepare(mlp), *cut = NULL;
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status != STATUS_OK; n++) {
        assert_int_equal(status, ERR_NO_MEMORY);
        mem_fail_after(n);
        status = graph_cut_hidden(graph, 3, &cut, NULL);
        mem_fail_after(0);
    }
    graph_free(cut);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),         cmocka_unit_test(test_marks),
        cmocka_unit_test(test_codes),          cmocka_unit_test(test_nothing_to_cut),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
