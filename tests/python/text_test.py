"""Operators on strings, n-grams and chances: what ONNX's reference evaluator gives, or what the standard says where it
errs; and what contradicts itself is refused."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import onward
import onward.backend


def kind_of(array):
    return TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)


def texts(*rows):
    return np.array(rows, dtype=object)


def model_of(op, inputs, kinds, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y{i}" for i in range(len(kinds))]
    given = [helper.make_tensor_value_info(name, kind_of(x), x.shape) for name, x in zip(names, inputs)]
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outputs, kinds)]
    graph = helper.make_graph([helper.make_node(op, names, outputs, **attributes)], op, given, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=13)


def run(model, inputs):
    return onward.backend.prepare(model).run(list(inputs))


def ngrams(mode, **changes):
    """The pool of the standard's own tests: 2, 3, 5, 4 as single words, then pairs."""
    return dict(mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 4],
                ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7]) | changes


ROWS = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int64)
WEIGHTS = [0.5, 1.5, -2.0, 4.0, 0.25, 3.0, 1.0]
STRINGS, COUNTS, FLOATS = [TensorProto.STRING], [TensorProto.STRING, TensorProto.INT64], [TensorProto.FLOAT]
BOOLS = [TensorProto.BOOL]
SAME = {
    "StringConcat": ("StringConcat", [texts("a", "bc", ""), texts("x", "", "y")], STRINGS, {}),
    "StringConcat broadcasts": ("StringConcat", [texts(["a", "b"], ["c", "d"]), texts("x", "y")], STRINGS, {}),
    "StringConcat of one": ("StringConcat", [texts("ä", "日本"), np.array("!", dtype=object)], STRINGS, {}),
    "StringConcat of none": ("StringConcat", [texts()[:0].reshape(0, 2), texts("x", "y")], STRINGS, {}),
    "Cast to floats": ("Cast", [texts(["1.5", "-2"], ["1e3", "-INF"])], FLOATS, dict(to=TensorProto.FLOAT)),
    "Cast to integers": ("Cast", [texts("100", "-2")], [TensorProto.INT64], dict(to=TensorProto.INT64)),
    "Cast of integers": ("Cast", [np.array([[100, -2]])], STRINGS, dict(to=TensorProto.STRING)),
    "StringSplit": ("StringSplit", [texts("a,b", "c", ",,d,", "")], COUNTS, dict(delimiter=",")),
    "StringSplit once": ("StringSplit", [texts("a--b--c", "--", "x")], COUNTS, dict(delimiter="--", maxsplit=1)),
    "StringSplit never": ("StringSplit", [texts("a,b", "c")], COUNTS, dict(delimiter=",", maxsplit=0)),
    "StringSplit at spaces": ("StringSplit", [texts([" a  b ", "\tc\nd"], ["", "   "])], COUNTS, {}),
    "StringSplit at spaces once": ("StringSplit", [texts("  a  b  c ", "d", "e ")], COUNTS, dict(maxsplit=1)),
    "StringSplit of none": ("StringSplit", [texts()[:0]], COUNTS, dict(delimiter=",")),
    "RegexFullMatch": ("RegexFullMatch", [texts(["ab1", "b2", "ab"], ["ab12", "", "xab1"])], BOOLS, dict(pattern=r"a?b\d")),
    "RegexFullMatch of nothing": ("RegexFullMatch", [texts("", "a", "\n")], BOOLS, dict(pattern="")),
    "RegexFullMatch of letters": ("RegexFullMatch", [texts("日", "日本", "ä", "a")], BOOLS, dict(pattern=".")),
    "RegexFullMatch in any case": ("RegexFullMatch", [texts("ÄB", "äb", "Äc")], BOOLS, dict(pattern="(?i)äb")),
    "RegexFullMatch not across lines": ("RegexFullMatch", [texts("a b", "a\nb")], BOOLS, dict(pattern="a.b")),
    "RegexFullMatch across lines": ("RegexFullMatch", [texts("a b", "a\nb")], BOOLS, dict(pattern="(?s)a.b")),
    "RegexFullMatch of the longer way": ("RegexFullMatch", [texts("ab", "a", "abc")], BOOLS, dict(pattern="a|ab")),
    "RegexFullMatch of one": ("RegexFullMatch", [np.array("aaa", dtype=object)], BOOLS, dict(pattern="(a|aa)+")),
    "RegexFullMatch of no texts": ("RegexFullMatch", [texts()[:0].reshape(2, 0)], BOOLS, dict(pattern="a")),
    "StringNormalizer": ("StringNormalizer", [texts("Monday", "tuesday", "FRIDAY")], STRINGS, {}),
    "StringNormalizer lower": ("StringNormalizer", [texts("Monday", "tuesday", "FRIDAY")], STRINGS,
                               dict(case_change_action="LOWER", stopwords=["tuesday"])),
    "StringNormalizer upper": ("StringNormalizer", [texts(["Monday", "tuesday"])], STRINGS,
                               dict(case_change_action="UPPER", stopwords=["monday"], is_case_sensitive=1)),
    "StringNormalizer of all": ("StringNormalizer", [texts("monday", "monday")], STRINGS,
                                dict(stopwords=["monday"], is_case_sensitive=1)),
    "n-grams": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF")),
    "n-grams of a row": ("TfIdfVectorizer", [ROWS[1]], FLOATS, ngrams("TF")),
    "n-grams of int32": ("TfIdfVectorizer", [ROWS.astype(np.int32)], FLOATS, ngrams("TF")),
    "pairs alone": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", min_gram_length=2)),
    "words alone": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", max_gram_length=1)),
    "pairs with gaps": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", max_skip_count=5)),
    "n-grams in any order": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", ngram_indexes=[6, 0, 5, 1, 4, 2, 3])),
    "n-grams that are there, weighted": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("IDF", weights=WEIGHTS)),
    "n-grams weighted": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TFIDF", weights=WEIGHTS, max_skip_count=1)),
    "n-grams of an empty row": ("TfIdfVectorizer", [ROWS[:, :0]], FLOATS, ngrams("TF")),
    "n-grams of words": ("TfIdfVectorizer", [texts(["a", "b", "c", "a"], ["b", "b", "?", "c"])], FLOATS,
                         dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2],
                              ngram_indexes=[0, 1, 2, 3], pool_strings=["a", "b", "a", "b", "b", "c"])),
}


@pytest.mark.parametrize("op, inputs, kinds, attributes", SAME.values(), ids=SAME)
def test_same_as_the_evaluator(op, inputs, kinds, attributes):
    model = model_of(op, inputs, kinds, **attributes)
    wanted = ReferenceEvaluator(model).run(None, {f"x{i}": x for i, x in enumerate(inputs)})
    for result, other in zip(run(model, inputs), wanted, strict=True):
        assert result.shape == other.shape
        assert result.tolist() == np.asarray(other).tolist()


def test_ngrams_weigh_one_where_nothing_is_said():
    """The evaluator fails without weights."""
    [result] = run(model_of("TfIdfVectorizer", [ROWS], FLOATS, **ngrams("IDF")), [ROWS])
    np.testing.assert_array_equal(result, [[0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0, 1]])


def test_letters_of_all_scripts_change_their_case():
    inputs = [texts("Äß", "ΣΊΓΜΑ", "Привет", "日本")]
    for action, wanted in (("LOWER", ["äß", "σίγμα", "привет", "日本"]), ("UPPER", ["Äß", "ΣΊΓΜΑ", "ПРИВЕТ", "日本"])):
        model = model_of("StringNormalizer", inputs, STRINGS, case_change_action=action)
        assert run(model, inputs)[0].tolist() == wanted


def test_patterns_take_time_by_the_length_of_texts_alone():
    """Nested repetitions, which take others longer than anyone waits."""
    inputs = [texts("a" * 100000, "a" * 100000 + "b")]
    model = model_of("RegexFullMatch", inputs, BOOLS, pattern="(a*)*(a|aa)*")
    assert run(model, inputs)[0].tolist() == [True, False]


def test_stop_words_are_whole_elements():
    """The evaluator takes words out of the middle of an element, which the standard does not say."""
    inputs = [texts("the cat", "The", "cat")]
    model = model_of("StringNormalizer", inputs, STRINGS, stopwords=["the"])
    assert run(model, inputs)[0].tolist() == ["the cat", "cat"]


WRONG = {
    "n-grams of no mode": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("DF"), "must be one of TF, IDF, TFIDF"),
    "n-grams of no words": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", min_gram_length=0), "'min_gram_length' is 0, but must be positive"),
    "n-grams behind the pool": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", ngram_counts=[0, 40]), "of a pool of 10"),
    "too many n-grams": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", ngram_indexes=[0, 1]), "more n-grams than the 2"),
    "too few weights": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("IDF", weights=[1.0]), "has 1 entries for 7 columns"),
    "a column below zero": ("TfIdfVectorizer", [ROWS], FLOATS, ngrams("TF", ngram_indexes=[0, 1, 2, 3, 4, 5, -6]),
                            "holds -6, which is out of range"),
    "a pattern that does not end": ("RegexFullMatch", [texts("a")], BOOLS, dict(pattern="a[b"), "RE2's syntax: missing ]: "),
    "a pattern that looks back": ("RegexFullMatch", [texts("a")], BOOLS, dict(pattern=r"(a)\1"), "RE2's syntax: invalid escape"),
    "a pattern of any size": ("RegexFullMatch", [texts("a")], BOOLS, dict(pattern="((a{100}){100}){100}"),
                              "RE2's syntax: .*repetition"),
    "several rows": ("StringNormalizer", [texts(["a"], ["b"])], STRINGS, {}, r"it takes \[C\] and \[1, C\]"),
    "no case": ("StringNormalizer", [texts("a")], STRINGS, dict(case_change_action="TITLE"), "must be one of NONE, LOWER, UPPER"),
    "another alphabet": ("StringNormalizer", [texts("a")], STRINGS, dict(locale="tr_TR"), "otherwise in the locale"),
    "bits that do not fit": ("BitCast", [np.zeros(2, np.float32)], [TensorProto.INT64], dict(to=TensorProto.INT64),
                             "f32 has 32 bits, but i64 has 64"),
    "no outcomes": ("Multinomial", [np.zeros((2, 0), np.float32)], [TensorProto.INT32], {}, "no outcomes to choose from"),
    "no samples": ("Multinomial", [np.zeros((2, 3), np.float32)], [TensorProto.INT32], dict(sample_size=0),
                   "'sample_size' is 0"),
}


@pytest.mark.parametrize("op, inputs, kinds, attributes, reason", WRONG.values(), ids=WRONG)
def test_refused(op, inputs, kinds, attributes, reason):
    with pytest.raises(onward.Error, match=reason):
        run(model_of(op, inputs, kinds, **attributes), inputs)


@pytest.mark.parametrize("target", [np.int32, np.uint32, np.float32])
def test_bits_are_kept(target):
    x = np.array([1.5, -0.0, np.nan, np.inf], np.float32).view(np.int32)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    [result] = run(model_of("BitCast", [x], [kind], to=kind), [x])
    assert result.dtype == target and result.tobytes() == x.tobytes()


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL])
def test_bernoulli_draws_as_often_as_it_is_told(kind):
    chances = np.repeat([0.0, 0.25, 1.0], 20000).astype(np.float32)
    [drawn] = run(model_of("Bernoulli", [chances], [kind], dtype=kind), [chances])
    assert drawn.dtype == helper.tensor_dtype_to_np_dtype(kind)
    never, sometimes, always = drawn.astype(np.float64).reshape(3, -1)
    assert not never.any() and always.all()
    assert set(sometimes) == {0, 1} and abs(sometimes.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / sometimes.size)


@pytest.mark.parametrize("kind", [TensorProto.INT32, TensorProto.INT64])
def test_multinomial_draws_as_often_as_it_is_told(kind):
    chances = np.array([[0.1, 0.6, 0.3], [1.0, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        logs = (np.log(chances) + [[5.0], [-700.0]]).astype(np.float32)  # up to a constant
    [drawn] = run(model_of("Multinomial", [logs], [kind], dtype=kind, sample_size=20000), [logs])
    assert drawn.shape == (2, 20000) and drawn.dtype == helper.tensor_dtype_to_np_dtype(kind)
    counted = np.stack([np.bincount(row, minlength=3) for row in drawn]) / 20000
    assert np.all(np.abs(counted - chances) <= 5 * np.sqrt(chances * (1 - chances) / 20000))


def test_seeds_repeat_what_is_drawn():
    x = np.full(100, 0.5, np.float32)
    first, second, other = (run(model_of("Bernoulli", [x], FLOATS, seed=seed), [x])[0] for seed in (1.0, 1.0, 2.0))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
