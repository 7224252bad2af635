#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"SoftmaxCrossEntropyLoss",
     "y = SoftmaxCrossEntropyLoss(x, labels)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1})}},
    {"SoftmaxCrossEntropyLoss sum",
     "y = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, labels)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1})}},
    {"SoftmaxCrossEntropyLoss none",
     "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, labels)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1})}},
    {"SoftmaxCrossEntropyLoss weights",
     "y = SoftmaxCrossEntropyLoss(x, labels, w)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1}), f64("w", {3}, 0.5, 2)}},
    {"SoftmaxCrossEntropyLoss ignored",
     "y = SoftmaxCrossEntropyLoss<ignore_index = -1>(x, labels, w)",
     {f64("x", {4, 3}), i64("labels", {0, -1, 1, 1}), f64("w", {3}, 0.5, 2)}},
    {"SoftmaxCrossEntropyLoss of images",
     "y = SoftmaxCrossEntropyLoss(x, labels)",
     {f64("x", {2, 3, 2}), i64("labels", {2, 2}, {0, 2, 1, 1})}},
    {"SoftmaxCrossEntropyLoss of images, ignored and weighted",
     "y = SoftmaxCrossEntropyLoss<ignore_index = 2, reduction = \"none\">(x, labels, w)",
     {f64("x", {2, 3, 2, 2}), i64("labels", {2, 2, 2}, {0, 2, 1, 1, 2, 0, 0, 1}),
      f64("w", {3}, 0.5, 2)}},
    Case{"SoftmaxCrossEntropyLoss with log_prob",
         "y, p = SoftmaxCrossEntropyLoss(x, labels)",
         {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1})}}
        .giving({"y", "p"}),
    Case{"SoftmaxCrossEntropyLoss weights and log_prob",
         "y, p = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, labels, w)",
         {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1}), f64("w", {3}, 0.5, 2)}}
        .giving({"y", "p"}),
    Case{"SoftmaxCrossEntropyLoss bad label",
         "y = SoftmaxCrossEntropyLoss(x, labels)",
         {f64("x", {2, 3}), i64("labels", {0, 3})}}
        .refused("label 3 is none of 3 classes"),
    {"NegativeLogLikelihoodLoss",
     "y = NegativeLogLikelihoodLoss(x, labels)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1})}},
    {"NegativeLogLikelihoodLoss weights, none",
     "y = NegativeLogLikelihoodLoss<reduction = \"none\">(x, labels, w)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1}), f64("w", {3}, 0.5, 2)}},
    {"NegativeLogLikelihoodLoss weights, ignored",
     "y = NegativeLogLikelihoodLoss<ignore_index = 5>(x, labels, w)",
     {f64("x", {2, 3, 2}), i64("labels", {2, 2}, {0, 5, 1, 1}), f64("w", {3}, 0.5, 2)}},
    {"NegativeLogLikelihoodLoss none",
     "y = NegativeLogLikelihoodLoss<reduction = \"none\">(x, labels)",
     {f64("x", {2, 3, 2}), i64("labels", {2, 2}, {0, 2, 1, 1})}},
    {"NegativeLogLikelihoodLoss sum",
     "y = NegativeLogLikelihoodLoss<reduction = \"sum\", ignore_index = 2>(x, labels, w)",
     {f64("x", {4, 3}), i64("labels", {0, 2, 1, 1}), f64("w", {3}, 0.5, 2)}},
};

}  // namespace

std::span<const Case> loss_cases() { return kCases; }

}  // namespace onward
