#include "plan/gemm.h"
#include "plan/search.h"

#include <inttypes.h>

static const char *kind_name(const GemmChoice *choice) {
    static const char *const names[2][2] = {
        {"normal, standard weights", "normal, interleaved weights"},
        {"swapped, standard weights", "swapped, interleaved weights"},
    };
    return names[choice->swapped][choice->weights];
}

static void explain_part(const PlanGemm *gemm, const PlanCandidate *chosen, FILE *out) {
    const GemmChoice *choice = &chosen->gemm;
    GemmExtents whole = gemm_extents(gemm, choice->swapped);
    uint64_t rows = div_up(whole.rows, choice->rows),
             groups = div_up(whole.groups, choice->columns);
    uint32_t width = precision_group((Precision){.kind = gemm->precision});
    fprintf(out,
            "  largest part: %" PRIu64 " rows x %" PRIu64
            " groups of 16 columns x %u panels of %u; "
            "smallest: %u x %u\n",
            rows, groups, whole.panels, width, whole.rows / choice->rows,
            whole.groups / choice->columns);
    double tiles = (double)choice->rows * choice->columns;
    double useful = (double)gemm->rows * gemm->inner * gemm->columns / (4.0 * width) / tiles;
    double streamed = 4.0 * (double)(rows * groups * whole.panels), all = (double)chosen->cycles;
    fprintf(out,
            "  of the %.0f cycles, %.1f %% multiply logical values, %.1f %% padding or what other "
            "tiles have less,\n  %.1f %% load coefficients, fill pipelines and launch workers\n",
            all, 100 * useful / all, 100 * (streamed - useful) / all, 100 * (all - streamed) / all);
}

static void explain_values(const PlanSearch *search, const PlanGemm *gemm,
                           const PlanCandidate *chosen, FILE *out) {
    Format formats[3];
    gemm_formats(search->graph, gemm, &chosen->gemm, formats);
    const uint32_t values[] = {gemm->left, gemm->right, gemm->result};
    for (int i = 0; i < 3; i++) {
        const GraphValue *value = &search->graph->values.items[values[i]];
        char *format = format_print(&formats[i]);
        fprintf(out,
                "  %%%s: %u %s, %" PRIu64 " bytes in all, %" PRIu64
                " on the fullest tile\n    %s\n",
                value->name, formats[i].replicas, formats[i].replicas == 1 ? "copy" : "copies",
                format_total_bytes(&formats[i], &value->shape),
                format_widest_bytes(&formats[i], &value->shape), format ? format : "");
        mem_free(format);
    }
}

static void explain_alternative(const PlanCandidate *chosen, const PlanCandidate *other,
                                FILE *out) {
    fprintf(out, "    %4u x %-4u %-28s %8" PRIu64 " cycles (%+.1f %%), %" PRIu64 " bytes a tile\n",
            other->gemm.rows, other->gemm.columns, kind_name(&other->gemm), other->cycles,
            100 * ((double)other->cycles / (double)chosen->cycles - 1), other->tile_bytes);
}

static bool same_kind(const PlanCandidate *a, const PlanCandidate *b) {
    return a->gemm.swapped == b->gemm.swapped && a->gemm.weights == b->gemm.weights;
}

/* Up to `limit` candidates from `first` on that are, or are not, of the chosen one's kind; of other
 * kinds only the best one each. */
static void explain_others(const PlanSearch *search, size_t chosen, bool same, int limit,
                           FILE *out) {
    const PlanCandidate *all = search->candidates;
    bool shown[2][2] = {{false}};
    for (size_t i = chosen + 1; i < search->count && limit > 0; i++) {
        bool *seen = &shown[all[i].gemm.swapped][all[i].gemm.weights];
        if (same_kind(&all[i], &all[chosen]) != same || (!same && *seen))
            continue;
        *seen = true;
        explain_alternative(&all[chosen], &all[i], out);
        limit--;
    }
}

void plan_explain(const PlanSearch *search, size_t chosen, FILE *out) {
    PlanGemm gemm;
    if (gemm_find(search->graph, &gemm, NULL) != STATUS_OK)
        return;
    const PlanCandidate *best = &search->candidates[chosen];
    fprintf(out, "%%%s: [%u,%u] x [%u,%u] on at most %u tiles\n",
            search->graph->values.items[gemm.result].name, gemm.rows, gemm.inner, gemm.inner,
            gemm.columns, search->options.tiles);
    fprintf(out, "  chosen: grid %u x %u, %s: %" PRIu64 " cycles on %u tiles\n", best->gemm.rows,
            best->gemm.columns, kind_name(&best->gemm), best->cycles,
            best->gemm.rows * best->gemm.columns);
    fprintf(out, "  %s %" PRIu64 " grids; %zu cheaper ones found no placement\n",
            search->options.force_count ? "forced, from" : "the cheapest of", search->grids,
            chosen);
    explain_part(&gemm, best, out);
    explain_values(search, &gemm, best, out);
    fprintf(out, "  next best grids of this kind, and the best of the other kinds:\n");
    explain_others(search, chosen, true, 3, out);
    explain_others(search, chosen, false, 3, out);
}
