import numpy as np
from documented import run_section


def test_scikit_learn_is_as_documented(tmp_path, monkeypatch):
    variables = run_section("From scikit-learn and LightGBM", tmp_path, monkeypatch)
    own = variables["estimator"].predict_proba(variables["x"])
    given = [list(row.values()) for row in variables["results"]["output_probability"]]
    np.testing.assert_allclose(given, own, atol=1e-4)
