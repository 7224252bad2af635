#include "format/draft/draft.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "format/draft/message.h"
#include "format/draft/write.h"
#include "format/load.h"
#include "onward/error.h"
#include "text/text.h"

namespace onward {
namespace {

template <typename Message>
Message parsed(const std::string& text) {
  Message message;
  const auto status = onnx::OnnxParser::Parse(message, text);
  if (!status.IsOK()) throw std::logic_error(status.ErrorMessage());
  return message;
}

onnx::StringStringEntryProto pair(const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  return entry;
}

/// A draft file of our own, in parts that a case can change before they are put together.
struct Draft {
  std::string model = R"(<ir_version: 3, opset_import: ["" : 9]>
      g (float[5,1] x, float[1,1] w = {0.5}) => (float[5,1] y) { y = Inference(x, w) })";
  std::vector<std::string> functions = {
      "Inference (x, w) => (y) { wt = Transpose<perm = [1, 0]>(w) y = MatMul(x, wt) }"};
  std::vector<std::string> initializers = {"int64 T = {0}", "float R = {0.2}",
                                           "float[1,1] H = {1}"};
  std::string inputs = "float[5,1] x, float[5,1] label";
  std::string outputs = "float loss, float[1,1] w_new, float[1,1] H_new";
  std::string algorithm = R"(Training (x, label, w, T, R, H) => (w_new, H_new) {
      y = Inference(x, w)
      loss = MSE(label, y)
      dw = Gradient<xs = ["w"], y = "loss">(x, w)
      [Optimizer] w_new, H_new = Adagrad<epsilon = 1e-07>(R, T, w, dw, H)
    })";
  std::vector<onnx::StringStringEntryProto> bindings = {pair("w_new", "w"), pair("H_new", "H")};

  onnx::ModelProto message() const {
    DraftParts parts;
    for (const auto& text : functions) {
      parts.functions.push_back(parsed<onnx::FunctionProto>(text));
    }
    DraftInfo& info = parts.infos.emplace_back();
    for (const auto& text : initializers) {
      info.initializers.push_back(parsed<onnx::TensorProto>(text));
    }
    const auto values =
        parsed<onnx::GraphProto>(fmt::format("g ({}) => ({}) {{}}", inputs, outputs));
    info.inputs.assign(values.input().begin(), values.input().end());
    info.outputs.assign(values.output().begin(), values.output().end());
    info.algorithm = parsed<onnx::FunctionProto>(algorithm);
    info.bindings = bindings;
    auto proto = parsed<onnx::ModelProto>(model);
    add_draft_parts(proto, parts);
    return proto;
  }
};

std::string error_of(const onnx::ModelProto& draft) {
  try {
    build_model(draft);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const char* const kStandardForm = R"(<
  ir_version: 8,
  opset_import: ["" : 17, "onward.draft" : 1, "ai.onnx.preview.training" : 1]
>
g (float[5,1] x, float[1,1] w = {0.5}) => (float[5,1] y) {
  "Inference/wt" = Transpose<perm = [1, 0]>(w)
  y = MatMul(x, "Inference/wt")
}
training_info {
  algorithm Training (float[5,1] label) => (float loss, float[1,1] w_new, float[1,1] H_new) <
    int64 T = {0},
    float R = {0.2},
    float[1,1] H = {1}
  >
  {
    loss_difference = Sub(label, y)
    loss_squared = Mul(loss_difference, loss_difference)
    loss = ReduceMean<keepdims = 0>(loss_squared)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    [Optimizer] w_new, H_new = ai.onnx.preview.training.Adagrad<epsilon = 1e-07>(R, T, w, dw, H)
  }
  update_binding {
    w <- w_new
    H <- H_new
  }
}
)";

TEST(Draft, BecomesTheStandardForm) {
  const onnx::ModelProto draft = Draft().message();
  EXPECT_TRUE(is_draft(draft));
  EXPECT_FALSE(is_draft(draft_to_standard(draft)));
  const Model model = build_model(draft);
  EXPECT_TRUE(model.from_draft);
  EXPECT_EQ(to_text(model), kStandardForm);
}

TEST(Draft, SurvivesItsFile) {
  const Model model = load_bytes(Draft().message().SerializeAsString());
  EXPECT_EQ(to_text(model), kStandardForm);
}

TEST(Draft, BindsTheInitializerWhicheverSideItStandsOn) {
  Draft draft;
  draft.bindings = {pair("w", "w_new"), pair("H_new", "H")};
  EXPECT_EQ(to_text(build_model(draft.message())), kStandardForm);
}

TEST(Draft, IsNotSeenInOrdinaryModels) {
  EXPECT_FALSE(is_draft(parsed<onnx::ModelProto>(
      R"(<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) { y = Abs(x) })")));
}

struct Variation {
  const char* what;
  std::function<void(Draft&)> change;
  std::vector<std::string> lines;  // of the standard form
};

TEST(Draft, SaysTheSameInManyWays) {
  const Variation variations[] = {
      {"the algorithm computes a name of the graph by other means",
       [](Draft& d) {
         d.algorithm = R"(A (x, label, w, T, R, H) => (w_new, H_new) {
           double_x = Add(x, x)
           y = Inference(double_x, w)
           loss = MSE(label, y)
           dw = Gradient<xs = ["w"], y = "loss">(w)
           w_new, H_new = Adagrad(R, T, w, dw, H) })";
       },
       {"y_in_training = MatMul(double_x, \"Inference_1/wt\")",
        "loss_difference = Sub(label, y_in_training)",
        "dw = ai.onnx.preview.training.Gradient<xs = [\"w\"], y = \"loss\">(w)"}},
      {"outputs that only a binding names",
       [](Draft& d) { d.outputs = "float loss"; },
       {"(float[5,1] label) => (float loss, float[1,1] w_new, float[1,1] H_new) <"}},
      {"a function named MSE comes before the operator",
       [](Draft& d) { d.functions.push_back("MSE (a, b) => (c) { c = Sub(a, b) }"); },
       {"loss = Sub(label, y)"}},
      {"functions that call functions",
       [](Draft& d) {
         d.functions[0] = "Inference (x, w) => (y) { y = Inner(x, w) }";
         d.functions.push_back("Inner (x, w) => (y) { y = MatMul(x, w) }");
       },
       {"y = MatMul(x, w)"}},
      {"a step counter",
       [](Draft& d) {
         d.initializers.push_back("int64 one = {1}");
         d.algorithm.insert(d.algorithm.rfind('}'), "T_new = Add(T, one)\n");
         d.bindings.push_back(pair("T_new", "T"));
       },
       {"T_new = Add(T, one)", "T <- T_new"}},
      {"an opset that needs no raising",
       [](Draft& d) { d.model.replace(d.model.find(": 9]"), 4, ": 20]"); },
       {"opset_import: [\"\" : 20, \"onward.draft\" : 1"}},
  };
  for (const Variation& variation : variations) {
    Draft draft;
    variation.change(draft);
    const std::string text = to_text(build_model(draft.message()));
    for (const std::string& line : variation.lines) {
      EXPECT_NE(text.find(line), std::string::npos) << variation.what << ":\n"
                                                    << line << "\n"
                                                    << text;
    }
  }
}

TEST(Draft, ReadsTheEarlierFormWithoutAlgorithm) {
  auto model = parsed<onnx::ModelProto>(R"(<ir_version: 3, opset_import: ["" : 9]>
      g (float[5,1] x, float[1,1] w = {0.5}) => (float[5,1] y) { y = MatMul(x, w) })");
  google::protobuf::UnknownFieldSet info;
  const auto add = [&](int number, const google::protobuf::Message& message) {
    info.AddLengthDelimited(number, message.SerializeAsString());
  };
  for (const char* text : {"int64 T = {0}", "float R = {1}", "float[1,1] H = {1}"}) {
    add(1, parsed<onnx::TensorProto>(text));
  }
  const auto values = parsed<onnx::GraphProto>("g (float[5,1] label) => (float loss) {}");
  add(2, values.input(0));
  add(3, values.output(0));
  add(4, parsed<onnx::NodeProto>("loss = MSE(label, y)"));
  add(5, pair("w", "dw"));
  add(6, parsed<onnx::NodeProto>("w_new, H_new = Adagrad(R, T, w, dw, H)"));
  add(7, pair("w", "w_new"));
  add(7, pair("H", "H_new"));
  info.SerializeToString(model.mutable_unknown_fields()->AddLengthDelimited(21));

  const std::string text = to_text(build_model(model));
  for (const char* line :
       {"loss = ReduceMean<keepdims = 0>(loss_squared)",
        "dw = ai.onnx.preview.training.Gradient<xs = [\"w\"], y = \"loss\">(w)",
        "w_new, H_new = ai.onnx.preview.training.Adagrad(R, T, w, dw, H)", "w <- w_new"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(Draft, MalformedPartsAreRefusedWithTheirReason) {
  const struct {
    const char* what;
    std::function<void(Draft&)> change;
    const char* message;
  } cases[] = {
      {"Gradient without y",
       [](Draft& d) { d.algorithm = R"(A (x) => () { d = Gradient<xs = ["w"]>(w) })"; },
       "a Gradient of the draft's algorithm lacks xs or y"},
      {"xs that is no input",
       [](Draft& d) { d.algorithm = R"(A (x) => () { d = Gradient<xs = ["w"], y = "x">(x) })"; },
       "'w' of xs is not an input of the draft's Gradient"},
      {"MSE of three", [](Draft& d) { d.algorithm = "A (x) => () { l = MSE(x, x, x) }"; },
       "MSE takes 2 inputs and gives 1 output, not 3 and 1"},
      {"a subgraph in the algorithm",
       [](Draft& d) {
         d.algorithm = "A (x) => () { l = If(x) <then_branch = t () => (a) { a = Abs(x) }> }";
       },
       "a node with a subgraph (If) in the draft's algorithm is not supported"},
      {"a binding of two initializers", [](Draft& d) { d.bindings = {pair("w", "H")}; },
       "the draft's binding of 'w' and 'H' does not name one initializer"},
      {"a binding of no initializer", [](Draft& d) { d.bindings = {pair("w_new", "H_new")}; },
       "the draft's binding of 'w_new' and 'H_new' does not name one initializer"},
      {"a binding of nothing there is", [](Draft& d) { d.bindings = {pair("w", "nowhere")}; },
       "'nowhere'"},
      {"state that the graph has too", [](Draft& d) { d.initializers.push_back("float w = {1}"); },
       "'w' is defined by the graph, and by the draft's training_info too"},
      {"a function twice", [](Draft& d) { d.functions.push_back(d.functions[0]); },
       "the 2019 draft format holds function 'Inference' twice"},
      {"functions that call each other",
       [](Draft& d) { d.functions[0] = "Inference (x, w) => (y) { y = Inference(x, w) }"; },
       "the function calls itself"},
      {"operators that meant something else in opset 9",
       [](Draft& d) {
         d.functions[0] = "Inference (x, w) => (y) { z = MatMul(x, w) s = Softmax(z) y = Clip(s) }";
       },
       "cannot be upgraded from opset 9 to 17 because of Clip, Softmax"},
      {"no opset", [](Draft& d) { d.model.replace(d.model.find("[\"\" : 9]"), 8, "[]"); },
       "the model imports no operator set"},
      {"an opset that there is not",
       [](Draft& d) { d.model.replace(d.model.find(": 9]"), 4, ": -9]"); },
       "the model imports no operator set"},
      {"a call with too many inputs",
       [](Draft& d) { d.algorithm = "A (x) => (z) { z = Inference(x, w, x) }"; },
       "the call has 3 inputs"},
  };
  for (const auto& each : cases) {
    Draft draft;
    each.change(draft);
    const std::string error = error_of(draft.message());
    EXPECT_NE(error.find(each.message), std::string::npos) << each.what << " gave: " << error;
  }
}

TEST(Draft, WithoutAGraphIsNoModel) {
  onnx::ModelProto draft = Draft().message();
  draft.clear_graph();
  EXPECT_EQ(error_of(draft), "it has no graph: it is not an ONNX model");
}

TEST(Draft, DamagedFieldsAreRefused) {
  const auto plain = parsed<onnx::ModelProto>(Draft().model);
  using Fields = google::protobuf::UnknownFieldSet;
  const struct {
    const char* message;
    std::function<void(Fields&)> add;
  } cases[] = {
      {"the functions of its 2019 draft format is damaged",
       [](Fields& fields) { fields.AddVarint(9, 1); }},
      {"the functions of its 2019 draft format is damaged",
       [](Fields& fields) { fields.AddLengthDelimited(9, "\xff\xff\xff"); }},
      {"the training_info of its 2019 draft format is damaged",
       [](Fields& fields) { fields.AddLengthDelimited(21, "\x0a\x7f"); }},
      {"the training_info of its 2019 draft format has no algorithm, or several",
       [](Fields& fields) { fields.AddLengthDelimited(21, ""); }},
      {"the initializers of its 2019 draft format is damaged",
       [](Fields& fields) { fields.AddLengthDelimited(21, std::string("\x0a\x01\xff")); }},
      {"the training_info of its 2019 draft format lacks a loss or gradients",
       [](Fields& fields) { fields.AddLengthDelimited(21, std::string("\x2a\x00", 2)); }},
  };
  for (const auto& each : cases) {
    onnx::ModelProto model = plain;
    each.add(*model.mutable_unknown_fields());
    EXPECT_EQ(error_of(model), each.message);
  }
}

TEST(Draft, NothingMoreThanAnErrorComesOfDamagedBytes) {
  const std::string bytes = Draft().message().SerializeAsString();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned flip : {0x01u, 0x08u, 0x80u, 0xffu}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
      try {
        EXPECT_FALSE(to_text(load_bytes(damaged)).empty());
      } catch (const Error& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
}

std::string linear_example() {
  std::stringstream text;
  text << std::ifstream("examples/training/linear.onnxtxt").rdbuf();
  return text.str();
}

TEST(DraftWrite, WritesWhatIsReadAgainAsTheSameTraining) {
  const Model model = parse_text(linear_example());
  const std::string bytes = to_draft_bytes(model);
  onnx::ModelProto draft;
  ASSERT_TRUE(draft.ParseFromString(bytes));
  EXPECT_TRUE(is_draft(draft));
  EXPECT_EQ(draft.ir_version(), 3);
  EXPECT_EQ(draft.opset_import(0).version(), 9);
  EXPECT_EQ(draft.training_info_size(), 0);
  const DraftParts parts = read_draft_parts(draft);
  ASSERT_EQ(parts.infos.size(), 1u);
  EXPECT_EQ(parts.infos[0].algorithm.node(0).op_type(), "MyInferenceFunction");
  EXPECT_EQ(parts.infos[0].algorithm.node(1).op_type(), "MSE");

  const Model again = load_bytes(bytes);
  const auto training_part = [](const Model& each) {
    const std::string text = to_text(each);
    return text.substr(text.find("training_info"));
  };
  EXPECT_EQ(training_part(again), training_part(model));
  ASSERT_EQ(again.graph->nodes().size(), model.graph->nodes().size());
  EXPECT_EQ(to_text(*again.graph->nodes().back()), "y = Add(\"MyInferenceFunction/xw\", b)");
}

TEST(DraftWrite, RefusesWhatTheDraftHasNoWordsFor) {
  const std::string header = R"(<ir_version: 8, opset_import: ["" : 17]> )";
  const std::pair<const char*, const char*> cases[] = {
      {"g (float x) => (float y) { y = Abs(x) }", "holds one training info"},
      {"g (float x) => (float y) { y = Abs(x) } training_info { initialization i () => () {} }",
       "without initialization"},
      {"g (float[2] x) => (float[2] y) { y = Softmax(x) } training_info { algorithm a () => () {} "
       "}",
       "cannot express Softmax of opset 17"},
      {"g (float[2] x) => (float[2] y) { y = Abs(x) } "
       "training_info { algorithm a () => (float[2] z) { z = HardSwish(y) } }",
       "cannot express HardSwish of opset 17"},
  };
  for (const auto& [text, message] : cases) {
    try {
      to_draft_bytes(parse_text(header + text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace onward
