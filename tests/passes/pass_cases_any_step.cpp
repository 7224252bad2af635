#include "tests/passes/pass_case.h"

namespace onward {
namespace {

const PassCase kCases[] = {
    // Constants
    {"fold: what constants give", fold_constants,
     "(float[2] x) => (y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { c = Mul(a, b) y = Add(x, c) "
     "}",
     "(float[2] x) => (y) <float[2] c_constant = {3, 8}> { y = Add(x, c_constant) }"},
    {"fold: shapes, and what follows from them", fold_constants,
     "(float[2,3] x, float[6] z) => (y) { s = Shape(x) n = Size(x) f = Reshape(z, s) "
     "g = Expand(n, s) h = Cast<to = 1>(g) y = Mul(f, h) }",
     "(float[2,3] x, float[6] z) => (y) <int64[2] s_constant = {2, 3}, "
     "float[2,3] h_constant = {6, 6, 6, 6, 6, 6}> "
     "{ f = Reshape(z, s_constant) y = Mul(f, h_constant) }"},
    {"fold: a part of a shape", fold_constants,
     "(float[2,3,4] x) => (y) { y = Shape<start = -2, end = 9>(x) }",
     "(float[2,3,4] x) => (y_constant) <int64[2] y_constant = {3, 4}> { }"},
    {"fold: an output", fold_constants, "() => (y) { y = Constant<value = float[2] {1, 2}>() }",
     "() => (y_constant) <float[2] y_constant = {1, 2}> { }"},
    {"fold: not state",
     fold_constants,
     "() => (y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Mul(a, b) }",
     "",
     {"a"}},
    {"fold: not the default of an input", fold_constants,
     "(float[2] a = {1, 2}) => (y) <float[2] b = {3, 4}> { y = Mul(a, b) }"},
    {"fold: not a random number", fold_constants,
     "() => (y, z) <float[2] a = {1, 2}> "
     "{ r = RandomUniform<shape = [2]>() y = Add(r, a) z = RandomNormalLike(a) }"},
    {"fold: not what is large", fold_constants,
     "() => (y) <int64[2] s = {100, 100}, float a = {1}> { y = Expand(a, s) }"},
    {"fold: not a shape of open size", fold_constants, "(float[N,3] x) => (y) { y = Shape(x) }"},

    // Nodes that do nothing
    {"simplify: what passes its input on", simplify,
     "(float[2,3] x) => (y) <int64[2] s = {2, 3}> "
     "{ a = Identity(x) b = Reshape(a, s) c = Expand(b, s) d = Cast<to = 1>(c) e = Flatten(d) "
     "f = onward.SumTo(e, s) y = Neg(f) }",
     "(float[2,3] x) => (y) { y = Neg(x) }"},
    {"simplify: a graph output", simplify, "(float[2] x) => (y) { a = Neg(x) y = Identity(a) }",
     "(float[2] x) => (a) { a = Neg(x) }"},
    {"simplify: not what changes shape or type", simplify,
     "(float[2,3] x) => (a, b, c, d, e) <int64[1] s = {6}, int64[3] t = {4, 2, 3}, "
     "int64[2] u = {1, 3}, int64[1] v = {0}> "
     "{ a = Reshape(x, s) b = Expand(x, t) c = Cast<to = 11>(x) d = onward.SumTo(x, u) "
     "e = Unsqueeze(x, v) }"},
    {"simplify: not where the shape is open", simplify,
     "(float[N] x, int64[1] s) => (y) { y = Reshape(x, s) }"},
    {"simplify: factors of one", simplify,
     "(float[2] x) => (y) <float one = {1}, float[2] ones = {1, 1}> "
     "{ a = Mul(x, one) b = Mul(ones, a) c = Div(b, one) y = Neg(c) }",
     "(float[2] x) => (y) { y = Neg(x) }"},
    {"simplify: not other factors", simplify,
     "(float[2] x) => (y) <float[2] rising = {1, 2}, float[2,1] column = {1, 1}, float one = {1}> "
     "{ a = Mul(x, rising) b = Div(a, rising) c = Mul(b, column) y = Div(one, c) }"},
    {"simplify: not a factor that is trained",
     simplify,
     "(float[2] x) => (y) <float one = {1}> { y = Mul(x, one) }",
     "",
     {"one"}},
    {"simplify: a sum of one", simplify, "(float[2] x) => (y) { a = Sum(x) y = Neg(a) }",
     "(float[2] x) => (y) { y = Neg(x) }"},
    {"simplify: expanded operands", simplify,
     "(float[2,3] x, float[3] z) => (y) <int64[2] s = {2, 3}> { e = Expand(z, s) y = Add(x, e) }",
     "(float[2,3] x, float[3] z) => (y) <int64[2] s = {2, 3}> { e = Expand(z, s) y = Add(x, z) }"},
    {"simplify: not the operand that gives the shape", simplify,
     "(float x, float[3] z) => (y) <int64[2] s = {2, 3}> { e = Expand(z, s) y = Add(x, e) }"},
    {"simplify: not one that the other broadcasts to", simplify,
     "(float[1] x, float[3] z) => (y) <int64[1] s = {3}> { e = Expand(x, s) y = PRelu(e, z) }"},
    {"simplify: of two expanded operands one", simplify,
     "(float[2,1] x, float[2,1] z) => (y) <int64[2] s = {2, 3}> "
     "{ e = Expand(x, s) f = Expand(z, s) y = Sub(e, f) }",
     "(float[2,1] x, float[2,1] z) => (y) <int64[2] s = {2, 3}> "
     "{ e = Expand(x, s) f = Expand(z, s) y = Sub(x, f) }"},
    {"simplify: the mask of a Relu",
     simplify,
     "(float[2] x) => (r, m) <float zero = {0}> { r = Relu(x) m = Greater(x, zero) }",
     "(float[2] x) => (r, m) <float zero = {0}> { r = Relu(x) m = Greater(r, zero) }",
     {},
     true},
    {"simplify: not the mask before the Relu",
     simplify,
     "(float[2] x) => (r, m) <float zero = {0}> { m = Greater(x, zero) r = Relu(x) }",
     "",
     {},
     true},
    {"simplify: not by another number", simplify,
     "(float[2] x) => (r, m) <float low = {-1}> { r = Relu(x) m = Greater(x, low) }"},
    {"simplify: not another operator of the name", simplify,
     "(float[2] x) => (m) <float zero = {0}> { r = mine.Relu(x) m = Greater(x, zero) }"},

    // Twins
    {"share: nodes that compute the same", share_subgraphs,
     "(float[2] x) => (y) { a = Exp(x) b = Exp(x) c = Neg(a) d = Neg(b) y = Add(c, d) }",
     "(float[2] x) => (y) { a = Exp(x) c = Neg(a) y = Add(c, c) }"},
    {"share: constants", share_subgraphs,
     "(float[2] x) => (y) <float[2] a = {1, 2}, float[2] b = {1, 2}> "
     "{ c = Mul(x, a) d = Mul(x, b) y = Add(c, d) }",
     "(float[2] x) => (y) <float[2] a = {1, 2}> { c = Mul(x, a) y = Add(c, c) }"},
    {"share: graph outputs", share_subgraphs, "(float[2] x) => (a, b) { a = Exp(x) b = Exp(x) }",
     "(float[2] x) => (a, a) { a = Exp(x) }"},
    {"share: attributes in another order", share_subgraphs,
     "(float[2,3] x) => (y) { a = Gelu<approximate = \"tanh\">(x) b = Gelu<approximate = "
     "\"tanh\">(x) "
     "c = Gemm<alpha = 2.0, transB = 1>(a, b) d = Gemm<transB = 1, alpha = 2.0>(b, a) "
     "y = Add(c, d) }",
     "(float[2,3] x) => (y) { a = Gelu<approximate = \"tanh\">(x) "
     "c = Gemm<alpha = 2.0, transB = 1>(a, a) y = Add(c, c) }"},
    {"share: not what differs", share_subgraphs,
     "(float[2,2] x) => (y) <float[2] a = {1, 2}, float[2,1] b = {1, 2}, double[2] c = {1, 2}> { "
     "d = LeakyRelu<alpha = 0.1>(x) e = LeakyRelu<alpha = 0.2>(x) f = Softmax<axis = 0>(x) "
     "g = Softmax<axis = 1>(x) h = Mul(d, a) i = Mul(e, b) j = Sum(f, g, h, i) "
     "k = Cast<to = 11>(j) y = Mul(k, c) }"},
    {"share: not the operands changed about", share_subgraphs,
     "(float[2] x, float[2] z) => (y) { a = Sub(x, z) b = Sub(z, x) y = Mul(a, b) }"},
    {"share: not state",
     share_subgraphs,
     "(float[2] x) => (y) <float[2] a = {1, 2}, float[2] b = {1, 2}> "
     "{ c = Mul(x, a) d = Mul(x, b) y = Add(c, d) }",
     "",
     {"b"}},
    {"share: not random numbers", share_subgraphs,
     "(float[2] x) => (y) <float ratio = {0.5}, bool on = {1}> "
     "{ a = RandomUniformLike(x) b = RandomUniformLike(x) c = Dropout(x, ratio, on) "
     "d = Dropout(x, ratio, on) y = Sum(a, b, c, d) }"},
    {"share: not one that gives less", share_subgraphs,
     "(float[1,1,4] x) => (a, i) { a = MaxPool<kernel_shape = [2]>(x) "
     "b, i = MaxPool<kernel_shape = [2]>(x) }"},
    {"share: not in other graphs", share_subgraphs,
     "(float[2] x, bool c) => (y) { a = Exp(x) "
     "y = If(c) <then_branch = t () => (float[2] r) { r = Exp(x) }, "
     "else_branch = e () => (float[2] q) { q = Neg(a) }> }"},

    // Transposes
    {"transposes: into the product that reads them", fuse_transposes,
     "(float[3,2] x, float[4,3] z) => (y) "
     "{ a = Transpose<perm = [1, 0]>(x) b = Transpose(z) y = MatMul(a, b) }",
     "(float[3,2] x, float[4,3] z) => (y) "
     "{ a = Transpose<perm = [1, 0]>(x) b = Transpose(z) y = Gemm<transA = 1, transB = 1>(x, z) }"},
    {"transposes: one of two", fuse_transposes,
     "(float[2,3] x, float[4,3] z) => (y) { b = Transpose(z) y = MatMul(x, b) }",
     "(float[2,3] x, float[4,3] z) => (y) { b = Transpose(z) y = Gemm<transA = 0, transB = 1>(x, "
     "z) }"},
    {"transposes: twice is nothing", fuse_transposes,
     "(float[2,3] x, float[3,2] z) => (y) { a = Transpose(x) b = Transpose(a) y = MatMul(b, z) }",
     "(float[2,3] x, float[3,2] z) => (y) "
     "{ a = Transpose(x) b = Transpose(a) y = Gemm<transA = 0, transB = 0>(x, z) }"},
    {"transposes: of a product", fuse_transposes,
     "(float[2,3] x, float[3,4] z) => (y) { a = MatMul(x, z) y = Transpose(a) }",
     "(float[2,3] x, float[3,4] z) => (y) { a = MatMul(x, z) y = Gemm<transA = 1, transB = 1>(z, "
     "x) }"},
    {"transposes: not of a product that is given out", fuse_transposes,
     "(float[2,3] x, float[3,4] z) => (a, y) { a = MatMul(x, z) y = Transpose(a) }"},
    {"transposes: not of a product that is read elsewhere", fuse_transposes,
     "(float[2,3] x, float[3,4] z) => (b, y) { a = MatMul(x, z) b = Neg(a) y = Transpose(a) }"},
    {"transposes: not of a product with a factor or a bias", fuse_transposes,
     "(float[2,3] x, float[3,4] z, float[4] c) => (y, w) { a = Gemm<alpha = 2.0>(x, z) "
     "y = Transpose(a) b = Gemm(x, z, c) w = Transpose(b) }"},
    {"transposes: not those that swap nothing", fuse_transposes,
     "(float[3,3] x, float[3,3] z) => (y, w) { a = Transpose<perm = [0, 1]>(x) y = MatMul(a, z) "
     "b = MatMul(x, z) w = Transpose<perm = [0, 1]>(b) }"},
    {"transposes: not of stacks", fuse_transposes,
     "(float[5,3,2] x, float[5,3,4] z) => (y) { a = Transpose<perm = [0, 2, 1]>(x) y = MatMul(a, "
     "z) }"},
    {"transposes: not of integers", fuse_transposes,
     "(int64[3,2] x, int64[3,4] z) => (y) { a = Transpose(x) y = MatMul(a, z) }"},

    // What nobody reads
    {"dead: chains", drop_dead_nodes,
     "(float[2] x) => (y) { y = Neg(x) a = Exp(x) b = Log(a) c, d = Split<num_outputs = 2>(b) }",
     "(float[2] x) => (y) { y = Neg(x) }"},
    {"dead: not what gives one output of several, or is read inside", drop_dead_nodes,
     "(float[2] x, bool c) => (b, y) { a, b = Split<num_outputs = 2>(x) h = Exp(x) "
     "y = If(c) <then_branch = t () => (float[2] r) { r = Neg(h) }, "
     "else_branch = e () => (float[2] q) { q = Abs(x) }> }"},
};

}  // namespace

std::span<const PassCase> any_step_pass_cases() { return kCases; }

}  // namespace onward
