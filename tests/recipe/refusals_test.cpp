// Wrong names, patterns, types and numbers: one clear error each.

#include <gtest/gtest.h>

#include <algorithm>

#include "onward/error.h"
#include "recipe/loss_def.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

constexpr std::string_view kTwoOutputs = R"(
<ir_version: 8, opset_import: ["" : 17]>
g (double[N,2] x) => (double[N,3] a, int64[N] b) <double[2,3] w = full(1)> {
  a = MatMul(x, w)
  b = ArgMax<axis = 1, keepdims = 0>(a)
})";

struct Refusal {
  std::string_view name;
  std::string_view model;
  std::function<void(Recipe&)> change;
  std::string_view error;
};

void custom(Recipe& recipe, std::string_view text) {
  recipe.loss = "custom";
  recipe.loss_graph = std::make_shared<const Model>(model_of(text));
}

const Refusal kRefusals[] = {
    {"which_output", kTwoOutputs, [](Recipe&) {},
     "the model has 2 outputs, choose the one for the loss with --model-output: 'a', 'b'"},
    {"no_such_output", kTwoOutputs, [](Recipe& r) { r.output = "c"; },
     "the model has no output 'c': it has 'a', 'b'"},
    {"output_of_integers", kTwoOutputs, [](Recipe& r) { r.output = "b"; },
     "the loss cannot be computed from 'b': it is i64[N], not a floating-point tensor"},
    {"no_classes",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (double[N] x) => (double[N] y) <double[1] w = "
     "full(1)> { y = PRelu(x, w) }",
     [](Recipe&) {}, "softmax_cross_entropy expects classes in dimension 1, but 'y' is f64[N]"},
    {"idle_train", kConvolutional, [](Recipe& r) { r.train = {"head.*"}; },
     "the pattern 'head.*' matches no tensor: there are 'conv.weight', 'conv.bias', 'bn.weight', "
     "'bn.bias', 'bn.mean', 'bn.var', 'fc.weight', 'fc.bias', 'ratio'"},
    {"idle_freeze", kConvolutional, [](Recipe& r) { r.freeze = {"fc.weights"}; },
     "the pattern 'fc.weights' matches no tensor: there are "},
    {"all_frozen", kConvolutional, [](Recipe& r) { r.freeze = {"*"}; },
     "nothing would be trained: choose tensors with --train; there are 'conv.weight'"},
    {"statistic", kConvolutional, [](Recipe& r) { r.train = {"bn.mean"}; },
     "'bn.mean' can't be trained: it is the running mean of BatchNormalization 'b'"},
    {"integers",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (double[N,4] x) => (double[N,4] y) <double[4,4] "
     "w = full(1), int64[2] s = {-1, 4}> { m = MatMul(x, w) y = Reshape(m, s) }",
     [](Recipe& r) { r.train = {"s"}; }, "'s' can't be trained: it is i64[2]"},
    {"unreached", kConvolutional, [](Recipe& r) { r.train = {"ratio"}; },
     "'ratio' can't be trained: no gradient of the loss reaches it"},
    {"momentum", kConvolutional,
     [](Recipe& r) {
       r.optimizer = default_settings("momentum", Formula::torch);
       r.optimizer.set("momentum", 1.5);
     },
     "momentum must be at least 0 and less than 1, not 1.5"},
    {"rate", kConvolutional, [](Recipe& r) { r.optimizer.set("learning_rate", -1); },
     "lr must be a finite number of at least 0, not -1"},
    {"dampening_in_keras", kConvolutional,
     [](Recipe& r) {
       r.optimizer = default_settings("momentum", Formula::keras);
       r.optimizer.set("dampening", 0.5);
     },
     "momentum (keras formula) has no setting dampening: it has lr, "},
    {"dampened_nesterov", kConvolutional,
     [](Recipe& r) {
       r.optimizer = default_settings("nesterov", Formula::torch);
       r.optimizer.set("dampening", 0.5);
     },
     "nesterov (torch formula) has no setting dampening: it has lr, "},
    {"ignored_label_of_mse", kLinear,
     [](Recipe& r) {
       r.loss = "mse";
       r.ignore_index = 1;
     },
     "ignore_index applies to softmax_cross_entropy, nll only, not to mse"},
    {"ignored_label_of_bce", kLinear,
     [](Recipe& r) {
       r.loss = "bce_with_logits";
       r.ignore_index = -100;
     },
     "ignore_index applies to softmax_cross_entropy, nll only, not to bce_with_logits"},
    {"smoothed_mse", kLinear,
     [](Recipe& r) {
       r.loss = "mse";
       r.loss_settings["label_smoothing"] = 0.1;
     },
     "label_smoothing applies to softmax_cross_entropy, categorical_cross_entropy only, not to "
     "mse"},
    {"unknown_loss_setting", kLinear, [](Recipe& r) { r.loss_settings["delt"] = 0.1; },
     "unknown loss setting 'delt': did you mean 'delta'?"},
    {"delta_of_zero", kLinear,
     [](Recipe& r) {
       r.loss = "huber";
       r.loss_settings["delta"] = 0;
     },
     "delta must be a finite number above 0, not 0"},
    {"class_weights_of_mse", kLinear,
     [](Recipe& r) {
       r.loss = "mse";
       r.class_weights = {1, 2};
     },
     "class_weights applies to softmax_cross_entropy, categorical_cross_entropy, nll only"},
    {"class_axis_of_mse", kLinear,
     [](Recipe& r) {
       r.loss = "mse";
       r.class_axis = -1;
     },
     "class_axis applies to softmax_cross_entropy, categorical_cross_entropy, nll only"},
    {"negative_class_weight", kConvolutional, [](Recipe& r) { r.class_weights = {1, -2, 1}; },
     "class_weights must be finite numbers of at least 0, not -2"},
    {"smoothed_class_of_no_weight", kConvolutional,
     [](Recipe& r) {
       r.class_weights = {1, 0, 1};
       r.loss_settings["label_smoothing"] = 0.1;
     },
     "class_weights must be above 0 with label_smoothing, which counts all classes"},
    {"other_number_of_class_weights", kConvolutional, [](Recipe& r) { r.class_weights = {1, 2}; },
     "training info 0, algorithm, node 'loss' (SoftmaxCrossEntropyLoss), tensor 'class_weights': "
     "input 2 (weights): it has 2 elements for 3 classes"},
    {"class_axis_of_the_batch", kConvolutional, [](Recipe& r) { r.class_axis = -2; },
     "class_axis -2 is no dimension of 'logits' after the first: it is f64[N,3]"},
    {"class_axis_behind_the_last", kConvolutional, [](Recipe& r) { r.class_axis = 2; },
     "class_axis 2 is no dimension of 'logits' after the first: it is f64[N,3]"},
    {"unknown_schedule", kConvolutional, [](Recipe& r) { r.schedule = "cosin"; },
     "unknown schedule 'cosin': did you mean 'cosine'?"},
    {"schedule_without_steps", kConvolutional, [](Recipe& r) { r.schedule = "cosine"; },
     "schedule_steps must be a whole number of at least 1, not 0"},
    {"setting_of_another_schedule", kConvolutional,
     [](Recipe& r) {
       r.schedule = "exponential";
       r.schedule_settings["schedule_peak"] = 0.5;
     },
     "schedule_peak applies to the schedules one_cycle only, not to exponential"},
    {"schedule_of_rprop", kConvolutional,
     [](Recipe& r) {
       r.optimizer = default_settings("rprop", Formula::torch);
       r.schedule = "exponential";
     },
     "a schedule has no effect on rprop, whose learning rate is that of the first step only"},
    {"half_a_step", kConvolutional, [](Recipe& r) { r.schedule_settings["warmup_steps"] = 1.5; },
     "warmup_steps must be a whole number of at least 0, not 1.5"},
    {"idle_warmup_start", kConvolutional,
     [](Recipe& r) { r.schedule_settings["warmup_start"] = 0.5; },
     "warmup_start has no effect without warmup_steps"},
    {"clipped_twice", kConvolutional,
     [](Recipe& r) {
       r.clip.norm = 1;
       r.clip.value = 1;
     },
     "clip_norm and clip_value exclude each other: give one of them"},
    {"clipped_to_nothing", kConvolutional, [](Recipe& r) { r.clip.norm_each = 0; },
     "clip_norm_each must be a finite number above 0, not 0"},
    {"average_that_never_moves", kConvolutional, [](Recipe& r) { r.ema = 1; },
     "ema must be at least 0 and less than 1, not 1"},
    {"group_of_nobody", kConvolutional,
     [](Recipe& r) {
       r.groups = {{.pattern = "*", .settings = {{"lr", 1}}},
                   {.pattern = "fc*", .settings = {{"lr", 2}}}};
     },
     "the group 'fc*' has no parameter that is trained and in no group before it"},
    {"group_without_settings", kConvolutional,
     [](Recipe& r) { r.groups = {{.pattern = "*", .settings = {}}}; },
     "the group '*' has no settings: give it some, such as lr=0.1"},
    {"rate_of_a_group", kConvolutional,
     [](Recipe& r) { r.groups = {{.pattern = "*", .settings = {{"lr", -1}}}}; },
     "lr must be a finite number of at least 0, not -1"},
    {"setting_of_a_group", kConvolutional,
     [](Recipe& r) { r.groups = {{.pattern = "*", .settings = {{"momentum", 0.5}}}}; },
     "adam (torch formula) has no setting momentum: it has lr, "},
    {"no_decay_at_all", kConvolutional, [](Recipe& r) { r.decays_biases = false; },
     "no weight decay of biases and normalizations would be left out"},
    {"steps_of_rprop", kConvolutional,
     [](Recipe& r) {
       r.optimizer = default_settings("rprop", Formula::torch);
       r.optimizer.set("eta_plus", 1);
     },
     "eta_plus must be a finite number above 1, not 1"},
    {"output_of_a_custom_loss", kTwoOutputs,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (double[N,3] a) => (double c) "
              "{ c = ReduceMean<keepdims = 0>(a) }");
       r.output = "b";
     },
     "the custom loss has no input 'b': it selects the model's outputs by the names of its inputs"},
    {"reduction_of_a_custom_loss", kTwoOutputs,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (double[N,3] a) => (double c) "
              "{ c = ReduceMean<keepdims = 0>(a) }");
       r.reduction = Reduction::sum;
     },
     "reduction does not apply to a custom loss: reduce in its graph"},
    {"momentum_of_frozen_statistics", kConvolutional, [](Recipe& r) { r.batch_momentum = 0.5; },
     "batch_momentum has no effect with frozen BatchNormalization"},
    {"variance_of_frozen_statistics", kConvolutional,
     [](Recipe& r) { r.batch_variance = BatchVariance::unbiased; },
     "unbiased batch_variance has no effect with frozen BatchNormalization"},
    {"momentum_without_batch_norm", kTwoOutputs,
     [](Recipe& r) {
       r.output = "a";
       r.batch_norm = BatchNormMode::batch;
       r.batch_momentum = 0.5;
     },
     "batch_momentum has no effect: the loss depends on no BatchNormalization"},
    {"batch_momentum_out_of_range", kConvolutional,
     [](Recipe& r) {
       r.batch_norm = BatchNormMode::batch;
       r.batch_momentum = 1.5;
     },
     "batch_momentum must be from 0 to 1, not 1.5"},
    {"loss_without_graph", kConvolutional, [](Recipe& r) { r.loss = "custom"; },
     "a loss graph is given, but the loss is not custom, or the reverse"},
    {"loss_of_another_model", kLinear,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (double[N] a, double[N] b) => "
              "(double c) { d = Sub(a, b) c = ReduceMean<keepdims = 0>(d) }");
     },
     "no input of the loss has the name of a model output: the loss has 'a', 'b', the model 'y'"},
    {"loss_is_no_scalar", kLinear,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (double[N,1] y) => (double[N,1] c) "
              "{ c = Mul(y, y) }");
     },
     "the output 'c' of the loss is f64[N,1], not a scalar float"},
    {"loss_becomes_no_scalar", kLinear,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (double[] y) => (double[] c) { c = "
              "Mul(y, y) }");
     },
     "the loss 'c' is f64[N,1], not a scalar"},
    {"loss_has_two_outputs", kLinear,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (double[N,1] y) => (double a, "
              "double b) { a = ReduceMean<keepdims = 0>(y) b = ReduceSum<keepdims = 0>(y) }");
     },
     "the loss must have one output, a scalar, but has 2: 'a', 'b'"},
    {"loss_of_another_type", kLinear,
     [](Recipe& r) {
       custom(r,
              "<ir_version: 8, opset_import: [\"\" : 17]> l (float[N,1] y) => (float a) { a = "
              "ReduceMean<keepdims = 0>(y) }");
     },
     "the loss expects 'y' to be f32[N,1], but in the model it is f64[N,1]"},
    {"loss_is_the_output", kLinear,
     [](Recipe& r) {
       custom(r, "<ir_version: 8, opset_import: [\"\" : 17]> l (double[] y) => (double[] y) {}");
     },
     "no node of the loss computes its output 'y'"},
    {"statistics_are_computed",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (double[N,2] x) => (double[N,2] y) <double[2] g "
     "= full(1), double[2] v = full(1)> { m = Sqrt(v) y = BatchNormalization(x, g, g, v, m) }",
     [](Recipe& r) { r.batch_norm = BatchNormMode::batch; },
     "'m', a running statistic of BatchNormalization 'y', is not an initializer"},
    {"half_precision_node",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float16[N,2] x) => (float16[N,2] y) "
     "<float16[2,2] w = {0, 0, 0, 0}> { y = MatMul(x, w) }",
     [](Recipe& r) { r.optimizer = default_settings("adam", Formula::onnx); },
     "'w' is f16[2,2], but the standard's optimizer nodes take float and double"},
};

/// Valid, but nothing that Onward has a kernel or a gradient for.
constexpr std::string_view kUntrainable = R"(
<ir_version: 9, opset_import: ["" : 20, "ai.example" : 1]>
g (float[1,2] x) => (float[1,4] y) <float[2,4] w = full(1)> {
  h = MatMul(x, w)
  y = ai.example.Pool(h)
})";

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, SaysWhy) {
  Recipe recipe;
  try {
    GetParam().change(recipe);
    prepare(model_of(GetParam().model), recipe);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with(GetParam().error)) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Recipe, RefusalTest, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RefusalTest, SecondTraining) {
  try {
    prepare(prepare(model_of(kLinear), {.loss = "mse"}), {.loss = "mse"});
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the model already has 1 training info (loss, gradients, optimizer): replace it "
                 "with --replace");
  }
}

TEST(RefusalTest, WhatOnwardCantTrain) {
  Recipe recipe{.loss = "mse"};
  recipe.train = {"w"};
  try {
    prepare(model_of(kUntrainable), recipe);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"no kernel for ai.example.Pool (node 'y')",
                             "no gradient is known for ai.example.Pool (node 'y')", "--force"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  recipe.force = true;
  const Prepared forced = prepare_with_reasons(model_of(kUntrainable), recipe);
  EXPECT_EQ(forced.model.training.size(), 1);
  EXPECT_EQ(std::ranges::count_if(forced.notes,
                                  [](const std::string& note) {
                                    return note.starts_with("Onward cannot train this model: ");
                                  }),
            2);
}

TEST(RefusalTest, WhatCheckRefuses) {
  try {
    prepare(
        model_of("<ir_version: 8, opset_import: [\"\" : 17]> g (double[N,2] x) => (double[N,3] y) "
                 "<double[2,3] w = full(1), double[5] b = full(0)> { y = Gemm(x, w, b) }"),
        {.loss = "mse"});
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("input 2 (C): its shape [5] can't be broadcast to [N,3]"),
        std::string::npos)
        << error.what();
  }
}

TEST(RefusalTest, NamesAreListed) {
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([] { find_loss("l3"); }),
            "unknown loss 'l3': did you mean 'l1'? Available: softmax_cross_entropy, "
            "categorical_cross_entropy, nll, mse, l1, smooth_l1, huber, bce_with_logits, bce, "
            "kl_divergence, poisson, hinge, squared_hinge, cosine_similarity");
  EXPECT_EQ(message([] { find_loss("dice"); }).substr(0, 63),
            "unknown loss 'dice': choose from softmax_cross_entropy, categor");
  EXPECT_EQ(message([] { default_settings("Adam", Formula::torch); }),
            "unknown optimizer 'Adam': did you mean 'adam'? Available: sgd, momentum, nesterov, "
            "adam, adamw, adamax, radam, adagrad, rmsprop, adadelta, rprop, lion");
  EXPECT_EQ(message([] { default_settings("rmsprop", Formula::onnx); }),
            "the onnx formula has no optimizer rmsprop: choose the formula torch or keras");
  EXPECT_EQ(message([] { formula_of("jax"); }),
            "unknown formula 'jax': choose from torch, keras, onnx");
  EXPECT_EQ(
      message([] { default_settings("sgd", Formula::torch).set("weight_decy", 1); }).substr(0, 72),
      "unknown optimizer setting 'weight_decy': did you mean 'weight_decay'? Av");
}

}  // namespace
}  // namespace onward
