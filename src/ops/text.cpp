#include "ops/families.h"

namespace onward {
namespace {

constexpr std::string_view kTexts = "its result is strings";

const OpDef kTextOps[] = {
    {.name = "RegexFullMatch", .no_gradient = "its input is strings"},
    {.name = "StringConcat", .traits = kBroadcasts, .no_gradient = kTexts},
    {.name = "StringNormalizer", .no_gradient = kTexts},
    {.name = "StringSplit", .no_gradient = kTexts},
    {.name = "TfIdfVectorizer", .no_gradient = "its input is strings or integers"},
};

}  // namespace

std::span<const OpDef> text_ops() { return kTextOps; }

}  // namespace onward
